"""Samples of look-ups of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import OUT_OF_RANGE, FamilyTable, Inputs, Sample
from tt.core.types.dtype import float32, int32, int64

family = FamilyTable()


@family("embedding_rows", "embedding")
def embedding(make: Inputs) -> Iterator[Sample]:
    public = make.definition.name == "embedding"

    def sample(indices: Any, weight: Any, name: str, error: Any = None, **how: Any) -> Sample:
        return Sample((indices, weight) if public else (weight, indices), how, name, error)

    for shape in ((), (3,), (2, 3), (0,)):
        yield sample(make.indices(*shape, limit=5), make.tensor(5, 4), name=f"shape {shape}")
    yield sample(make.of([1, 0, 1], int64), make.tensor(5, 4), padding_idx=1, name="padding")
    repeated = make.of([[1, 0], [1, 1]], int64)
    yield sample(repeated, make.tensor(5, 4), scale_grad_by_freq=True, name="scaled by frequency")
    yield sample(make.of([1, 0], int32), make.tensor(5, 4), name="int32")
    yield sample(make.of([1, 0], int64), make.tensor(5, 4, layout="transposed"), name="transposed")
    x = make.tensor(5, 4)
    yield sample(make.of([5], int64), x, name="error: index", error=OUT_OF_RANGE)
    yield sample(make.of([-1], int64), x, name="error: negative index", error=OUT_OF_RANGE)
    yield sample(make.of([1], float32), x, name="error: dtype", error=RuntimeError)
    yield sample(make.of([1], int64), make.tensor(5), name="error: weight", error=RuntimeError)
    if public:
        yield sample(make.of([1], int64), x, padding_idx=5, name="error: padding", error=ValueError)


@family("embedding_dense_backward")
def embedding_dense_backward(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,)):
        indices = make.indices(*shape, limit=5)
        yield Sample((make.tensor(*shape, 4), indices, 5, -1, False), name=f"shape {shape}")
    repeated = make.of([1, 0, 1, 1], int64)
    yield Sample((make.tensor(4, 4), repeated, 5, 1, False), name="padding")
    yield Sample((make.tensor(4, 4), repeated, 5, -1, True), name="scaled by frequency")
    yield Sample((make.tensor(4, 4), repeated, 5, 0, True), name="padding, scaled by frequency")
    yield Sample((make.tensor(2, 4), make.of([1, 0], int32), 5, -1, False), name="int32")
    yield Sample((make.tensor(4, 4, layout="transposed"), repeated, 5, -1, False), name="transposed")
    x = make.tensor(1, 4)
    yield Sample((x, make.of([5], int64), 5, -1, False), name="error: index", error=OUT_OF_RANGE)
    yield Sample((x, make.of([-1], int64), 5, -1, False), name="error: negative index", error=OUT_OF_RANGE)
    yield Sample((x, make.of([1], float32), 5, -1, False), name="error: dtype", error=RuntimeError)
    yield Sample((x, make.of([1, 2], int64), 5, -1, False), name="error: shapes", error=RuntimeError)


@family("embedding_bag")
def embedding_bag(make: Inputs) -> Iterator[Sample]:
    x, indices, offsets = make.tensor(5, 3), make.of([1, 4, 1, 0, 2, 2], int64), make.of([0, 3, 3], int64)
    for mode in ("sum", "mean", "max"):
        how = {"mode": mode}
        yield Sample((make.indices(2, 3, limit=5), x), how, f"{mode}, rows")
        yield Sample((indices, x, offsets), how, f"{mode}, with an empty bag")
        yield Sample((indices, x, make.of([0, 2, 6], int64)), {**how, "include_last_offset": True},
                     f"{mode}, last offset")  # fmt: skip
        yield Sample((indices, x, offsets), {**how, "padding_idx": 2}, f"{mode}, padding")
        yield Sample((make.of([], int64), x, make.of([0, 0], int64)), how, f"{mode}, nothing")
        yield Sample((make.of([1, 0], int32), x, make.of([0], int32)), how, f"{mode}, int32")
    weights = make.tensor(6)
    yield Sample((indices, x, offsets), {"mode": "sum", "per_sample_weights": weights}, "weights")
    matrix = {"mode": "sum", "per_sample_weights": make.tensor(2, 3)}
    yield Sample((make.indices(2, 3, limit=5), x), matrix, "rows, weights")
    yield Sample((indices, x, offsets), {"mode": "mean", "per_sample_weights": weights}, "error: weights",
                 error=NotImplementedError)  # fmt: skip
    yield Sample((indices, x), name="error: offsets", error=ValueError)
    yield Sample((indices, x, make.of([1], int64)), name="error: first offset", error=RuntimeError)
    yield Sample((indices, x, make.of([0, 9], int64)), name="error: last offset", error=RuntimeError)
    yield Sample((make.of([[5]], int64), x), name="error: index", error=RuntimeError)


@family("embedding_bag_rows")
def embedding_bag_rows(make: Inputs) -> Iterator[Sample]:
    x, indices, offsets = make.tensor(5, 3), make.of([1, 4, 1, 0, 2, 2], int64), make.of([0, 3, 3], int64)
    for mode in ("sum", "mean", "max"):
        yield Sample((x, indices, offsets, None, mode), name=f"{mode}, with an empty bag")
        yield Sample((x, indices, make.of([0, 2, 5], int64), None, mode, True), name=f"{mode}, last offset")
        yield Sample((x, indices, offsets, None, mode, False, 2), name=f"{mode}, padding")
        yield Sample((x, make.of([], int64), make.of([0, 0], int64), None, mode), name=f"{mode}, nothing")
        yield Sample((x, indices, make.of([0], int64), None, mode, True), name=f"{mode}, no bag")
        yield Sample((x, make.of([1, 0], int32), make.of([0], int32), None, mode), name=f"{mode}, int32")
        yield Sample(
            (make.tensor(5, 3, layout="transposed"), indices, offsets, None, mode), name=f"{mode}, transposed"
        )
    yield Sample((x, indices, offsets, make.tensor(6), "sum"), name="weights")
    yield Sample(
        (x, indices, make.of([0, 4], int64), make.tensor(6), "sum", True, 1), name="weights, padding"
    )
    yield Sample((x, indices, offsets, None, "sum", False, None, True), name="scaled by frequency")
    yield Sample((x, indices, make.of([1], int64)), name="error: first offset", error=RuntimeError)
    yield Sample((x, indices, make.of([0, 9], int64)), name="error: last offset", error=RuntimeError)
    yield Sample((x, indices, make.of([0, 3, 2], int64)), name="error: falling", error=RuntimeError)
    yield Sample((x, make.of([5], int64), make.of([0], int64)), name="error: index", error=OUT_OF_RANGE)
    yield Sample((x, indices, offsets, None, "median"), name="error: mode", error=ValueError)
