"""Checkpoints in object stores, by fsspec's file systems in memory and of this machine."""

from __future__ import annotations

import sys

import pytest

import tt
import tt.distributed as dist
from tt import nn
from tt.distributed import checkpoint
from tt.distributed.checkpoint import CheckpointError, places
from tt.distributed.checkpoint.state_dict import get_model_state_dict
from tt.distributed.fsdp import fully_shard

pytestmark = pytest.mark.torch  # which brings fsspec
fsspec = pytest.importorskip("fsspec")


@pytest.fixture(params=["memory", "file"])
def url(request, tmp_path):
    """An address of which nothing is there."""
    where = f"{tmp_path}/deep" if request.param == "file" else tmp_path.name
    yield f"{request.param}://{where}/step"
    fsspec.filesystem("memory").store.clear()


def files(url):
    found, path = fsspec.core.url_to_fs(url)
    return sorted(name.removeprefix(path).lstrip("/") for name in found.find(path))


def model(value):
    made = fully_shard(nn.Linear(3, 5))
    with tt.no_grad():
        for parameter in made.parameters():
            parameter.fill_(value)
    return made


def write(url, value):
    checkpoint.save({"model": get_model_state_dict(model(value)), "step": value}, checkpoint_id=url)


def read(url):
    made = model(0.0)
    state = {"model": get_model_state_dict(made), "step": None}
    checkpoint.load(state, checkpoint_id=url)
    return state["step"], {x for p in made.parameters() for x in p.full_tensor().reshape(-1).tolist()}


def test_another_number_of_ranks_reads_what_ranks_wrote(url):
    dist.run_threads(write, 2, url, 7.0)
    names = files(url)
    assert [name.rpartition("/")[2] for name in names] == [
        "objects.tt", "rank-00000.safetensors", "rank-00001.safetensors", "index.json",
    ]  # fmt: skip
    assert dist.run_threads(read, 3, url) == [(7.0, {7.0})] * 3


def test_an_earlier_checkpoint_is_replaced_and_its_files_go(url):
    write_alone(url, 1.0)
    first = files(url)
    write_alone(url, 2.0)
    second = files(url)
    assert len(second) == len(first) == 3 and set(first) & set(second) == {"index.json"}
    assert read_alone(url) == 2.0


def test_what_is_written_before_the_index_changes_nothing(url, monkeypatch):
    write_alone(url, 1.0)
    place = places.place_of(url)
    started = place.begin()
    place.save_tensors(started, "rank-00000.safetensors", {"x": tt.zeros(2)})
    assert read_alone(url) == 1.0 and len(files(url)) == 4
    write_alone(url, 3.0)  # removes what was left
    assert read_alone(url) == 3.0 and len(files(url)) == 3


@pytest.mark.parametrize("step", ["save_tensors", "complete"])
def test_a_failed_writing_is_an_error_of_all_ranks_and_leaves_the_earlier_checkpoint(url, step, monkeypatch):
    class QuotaError(Exception):
        """What a store raises is none of Python's own errors."""

    dist.run_threads(write, 2, url, 1.0)
    before = files(url)

    def fail(self, *args):
        if step == "complete" or dist.get_rank() == 1:
            raise QuotaError("no space")
        return saved(self, *args)

    saved = getattr(places.ObjectPlace, step)
    monkeypatch.setattr(places.ObjectPlace, step, fail)
    culprit = 1 if step == "save_tensors" else 0

    def attempt():
        with pytest.raises(CheckpointError, match=f"rank {culprit} could not write .*QuotaError: no space"):
            write(url, 2.0)
        return True

    assert dist.run_threads(attempt, 2) == [True, True]
    assert files(url) == before
    assert dist.run_threads(read, 2, url) == [(1.0, {1.0})] * 2


def test_what_is_no_checkpoint_or_no_store_says_so(url, monkeypatch):
    with pytest.raises(CheckpointError, match=r"no complete checkpoint: it has no index\.json"):
        read_alone(url)
    with pytest.raises(CheckpointError, match="nowhere://x: Protocol not known: nowhere"):
        write_alone("nowhere://x", 1.0)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(CheckpointError, match="pip install fsspec"):
        write_alone(url, 1.0)


def write_alone(url, value):
    checkpoint.save({"x": tt.full((4,), value)}, checkpoint_id=url)


def read_alone(url):
    state = {"x": tt.zeros(4)}
    checkpoint.load(state, checkpoint_id=url)
    return state["x"][0].item()
