"""Samples of what accumulates along a dimension, of differences, integrals and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.operators._samples.base import LAYOUTS, FamilyTable, Inputs, Sample
from tt.operators.reduction.samples import DIMS, with_dtype

family = FamilyTable()

# --- scans -----------------------------------------------------------------------------------------------------


@family("scan")
def scan(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (*DIMS, ((7, 2), 0), ((0,), 0)):
        yield Sample((make.tensor(*shape, low=-3, high=3), dim), name=f"shape {shape}, dim {dim}")
    # The gradient of a product must not divide by the zeros.
    yield Sample((make.of([[1, 0, 2], [2, 3, 0], [0, 0, 1]]), 1), name="zeros")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=f"{layout}, dim 1")
    yield from with_dtype(make, (0,))
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)
    if make.dtype.is_floating_point and make.definition.name == "logcumsumexp":
        infinite = float("inf")
        # Exponentials that underflow, overflow, or are the difference of infinities.
        values = [-infinite, -infinite, 1.0, 60.0, -60.0, infinite, infinite, float("nan")]
        yield Sample((make.of(values), 0), name="infinities and nan")


@family("scan_extreme")
def scan_extreme(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (*DIMS, ((9, 2), 0), ((0,), 0)):
        yield Sample((make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield Sample((make.of([1, 0, 1, 0, 1]), 0), name="ties: the last")
    if make.dtype.is_floating_point:
        nan, infinite = float("nan"), float("inf")
        yield Sample((make.of([1.0, nan, 3.0, nan, 2.0]), 0), name="nan: the last")
        yield Sample((make.of([-infinite, 1.0, infinite, 2.0]), 0), name="infinities")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


# --- differences -----------------------------------------------------------------------------------------------


@family("diff")
def diff(make: Inputs) -> Iterator[Sample]:
    for shape in ((4,), (3, 5), (2, 4, 3), (1,), (0, 3)):
        # More differences than elements leave nothing.
        for n in (0, 1, 2, 4):
            yield Sample((make.tensor(*shape), n), name=f"shape {shape}, n {n}")
    for dim in (0, 1, -2):
        yield Sample((make.tensor(3, 4), 1, dim), name=f"dim {dim}")
        end = make.tensor(*((2, 4) if dim in (0, -2) else (3, 2)))
        yield Sample((make.tensor(3, 4), 1, dim, end, end), name=f"dim {dim}, with ends")
        yield Sample((make.tensor(3, 4), 2, dim, None, end), name=f"dim {dim}, with one end, twice")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout),), name=layout)
    yield Sample((make.tensor(),), name="error: no dimension", error=RuntimeError)
    yield Sample((make.tensor(3), -1), name="error: n", error=RuntimeError)
    yield Sample((make.tensor(3), 1, 1), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 2), 1, 1, make.tensor(3, 1)), name="error: prepend", error=RuntimeError)
    yield Sample((make.tensor(2, 2), 1, 1, make.tensor(2)), name="error: dimensions", error=RuntimeError)


# --- integrals -------------------------------------------------------------------------------------------------


@family("trapezoid")
def trapezoid(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((4,), -1), ((3, 4), 0), ((3, 4), -1), ((2, 3, 4), 1), ((1,), 0)):
        yield Sample((make.tensor(*shape),), {"dim": dim}, f"shape {shape}, dim {dim}")
    yield Sample((make.tensor(3, 4),), {"dx": 1.5}, "dx")
    yield Sample((make.tensor(3, 4),), {"dx": 1j}, "error: dx", RuntimeError)
    yield Sample((make.tensor(),), name="error: no dimension", error=IndexError)
    yield Sample((make.tensor(3),), {"dim": 1}, "error: dim", IndexError)


@family("trapezoid_x")
def trapezoid_x(make: Inputs) -> Iterator[Sample]:
    for shape, size, dim in (
        ((4,), (4,), -1), ((3, 4), (4,), -1), ((3, 4), (3,), 0), ((3, 4), (3, 4), 0), ((2, 3, 4), (3, 4), -1),
        ((2, 3, 4), (3,), 1),
    ):  # fmt: skip
        args = (make.tensor(*shape), make.tensor(*size))
        yield Sample(args, {"dim": dim}, f"shape {shape} at {size}, dim {dim}")
    yield Sample((make.tensor(3, 4), make.tensor(3)), name="error: places", error=RuntimeError)


# --- derivatives -----------------------------------------------------------------------------------------------


@family("gradient", "gradient_scalars", "gradient_tensors")
def gradient(make: Inputs) -> Iterator[Sample]:
    kind = make.definition.name.partition(".")[2]
    unsigned = make.dtype.name == "uint8"

    def spacing(shape: tuple[int, ...], dim: Any) -> Any:
        dims = range(len(shape)) if dim is None else [dim] if isinstance(dim, int) else dim
        if kind == "scalars":
            return [1.0 + 0.5 * i for i, _ in enumerate(dims)]
        if kind == "tensors":
            # Places at different distances.
            return [make.of([3 * i + (i % 2) for i in range(shape[d])]) for d in dims]
        return 2.0

    for shape, dim in (
        ((5,), None),
        ((3, 4), None),
        ((3, 4), 0),
        ((3, 4), -1),
        ((3, 4, 5), [0, 2]),
        ((3, 4), [1, 0]),
    ):
        for edge_order in (1, 2):
            how = {"spacing": spacing(shape, dim), "dim": dim, "edge_order": edge_order}
            name = f"shape {shape}, dim {dim}, edge_order {edge_order}"
            # Differences of unsigned numbers wrap around, and PyTorch refuses them.
            if unsigned:
                yield Sample((make.tensor(*shape),), how, f"error: {name}", RuntimeError)
            else:
                yield Sample((make.tensor(*shape),), how, name)
    more = {"spacing": spacing((4,), 0)}
    if not kind and not unsigned:
        yield Sample((make.tensor(3, 4),), name="no spacing")
        yield Sample((make.tensor(),), name="no dimension")
    yield Sample((make.tensor(4),), {**more, "edge_order": 3}, "error: edge_order", RuntimeError)
    yield Sample(
        (make.tensor(2),), {"spacing": spacing((2,), 0), "edge_order": 2}, "error: size", RuntimeError
    )
    if kind:
        yield Sample((make.tensor(3, 4),), more, "error: spacing", RuntimeError)
