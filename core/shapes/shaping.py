"""Shape rules of views and rearrangements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import ShapeError
from tt.core.shapes.geometry import (
    Described,
    check_size,
    infer_size,
    is_contiguous,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from tt.core.shapes.registry import Result, RuleTable

rule = RuleTable()

Shape = tuple[int, ...]


def view(
    tensor: Described, shape: Sequence[int], strides: Sequence[int], offset: int | None = None
) -> Result:
    """Return a result that reads the memory of `tensor`."""
    return Result(tuple(shape), tuple(strides), tensor.offset if offset is None else offset)


# --- the same elements in another shape ------------------------------------------------------------------------


@rule("view")
def view_rule(self: Described, size: Sequence[int], *, op: str) -> Result:
    """Another shape over the same memory."""
    shape = infer_size(op, size, prod(self.shape))
    strides = view_strides(self.shape, self.strides, shape)
    if strides is None:
        raise ShapeError(
            f"{op}(): view size is not compatible with input tensor's size and stride (at least one dimension "
            f"spans across two contiguous subspaces). Use .reshape(...) instead.\n"
            f"  size {list(self.shape)}, stride {list(self.strides)}, wanted {list(shape)}"
        )
    return view(self, shape, strides)


@rule("reshape")
def reshape(self: Described, shape: Sequence[int], *, op: str) -> Result:
    """Another shape: a view where the strides permit it, otherwise a copy."""
    size = infer_size(op, shape, prod(self.shape))
    strides = view_strides(self.shape, self.strides, size)
    return Result(size) if strides is None else view(self, size, strides)


@rule("view_as")
def view_as(self: Described, other: Described, *, op: str) -> Result:
    """The shape of another tensor over the same memory."""
    return view_rule(self, other.shape, op=op)


@rule("reshape_as")
def reshape_as(self: Described, other: Described, *, op: str) -> Result:
    """The shape of another tensor."""
    return reshape(self, other.shape, op=op)


@rule("flatten")
def flatten(self: Described, start_dim: int = 0, end_dim: int = -1, *, op: str) -> Result:
    """Join neighbouring dimensions into one."""
    start, end = wrap_dim(op, start_dim, self.ndim), wrap_dim(op, end_dim, self.ndim)
    if start > end:
        raise ShapeError(f"{op}() has invalid args: start_dim cannot come after end_dim")
    if not self.ndim:
        return reshape(self, (1,), op=op)
    if start == end:
        return view(self, self.shape, self.strides)
    joined = prod(self.shape[start : end + 1])
    return reshape(self, (*self.shape[:start], joined, *self.shape[end + 1 :]), op=op)


@rule("ravel")
def ravel(self: Described, /, *, op: str) -> Result:
    """All elements in one dimension."""
    if is_contiguous(self.shape, self.strides):
        return view_rule(self, (prod(self.shape),), op=op)
    return Result((prod(self.shape),))


@rule("unflatten")
def unflatten(self: Described, dim: int, sizes: Sequence[int], *, op: str) -> Result:
    """Split one dimension into several."""
    index = wrap_dim(op, dim, self.ndim)
    if not sizes:
        raise ShapeError(f"{op}(): sizes must be non-empty")
    size = self.shape[index] if self.ndim else 1
    known = prod(value for value in sizes if value != -1)
    if (-1 not in sizes and known != size) or (-1 in sizes and (not known or size % known)):
        raise ShapeError(
            f"{op}(): Provided sizes {list(sizes)} don't multiply up to the size of dim {index} ({size}) "
            f"in the input tensor"
        )
    return view_rule(
        self, (*self.shape[:index], *infer_size(op, sizes, size), *self.shape[index + 1 :]), op=op
    )


# --- the order of dimensions -----------------------------------------------------------------------------------


@rule("permute")
def permute(self: Described, dims: Sequence[int], *, op: str) -> Result:
    """The dimensions in another order."""
    if len(dims) != self.ndim:
        raise ShapeError(
            f"{op}(): number of dimensions in the tensor input does not match the length of the desired ordering "
            f"of dimensions, i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = wrap_dims(op, dims, self.ndim)
    return view(self, [self.shape[i] for i in order], [self.strides[i] for i in order])


@rule("transpose")
def transpose(self: Described, dim0: int, dim1: int, *, op: str) -> Result:
    """Two dimensions exchanged."""
    first, second = wrap_dim(op, dim0, self.ndim), wrap_dim(op, dim1, self.ndim)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = order[second], order[first]
    return view(self, [self.shape[i] for i in order], [self.strides[i] for i in order])


@rule("t")
def t(self: Described, /, *, op: str) -> Result:
    """A matrix transposed; vectors and scalars stay."""
    if self.ndim > 2:
        raise ShapeError(f"{op}() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return view(self, self.shape[::-1], self.strides[::-1])


@rule("transpose_all")
def transpose_all(self: Described, /) -> Result:
    """All dimensions in reverse order."""
    return view(self, self.shape[::-1], self.strides[::-1])


@rule("matrix_transpose")
def matrix_transpose(self: Described, /, *, op: str) -> Result:
    """The last two dimensions exchanged."""
    if self.ndim < 2:
        raise ShapeError(
            f"{op}: only supported on matrices or batches of matrices. Got {self.ndim}-D tensor."
        )
    return transpose(self, -2, -1, op=op)


@rule("movedim")
def movedim(
    self: Described, source: int | Sequence[int], destination: int | Sequence[int], *, op: str
) -> Result:
    """Some dimensions at other places, the rest in their order."""
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise ShapeError(
            f"{op}(): Invalid source or destination dims: source ({sources} dims) should contain the same number "
            f"of dims as destination ({targets} dims)"
        )
    moved = dict(zip(wrap_dims(op, targets, self.ndim), wrap_dims(op, sources, self.ndim), strict=True))
    if not self.ndim:
        return view(self, (), ())
    rest = iter([i for i in range(self.ndim) if i not in moved.values()])
    order = [moved[i] if i in moved else next(rest) for i in range(self.ndim)]
    return permute(self, order, op=op)


# --- dimensions of size one ------------------------------------------------------------------------------------


@rule("squeeze")
def squeeze(self: Described, dim: Any = None, *, op: str) -> Result:
    """Remove dimensions of size 1: all, or those named."""
    if dim is None:
        chosen = tuple(range(self.ndim))
    else:
        dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
        chosen = wrap_dims(op, dims, self.ndim)
    kept = [i for i, size in enumerate(self.shape) if size != 1 or i not in chosen]
    return view(self, [self.shape[i] for i in kept], [self.strides[i] for i in kept])


@rule("unsqueeze")
def unsqueeze(self: Described, dim: int, *, op: str) -> Result:
    """Insert a dimension of size 1."""
    index = wrap_dim(op, dim, self.ndim + 1)
    stride = self.shape[index] * self.strides[index] if index < self.ndim else 1
    return view(
        self,
        (*self.shape[:index], 1, *self.shape[index:]),
        (*self.strides[:index], stride, *self.strides[index:]),
    )


@rule("at_least")
def at_least(self: Described, ndim: int) -> Result:
    """At least so many dimensions."""
    missing = max(ndim - self.ndim, 0)
    return view(self, (1,) * missing + tuple(self.shape), (1,) * missing + tuple(self.strides))


# --- repetition ------------------------------------------------------------------------------------------------


@rule("expand")
def expand(self: Described, size: Sequence[int], *, op: str) -> Result:
    """Dimensions of size 1 (and new leading ones) repeated without a copy."""
    if len(size) < self.ndim:
        raise ShapeError(
            f"{op}(): the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({self.ndim}): size {list(self.shape)}, expanded size {list(size)}"
        )
    lead = len(size) - self.ndim
    shape, strides = [], []
    for dim, wanted in enumerate(size):
        own = dim - lead
        if own < 0:
            if wanted < 0:
                raise ShapeError(
                    f"{op}(): The expanded size of the tensor ({wanted}) isn't allowed in a leading, non-existing "
                    f"dimension {dim}"
                )
            shape.append(wanted)
            strides.append(0)
            continue
        have = self.shape[own]
        wanted = have if wanted == -1 else wanted
        if (wanted != have and have != 1) or wanted < 0:
            raise ShapeError(
                f"{op}(): The expanded size of the tensor ({wanted}) must match the existing size ({have}) at "
                f"non-singleton dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
        shape.append(wanted)
        strides.append(self.strides[own] if wanted == have else 0)
    for dim in range(lead - 1, -1, -1):
        # As PyTorch gives new dimensions: 0 where they repeat, else the step over everything behind them.
        strides[dim] = 0 if shape[dim] != 1 or dim + 1 == len(shape) else shape[dim + 1] * strides[dim + 1]
    return view(self, shape, strides)


@rule("expand_as")
def expand_as(self: Described, other: Described, *, op: str) -> Result:
    """Repeated without a copy to the shape of another tensor."""
    return expand(self, other.shape, op=op)


@rule("repeat")
def repeat(self: Described, repeats: Sequence[int], *, op: str) -> Shape:
    """Every dimension repeated, as a copy."""
    if len(repeats) < self.ndim:
        raise ShapeError(
            f"{op}(): Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    counts = check_size(op, repeats)
    padded = (1,) * (len(counts) - self.ndim) + tuple(self.shape)
    return tuple(size * count for size, count in zip(padded, counts, strict=True))


@rule("tile")
def tile(self: Described, dims: Sequence[int], *, op: str) -> Shape:
    """Every dimension repeated; missing counts are 1."""
    return repeat(self, (1,) * (self.ndim - len(dims)) + tuple(dims), op=op)
