"""Collectives and memory that cannot be written: reading it works, and writing into it is refused on all ranks."""

from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed import memory
from tests.api.distributed.programs import run


@pytest.mark.filterwarnings("ignore:all_(gather|reduce)_coalesced")
@pytest.mark.parametrize("engine", ["threads", "bare"])
def test_what_is_read_may_be_read_only_and_what_is_written_is_refused_on_all_ranks(engine):
    run(lambda: memory.program(dist.get_rank(), dist.get_world_size()), 3, backend=engine)


def test_a_map_of_a_file_is_refused_and_keeps_its_values(tmp_path):
    path = tmp_path / "values"
    np.arange(4.0).tofile(path)

    def program():
        given = tt.from_numpy(np.memmap(path, np.float64, "r"))
        with pytest.raises(tt.errors.ReadOnlyError, match="read-only"):
            dist.all_reduce(given)
        assert given.tolist() == [0, 1, 2, 3]

    run(program, 2)


def test_without_a_guard_and_alone_it_is_refused_where_it_is(monkeypatch):
    monkeypatch.setenv("TT_DISTRIBUTED_GUARD", "0")

    def program():
        for make in (memory.read_only, memory.repeated):
            with pytest.raises(tt.errors.InplaceError, match="all_reduce"):
                dist.all_reduce(make([1.0, 2.0]))
        x = tt.ones(2)
        dist.all_reduce(x)
        return x.tolist()

    assert run(program, 1) == [[1.0, 1.0]]
    assert run(program, 2) == [[2.0, 2.0]] * 2


def test_different_collectives_are_reported_as_such_although_one_is_refused():
    def program():
        x = memory.read_only([1.0, 2.0])
        with pytest.raises(dist.CollectiveMismatchError):
            if dist.get_rank() == 0:
                dist.all_reduce(x)
            else:
                dist.broadcast(x, src=0)

    run(program, 2)
