from __future__ import annotations

from functools import reduce as fold

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import DTYPES, ENGINES, LAYOUTS, array, run, same, values
from tt.distributed import ReduceOp

SIZES = (1, 2, 3, 5)

COMBINE = {
    ReduceOp.SUM: np.add,
    ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum,
    ReduceOp.MAX: np.maximum,
    ReduceOp.BAND: np.bitwise_and,
    ReduceOp.BOR: np.bitwise_or,
    ReduceOp.BXOR: np.bitwise_xor,
}


def reductions_of(dtype):
    if dtype.is_complex:
        return [ReduceOp.SUM]
    bitwise = [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]
    return [op for op in COMBINE if op not in bitwise or not dtype.is_floating_point]


def expected_of(op, dtype, layout, ranks):
    arrays = [array(values(dtype, layout, rank)) for rank in ranks]
    if dtype is tt.bool and op in (ReduceOp.SUM, ReduceOp.PRODUCT):
        op = ReduceOp.BOR if op is ReduceOp.SUM else ReduceOp.BAND
    return fold(COMBINE[op], arrays)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_reduce_and_reduce_combine_the_tensors_of_all_ranks(engine, size, dtype):
    def program():
        rank = dist.get_rank()
        for layout in LAYOUTS:
            for op in reductions_of(dtype):
                expected = expected_of(op, dtype, layout, range(size))
                x = values(dtype, layout, rank)
                strides = x.stride()
                assert dist.all_reduce(x, op=op) is None
                same(x, expected)
                assert x.stride() == strides

                root = size - 1
                y = values(dtype, layout, rank)
                dist.reduce(y, dst=root, op=op)
                same(y, expected if rank == root else array(values(dtype, layout, rank)))

    run(program, size, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [tt.float32, tt.float64, tt.float16, tt.bfloat16, tt.complex64], ids=str)
def test_averages_and_factors_apply_before_the_result_is_rounded(engine, dtype):
    def program():
        rank = dist.get_rank()
        for layout in LAYOUTS:
            arrays = [array(values(dtype, layout, each)) for each in range(3)]
            for op, expected in (
                (ReduceOp.AVG, sum(arrays) / 3),
                (ReduceOp.PREMUL_SUM(0.5), sum(arrays) * 0.5),
            ):
                x = values(dtype, layout, rank)
                dist.all_reduce(x, op=op)
                tolerance = 1e-6 if dtype not in (tt.float16, tt.bfloat16) else 4e-3
                np.testing.assert_allclose(array(x), expected.astype(array(x).dtype), rtol=tolerance)
        x = values(dtype, "contiguous", rank)
        dist.all_reduce(x, op=ReduceOp.PREMUL_SUM(tt.tensor(2.0)))
        same(x, sum(array(values(dtype, "contiguous", each)) for each in range(3)) * 2)

    run(program, 3, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("dtype", "step"), [(tt.bfloat16, 2.0**-9), (tt.float16, 2.0**-12)])
def test_half_precision_is_summed_in_float32_and_rounded_once(engine, dtype, step):
    def program():
        x = tt.tensor([1.0 if dist.get_rank() == 0 else step], dtype=dtype)
        dist.all_reduce(x)
        return x.item()

    # Each step alone would be lost when added to 1 in half precision; four of them are not.
    assert run(program, 5, backend=engine) == [1.0 + 4 * step] * 5


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*DTYPES, tt.float8_e4m3fn, tt.float8_e5m2], ids=str)
def test_broadcast_copies_every_dtype_and_layout(engine, size, dtype):
    def program():
        for layout in LAYOUTS:
            for root in range(size):
                x = values(dtype, layout, dist.get_rank())
                dist.broadcast(x, src=root)
                expected = values(dtype, layout, root)
                assert tt.equal(
                    x.float() if not dtype.is_complex else x,
                    expected.float() if not dtype.is_complex else expected,
                )

    run(program, size, backend=engine)


def test_asynchronous_operations_end_in_the_order_of_their_group(engine):
    def program():
        tensors = [tt.full((2,), float(dist.get_rank() + i)) for i in range(8)]
        works = [dist.all_reduce(x, async_op=True) for x in tensors]
        ended = []
        for i, work in enumerate(works):
            work.when_done(lambda _, i=i: ended.append(i))
        assert works[-1].wait() and all(work.is_success() for work in works)
        assert ended == list(range(8))
        assert works[0].result()[0] is tensors[0]
        return [x.tolist() for x in tensors]

    assert run(program, 3, backend=engine)[1] == [[3.0 + 3 * i] * 2 for i in range(8)]


def test_an_asynchronous_operation_needs_no_call_to_go_on(engine):
    from time import monotonic, sleep

    def program():
        x = tt.ones(3)
        work = dist.all_reduce(x, async_op=True)
        until = monotonic() + 10
        while not work.is_completed() and monotonic() < until:
            sleep(0.01)
        return work.is_success(), work.get_future().wait()[0].tolist()

    assert run(program, 2, backend=engine) == [(True, [2.0] * 3)] * 2


def test_parameters_are_changed_in_place_and_their_versions_grow(engine):
    def program():
        x = tt.nn.Parameter(tt.ones(2))
        before = x._version
        dist.all_reduce(x)
        return x.tolist(), x._version > before, x.requires_grad

    assert run(program, 2, backend=engine) == [([2.0, 2.0], True, True)] * 2


def test_a_barrier_ends_when_the_last_rank_has_come(engine):
    from time import monotonic, sleep

    def program():
        dist.barrier()
        if dist.get_rank() == 1:
            sleep(0.3)
        came = monotonic()
        dist.barrier()
        dist.monitored_barrier()
        return came, monotonic()

    times = run(program, 3, backend=engine)
    assert min(end for _, end in times) >= max(came for came, _ in times)


@pytest.mark.filterwarnings("ignore:all_reduce_coalesced")
def test_several_tensors_are_combined_in_one_call_or_in_one_block(engine):
    def program():
        rank = dist.get_rank()
        pair = [tt.full((2,), rank + 1.0), tt.full((1, 3), rank + 2.0)]
        dist.all_reduce_coalesced(pair, op=ReduceOp.MAX)
        x, y = tt.ones(2), tt.ones(1, dtype=tt.int64)
        with dist._coalescing_manager():
            assert dist.all_reduce(x) is None
            dist.broadcast(y, src=0)
        with dist._coalescing_manager(async_ops=True) as manager:
            dist.all_reduce(y)
        manager.wait()
        return [p.max().item() for p in pair], x.tolist(), y.item()

    assert run(program, 2, backend=engine) == [([2.0, 3.0], [2.0, 2.0], 2)] * 2


@pytest.mark.filterwarnings("ignore:all_reduce_coalesced")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dist.all_reduce(3), TypeError, "Expected parameter `tensor`"),
        (lambda: dist.all_reduce(tt.ones(2), op="sum"), TypeError, "ReduceOp"),
        (lambda: dist.all_reduce(tt.ones(2), op=ReduceOp.BAND), RuntimeError, "BAND"),
        (lambda: dist.all_reduce(tt.ones(2, dtype=tt.int64), op=ReduceOp.AVG), RuntimeError, "AVG"),
        (lambda: dist.all_reduce(tt.ones(2, dtype=tt.complex64), op=ReduceOp.MAX), ValueError, "complex"),
        (lambda: dist.all_reduce(tt.ones(2).to(tt.float8_e4m3fn)), RuntimeError, "float8_e4m3fn"),
        (lambda: dist.all_reduce(tt.ones(2), op=ReduceOp(ReduceOp.PREMUL_SUM)), ValueError, "factor"),
        (lambda: dist.all_reduce(tt.eye(2).to_sparse_csr()), NotImplementedError, "dense or sparse COO"),
        (lambda: dist.broadcast(tt.eye(2).to_sparse(), 0), NotImplementedError, "dense"),
        (lambda: dist.all_reduce(tt.ones(2), group=3), ValueError, "ProcessGroup"),
        (lambda: dist.all_reduce(tt.ones(2, device="meta")), RuntimeError, "meta"),
        (lambda: dist.broadcast(tt.ones(2)), ValueError, "Must specify"),
        (lambda: dist.broadcast(tt.ones(2), 0, group_src=0), ValueError, "Can't specify both"),
        (lambda: dist.broadcast(tt.ones(2), 7), ValueError, "Global rank 7"),
        (lambda: dist.reduce(tt.ones(2), group_dst=7), ValueError, "Group rank 7"),
        (lambda: dist.all_reduce_coalesced([tt.ones(2), tt.ones(2).int()]), ValueError, "different dtypes"),
        (lambda: dist.all_reduce_coalesced(tt.ones(2)), TypeError, "List"),
        (lambda: dist.barrier(device_ids=3), TypeError, "device_ids"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()
        x = tt.ones(1)
        dist.all_reduce(x)  # the group is as before
        return x.item()

    assert run(program, 2) == [2.0, 2.0]


def test_without_a_group_the_error_names_init_process_group():
    with pytest.raises(ValueError, match="init_process_group"):
        dist.all_reduce(tt.ones(1))
