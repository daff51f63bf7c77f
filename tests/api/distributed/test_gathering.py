from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import DTYPES, ENGINES, LAYOUTS, array, like, run, values

SIZES = (1, 2, 3, 5)

MOVED = (*DTYPES, tt.float8_e4m3fn)


def numbers(tensor):
    return array(tensor.float() if tensor.dtype is tt.float8_e4m3fn else tensor)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", MOVED, ids=str)
def test_tensors_of_all_ranks_are_gathered_and_scattered_in_order(engine, size, dtype):
    def program():
        rank = dist.get_rank()
        for layout in LAYOUTS:
            own = values(dtype, layout, rank)
            expected = [numbers(values(dtype, layout, each)) for each in range(size)]

            found = [like(own, layout) for _ in range(size)]
            dist.all_gather(found, own)
            for each, wanted in zip(found, expected, strict=True):
                np.testing.assert_array_equal(numbers(each), wanted)

            flat = tt.ones(size * own.numel()).to(dtype)
            dist.all_gather_single(flat, own)
            np.testing.assert_array_equal(numbers(flat), np.concatenate([each.ravel() for each in expected]))

            root = size // 2
            found = [like(own, layout) for _ in range(size)] if rank == root else None
            dist.gather(own, found, dst=root)
            for each, wanted in zip(found or [], expected, strict=rank == root):
                np.testing.assert_array_equal(numbers(each), wanted)

            target = like(own, layout)
            parts = [values(dtype, layout, each + 10) for each in range(size)] if rank == root else None
            dist.scatter(target, parts, src=root)
            np.testing.assert_array_equal(numbers(target), numbers(values(dtype, layout, rank + 10)))

    run(program, size, backend=engine)


def test_outputs_of_another_shape_and_strided_wholes_are_filled(engine):
    def program():
        rank = dist.get_rank()
        stacked = tt.zeros(2, 3)
        dist.all_gather_single(stacked, tt.full((3,), float(rank)))
        columns = tt.zeros(2, 4).t()
        dist.all_gather_single(columns, tt.full((2, 2), rank + 1.0))
        return stacked.tolist(), columns.tolist()

    assert (
        run(program, 2, backend=engine) == [([[0.0] * 3, [1.0] * 3], [[1.0, 1.0]] * 2 + [[2.0, 2.0]] * 2)] * 2
    )


@pytest.mark.filterwarnings("ignore:all_gather_coalesced")
def test_several_tensors_are_gathered_at_once(engine):
    def program():
        rank = dist.get_rank()
        own = [tt.full((2,), float(rank)), tt.full((1,), 10.0 + rank)]
        found = [[tt.zeros(2), tt.zeros(1)] for _ in range(2)]
        work = dist.all_gather_coalesced(found, own, async_op=True)
        work.wait()
        return [[each.tolist() for each in row] for row in found]

    assert run(program, 2, backend=engine) == [[[[0.0, 0.0], [10.0]], [[1.0, 1.0], [11.0]]]] * 2


def test_ranks_of_a_group_are_counted_in_the_job_or_in_the_group(engine):
    def program():
        rank = dist.get_rank()
        group = dist.new_group([2, 0], sort_ranks=False)
        if rank == 1:
            return None
        x = tt.full((1,), float(rank))
        dist.broadcast(x, src=2, group=group)
        y = tt.full((1,), float(rank))
        dist.broadcast(y, group=group, group_src=1)
        found = [tt.zeros(1), tt.zeros(1)]
        dist.all_gather(found, tt.full((1,), float(rank)), group=group)
        return x.item(), y.item(), [each.item() for each in found]

    assert run(program, 3, backend=engine) == [(2.0, 0.0, [2.0, 0.0]), None, (2.0, 0.0, [2.0, 0.0])]


def test_ranks_outside_of_a_group_are_warned(engine):
    def program():
        group = dist.new_group([0])
        x = tt.ones(1)
        if dist.get_rank() == 1:
            with pytest.warns(UserWarning, match="Running all_reduce on global rank 1 which does not belong"):
                assert dist.all_reduce(x, group=group, async_op=True) is None
            with pytest.warns(UserWarning, match="recv"):
                assert dist.recv(x, src=0, group=group) == -1
        return True

    import warnings

    with warnings.catch_warnings():  # a setting of the process: no other rank may change it meanwhile
        assert run(program, 2, backend=engine) == [True, True]


ONE = [tt.ones(2)]


@pytest.mark.filterwarnings("ignore:all_gather_coalesced")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dist.all_gather([], tt.ones(2)), RuntimeError, "one tensor for each of the 2 ranks, got 0"),
        (
            lambda: dist.all_gather([tt.ones(2), tt.ones(3)], tt.ones(2)),
            RuntimeError,
            "number 1 has 3 elements",
        ),
        (lambda: dist.all_gather([tt.ones(2).int()] * 2, tt.ones(2)), ValueError, "different dtypes"),
        (lambda: dist.all_gather(tt.ones(2, 2), tt.ones(2)), TypeError, "List"),
        (lambda: dist.all_gather([1, 2], tt.ones(2)), TypeError, "elements of type"),
        (
            lambda: dist.all_gather_single(tt.ones(5), tt.ones(2)),
            RuntimeError,
            "5 elements, not 2 times 2",
        ),
        (lambda: dist.all_gather_single(tt.ones(4).int(), tt.ones(2)), ValueError, "different dtypes"),
        (lambda: dist.gather(tt.ones(2), None, dst=dist.get_rank()), ValueError, "must be specified on dest"),
        (
            lambda: dist.gather(tt.ones(2), ONE * 2, dst=1 - dist.get_rank()),
            ValueError,
            "must NOT be specified",
        ),
        (
            lambda: dist.scatter(tt.ones(2), None, src=dist.get_rank()),
            ValueError,
            "must be specified on source",
        ),
        (
            lambda: dist.scatter(tt.ones(2), ONE * 2, src=1 - dist.get_rank()),
            ValueError,
            "must NOT be specified",
        ),
        (lambda: dist.scatter(tt.ones(2), [tt.ones(3)] * 2, src=dist.get_rank()), RuntimeError, "3 elements"),
        (lambda: dist.all_gather_coalesced([ONE], ONE), RuntimeError, "a list for each of the 2 ranks"),
        (lambda: dist.all_gather_coalesced([[tt.ones(1)]] * 2, ONE), RuntimeError, "sizes"),
        (lambda: dist.all_gather_coalesced(ONE[0], ONE), TypeError, "list"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()
        dist.barrier()

    run(program, 2)
