"""Samples of linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from tt.core.types.dtype import float16, float32, float64, int8, int64
from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Layout, Sample
from tt.operators.decomposition.samples import MATRICES, SQUARES, hermitian, regular, wrong_squares

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

family = FamilyTable()


def products(make: Inputs, shapes: Any, wrong: Any, *before: Any) -> Iterator[Sample]:
    """Yield products of shapes, of other layouts, of dtypes that do not go together, and of wrong shapes."""
    for left, right in shapes:
        yield Sample((*before, small(make, left), small(make, right)), name=f"{left} and {right}")
    left, right = shapes[0]
    layouts: tuple[Layout, ...] = ("transposed", "strided", "offset")
    for layout in layouts:
        yield Sample((*before, small(make, left, layout), small(make, right, layout)), name=layout)
    for left, right in wrong:
        yield Sample(
            (*before, small(make, left), small(make, right)),
            name=f"error: {left} and {right}",
            error=RuntimeError,
        )
    # A dtype that never is the one of the sample.
    other = int64 if make.dtype is float64 else float64
    left, right = shapes[0]
    two = (make.tensor(*left), make.tensor(*right, dtype=other))
    yield Sample((*before, *two), name=f"error: with {other.name}", error=RuntimeError)


def small(make: Inputs, shape: tuple[int, ...], layout: Layout = "contiguous") -> Tensor:
    """Return a tensor whose products stay small."""
    return make.tensor(*shape, low=-2, high=2, layout=layout)


@family("mm")
def mm(make: Inputs) -> Iterator[Sample]:
    shapes = (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((5, 5), (5, 5)))
    yield from products(make, shapes, (((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 3), (3,))))


@family("scaled_mm")
def scaled_mm(make: Inputs) -> Iterator[Sample]:
    def factors(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Any, Any]:
        return make.tensor(*left), make.tensor(*right)

    one, half = make.of(1.0, float32), make.of(0.5, float32)
    for left, right in (((2, 3), (3, 4)), ((1, 3), (3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3))):
        yield Sample((*factors(left, right), one, half), name=f"{left} and {right}")
    two = factors((2, 3), (3, 4))
    rows, columns = make.of([[0.5], [2.0]], float32), make.of([[0.5, 1.0, 2.0, 3.0]], float32)
    bias = make.of([1.0, -2.0, 3.0, 4.0], float32)
    yield Sample((*two, rows, columns), {"out_dtype": float32}, name="scales of rows and columns")
    yield Sample((*two, one, half, bias), {"out_dtype": float16}, name="bias")
    yield Sample((*two, one, half), {"scale_result": half}, name="scale of the result")
    yield Sample((*two, rows, one), name="error: one scale for all", error=RuntimeError)
    yield Sample((*two, one, half, rows), name="error: shape of the bias", error=RuntimeError)
    yield Sample((*two, one, half), {"out_dtype": int64}, name="error: out_dtype", error=RuntimeError)
    yield Sample((*factors((2, 3), (2, 3)), one, half), name="error: sizes", error=RuntimeError)
    yield Sample((bias, two[1], one, half), name="error: one dimension", error=RuntimeError)


@family("int_mm")
def int_mm(make: Inputs) -> Iterator[Sample]:
    def factors(
        left: tuple[int, ...], right: tuple[int, ...], layout: Layout = "contiguous"
    ) -> tuple[Any, Any]:
        return make.tensor(*left, layout=layout), make.tensor(*right, dtype=int8, layout=layout)

    for left, right in (
        ((2, 3), (3, 4)),
        ((1, 3), (3, 1)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((9, 7), (7, 50)),
    ):
        yield Sample(factors(left, right), name=f"{left} and {right}")
    layouts: tuple[Layout, ...] = ("transposed", "strided", "offset")
    for layout in layouts:
        yield Sample(factors((5, 9), (9, 6), layout), name=layout)
    yield Sample(factors((2, 3), (2, 3)), name="error: sizes", error=RuntimeError)
    yield Sample(factors((3,), (3, 2)), name="error: one dimension", error=RuntimeError)
    other = make.tensor(3, 4, dtype=float32)
    yield Sample((make.tensor(2, 3), other), name="error: with float32", error=RuntimeError)


@family("bmm")
def bmm(make: Inputs) -> Iterator[Sample]:
    shapes = (((2, 2, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 4)), ((1, 2, 0), (1, 0, 3)))
    yield from products(make, shapes, (((2, 2, 3), (1, 3, 4)), ((2, 2, 3), (2, 2, 3)), ((2, 3), (3, 4))))


@family("mv")
def mv(make: Inputs) -> Iterator[Sample]:
    yield from products(
        make, (((2, 3), (3,)), ((0, 3), (3,)), ((2, 0), (0,))), (((2, 3), (2,)), ((3,), (3,)))
    )


@family("dot")
def dot(make: Inputs) -> Iterator[Sample]:
    yield from products(make, (((3,), (3,)), ((0,), (0,)), ((1,), (1,))), (((3,), (2,)), ((2, 3), (3,))))


@family("matmul")
def matmul(make: Inputs) -> Iterator[Sample]:
    shapes = (
        ((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    )  # fmt: skip
    yield from products(make, shapes, (((2, 3), (2, 3)), ((), (3,)), ((2, 2, 3), (3, 3, 4)), ((3,), (2,))))


@family("outer")
def outer(make: Inputs) -> Iterator[Sample]:
    for left, right in (((2,), (3,)), ((0,), (3,)), ((1,), (1,))):
        yield Sample((make.tensor(*left), make.tensor(*right)), name=f"{left} and {right}")
    for other in make.partners():
        yield Sample((make.tensor(2), make.tensor(3, dtype=other)), name=f"with {other.name}")
    yield Sample((make.tensor(2, 3), make.tensor(3)), name="error: a matrix", error=RuntimeError)


@family("addmm")
def addmm(make: Inputs) -> Iterator[Sample]:
    for shape in ((2, 4), (4,), (1, 4), (2, 1), ()):
        yield Sample((small(make, shape), small(make, (2, 3)), small(make, (3, 4))), name=f"self {shape}")
    args = (small(make, (2, 4)), small(make, (2, 3)), small(make, (3, 4)))
    yield Sample(args, {"beta": 2, "alpha": 3}, "beta and alpha")
    # self is not read then.
    yield Sample(args, {"beta": 0}, "beta 0")
    yield Sample((small(make, (2, 0)), small(make, (2, 3)), small(make, (3, 0))), name="no columns")
    yield Sample((args[0], args[1].t(), args[2]), name="error: shapes", error=RuntimeError)
    yield Sample((small(make, (3, 4)), args[1], args[2]), name="error: self", error=RuntimeError)


@family("addmm_activation")
def addmm_activation(make: Inputs) -> Iterator[Sample]:
    for sample in addmm(make):
        yield sample
        if sample.error is None and make.dtype.is_floating_point:  # gelu takes no others
            yield Sample(sample.args, sample.kwargs | {"use_gelu": True}, f"{sample.name}, gelu")


def added(make: Inputs, own: Any, one: tuple[int, ...], other: tuple[int, ...]) -> Iterator[Sample]:
    """Yield products added to tensors of several shapes, with factors, and wrong shapes."""
    two = (small(make, one), small(make, other))
    for shape in own:
        yield Sample((small(make, shape), *two), name=f"self {shape}")
    args = (small(make, own[0]), *two)
    yield Sample(args, {"beta": 2, "alpha": 3}, "beta and alpha")
    yield Sample(args, {"beta": 0}, "beta 0")
    yield Sample((args[0], small(make, one, "strided"), small(make, other, "transposed")), name="layouts")
    yield Sample((small(make, (7, 7, 7, 7)), *two), name="error: self", error=RuntimeError)
    yield Sample((args[0], args[1], args[1]), name="error: shapes", error=RuntimeError)


@family("addmv")
def addmv(make: Inputs) -> Iterator[Sample]:
    yield from added(make, ((2,), (1,), ()), (2, 3), (3,))
    yield Sample((small(make, (2,)), small(make, (2, 0)), small(make, (0,))), name="no columns")


@family("addr")
def addr(make: Inputs) -> Iterator[Sample]:
    for shape in ((2, 3), (3,), (2, 1), ()):
        yield Sample((small(make, shape), small(make, (2,)), small(make, (3,))), name=f"self {shape}")
    args = (small(make, (2, 3)), small(make, (2,)), small(make, (3,)))
    # Bools have no factors but True and False.
    if make.dtype.kind != "bool":
        yield Sample(args, {"beta": 2, "alpha": 3}, "beta and alpha")
    yield Sample((small(make, (0, 3)), small(make, (0,)), args[2]), name="no rows")
    yield Sample((args[0], args[0], args[2]), name="error: a matrix", error=RuntimeError)
    yield Sample((small(make, (3, 3)), *args[1:]), name="error: self", error=RuntimeError)


@family("baddbmm")
def baddbmm(make: Inputs) -> Iterator[Sample]:
    yield from added(make, ((2, 2, 4), (2, 1), ()), (2, 2, 3), (2, 3, 4))
    yield Sample(tuple(small(make, s) for s in ((2, 2, 4), (2, 2, 0), (2, 0, 4))), name="no columns")


@family("addbmm")
def addbmm(make: Inputs) -> Iterator[Sample]:
    yield from added(make, ((2, 4), (4,), ()), (2, 2, 3), (2, 3, 4))
    yield Sample(tuple(small(make, s) for s in ((2, 4), (0, 2, 3), (0, 3, 4))), name="no batch")


@family("inner")
def inner(make: Inputs) -> Iterator[Sample]:
    for left, right in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((2, 3), (4, 2, 3)),
        ((), (2, 3)),
        ((0,), (0,)),
        ((2, 0), (3, 0)),
    ):
        yield Sample((small(make, left), small(make, right)), name=f"{left} and {right}")
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)


@family("kron")
def kron(make: Inputs) -> Iterator[Sample]:
    for left, right in (((2, 3), (2, 2)), ((2,), (2, 3)), ((), (3,)), ((0, 2), (2, 2)), ((2, 1, 2), (3, 1))):
        yield Sample((small(make, left), small(make, right)), name=f"{left} and {right}")


@family("tensordot")
def tensordot(make: Inputs) -> Iterator[Sample]:
    for left, right, dims in (
        ((2, 3), (3, 4), 1), ((2, 3, 4), (3, 4, 2), 2), ((2,), (3,), 0), ((2, 0), (0, 2), 1), ((2, 1), (3, 2), 1),
    ):  # fmt: skip
        yield Sample((small(make, left), small(make, right), dims), name=f"{left} and {right}")
    yield Sample((make.tensor(2, 3), make.tensor(2, 3), 1), name="error: sizes", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2, 3), 3), name="error: dims", error=RuntimeError)


@family("tensordot_dims")
def tensordot_dims(make: Inputs) -> Iterator[Sample]:
    a, b = small(make, (2, 3, 4)), small(make, (4, 3, 2), "strided")
    yield Sample((a, b, ([1, 2], [1, 0])), name="two pairs")
    yield Sample((a, b, [[-1], [0]]), name="one pair")
    yield Sample((a, b, ([0, 1], [0])), name="error: lengths", error=RuntimeError)
    yield Sample((a, b, ([5], [0])), name="error: no such dim", error=IndexError)


@family("einsum")
def einsum(make: Inputs) -> Iterator[Sample]:
    for equation, *shapes in (
        ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("ij->ji", (2, 3)),
        ("i,j->ij", (2,), (3,)), ("bij,bjk->bik", (2, 3, 2), (2, 2, 3)),
        ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)),
        ("ij,ij->", (2, 3), (2, 3)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("i...->...", (2, 3)),
        ("iij,jk->ik", (2, 2, 3), (3, 2)),
        # Sizes of 1 that broadcast, and sums over nothing.
        ("ij,j->ij", (2, 1), (3,)), ("ij,jk->k", (2, 1), (3, 4)), ("ij,jk->ik", (2, 0), (0, 3)),
        ("bn,anm,bm->ba", (2, 3), (4, 3, 2), (2, 2)),
    ):  # fmt: skip
        yield Sample((equation, [small(make, shape) for shape in shapes]), name=f"{equation} {shapes}")
    a, b = small(make, (2, 3)), small(make, (3, 4))
    for equation in ("ij,jk->il", "ij->ij", "ijk,jk->ik", "ij,ik->jk", "i$,jk", "ij,jk->ii", "......,ij"):
        yield Sample((equation, [a, b]), name=f"error: {equation}", error=RuntimeError)


@family("einsum_sublist")
def einsum_sublist(make: Inputs) -> Iterator[Sample]:
    a, b = small(make, (2, 3)), small(make, (3, 4))
    yield Sample((a, [0, 1], b, [1, 2], [0, 2]), name="matrices")
    yield Sample((a, [0, 1], b, [1, 2]), name="no result")
    yield Sample((a, [..., 1], [..., 1]), name="ellipsis")
    yield Sample((a, [0, 60]), name="error: index", error=RuntimeError)
    yield Sample((a, 0), name="error: no list", error=OPTION)


@family("linalg_vecdot")
def linalg_vecdot(make: Inputs) -> Iterator[Sample]:
    for left, right, dim in (
        ((3,), (3,), -1),
        ((2, 3), (3,), -1),
        ((2, 3), (2, 3), 0),
        ((2, 0), (2, 0), 1),
        ((2, 1, 3), (4, 3), -1),
    ):
        yield Sample(
            (small(make, left), small(make, right)), {"dim": dim}, name=f"{left} and {right}, dim {dim}"
        )
    yield Sample((make.tensor(2, 3), make.tensor(2)), name="error: shapes", error=RuntimeError)
    yield Sample((make.tensor(3), make.tensor(3)), {"dim": 1}, name="error: dim", error=IndexError)


@family("linalg_multi_dot")
def linalg_multi_dot(make: Inputs) -> Iterator[Sample]:
    for shapes in (
        ((2, 3), (3, 4)), ((2,), (2, 3), (3,)), ((2, 5), (5, 1), (1, 4), (4, 2)), ((2, 0), (0, 3)), ((3,), (3,)),
        ((2, 3), (3,)),
    ):  # fmt: skip
        yield Sample(([small(make, shape) for shape in shapes],), name=str(shapes))
    yield Sample(([small(make, (2, 3))],), name="error: one", error=RuntimeError)
    yield Sample(([small(make, (2, 3)), small(make, (2, 3))],), name="error: sizes", error=RuntimeError)
    yield Sample(
        ([small(make, (2, 3)), small(make, (3,)), small(make, (3, 3))],),
        name="error: a vector",
        error=RuntimeError,
    )


@family("chain_matmul")
def chain_matmul(make: Inputs) -> Iterator[Sample]:
    for shapes in (((2, 3), (3, 4)), ((2, 3),), ((2, 5), (5, 1), (1, 4))):
        yield Sample(([small(make, shape) for shape in shapes],), name=str(shapes))
    yield Sample(([small(make, (2, 3)), small(make, (3,))],), name="error: a vector", error=RuntimeError)


@family("bilinear")
def bilinear(make: Inputs) -> Iterator[Sample]:
    weight = small(make, (4, 2, 3))
    for lead in ((5,), (), (2, 2), (0,)):
        yield Sample((small(make, (*lead, 2)), small(make, (*lead, 3)), weight), name=f"batch {lead}")
    yield Sample((small(make, (5, 2)), small(make, (5, 3)), weight, small(make, (4,))), name="bias")
    yield Sample((small(make, (5, 3)), small(make, (5, 3)), weight), name="error: sizes", error=RuntimeError)


# --- vectors of three, distances -------------------------------------------------------------------------------


@family("cross")
def cross(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((3,), None), ((2, 3), None), ((3, 2, 3), None), ((2, 3), -1), ((3, 0), 0)):
        yield Sample((small(make, shape), small(make, shape), dim), name=f"shape {shape}, dim {dim}")
    yield Sample((make.tensor(2, 2), make.tensor(2, 2)), name="error: no size of 3", error=RuntimeError)
    yield Sample((make.tensor(3, 2), make.tensor(3, 2), 1), name="error: dim", error=RuntimeError)


@family("linalg_cross")
def linalg_cross(make: Inputs) -> Iterator[Sample]:
    for left, right, dim in (
        ((3,), (3,), -1),
        ((2, 3), (1, 3), -1),
        ((3, 2), (3, 2), 0),
        ((0, 3), (0, 3), 1),
    ):
        yield Sample(
            (small(make, left), small(make, right)), {"dim": dim}, name=f"{left} and {right}, dim {dim}"
        )
    yield Sample((make.tensor(2, 2), make.tensor(2, 2)), name="error: no size of 3", error=RuntimeError)
    yield Sample((make.tensor(3), make.tensor(2, 3)), name="error: dimensions", error=RuntimeError)


@family("cdist")
def cdist(make: Inputs) -> Iterator[Sample]:
    # 0, 1, 2 and infinity have formulas of their own; the others are below 1, between 1 and 2, and above.
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")):
        yield Sample((make.tensor(2, 3), make.tensor(4, 3), p), name=f"p {p}")
    for left, right in (
        ((2, 2, 3), (4, 3)),
        ((2, 1, 2, 3), (3, 1, 3)),
        ((0, 3), (2, 3)),
        ((2, 0), (3, 0)),
        ((2, 3), (0, 3)),
    ):
        yield Sample((make.tensor(*left), make.tensor(*right)), name=f"{left} and {right}")
    yield Sample(
        (make.tensor(2, 3), make.tensor(2, 3)), {"compute_mode": "donot_use_mm_for_euclid_dist"}, "mode"
    )
    yield Sample((make.tensor(2, 3), make.tensor(2, 4)), name="error: columns", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2, 3), -1.0), name="error: p", error=RuntimeError)
    yield Sample((make.tensor(2, 3), make.tensor(2, 3), 2.0, "x"), name="error: mode", error=ValueError)


def kind(value: Any) -> str:
    """Return a number as text, and a tensor's description."""
    return str(value) if isinstance(value, float | bool) else f"tensor {list(value.shape)}"


# --- norms -----------------------------------------------------------------------------------------------------


@family("linalg_matrix_norm")
def linalg_matrix_norm(make: Inputs) -> Iterator[Sample]:
    # The norms of singular values need a decomposition, which half precision does not have.
    for ord in (1, -1, inf, -inf, *((2, -2) if make.dtype.itemsize > 2 else ())):
        for shape, dim in (((3, 3), (-2, -1)), ((2, 4), (-2, -1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (1, 0))):
            for keepdim in (False, True):
                args = (make.tensor(*shape), ord, dim, keepdim)
                yield Sample(args, name=f"ord {ord}, shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(2, 2), 3), name="error: ord", error=RuntimeError)
    yield Sample((make.tensor(3), 1), name="error: a vector", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 2), 1, (1, 1)), name="error: one dim twice", error=RuntimeError)


@family("linalg_matrix_norm_str")
def linalg_matrix_norm_str(make: Inputs) -> Iterator[Sample]:
    # The nuclear norm is that of singular values: not in half precision.
    for ord in ("fro", *(("nuc",) if make.dtype.itemsize > 2 else ())):
        for shape, dim in (((3, 3), (-2, -1)), ((2, 4), (-2, -1)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (2, 0))):
            for keepdim in (False, True):
                args = (make.tensor(*shape), ord, dim, keepdim)
                yield Sample(args, name=f"ord {ord}, shape {shape}, dim {dim}, keepdim {keepdim}")
    yield Sample((make.tensor(2, 3),), name="no ord")
    yield Sample((make.tensor(2, 3), "x"), name="error: ord", error=RuntimeError)


@family("linalg_norm")
def linalg_norm(make: Inputs) -> Iterator[Sample]:
    for shape in ((), (3,), (2, 3), (2, 3, 2), (0,)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
        yield Sample((make.tensor(*shape), None, None, True), name=f"shape {shape}, keepdim")
    for ord in (0, 1, 2, 3, inf, -inf, 0.5):
        yield Sample((make.tensor(3), ord), name=f"vector, ord {ord}")
        yield Sample((make.tensor(2, 3), ord, 1, True), name=f"rows, ord {ord}")
    for ord in (1, -1, inf, -inf):
        yield Sample((make.tensor(2, 3), ord), name=f"matrix, ord {ord}")
        yield Sample((make.tensor(2, 3, 2), ord, (2, 0)), name=f"matrices, ord {ord}")
    yield Sample((make.tensor(2, 2, 2), 1), name="error: no dim", error=RuntimeError)
    yield Sample((make.tensor(2, 2, 2), 1, (0, 1, 2)), name="error: three dims", error=RuntimeError)


@family("linalg_norm_str")
def linalg_norm_str(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(2, 3), "fro"), name="fro")
    yield Sample((make.tensor(2, 3, 2), "fro", (0, 1), True), name="fro, dims")
    if make.dtype.itemsize > 2:
        yield Sample((make.tensor(2, 3), "nuc"), name="nuc")
    yield Sample((make.tensor(3), "fro"), name="error: a vector", error=RuntimeError)


@family("linalg_cond")
def linalg_cond(make: Inputs) -> Iterator[Sample]:
    for p in (None, 1, -1, 2, -2, inf, -inf):
        for shape in ((3, 3), (2, 2, 2), (0, 2, 2)):
            # Matrices with an inverse: the condition of others is infinite.
            yield Sample((make.of(regular(make, *shape)), p), name=f"p {p}, shape {shape}")
    yield Sample((make.tensor(2, 4),), name="not square")
    yield Sample((make.tensor(2, 4), 1), name="error: not square", error=RuntimeError)
    yield Sample((make.of(np.eye(2)), 5), name="error: p", error=RuntimeError)


@family("linalg_cond_str")
def linalg_cond_str(make: Inputs) -> Iterator[Sample]:
    for p in ("fro", "nuc"):
        yield Sample((make.of(regular(make, 2, 3, 3)), p), name=p)
    yield Sample((make.of(np.eye(2)), "x"), name="error: p", error=RuntimeError)


# --- rank, pseudoinverse ---------------------------------------------------------------------------------------


def ranked(make: Inputs) -> Iterator[tuple[str, Any]]:
    """Yield matrices of full rank and of less."""
    for shape in MATRICES:
        yield f"shape {shape}", make.tensor(*shape)
    # In numbers that every dtype holds exactly, so that the rank does not depend on rounding.
    yield "rank 1", make.of([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    yield "diagonal", make.of(np.diag([3.0, 1.0, 0.25]))


@family("linalg_pinv")
def linalg_pinv(make: Inputs) -> Iterator[Sample]:
    for name, a in ranked(make):
        yield Sample((a,), name=name)
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    # One for each matrix of the batch.
    tolerance = make.of([0.3, 1.5], make.dtype.to_real())
    for options in ({"atol": 0.5}, {"rtol": 0.5}, {"atol": tolerance}, {"rtol": tolerance, "atol": 0.1}):
        yield Sample((a,), options, ", ".join(f"{k} {kind(v)}" for k, v in options.items()))
    yield Sample((make.of(hermitian(make, 2, 3, 3)),), {"hermitian": True}, "hermitian")
    # Not symmetric, so that the triangle that is read matters.
    yield Sample((make.of([[2.0, 9.0], [1.0, 3.0]]),), {"hermitian": True}, "only the lower triangle")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_pinv_rcond")
def linalg_pinv_rcond(make: Inputs) -> Iterator[Sample]:
    for rcond in (0.1, 0.5, make.of(0.5, make.dtype.to_real())):
        yield Sample((make.of(np.diag([3.0, 1.0, 0.25])), rcond), name=f"rcond {kind(rcond)}")
    yield Sample((make.of([[2.0, 9.0], [1.0, 3.0]]), 0.1, True), name="only the lower triangle")


@family("pinverse")
def pinverse(make: Inputs) -> Iterator[Sample]:
    yield Sample((make.tensor(3, 2),), name="tall")
    yield Sample((make.of(np.diag([3.0, 1.0, 0.25])), 0.2), name="rcond")


@family("linalg_matrix_rank")
def linalg_matrix_rank(make: Inputs) -> Iterator[Sample]:
    for name, a in ranked(make):
        yield Sample((a,), name=name)
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    tolerance = make.of([0.3, 1.5], make.dtype.to_real())
    for options in (
        {"atol": 0.5},
        {"rtol": 0.5},
        {"atol": tolerance},
        {"rtol": tolerance},
        {"hermitian": True},
    ):
        yield Sample((a,), options, ", ".join(f"{k} {kind(v)}" for k, v in options.items()))
    yield Sample((make.of([[1.0, 9.0], [1.0, 1.0]]),), {"hermitian": True}, "only the lower triangle")
    yield Sample((make.tensor(3),), name="error: a vector", error=RuntimeError)


@family("linalg_matrix_rank_tol")
def linalg_matrix_rank_tol(make: Inputs) -> Iterator[Sample]:
    a = make.of([np.diag([3.0, 1.0, 0.25]), np.diag([5.0, 2.0, 1.0])])
    for tol in (0.5, 1.5, make.of([0.3, 1.5], make.dtype.to_real())):
        yield Sample((a, tol), name=f"tol {kind(tol)}")
    yield Sample((a, 0.5, True), name="hermitian")
    yield Sample((make.of([[1.0, 9.0], [1.0, 1.0]]), 0.5, True), name="only the lower triangle")


# --- powers ----------------------------------------------------------------------------------------------------


@family("linalg_matrix_power")
def linalg_matrix_power(make: Inputs) -> Iterator[Sample]:
    for n in (0, 1, 2, 3, 5):
        for shape in ((2, 2), (2, 2, 2), (0, 2, 2)):
            # Of small numbers, as powers grow fast.
            yield Sample((make.tensor(*shape, low=-1, high=1), n), name=f"shape {shape}, n {n}")
    # Negative powers are those of the inverse, which only these dtypes have.
    if make.dtype.name in ("float32", "float64", "complex64", "complex128"):
        yield Sample((make.of(regular(make, 2, 2)), -2), name="n -2")
    yield Sample((make.tensor(2, 3), 2), name="error: not square", error=RuntimeError)


@family("linalg_matrix_exp")
def linalg_matrix_exp(make: Inputs) -> Iterator[Sample]:
    for shape in SQUARES:
        yield Sample((make.tensor(*shape, low=-1, high=1),), name=f"shape {shape}")
    yield Sample((make.tensor(3, 3, low=-2, high=2),), name="larger")
    yield from wrong_squares(make)


@family("linalg_vander")
def linalg_vander(make: Inputs) -> Iterator[Sample]:
    for shape, count in (((3,), None), ((2, 3), None), ((3,), 2), ((2,), 4)):
        yield Sample((make.tensor(*shape, low=-2, high=2),), {"N": count}, f"shape {shape}, N {count}")
    yield Sample((make.tensor(),), {"N": 3}, "no dimensions")
    yield Sample((make.tensor(3),), {"N": 1}, "error: N", error=RuntimeError)
    yield Sample((make.tensor(),), name="error: no dimensions", error=RuntimeError)


@family("vander")
def vander(make: Inputs) -> Iterator[Sample]:
    for count in (None, 0, 2, 4):
        for increasing in (False, True):
            yield Sample(
                (make.tensor(3, low=-2, high=2), count, increasing),
                name=f"N {count}, increasing {increasing}",
            )
    yield Sample((make.tensor(2, 3),), name="error: a matrix", error=RuntimeError)


# --- tensors as matrices ---------------------------------------------------------------------------------------


@family("linalg_tensorsolve")
def linalg_tensorsolve(make: Inputs) -> Iterator[Sample]:
    a = make.of(regular(make, 4, 4)).reshape(2, 2, 4)
    yield Sample((a, make.tensor(2, 2)), name="one dimension")
    yield Sample((a.permute(2, 0, 1), make.tensor(2, 2), [0]), name="dims")
    yield Sample((make.tensor(2, 3, 4), make.tensor(2, 3)), name="error: sizes", error=RuntimeError)


@family("linalg_tensorinv")
def linalg_tensorinv(make: Inputs) -> Iterator[Sample]:
    a = make.of(regular(make, 4, 4))
    yield Sample((a.reshape(2, 2, 4),), name="ind 2")
    yield Sample((a.reshape(4, 2, 2), 1), name="ind 1")
    yield Sample((a.reshape(2, 2, 4), 0), name="error: ind 0", error=RuntimeError)
    yield Sample((make.tensor(2, 3, 4),), name="error: sizes", error=RuntimeError)


@family("linear")
def linear(make: Inputs) -> Iterator[Sample]:
    for shape in ((3,), (2, 3), (4, 2, 3), (0, 3)):
        for bias in (None, make.tensor(5, low=-2, high=2)):
            args = (make.tensor(*shape, low=-2, high=2), make.tensor(5, 3, low=-2, high=2), bias)
            yield Sample(args, name=f"shape {shape}, bias {bias is not None}")
    yield Sample((make.tensor(2, 4), make.tensor(5, 3)), name="error: shapes", error=RuntimeError)
    yield Sample(
        (make.tensor(2, 3), make.tensor(5, 3), make.tensor(4)), name="error: bias", error=RuntimeError
    )


@family("pairwise_distance")
def pairwise_distance(make: Inputs) -> Iterator[Sample]:
    x, y = make.tensor(3, 4, low=-2, high=0), make.tensor(3, 4, low=1, high=3)
    if make.dtype.kind == "bool":
        x, y = x.to(float32), y.to(float32)
    for p in (2.0, 1.0, 3.5, 0.0, float("inf")):
        yield Sample((x, y, p), name=f"p {p}")
    yield Sample((x, y, 2.0, 0.5, True), name="eps, keepdim")
    yield Sample((x, y[0]), name="one vector")
    yield Sample((x[0], y[0]), name="two vectors")
    yield Sample((x[:0], y[:0]), name="no vectors")
    yield Sample((x.t(), y.t()), name="transposed")
    yield Sample((x, y[:, :3]), name="error: sizes", error=RuntimeError)


@family("pdist")
def pdist(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(5, 3)
    for p in (2.0, 1.0, 3.5, 0.0, float("inf")):
        yield Sample((x, p), name=f"p {p}")
    for rows in (0, 1, 2):
        yield Sample((x[:rows],), name=f"{rows} rows")
    yield Sample((x[:, :0],), name="no columns")
    yield Sample((make.tensor(4, 3, layout="transposed"),), name="transposed")
    yield Sample((x[0],), name="error: dimensions", error=RuntimeError)
    yield Sample((x, -1.0), name="error: p", error=RuntimeError)
