"""Shape rules of linear algebra."""

from __future__ import annotations

from math import prod

from tt.core.errors import DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.geometry import Described, broadcast, reduced_shape, wrap_dim
from tt.core.shapes.registry import RuleTable
from tt.core.types.dtype import int8, uint8

rule = RuleTable()

Shape = tuple[int, ...]


def expect_matrix(op: str, tensor: Described) -> tuple[Shape, int, int]:
    """Return batch, rows and columns; raise for less than two dimensions."""
    if tensor.ndim < 2:
        raise DimensionCountError(
            f"{op}(): The input tensor A must have at least 2 dimensions, but it has {tensor.ndim}: "
            f"{list(tensor.shape)}"
        )
    return tuple(tensor.shape[:-2]), tensor.shape[-2], tensor.shape[-1]


# --- products --------------------------------------------------------------------------------------------------


@rule("matmul")
def matmul(self: Described, other: Described, /, *, op: str) -> Shape:
    """Vectors, matrices and batches of matrices; the batches broadcast."""
    if not self.ndim or not other.ndim:
        raise DimensionCountError(
            f"{op}(): both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D"
        )
    # A vector is one row on the left and one column on the right; that dimension leaves the result again.
    left = self.shape if self.ndim > 1 else (1, *self.shape)
    right = other.shape if other.ndim > 1 else (*other.shape, 1)
    if left[-1] != right[-2]:
        raise mismatch(op, self, other)
    batch = broadcast(op, left[:-2], right[:-2])
    rows = left[-2:-1] if self.ndim > 1 else ()
    columns = right[-1:] if other.ndim > 1 else ()
    return (*batch, *rows, *columns)


def mismatch(op: str, self: Described, other: Described) -> ShapeError:
    """Return the error of two tensors that cannot be multiplied."""
    shapes = " and ".join("x".join(map(str, t.shape)) for t in (self, other))
    if self.ndim == 1 and other.ndim == 1:
        return ShapeError(
            f"{op}(): the vectors must be equally long, but have {self.shape[0]} and {other.shape[0]} "
            f"elements"
        )
    return ShapeError(
        f"{op}(): matrices of {shapes} do not multiply: the columns of the first are the rows of the second"
    )


def expect_ndim(op: str, ndim: int, **tensors: Described) -> None:
    """Raise unless every tensor has exactly so many dimensions."""
    what = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}[ndim]
    for name, tensor in tensors.items():
        if tensor.ndim != ndim:
            raise DimensionCountError(
                f"{op}(): {name} must be {what} ({ndim}D), got {tensor.ndim}D: {list(tensor.shape)}"
            )


@rule("mm")
def mm(self: Described, mat2: Described, /, *, op: str) -> Shape:
    """Two matrices."""
    expect_ndim(op, 2, self=self, mat2=mat2)
    if self.shape[1] != mat2.shape[0]:
        raise mismatch(op, self, mat2)
    return self.shape[0], mat2.shape[1]


@rule("int_mm")
def int_mm(self: Described, mat2: Described, /, *, op: str) -> Shape:
    """Two matrices of bytes, the second one signed."""
    if self.dtype not in (int8, uint8) or mat2.dtype is not int8:
        raise DtypeError(f"{op}(): expected int8 or uint8, and int8, got {self.dtype} and {mat2.dtype}")
    return mm(self, mat2, op=op)


@rule("bmm")
def bmm(self: Described, mat2: Described, /, *, op: str) -> Shape:
    """Two batches of matrices."""
    expect_ndim(op, 3, self=self, mat2=mat2)
    batch, rows, inner = self.shape
    if mat2.shape[:2] != (batch, inner):
        raise ShapeError(
            f"{op}(): Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but got: "
            f"{list(mat2.shape[:2])}."
        )
    return batch, rows, mat2.shape[2]


@rule("mv")
def mv(self: Described, vec: Described, /, *, op: str) -> Shape:
    """A matrix and a vector."""
    expect_ndim(op, 2, self=self)
    expect_ndim(op, 1, vec=vec)
    if self.shape[1] != vec.shape[0]:
        raise ShapeError(
            f"{op}(): size mismatch, got input ({self.shape[0]}x{self.shape[1]}), vec ({vec.shape[0]})"
        )
    return (self.shape[0],)


@rule("dot")
def dot(self: Described, other: Described, /, *, op: str) -> Shape:
    """Two vectors."""
    if self.ndim != 1 or other.ndim != 1:
        raise DimensionCountError(
            f"{op}(): 1D tensors expected, but got {self.ndim}D and {other.ndim}D tensors"
        )
    if self.shape != other.shape:
        raise mismatch(op, self, other)
    return ()


@rule("vecdot")
def vecdot(x: Described, y: Described, dim: int = -1, *, op: str) -> Shape:
    """Vectors along a dimension; the others broadcast."""
    shape = broadcast(op, x.shape, y.shape)
    return reduced_shape(shape, (wrap_dim(op, dim, len(shape)),) if shape else (), False)


@rule("outer")
def outer(self: Described, vec2: Described, /, *, op: str) -> Shape:
    """Every product of the elements of two vectors."""
    expect_ndim(op, 1, self=self, vec2=vec2)
    return self.shape[0], vec2.shape[0]


@rule("cross")
def cross(self: Described, other: Described, /, dim: int | None = -1, *, op: str) -> Shape:
    """The cross product of vectors of three along a dimension."""
    if self.ndim != other.ndim:
        raise DimensionCountError(
            f"{op}(): the tensors must have equally many dimensions, but have {self.ndim} and {other.ndim}"
        )
    shape = broadcast(op, self.shape, other.shape)
    if dim is None:
        # As PyTorch's older `cross`: without dim, the first dimension of size three.
        at = next((i for i, size in enumerate(self.shape) if size == 3), -1)
    else:
        at = wrap_dim(op, dim, self.ndim)
    if at < 0 or not shape or self.shape[at] != 3 or other.shape[at] != 3:
        raise ShapeError(
            f"{op}(): dimension {dim} must have size 3, but the shapes are {list(self.shape)} and {list(other.shape)}"
        )
    return shape


# --- a product added to something ------------------------------------------------------------------------------


def added(op: str, self: Described, shape: Shape) -> Shape:
    """Return the shape of a product to which `self` is added, which it broadcasts to."""
    joint = broadcast(op, shape, self.shape)
    if joint != shape:
        raise ShapeError(
            f"{op}(): self of shape {list(self.shape)} does not broadcast to the product, whose shape is "
            f"{list(shape)}"
        )
    return shape


@rule("addmm")
def addmm(self: Described, mat1: Described, mat2: Described, /, *, op: str) -> Shape:
    """A product of matrices added to a tensor."""
    return added(op, self, mm(mat1, mat2, op=op))


@rule("addmv")
def addmv(self: Described, mat: Described, vec: Described, /, *, op: str) -> Shape:
    """A product of a matrix and a vector added to a tensor."""
    return added(op, self, mv(mat, vec, op=op))


@rule("addr")
def addr(self: Described, vec1: Described, vec2: Described, /, *, op: str) -> Shape:
    """An outer product added to a tensor."""
    return added(op, self, outer(vec1, vec2, op=op))


@rule("baddbmm")
def baddbmm(self: Described, batch1: Described, batch2: Described, /, *, op: str) -> Shape:
    """A product of batches of matrices added to a tensor."""
    return added(op, self, bmm(batch1, batch2, op=op))


@rule("addbmm")
def addbmm(self: Described, batch1: Described, batch2: Described, /, *, op: str) -> Shape:
    """A sum of products of matrices added to a tensor."""
    # The batch is summed over.
    return added(op, self, bmm(batch1, batch2, op=op)[1:])


# --- diagonals, distances --------------------------------------------------------------------------------------


@rule("diag")
def diag(self: Described, diagonal: int = 0, *, op: str) -> Shape:
    """The diagonal of a matrix, or a matrix with a vector on its diagonal."""
    if self.ndim == 1:
        size = self.shape[0] + abs(diagonal)
        return size, size
    if self.ndim != 2:
        raise DimensionCountError(
            f"{op}(): the tensor must be a vector or a matrix, but has {self.ndim} dimensions"
        )
    rows, columns = self.shape
    return (max(min(rows, columns - diagonal) if diagonal >= 0 else min(rows + diagonal, columns), 0),)


@rule("diagflat")
def diagflat(self: Described, offset: int = 0) -> Shape:
    """A matrix with all elements on its diagonal."""
    size = prod(self.shape) + abs(offset)
    return size, size


MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@rule("cdist")
def cdist(x1: Described, x2: Described, p: float = 2.0, compute_mode: str | None = None, *, op: str) -> Shape:
    """Distances between the rows of two matrices."""
    if x1.ndim < 2 or x2.ndim < 2:
        raise DimensionCountError(
            f"{op}(): X1 and X2 need at least 2 dimensions, got {x1.ndim}D and {x2.ndim}D"
        )
    if x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(
            f"{op}(): X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    # NaN must fail too.
    if not p >= 0:
        raise ValueRangeError(f"{op}(): only supports non-negative p values, got {p}")
    if compute_mode is not None and compute_mode not in MODES:
        raise ValueRangeError(
            f"{op}(): {compute_mode!r} is not a valid compute_mode; there are {', '.join(MODES)}"
        )
    return (*broadcast(op, x1.shape[:-2], x2.shape[:-2]), x1.shape[-2], x2.shape[-2])


@rule("linear")
def linear(input: Described, weight: Described, bias: Described | None = None, *, op: str) -> Shape:
    """The last dimension multiplied by a matrix (out, in), plus a bias."""
    if weight.ndim not in (1, 2):
        raise DimensionCountError(f"{op}(): weight must be 1D or 2D, got {weight.ndim}D")
    if not input.ndim:
        raise ShapeError(f"{op}(): input must have at least one dimension")
    if input.shape[-1] != weight.shape[-1]:
        rows = prod(input.shape[:-1])
        raise ShapeError(
            f"{op}(): mat1 and mat2 shapes cannot be multiplied ({rows}x{input.shape[-1]} and "
            f"{weight.shape[-1]}x{weight.shape[0] if weight.ndim > 1 else 1})"
        )
    shape = (*input.shape[:-1], *weight.shape[:-1])
    if bias is not None and input.ndim == 2 and weight.ndim == 1:
        raise ShapeError(
            f"{op}(): with a matrix as input and a bias, weight must be a matrix, got {list(weight.shape)}"
        )
    if bias is not None and broadcast(op, shape, bias.shape) != shape:
        raise ShapeError(f"{op}(): bias {list(bias.shape)} does not fit the output {list(shape)}")
    return shape


@rule("bilinear")
def bilinear(input1: Described, input2: Described, weight: Described, *, op: str) -> Shape:
    """Two last dimensions combined by a matrix for each output."""
    if input1.shape[:-1] != input2.shape[:-1] or weight.shape[1:] != (input1.shape[-1], input2.shape[-1]):
        raise ShapeError(
            f"{op}(): inputs {list(input1.shape)}, {list(input2.shape)} and weight {list(weight.shape)} do not fit"
        )
    return (*input1.shape[:-1], weight.shape[0])


@rule("pinv")
def pinv(self: Described, /, *, op: str) -> Shape:
    """A matrix with rows and columns exchanged."""
    batch, m, n = expect_matrix(op, self)
    return (*batch, n, m)
