"""Products of groups of matrices, and products of scaled matrices of eight bits an element."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import tt
from tt import Tensor, bfloat16, float32
from tt.errors import DtypeError, ShapeError, UnsupportedError, ValueRangeError
from tt.library import ops

__all__ = ["ScalingType", "SwizzleType", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


class ScalingType(enum.Enum):
    """Which elements of a matrix share a scale.

    Examples
    --------
    >>> import tt.nn.functional as F
    >>> F.ScalingType.RowWise.value
    1
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.Enum):
    """The order of scales in memory.

    Examples
    --------
    >>> import tt.nn.functional as F
    >>> F.SwizzleType.NO_SWIZZLE.value
    0
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


# --- groups ------------------------------------------------------------------------------------------------------


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: tt.dtype | None = None,
) -> Tensor:
    """Multiply groups of matrices; where a matrix has two dimensions, `offs` says where each group ends in it.

    Parameters
    ----------
    mat_a : Tensor
        Of shape (M, K) or (groups, M, K), of float32, float16 or bfloat16.
    mat_b : Tensor
        Of shape (K, N) or (groups, K, N) and the same dtype.
    offs : Tensor, optional
        Where each group ends, of int32 and shape (groups,): in the rows of `mat_a` if only it has two dimensions, in
        the columns of `mat_b` if only it has, and in K if both have.  None where both have three.
    bias
        None: as in PyTorch, there is none yet.
    out_dtype : dtype, optional
        The dtype of the matrices.

    Returns
    -------
    Tensor
        Of shape (M, N) if one of the matrices has two dimensions, else (groups, M, N).  Rows or columns behind the last
        group are zero.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DtypeError
        For other dtypes, and offsets that are not of int32.
    ValueRangeError
        If the offsets decrease, or leave the matrix.
    UnsupportedError
        With a bias.

    Examples
    --------
    >>> import tt
    >>> tokens, experts = tt.ones(3, 2), tt.stack([tt.eye(2), 2 * tt.eye(2)])
    >>> tt.nn.functional.grouped_mm(tokens, experts, offs=tt.tensor([1, 3], dtype=tt.int32))
    tensor([[1., 1.],
            [2., 2.],
            [2., 2.]])
    """
    if bias is not None:
        raise UnsupportedError("grouped_mm(): a bias is not supported\n  try: adding it to the result")
    _check_groups(mat_a, mat_b, offs, out_dtype)
    if offs is None:
        return ops.bmm(mat_a, mat_b)
    spans = _spans("grouped_mm", mat_a, mat_b, offs)
    return _joined(mat_a, mat_b, spans, [ops.mm(one, other) for one, other in _pairs(mat_a, mat_b, spans)])


def _spans(op: str, mat_a: Tensor, mat_b: Tensor, offs: Tensor) -> list[tuple[int, int]]:
    """Return where each group starts and ends in the dimension that groups share."""
    limit = _limit(mat_a, mat_b)
    # The bounds of slices are numbers of the host, so a device is waited for.
    ends: list[int] = offs.tolist()
    starts = [0, *ends[:-1]]
    if any(not start <= end <= limit for start, end in zip(starts, ends, strict=True)):
        raise ValueRangeError(f"{op}(): the offsets {ends} have to increase, up to {limit} at most")
    return list(zip(starts, ends, strict=True))


def _limit(mat_a: Tensor, mat_b: Tensor) -> int:
    """Return the size of the dimension that groups share."""
    if mat_a.ndim == mat_b.ndim == 2:
        return mat_a.shape[1]
    return mat_a.shape[0] if mat_a.ndim == 2 else mat_b.shape[1]


def _pairs(mat_a: Tensor, mat_b: Tensor, spans: list[tuple[int, int]]) -> list[tuple[Tensor, Tensor]]:
    """Return the two matrices of each group."""
    # Both are flat: groups share the inner dimension, columns of mat_a and rows of mat_b.
    inner = mat_a.ndim == mat_b.ndim == 2
    return [
        (
            ops.slice(mat_a, int(inner), low, high) if mat_a.ndim == 2 else ops.select(mat_a, 0, k),
            ops.slice(mat_b, int(not inner), low, high) if mat_b.ndim == 2 else ops.select(mat_b, 0, k),
        )
        for k, (low, high) in enumerate(spans)
    ]


def _joined(mat_a: Tensor, mat_b: Tensor, spans: list[tuple[int, int]], parts: list[Tensor]) -> Tensor:
    """Return the products of the groups as one tensor; rows after the last group are zero."""
    like = parts[0] if parts else mat_a
    if mat_a.ndim == mat_b.ndim == 2:
        # Groups of the inner dimension have whole products, one matrix each.
        return ops.stack(parts) if parts else ops.new_zeros(like, (0, mat_a.shape[0], mat_b.shape[1]))
    left = _limit(mat_a, mat_b) - (spans[-1][1] if spans else 0)
    if mat_a.ndim == 2:
        return ops.cat([*parts, ops.new_zeros(like, (left, mat_b.shape[2]))], 0)
    return ops.cat([*parts, ops.new_zeros(like, (mat_a.shape[1], left))], 1)


def _check_groups(mat_a: Tensor, mat_b: Tensor, offs: Tensor | None, out_dtype: tt.dtype | None) -> None:
    """Raise unless the matrices form groups, in dtypes that `grouped_mm` multiplies."""
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype.name not in ("float32", "float16", "bfloat16"):
            raise DtypeError(
                f"grouped_mm(): {name} is of float32, float16 or bfloat16, not of {matrix.dtype}"
            )
    if mat_a.dtype is not mat_b.dtype:
        raise DtypeError(f"grouped_mm(): the matrices are of two dtypes, {mat_a.dtype} and {mat_b.dtype}")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise DtypeError(f"grouped_mm(): out_dtype is that of the matrices, {mat_a.dtype}, not {out_dtype}")
    _check_shapes("grouped_mm", mat_a, mat_b, offs)


def _check_shapes(op: str, mat_a: Tensor, mat_b: Tensor, offs: Tensor | None) -> None:
    """Raise unless the matrices form groups."""
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.ndim not in (2, 3):
            raise ShapeError(f"{op}(): {name} has 2 or 3 dimensions, not {matrix.ndim}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise ShapeError(
            f"{op}(): matrices of the shapes {list(mat_a.shape)} and {list(mat_b.shape)} cannot be multiplied"
        )
    flat = mat_a.ndim == 2 or mat_b.ndim == 2
    # Exactly one of the two may hold.
    if flat is (offs is None):
        raise ShapeError(f"{op}(): offs is given where a matrix has 2 dimensions, and only there")
    groups = [m.shape[0] for m in (mat_a, mat_b) if m.ndim == 3]
    if offs is not None:
        if offs.dtype.name != "int32":
            raise DtypeError(f"{op}(): offs is of int32, not of {offs.dtype}")
        if offs.ndim != 1:
            raise ShapeError(f"{op}(): offs has 1 dimension, not {offs.ndim}")
        groups.append(offs.shape[0])
    if len({*groups}) > 1:
        raise ShapeError(f"{op}(): the numbers of groups differ: {groups}")


# --- scales ------------------------------------------------------------------------------------------------------


def _only(op: str, name: str, value: object) -> Any:
    """Return the one value of an argument that may be a list."""
    if not isinstance(value, list | tuple):
        return value
    if len(value) != 1:
        raise UnsupportedError(f"{op}(): {name} has one level of scales, not {len(value)}")
    return value[0]


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_recipe_a: ScalingType | Sequence[ScalingType],
    scale_b: Tensor | Sequence[Tensor],
    scale_recipe_b: ScalingType | Sequence[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: tt.dtype | None = None,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Multiply matrices of float8 whose elements are scaled, as a whole or by rows and columns.

    Parameters
    ----------
    mat_a, mat_b : Tensor
        Matrices of float8_e4m3fn or float8_e5m2, of shape (M, K) and (K, N).
    scale_a, scale_b : Tensor, or list of one
        The scales, of float32: one number, or (M, 1) and (1, N).
    scale_recipe_a, scale_recipe_b : ScalingType, or list of one
        TensorWise or RowWise, the same for both; scales of blocks are refused.
    swizzle_a, swizzle_b : SwizzleType, optional
        NO_SWIZZLE.
    bias : Tensor, optional
        Of shape (N,).
    output_dtype : dtype, optional
        Of the result: bfloat16 by default.
    contraction_dim : sequence of int
        Empty.
    use_fast_accum : bool
        Permits less exact sums; they are made in float32 all the same.

    Raises
    ------
    UnsupportedError
        For scales of blocks, other orders in memory, and contraction dimensions.
    ShapeError, DtypeError
        As `tt._scaled_mm`.

    Examples
    --------
    >>> import tt
    >>> import tt.nn.functional as F
    >>> x, one = tt.eye(16).to(tt.float8_e4m3fn), tt.tensor(2.0)
    >>> F.scaled_mm(x, x, one, F.ScalingType.TensorWise, one, F.ScalingType.TensorWise)[0, 0]
    tensor(4., dtype=tt.bfloat16)
    """
    recipe = _recipe("scaled_mm", scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b, contraction_dim)
    if recipe not in (ScalingType.TensorWise, ScalingType.RowWise):
        raise UnsupportedError(
            f"scaled_mm(): the recipe {recipe} is not supported: it is TensorWise or RowWise"
        )
    scales = _only("scaled_mm", "scale_a", scale_a), _only("scaled_mm", "scale_b", scale_b)
    whole = recipe is ScalingType.TensorWise
    for name, scale, size in (
        ("scale_a", scales[0], mat_a.shape[0]),
        ("scale_b", scales[1], mat_b.shape[-1]),
    ):
        if scale.numel() != (1 if whole else size):
            raise ShapeError(
                f"scaled_mm(): {name} has {1 if whole else size} numbers for {recipe.name}, not {scale.numel()}"
            )
    if not whole:
        scales = ops.reshape(scales[0], (-1, 1)), ops.reshape(scales[1], (1, -1))
    else:
        scales = ops.reshape(scales[0], ()), ops.reshape(scales[1], ())
    return ops._scaled_mm(
        mat_a,
        mat_b,
        scales[0],
        scales[1],
        bias=bias,
        out_dtype=bfloat16 if output_dtype is None else output_dtype,
        use_fast_accum=use_fast_accum,
    )


def _recipe(
    op: str, recipe_a: object, recipe_b: object, swizzle_a: object, swizzle_b: object, contraction_dim: object
) -> Any:
    """Return the recipe of both matrices, and refuse other orders in memory and contraction dimensions."""
    recipes = _only(op, "scale_recipe_a", recipe_a), _only(op, "scale_recipe_b", recipe_b)
    if recipes[0] is not recipes[1]:
        raise UnsupportedError(f"{op}(): the recipes {recipes[0]} and {recipes[1]} differ; both are the same")
    for name, order in (("swizzle_a", swizzle_a), ("swizzle_b", swizzle_b)):
        if _only(op, name, order) not in (None, SwizzleType.NO_SWIZZLE):
            raise UnsupportedError(f"{op}(): {name} is NO_SWIZZLE, not {order}")
    if contraction_dim:
        raise UnsupportedError(f"{op}(): contraction_dim is empty: the inner dimensions are multiplied")
    return recipes[0]


def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_recipe_a: ScalingType | Sequence[ScalingType],
    scale_b: Tensor | Sequence[Tensor],
    scale_recipe_b: ScalingType | Sequence[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: tt.dtype = bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Multiply groups of matrices of float8 whose rows and columns are scaled.

    Parameters
    ----------
    mat_a, mat_b : Tensor
        Of float8_e4m3fn or float8_e5m2; the shapes are those of `grouped_mm`.
    scale_a, scale_b : Tensor, or list of one
        The scales, of float32: of shape (groups, M) and (groups, N) for matrices of three dimensions, (M,) and (N,) for
        those of two.  Where both have two, each group has its own: (groups * M,) and (groups * N,).
    scale_recipe_a, scale_recipe_b : ScalingType, or list of one
        RowWise; scales of blocks are refused.
    swizzle_a, swizzle_b : SwizzleType, optional
        NO_SWIZZLE.
    bias
        None: as in PyTorch, there is none yet.
    offs : Tensor, optional
        Where each group ends, as in `grouped_mm`.
    output_dtype : dtype
        bfloat16, or another floating point dtype.
    contraction_dim : sequence of int
        Empty.
    use_fast_accum : bool
        Permits less exact sums; they are made in float32 all the same.

    Raises
    ------
    UnsupportedError
        For other recipes and orders in memory, contraction dimensions and a bias.
    ShapeError, DtypeError, ValueRangeError
        As `grouped_mm`, and for scales of other shapes.

    Examples
    --------
    >>> import tt
    >>> import tt.nn.functional as F
    >>> x, row = tt.ones(2, 4).to(tt.float8_e4m3fn), F.ScalingType.RowWise
    >>> w, ends = tt.ones(1, 4, 1).to(tt.float8_e4m3fn), tt.tensor([2], dtype=tt.int32)
    >>> F.scaled_grouped_mm(x, w, tt.tensor([1.0, 2.0]), row, tt.ones(1, 1), row, offs=ends)
    tensor([[4.],
            [8.]], dtype=tt.bfloat16)
    """
    op = "scaled_grouped_mm"
    recipe = _recipe(op, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b, contraction_dim)
    if recipe is not ScalingType.RowWise:
        raise UnsupportedError(f"{op}(): the recipe {recipe} is not supported: it is RowWise")
    if bias is not None:
        raise UnsupportedError(f"{op}(): a bias is not supported\n  try: adding it to the result")
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype.name not in ("float8_e4m3fn", "float8_e5m2"):
            raise DtypeError(f"{op}(): {name} is of float8_e4m3fn or float8_e5m2, not of {matrix.dtype}")
    if not output_dtype.is_floating_point:
        raise DtypeError(f"{op}(): output_dtype is a floating point dtype, not {output_dtype}")
    _check_shapes(op, mat_a, mat_b, offs)
    groups = mat_a.shape[0] if offs is None else offs.shape[0]
    rows = _scale(op, "scale_a", _only(op, "scale_a", scale_a), mat_a, mat_b, groups, -2)
    columns = _scale(op, "scale_b", _only(op, "scale_b", scale_b), mat_b, mat_a, groups, -1)
    # float32 holds each product of two float8 numbers exactly.
    one, other = ops.to.dtype(mat_a, float32), ops.to.dtype(mat_b, float32)
    if offs is None:
        product = ops.mul(ops.mul(ops.bmm(one, other), ops.unsqueeze(rows, 2)), ops.unsqueeze(columns, 1))
        return ops.to.dtype(product, output_dtype)
    spans = _spans(op, one, other, offs)
    parts = []
    for k, ((low, high), pair) in enumerate(zip(spans, _pairs(one, other, spans), strict=True)):
        # Rows of a flat matrix are divided among groups, and so are their scales; others have one set for
        # each group.
        down = ops.slice(rows, 0, low, high) if mat_a.ndim == 2 < mat_b.ndim else ops.select(rows, 0, k)
        along = (
            ops.slice(columns, 0, low, high) if mat_b.ndim == 2 < mat_a.ndim else ops.select(columns, 0, k)
        )
        parts.append(ops.mul(ops.mul(ops.mm(*pair), ops.unsqueeze(down, 1)), ops.unsqueeze(along, 0)))
    return ops.to.dtype(_joined(one, other, spans, parts), output_dtype)


def _scale(op: str, name: str, scale: Tensor, matrix: Tensor, other: Tensor, groups: int, dim: int) -> Tensor:
    """Return the scales of a matrix: for each group, or for the dimension that groups share."""
    size = matrix.shape[dim]
    expected: tuple[int, ...] = (groups, size)
    if matrix.ndim == 2:
        expected = (size,) if other.ndim == 3 else (groups * size,)
    if scale.dtype is not float32:
        raise DtypeError(f"{op}(): {name} is of float32, not of {scale.dtype}")
    if tuple(scale.shape) != expected:
        raise ShapeError(f"{op}(): {name} has the shape {list(expected)}, not {list(scale.shape)}")
    return scale if matrix.ndim != other.ndim or matrix.ndim == 3 else ops.reshape(scale, (groups, size))
