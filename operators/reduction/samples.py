"""Samples of reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tt.core.types.dtype import complex128, float64
from tt.operators._samples.base import LAYOUTS, SHAPES, FamilyTable, Inputs, Layout, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()

DIMS: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((), 0), ((3,), 0), ((3,), -1), ((2, 3), 0), ((2, 3), 1), ((2, 3), -2), ((2, 3, 4), 1), ((2, 3, 1, 2), 2),
    ((2, 0, 3), 0), ((2, 0, 3), 2),
)  # fmt: skip
LISTS: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((2, 3), [0, 1]), ((2, 3), [-1]), ((2, 3, 4), [0, 2]), ((2, 3, 4), [2, 0]), ((2, 3), []), ((), []),
    ((2, 3, 1, 2), [1, 2, 3]),
)  # fmt: skip
NO_IDENTITY = ("max", "min", "amax", "amin", "argmax", "argmin")


def argument_type(make: Inputs, name: str) -> Any:
    """Return the schema's type of an argument, or None."""
    return next((a.type for a in make.definition.signature.arguments if a.name == name), None)


def values(make: Inputs, *shape: int, layout: Layout = "contiguous") -> Tensor:
    """Return a tensor of values whose products stay small."""
    product = make.definition.name.startswith("prod")
    return make.tensor(*shape, low=0 if product else -5, high=2 if product else 5, layout=layout)


@family("reduction")
def reduction(make: Inputs) -> Iterator[Sample]:
    empty_fails = make.definition.name.split(".")[0] in NO_IDENTITY
    for shape in SHAPES:
        fails = empty_fails and 0 in shape
        name = f"error: shape {shape}" if fails else f"shape {shape}"
        yield Sample((values(make, *shape),), name=name, error=RuntimeError if fails else None)
    for layout in LAYOUTS:
        yield Sample((values(make, 2, 3, layout=layout),), name=layout)
    yield from with_dtype(make, ())
    if make.dtype.is_floating_point:
        yield Sample((make.of([1.0, float("nan"), 2.0]),), name="nan")
        yield Sample((make.of([1.0, float("inf"), 2.0]),), name="infinity")


def with_dtype(make: Inputs, args: tuple[Any, ...]) -> Iterator[Sample]:
    # Complex numbers would lose their imaginary part.
    if argument_type(make, "dtype") is not None and not make.dtype.is_complex:
        yield Sample((values(make, 2, 3), *args), {"dtype": float64}, "dtype=float64")


@family("reduction_dim")
def reduction_dim(make: Inputs) -> Iterator[Sample]:
    empty_fails = make.definition.name.split(".")[0] in NO_IDENTITY
    takes_list = bool(argument_type(make, "dim").list)
    for shape, dim in (*DIMS, *(LISTS if takes_list else ())):
        if empty_fails and dim == [] and 0 in shape:
            continue
        for keepdim in (False, True):
            name = f"shape {shape}, dim {dim}, keepdim {keepdim}"
            yield Sample((values(make, *shape), dim, keepdim), name=name)
    for layout in LAYOUTS:
        yield Sample((values(make, 2, 3, layout=layout), 1), name=f"{layout}, dim 1")
        yield Sample((values(make, 2, 3, layout=layout), 0), name=f"{layout}, dim 0")
    empty = IndexError if empty_fails else None
    name = "error: empty dimension" if empty_fails else "empty dimension"
    yield Sample((make.tensor(2, 0, 3), 1), name=name, error=empty)
    yield from with_dtype(make, (1,))
    if make.dtype.is_floating_point:
        yield Sample((make.of([[1.0, float("nan")], [float("-inf"), 2.0]]), 1), name="nan and infinity")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)
    if takes_list:
        yield Sample((make.tensor(2, 3), [0, 0]), name="error: dim twice", error=RuntimeError)


@family("arg_reduction")
def arg_reduction(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        if 0 not in shape:
            yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for shape, dim in DIMS:
        for keepdim in (False, True):
            yield Sample(
                (make.tensor(*shape), dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}"
            )
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    # For either end: a largest and a smallest element, each twice.
    yield Sample((make.of([1, 0, 1, 0]),), name="ties: the first")
    if make.dtype.is_floating_point:
        yield Sample((make.of([1.0, float("nan"), 2.0]),), name="nan")
    yield Sample((make.tensor(0),), name="error: no element", error=IndexError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("reduction_with_indices")
def reduction_with_indices(make: Inputs) -> Iterator[Sample]:
    for shape, dim in DIMS:
        for keepdim in (False, True):
            yield Sample(
                (make.tensor(*shape), dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}"
            )
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield Sample((make.of([[1, 0, 1], [0, 0, 1]]), 1), name="ties: the first")
    if make.dtype.is_floating_point:
        yield Sample((make.of([1.0, float("nan"), 2.0]), 0), name="nan")
    yield Sample((make.tensor(2, 0, 3), 1), name="error: empty dimension", error=IndexError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("variance")
def variance(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (
        ((3,), None),
        ((2, 3), 0),
        ((2, 3), 1),
        ((2, 3, 4), [0, 2]),
        ((2, 3), []),
        ((2, 3), None),
    ):
        for correction in (0, 1, 2):
            for keepdim in (False, True):
                how = {"correction": correction, "keepdim": keepdim}
                name = f"shape {shape}, dim {dim}, {how}"
                if _enough(shape, dim, correction):
                    yield Sample((make.tensor(*shape), dim), how, name)
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield Sample((make.tensor(), None), {"correction": 0}, "no dimensions")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("variance_unbiased")
def variance_unbiased(make: Inputs) -> Iterator[Sample]:
    for shape in ((3,), (2, 3), (2, 3, 4)):
        for unbiased in (False, True):
            yield Sample((make.tensor(*shape), unbiased), name=f"shape {shape}, unbiased {unbiased}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), True), name=layout)


@family("variance_unbiased_dim")
def variance_unbiased_dim(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((3,), 0), ((2, 3), 1), ((2, 3, 4), [0, 2])):
        for unbiased in (False, True):
            for keepdim in (False, True):
                name = f"shape {shape}, dim {dim}, unbiased {unbiased}, keepdim {keepdim}"
                yield Sample((make.tensor(*shape), dim, unbiased, keepdim), name=name)
    yield Sample((make.tensor(2, 3), 2, True), name="error: dim", error=IndexError)


def _enough(shape: tuple[int, ...], dim: Any, correction: int) -> bool:
    """Return whether more elements are reduced than degrees of freedom are lost (PyTorch warns otherwise)."""
    dims = range(len(shape)) if dim in (None, []) else dim if isinstance(dim, list) else [dim]
    count = 1
    for d in dims:
        count *= shape[d]
    return count > correction


@family("aminmax")
def aminmax(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        fails = 0 in shape
        name = f"error: shape {shape}" if fails else f"shape {shape}"
        yield Sample((make.tensor(*shape),), name=name, error=RuntimeError if fails else None)
    for shape, dim in DIMS:
        for keepdim in (False, True):
            how = {"dim": dim, "keepdim": keepdim}
            yield Sample((make.tensor(*shape),), how, f"shape {shape}, {how}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout),), {"dim": 1}, layout)
    yield Sample((make.of([1, 1, 0, 0]),), name="ties")
    if make.dtype.is_floating_point:
        yield Sample((make.of([1.0, float("nan"), 2.0]),), name="nan")
    yield Sample((make.tensor(2, 3),), {"dim": 2}, "error: dim", IndexError)
    yield Sample((make.tensor(2, 0, 3),), {"dim": 1}, "error: empty dimension", IndexError)


@family("count_nonzero")
def count_nonzero(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        # Integers from so few have zeros among them.
        yield Sample((make.tensor(*shape, low=-1, high=1),), name=f"shape {shape}")
    for shape, dim in (*DIMS, *LISTS):
        yield Sample((make.tensor(*shape, low=-1, high=1), dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, low=-1, high=1, layout=layout), 1), name=layout)
    if make.dtype.is_floating_point:
        yield Sample((make.of([0.0, -0.0, float("nan")]),), name="nan counts")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 3), [0, 0]), name="error: dim twice", error=RuntimeError)


@family("hash_tensor")
def hash_tensor(make: Inputs) -> Iterator[Sample]:
    for sizes in ((4,), (2, 3), (), (2, 3, 2)):
        yield Sample((make.tensor(*sizes),), name=f"shape {sizes}")
        yield Sample((make.tensor(*sizes),), {"keepdim": True}, name=f"shape {sizes}, keepdim")
    for shape, dim in (*DIMS, *LISTS):
        # Without elements to combine there are samples of their own below.
        if 0 not in shape:
            yield Sample((make.tensor(*shape), dim), name=f"shape {shape}, dim {dim}")
    yield Sample((make.tensor(0, 3), 1), name="no rows")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield Sample((make.tensor(2, 3),), {"mode": 1}, "error: mode", RuntimeError)
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 3), [0, 0]), name="error: dim twice", error=RuntimeError)
    yield Sample((make.tensor(0),), name="error: no elements", error=RuntimeError)
    yield Sample((make.tensor(2, 0), 1), name="error: empty dimension", error=IndexError)


@family("reduction_nan")
def reduction_nan(make: Inputs) -> Iterator[Sample]:
    for shape in SHAPES:
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for shape, dim in (*DIMS, *LISTS):
        for keepdim in (False, True):
            yield Sample(
                (make.tensor(*shape), dim, keepdim), name=f"shape {shape}, dim {dim}, keepdim {keepdim}"
            )
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 1), name=layout)
    yield from with_dtype(make, (1,))
    if make.dtype.is_floating_point:
        nan = float("nan")
        yield Sample((make.of([[1.0, nan, 2.0], [nan, nan, 4.0]]), 1), name="nan")
        yield Sample((make.of([nan, nan]),), name="nan only")
        yield Sample((make.of([nan, float("inf")]),), name="nan and infinity")
    yield Sample((make.tensor(2, 3), 2), name="error: dim", error=IndexError)


@family("trace")
def trace(make: Inputs) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4), (4, 2), (1, 3), (0, 3), (3, 0)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 3, layout=layout),), name=layout)
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


ORDERS = (2, 1, 0, 3, 2.5, 0.5, -1, -2.5, math.inf, -math.inf)


@family("vector_norm", "vector_norm_of_order")
def vector_norm(make: Inputs) -> Iterator[Sample]:
    for order in ORDERS:
        # No elements have no largest one, and no sum of which a negative root could be taken.
        fails = order < 0 or order == math.inf
        for size in ((), (3,), (2, 3)):
            yield Sample((make.tensor(*size), order), name=f"order {order}, shape {size}")
        for dim in (0, -1, [0, 2], [], None):
            for keepdim in (False, True):
                name = f"order {order}, dim {dim}, keepdim {keepdim}"
                yield Sample((make.tensor(2, 3, 4), order, dim, keepdim), name=name)
        empty = RuntimeError if fails else None
        yield Sample(
            (make.tensor(0), order), name=f"{'error: ' if fails else ''}empty, order {order}", error=empty
        )
        yield Sample((make.tensor(0, 3), order, 1), name=f"empty result, order {order}")
        # At 0 the derivative of the norm is a limit, or does not exist.
        yield Sample((make.of([3.0, 0.0, -4.0]), order), name=f"a zero, order {order}")
    for shape, dim in (*DIMS, *LISTS):
        yield Sample((make.tensor(*shape), 2, dim), name=f"shape {shape}, dim {dim}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(2, 3, layout=layout), 2, 1), name=layout)
    if argument_type(make, "dtype") is not None:
        name = "p" if make.definition.name == "norm.Scalar" else "ord"
        wide = complex128 if make.dtype.is_complex else float64
        yield Sample((make.tensor(2, 3),), {name: 2, "dtype": wide}, "dtype")
    for order in (2, 3, 1, math.inf, 0):
        yield Sample((make.of([1.0, float("nan"), 2.0]), order), name=f"nan, order {order}")
        yield Sample((make.of([1.0, float("inf"), 2.0]), order), name=f"infinity, order {order}")
    yield Sample((make.tensor(2, 3), 2, 2), name="error: dim", error=IndexError)
    yield Sample((make.tensor(2, 3), 2, [0, 0]), name="error: dim twice", error=RuntimeError)
    yield Sample((make.tensor(3), 1j), name="error: complex order", error=RuntimeError)


@family("norm_name")
def norm_name(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (0,)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for dim in (0, [0, 1], [2, 1], None):
        for keepdim in (False, True):
            yield Sample((make.tensor(2, 3, 4), "fro", dim, keepdim), name=f"dim {dim}, keepdim {keepdim}")
    if make.dtype.itemsize > 2:  # PyTorch decomposes no matrices of half precision
        yield Sample((make.tensor(3, 2), "nuc"), name="nuclear")
        for dim in ([0, 1], [2, 0]):
            for keepdim in (False, True):
                name = f"nuclear, dim {dim}, keepdim {keepdim}"
                yield Sample((make.tensor(2, 3, 4), "nuc", dim, keepdim), name=name)
    yield Sample((make.tensor(2, 3), "max"), name="error: order", error=RuntimeError)
    yield Sample((make.tensor(3), "nuc"), name="error: nuclear norm of a vector", error=RuntimeError)
    yield Sample((make.tensor(2, 3, 4), "nuc"), name="error: nuclear norm over three", error=RuntimeError)


@family("dist")
def dist(make: Inputs) -> Iterator[Sample]:
    for order in (2, 1, 0, 3, math.inf, -math.inf):
        for one, other in (((3,), (3,)), ((2, 3), (3,)), ((), (2,)), ((2, 1), (1, 3))):
            yield Sample(
                (make.tensor(*one), make.tensor(*other), order), name=f"{one} and {other}, order {order}"
            )
    yield Sample((make.tensor(2), make.tensor(3)), name="error: shapes", error=RuntimeError)


@family("renorm")
def renorm(make: Inputs) -> Iterator[Sample]:
    # Some of these norms are above the one that is allowed, and some are not.
    for p in (1, 2, 0.5, float("inf")):
        for dim in (0, 1, -1):
            yield Sample((make.tensor(3, 4), p, dim, 5.0), name=f"p {p}, dim {dim}")
    yield Sample((make.tensor(2, 3, 4), 2, 1, 3), name="three dimensions")
    yield Sample((make.tensor(2, 0), 2, 0, 3), name="empty")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), 2, 0, 4.0), name=layout)
    yield Sample((make.tensor(3), 2, 0, 1.0), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 0, 0, 1.0), name="error: p", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 2, 0, -1.0), name="error: maxnorm", error=RuntimeError)
    yield Sample((make.tensor(3, 3), 2, 2, 1.0), name="error: dim", error=IndexError)


@family("sum_to_size")
def sum_to_size(make: Inputs) -> Iterator[Sample]:
    for size in ((2, 3, 4), (1, 3, 4), (2, 1, 1), (3, 4), (4,), (1,), ()):
        yield Sample((make.tensor(2, 3, 4, low=-1, high=1), size), name=f"size {size}")
    yield Sample((make.tensor(2, 0, 3), (1, 3)), name="empty")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), (1, 4)), name=layout)
    yield Sample((make.tensor(2, 3), (2, 2)), name="error: size", error=RuntimeError)
    yield Sample((make.tensor(2, 3), (1, 2, 3)), name="error: more dimensions", error=RuntimeError)
