from __future__ import annotations

from importlib.util import find_spec

import pytest

import tt.distributed as dist
from tests.api.distributed.programs import run


def test_ranks_are_translated_between_the_job_and_a_group():
    def program():
        group = dist.new_group([1, 2])
        if dist.get_rank() == 0:
            return None
        assert [dist.get_global_rank(group, each) for each in (0, 1)] == [1, 2]
        assert dist.get_group_rank(group, 2) == 1 and dist.get_rank(group) == dist.get_rank() - 1
        with pytest.raises(ValueError, match="Global rank 0 is not part"):
            dist.get_group_rank(group, 0)
        with pytest.raises(ValueError, match="Group rank 2 is not part"):
            dist.get_global_rank(group, 2)
        dist.destroy_process_group(group)
        with pytest.raises(ValueError, match="not registered"):
            dist.get_group_rank(group, 1)
        with pytest.raises(ValueError, match="Invalid process group"):
            dist.get_backend(group)

    run(program, 3)


def test_names_of_engines():
    def program():
        assert dist.group.WORLD.name() == dist.get_backend() == "threads"
        assert dist.get_backend_config() == "cpu:threads,cuda:threads"
        assert "rank 0 of 1" in repr(dist.group.WORLD) and dist.group.WORLD.group_desc == "default_pg"
        with pytest.raises(ValueError, match="must be a ProcessGroup"):
            dist.get_rank("cpu")

    run(program, 1)


@pytest.mark.parametrize(
    "call",
    [
        dist.get_rank,
        dist.get_world_size,
        dist.get_backend,
        dist.barrier,
        dist.new_group,
        dist.destroy_process_group,
    ],
)
def test_without_a_group_the_error_names_init_process_group(call):
    with pytest.raises(ValueError, match="please make sure to call init_process_group"):
        call()


def test_the_rank_on_a_machine_comes_from_the_launcher(monkeypatch):
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with pytest.raises(RuntimeError, match="LOCAL_RANK is not in the environment"):
        dist.get_node_local_rank()
    assert dist.get_node_local_rank(3) == 3
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert dist.get_node_local_rank(3) == 2
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    assert not dist.is_torchelastic_launched()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "job")
    assert dist.is_torchelastic_launched()


def test_availability_is_that_of_what_is_installed():
    assert dist.is_available() and dist.is_backend_available("threads")
    assert dist.is_gloo_available() and dist.is_mpi_available() == (find_spec("mpi4py") is not None)
    assert isinstance(dist.is_nccl_available(), bool) and not dist.is_backend_available("no such engine")
