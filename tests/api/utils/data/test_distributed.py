"""The sampler of one of several processes."""

from __future__ import annotations

import pytest

from tt.distributed.engines.threads import run_threads
from tt.utils.data import DistributedSampler


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(("length", "replicas"), [(10, 2), (10, 3), (2, 5), (1, 4), (0, 2)])
def test_together_the_processes_read_everything(length, replicas, shuffle):
    parts = [list(DistributedSampler(range(length), replicas, rank, shuffle)) for rank in range(replicas)]
    assert len({len(part) for part in parts}) == 1
    assert {x for part in parts for x in part} == set(range(length))


@pytest.mark.parametrize(("length", "replicas", "each"), [(10, 2, 5), (10, 3, 3), (2, 5, 0)])
def test_what_does_not_divide_can_be_left_out(length, replicas, each):
    samplers = [DistributedSampler(range(length), replicas, r, drop_last=True) for r in range(replicas)]
    read = [x for sampler in samplers for x in sampler]
    assert len(read) == len(set(read)) == each * replicas
    assert [len(sampler) for sampler in samplers] == [each] * replicas


def test_the_epoch_and_the_seed_choose_the_order():
    sampler = DistributedSampler(range(50), 2, 0, seed=1)
    first = list(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    assert list(sampler) == list(DistributedSampler(range(50), 2, 0, seed=2))


def test_a_rank_has_to_be_one_of_the_processes():
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler([1], 2, 2)


def test_without_a_group_the_numbers_are_needed():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler([1], rank=0)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler([1], num_replicas=1)


def test_in_a_group_the_numbers_are_its():
    def own():
        sampler = DistributedSampler(range(5), shuffle=False)
        return sampler.num_replicas, sampler.rank, list(sampler)

    assert run_threads(own, 2) == [(2, 0, [0, 2, 4]), (2, 1, [1, 3, 0])]


@pytest.mark.torch
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("length", "replicas"), [(10, 3), (7, 4), (2, 5), (9, 3)])
def test_in_order_the_parts_are_those_of_torch(length, replicas, drop_last):
    data = pytest.importorskip("torch.utils.data")
    for rank in range(replicas):
        arguments = {"num_replicas": replicas, "rank": rank, "shuffle": False, "drop_last": drop_last}
        ours, theirs = (
            cls(range(length), **arguments) for cls in (DistributedSampler, data.DistributedSampler)
        )
        assert (list(ours), len(ours)) == (list(theirs), len(theirs))
