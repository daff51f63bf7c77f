"""Checkpoints: what many ranks write is read by any number of them, and is whole or the one before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import run
from tt import nn
from tt.distributed import checkpoint
from tt.distributed.checkpoint import CheckpointError
from tt.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from tt.distributed.fsdp import fully_shard
from tt.nn.parallel import DistributedDataParallel

DATA = np.random.default_rng(1).normal(size=(6, 12, 5)).astype(np.float32)


def made():
    model = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3)).double()
    generator = np.random.default_rng(0)
    with tt.no_grad():
        for parameter in model.parameters():
            parameter.copy_(tt.from_numpy(generator.normal(size=tuple(parameter.shape))))
    return model.eval()  # statistics of a batch depend on how it is divided


def plain():
    return made()


def sharded():
    model = made()
    fully_shard(model[0])
    return fully_shard(model)


def parallel():
    return DistributedDataParallel(made())


FORMS = {"sharded": sharded, "parallel": parallel}


def part(batches):
    rank, size = dist.get_rank(), dist.get_world_size()
    return batches[:, rank * 12 // size : (rank + 1) * 12 // size]


def train(model, optimizer, batches):
    for batch in batches:
        optimizer.zero_grad()
        model(tt.from_numpy(batch).double()).square().mean().backward()
        optimizer.step()


def adam(model):
    return tt.optim.AdamW(model.parameters(), lr=0.05)


def state_of(model, optimizer):
    own, of_optimizer = get_state_dict(model, optimizer)
    return {"model": own, "optimizer": of_optimizer, "step": 3}


def write(form, folder, background=False):
    model = FORMS[form]()
    optimizer = adam(model)
    train(model, optimizer, part(DATA[:3]))
    if background:
        checkpoint.async_save(state_of(model, optimizer), checkpoint_id=folder).result()
    else:
        checkpoint.save(state_of(model, optimizer), checkpoint_id=folder)


def go_on(form, folder):
    """Load, train on, and return the whole parameters."""
    model = FORMS[form]()
    optimizer = adam(model)
    train(model, optimizer, part(DATA[-1:]))  # so that the optimizer has a state to be filled
    state = state_of(model, optimizer)
    state["step"] = 0
    checkpoint.load(state, checkpoint_id=folder)
    assert state["step"] == 3
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    train(model, optimizer, part(DATA[3:]))
    full, _ = get_state_dict(model, optimizer, options=StateDictOptions(full_state_dict=True))
    return {name: value.numpy().copy() for name, value in full.items()}


@pytest.fixture(scope="module")
def expected():
    model = made()
    train(model, adam(model), [])
    optimizer = adam(model)
    train(model, optimizer, DATA)
    return {name: value.numpy() for name, value in model.state_dict().items()}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("background", [False, True], ids=["at once", "in the background"])
@pytest.mark.parametrize(("writers", "readers"), [(1, 2), (2, 1), (2, 2), (4, 3), (3, 4)])
@pytest.mark.parametrize("reading", FORMS)
@pytest.mark.parametrize("writing", FORMS)
def test_training_goes_on_with_another_number_of_ranks_and_another_layout(
    engine, writing, reading, writers, readers, background, tmp_path, expected
):
    folder = tmp_path / "step-3"
    run(write, writers, writing, folder, background, backend=engine)
    for found in run(go_on, readers, reading, folder, backend=engine):
        assert found.keys() == expected.keys()
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], rtol=1e-9, atol=1e-9)


def test_files_are_safetensors_with_an_index_of_shapes_and_rows(engine, tmp_path):
    run(write, 2, "sharded", tmp_path / "c", backend=engine)
    index = json.loads((tmp_path / "c" / "index.json").read_text())
    entry = index["tensors"]["model.0.weight"]
    assert entry["shape"] == [7, 5]
    assert [chunk[2:] for chunk in entry["chunks"]] == [[0, 4], [4, 7]]
    assert sorted(os.listdir(tmp_path / "c")) == [
        "index.json",
        "objects.tt",
        "rank-00000.safetensors",
        "rank-00001.safetensors",
    ]
    assert os.listdir(tmp_path) == ["c"]


def test_one_process_needs_no_group_and_scalars_views_and_shared_memory_are_right(tmp_path):
    base = tt.arange(6.0)
    state = {
        "number": tt.tensor(3),
        "view": base[::2],
        "again": base,
        "empty": tt.empty(0, 3),
        "list": [{"x": base}],
    }
    checkpoint.save(state, checkpoint_id=tmp_path / "c")
    target = {
        "number": tt.tensor(0), "view": tt.zeros(3), "again": tt.zeros(6), "empty": tt.empty(0, 3),
        "list": [{"x": tt.zeros(6)}],
    }  # fmt: skip
    checkpoint.load(target, checkpoint_id=tmp_path / "c")
    assert target["number"].item() == 3
    assert target["view"].tolist() == [0.0, 2.0, 4.0]
    assert target["again"].tolist() == target["list"][0]["x"].tolist() == base.tolist()


def test_what_is_no_checkpoint_or_of_another_state_is_refused_by_name(tmp_path):
    checkpoint.save({"x": tt.ones(2, 3)}, checkpoint_id=tmp_path / "c")
    with pytest.raises(CheckpointError, match="there is no such checkpoint"):
        checkpoint.load({}, checkpoint_id=tmp_path / "other")
    with pytest.raises(CheckpointError, match=r"no checkpoint: it has no index\.json"):
        checkpoint.load({}, checkpoint_id=tmp_path)
    with pytest.raises(CheckpointError, match="has no tensor 'y'"):
        checkpoint.load({"y": tt.ones(1)}, checkpoint_id=tmp_path / "c")
    with pytest.raises(CheckpointError, match="has no 'epoch'"):
        checkpoint.load({"epoch": 1}, checkpoint_id=tmp_path / "c")
    with pytest.raises(
        CheckpointError, match=r"'x' has the shape \[2, 3\] in this checkpoint, and \[3, 2\] here"
    ):
        checkpoint.load({"x": tt.ones(3, 2)}, checkpoint_id=tmp_path / "c")
    (tmp_path / "c" / "index.json").write_text('{"version": 1}')
    with pytest.raises(CheckpointError, match="damaged"):
        checkpoint.load({"x": tt.ones(2, 3)}, checkpoint_id=tmp_path / "c")
    (tmp_path / "c" / "index.json").write_text('{"version": 9}')
    with pytest.raises(CheckpointError, match="version 9"):
        checkpoint.load({"x": tt.ones(2, 3)}, checkpoint_id=tmp_path / "c")


def test_a_rank_that_cannot_write_is_named_on_all_ranks_and_the_earlier_checkpoint_stays(engine, tmp_path):
    checkpoint.save({"x": tt.ones(2)}, checkpoint_id=tmp_path / "c")

    def attempt():
        state = {"x": tt.ones(2), "y": tt.ones(2)}
        if dist.get_rank() == 1:
            state["y"] = tt.ones(2).to_sparse()
        with pytest.raises(
            CheckpointError, match="rank 1 could not write its part of the checkpoint: UnsupportedError"
        ):
            checkpoint.save(state, checkpoint_id=tmp_path / "c")
        return True

    assert run(attempt, 2, backend=engine) == [True, True]
    assert os.listdir(tmp_path) == ["c"]
    target = {"x": tt.zeros(2)}
    checkpoint.load(target, checkpoint_id=tmp_path / "c")
    assert target["x"].tolist() == [1.0, 1.0]


KILLED = """
import os, random, signal, sys, time
import tt
from tt.distributed import checkpoint

folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)

def state(step):
    return {"a": tt.full((30_000,), float(step)), "b": tt.full((500, 40), float(step)), "step": step}

checkpoint.save(state(0), checkpoint_id=folder)
newest = 0
for round in range(count):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        for step in range(newest + 1, newest + 1000):
            checkpoint.save(state(step), checkpoint_id=folder)
            os.write(writer, b"%d\\n" % step)
        os._exit(0)
    os.close(writer)
    time.sleep(draw.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reader) as said:
        done = [int(line) for line in said]
    found = state(-1)
    checkpoint.load(found, checkpoint_id=folder)
    step = found["step"]
    assert (found["a"] == step).all() and (found["b"] == step).all(), (round, step)
    assert step >= (done[-1] if done else newest), (round, step, done[-1:], newest)
    newest = step
checkpoint.save(state(1), checkpoint_id=folder)
print(newest, sorted(os.listdir(os.path.dirname(folder))))
"""


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.exhaustive)])
def test_after_a_kill_at_any_moment_the_newest_complete_checkpoint_loads(count, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "folder" / "c"), str(count), "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" ['c']\n")  # nothing is left beside it
