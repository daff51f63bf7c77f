from __future__ import annotations

import random

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import ENGINES, run

STEPS = 60


def program(seed):
    """Run random operations in random groups, in the foreground and in the background, and compare all results."""
    rank, size = dist.get_rank(), dist.get_world_size()
    shared = random.Random(seed)  # draws the same on all ranks
    groups = [dist.group.WORLD]
    groups += [dist.new_group(shared.sample(range(size), shared.randint(1, size))) for _ in range(3)]
    started = []

    def finish():
        for work, found, expected in started:
            work.wait()
            assert found is None or found.tolist() == expected
        started.clear()

    for step in range(STEPS):
        kind = shared.choice(
            ["all_reduce", "all_gather", "broadcast", "message", "all_to_all", "objects", "barrier", "wait"]
        )
        group, length = shared.choice(groups), shared.randint(0, 50)
        in_background = shared.random() < 0.6
        sender, receiver = shared.sample(range(size), 2)
        if kind == "wait":
            finish()
        elif kind == "message":
            if rank == sender:
                started.append((dist.isend(tt.full((length,), float(step)), receiver, tag=step), None, None))
            elif rank == receiver:
                found = tt.zeros(length)
                started.append((dist.irecv(found, sender, tag=step), found, [float(step)] * length))
        elif isinstance(group, dist.ProcessGroup):
            ranks = dist.get_process_group_ranks(group)
            own = tt.full((length,), float(rank))
            if kind == "objects":
                objects = [None] * len(ranks)
                dist.all_gather_object(objects, (rank, "x" * length), group)
                assert objects == [(each, "x" * length) for each in ranks]
                continue
            if kind == "barrier":
                found, expected = None, None
                work = dist.barrier(group, in_background)
            elif kind == "all_reduce":
                found, expected = own, [float(sum(ranks))] * length
                work = dist.all_reduce(found, group=group, async_op=in_background)
            elif kind == "broadcast":
                root = ranks[step % len(ranks)]
                found, expected = own, [float(root)] * length
                work = dist.broadcast(found, root, group, in_background)
            elif kind == "all_gather":
                found, expected = tt.zeros(len(ranks), length), [[float(each)] * length for each in ranks]
                work = dist.all_gather_single(found, own, group, in_background)
            else:
                found, expected = tt.zeros(len(ranks)), [float(each) for each in ranks]
                work = dist.all_to_all_single(
                    found, tt.full_like(found, rank), group=group, async_op=in_background
                )
            if work is not None:
                started.append((work, found, expected))
            else:
                assert found is None or found.tolist() == expected
    finish()
    dist.barrier()
    return True


@pytest.mark.sampled(4)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(8))
def test_random_programs_give_what_they_should(engine, size, seed):
    assert all(run(program, size, seed, backend=engine))
