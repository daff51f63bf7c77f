from __future__ import annotations

import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import ENGINES, run


def thing(rank):
    return {"rank": rank, "long": "x" * (1000 * rank), "tensor": tt.full((rank,), float(rank))}


def check(found, rank):
    assert (found["rank"], len(found["long"])) == (rank, 1000 * rank)
    assert found["tensor"].tolist() == [float(rank)] * rank


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 2, 4])
def test_objects_of_different_lengths_and_their_tensors_travel(engine, size):
    def program():
        rank, root = dist.get_rank(), size - 1
        found = [None] * size
        dist.all_gather_object(found, thing(rank))
        for each in range(size):
            check(found[each], each)

        gathered = [None] * size if rank == root else None
        dist.gather_object(thing(rank), gathered, dst=root)
        for each in range(size if rank == root else 0):
            check(gathered[each], each)

        copied = [thing(3), "text"] if rank == root else [None, None]
        dist.broadcast_object_list(copied, src=root)
        check(copied[0], 3)
        assert copied[1] == "text"

        part = [None, "stays"]
        dist.scatter_object_list(
            part, [thing(each) for each in range(size)] if rank == root else None, src=root
        )
        check(part[0], rank)
        assert part[1] == "stays"

    run(program, size, backend=engine)


def test_objects_are_sent_and_received(engine):
    def program():
        if dist.get_rank() == 0:
            dist.send_object_list([thing(2), None], dst=1)
            return dist.send_object_list([1], dst=1)
        found = [0, 0]
        assert dist.recv_object_list(found) == 0
        check(found[0], 2)
        assert found[1] is None
        with pytest.raises(RuntimeError, match="sent 1 objects, and the list has 2"):
            dist.recv_object_list(found, src=0)

    run(program, 2, backend=engine)


def test_lists_of_different_lengths_are_a_mismatch(engine):
    def program():
        with pytest.raises(dist.CollectiveMismatchError, match="of 1 objects"):
            dist.broadcast_object_list([None] * (1 + dist.get_rank()), src=0)

    run(program, 2, backend=engine)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dist.all_gather_object([None], 1), RuntimeError, "must have 2 elements"),
        (lambda: dist.all_gather_object((None, None), 1), TypeError, "object_list"),
        (lambda: dist.all_gather_object([None, None], lambda: 1), Exception, "pickle"),
        (lambda: dist.gather_object(1, None, dst=dist.get_rank()), ValueError, "must be specified"),
        (lambda: dist.gather_object(1, [0], dst=1 - dist.get_rank()), ValueError, "must NOT be specified"),
        (lambda: dist.broadcast_object_list(3), TypeError, "object_list"),
        (lambda: dist.scatter_object_list([], [1, 2]), ValueError, "at least 1"),
        (lambda: dist.scatter_object_list([0], [1], src=dist.get_rank()), ValueError, "must have 2 objects"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()
        dist.barrier()

    run(program, 2)
