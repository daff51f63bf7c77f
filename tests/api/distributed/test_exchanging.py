from __future__ import annotations

import numpy as np
import pytest

import tt
import tt.distributed as dist
from tests.api.distributed.programs import DTYPES, ENGINES, LAYOUTS, array, like, run, same, values
from tt.distributed import ReduceOp

SIZES = (1, 2, 3, 5)


def combined(dtype, layout, ranks, part, operation):
    arrays = [array(values(dtype, layout, 7 * rank + part)) for rank in ranks]
    if dtype is tt.bool:
        operation = np.logical_or if operation is np.add else np.logical_and
    found = arrays[0]
    for each in arrays[1:]:
        found = operation(found, each)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reduce_scatter_gives_each_rank_its_part_of_the_combined_tensors(engine, size, dtype):
    def program():
        rank = dist.get_rank()
        for layout in LAYOUTS:
            operations = [(ReduceOp.SUM, np.add)]
            if not dtype.is_complex:
                operations.append((ReduceOp.MIN, np.minimum))
            for op, reference in operations:
                inputs = [values(dtype, layout, 7 * rank + part) for part in range(size)]
                before = [array(each) for each in inputs]
                expected = combined(dtype, layout, range(size), rank, reference)
                x = like(inputs[0], layout)
                dist.reduce_scatter(x, inputs, op=op)
                same(x, expected)
                y = like(inputs[0], layout)
                whole = tt.stack(inputs)
                dist.reduce_scatter_single(y, whole, op=op)
                same(y, expected)
                same(whole, np.stack(before))

    run(program, size, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_reduce_scatter_averages(engine):
    def program():
        x = tt.zeros(1, dtype=tt.bfloat16)
        dist.reduce_scatter_single(x, tt.tensor([1.0, 3.0], dtype=tt.bfloat16), op=ReduceOp.AVG)
        z = tt.zeros(1, dtype=tt.complex64)
        dist.reduce_scatter_single(z, tt.tensor([1j, 2.0], dtype=tt.complex64), op=ReduceOp.AVG)
        return x.item(), z.item()

    assert run(program, 2, backend=engine) == [(1.0, 1j), (3.0, 2.0)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [*DTYPES, tt.float8_e5m2], ids=str)
def test_all_to_all_transposes_lists_between_ranks(engine, size, dtype):
    def program():
        rank = dist.get_rank()
        for layout in LAYOUTS:
            inputs = [values(dtype, layout, 7 * rank + to) for to in range(size)]
            outputs = [like(inputs[0], layout) for _ in range(size)]
            dist.all_to_all(outputs, inputs)
            for source, found in enumerate(outputs):
                expected = values(dtype, layout, 7 * source + rank)
                assert found.tolist() == expected.tolist()

    run(program, size, backend=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", SIZES)
def test_parts_of_different_sizes_are_exchanged(engine, size):
    def program():
        rank = dist.get_rank()
        sent = [(rank + to) % 3 for to in range(size)]
        received = [(source + rank) % 3 for source in range(size)]
        whole = tt.arange(sum(sent) * 2, dtype=tt.int32).reshape(-1, 2) + 1000 * rank
        found = tt.zeros(sum(received), 2, dtype=tt.int32)
        dist.all_to_all_single(found, whole, received, sent)
        lists = [tt.zeros(each, 2, dtype=tt.int32) for each in received]
        dist.all_to_all(lists, list(whole.split(sent)))
        assert tt.equal(tt.cat(lists), found)
        return found.tolist()

    wholes, starts = [], []
    for rank in range(size):
        sent = [(rank + to) % 3 for to in range(size)]
        wholes.append(np.arange(sum(sent) * 2).reshape(-1, 2) + 1000 * rank)
        starts.append(np.cumsum([0, *sent]))
    expected = [
        np.concatenate([wholes[s][starts[s][r] : starts[s][r + 1]] for s in range(size)]).tolist()
        for r in range(size)
    ]
    assert run(program, size, backend=engine) == expected


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: dist.reduce_scatter(tt.ones(2), []), RuntimeError, "one tensor for each of the 2 ranks"),
        (lambda: dist.reduce_scatter(tt.ones(2), [tt.ones(3)] * 2), RuntimeError, "3 elements"),
        (
            lambda: dist.reduce_scatter_single(tt.ones(2), tt.ones(5)),
            RuntimeError,
            "5 elements, not 2 times 2",
        ),
        (lambda: dist.reduce_scatter_single(tt.ones(2), tt.ones(4).int()), ValueError, "different dtypes"),
        (lambda: dist.reduce_scatter_single(tt.ones(2), tt.ones(4), op=ReduceOp.BOR), RuntimeError, "BOR"),
        (lambda: dist.all_to_all([], [tt.ones(1)]), RuntimeError, "output_tensor_list"),
        (lambda: dist.all_to_all_single(tt.ones(3), tt.ones(2)), RuntimeError, "does not divide equally"),
        (
            lambda: dist.all_to_all_single(tt.ones(2), tt.ones(2), [1, 1], [2]),
            RuntimeError,
            "Number of tensor splits",
        ),
        (lambda: dist.all_to_all_single(tt.ones(2), tt.ones(2), [1, 2], [1, 1]), RuntimeError, "Split sizes"),
        (
            lambda: dist.all_to_all_single(tt.ones(2), tt.ones(2), [3, -1], [1, 1]),
            RuntimeError,
            "Split sizes",
        ),
        (lambda: dist.all_to_all_single(tt.ones(2), tt.ones(2).int()), ValueError, "different dtypes"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(call, error, text):
    def program():
        with pytest.raises(error, match=text):
            call()
        dist.barrier()

    run(program, 2)
