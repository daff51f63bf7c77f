"""Shape rules of views and rearrangements of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    IndexValueError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from tt.core.shapes.geometry import (
    Described,
    check_size,
    contiguous_strides,
    infer_size,
    like_strides,
    view_strides,
    wrap_dim,
    wrap_dims,
)
from tt.core.shapes.registry import Result, RuleTable
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.dtype import float16, float32, float64
from tt.core.types.memory_format import ORDERS
from tt.operators.pointwise.shapes import ordered_strides

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
            f"{op}(): the memory of a tensor of shape {list(self.shape)} and strides {list(self.strides)} cannot be "
            f"read as {list(shape)} without a copy\n  try: .reshape(...), which copies where it must"
        )
    return view(self, shape, strides)


# --- the order of dimensions -----------------------------------------------------------------------------------


@rule("permute")
def permute(self: Described, dims: Sequence[int], *, op: str) -> Result:
    """The dimensions in another order."""
    if len(dims) != self.ndim:
        raise ShapeError(
            f"{op}(): dims must name each of the {self.ndim} dimensions once, and {list(dims)} names {len(dims)}"
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
        raise DimensionCountError(
            f"{op}(): the tensor has {self.ndim} dimensions, and at most 2 can be swapped so\n"
            f"  try: .mT or .transpose()"
        )
    return view(self, self.shape[::-1], self.strides[::-1])


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
    # A step over all of the dimension behind it, as PyTorch gives, so that dense tensors stay dense.
    stride = self.shape[index] * self.strides[index] if index < self.ndim else 1
    return view(
        self,
        (*self.shape[:index], 1, *self.shape[index:]),
        (*self.strides[:index], stride, *self.strides[index:]),
    )


# --- repetition ------------------------------------------------------------------------------------------------


@rule("expand")
def expand(self: Described, size: Sequence[int], *, op: str) -> Result:
    """Dimensions of size 1 (and new leading ones) repeated without a copy."""
    if len(size) < self.ndim:
        raise DimensionCountError(
            f"{op}(): the size {list(size)} has {len(size)} dimensions, fewer than the tensor's {self.ndim}, of shape "
            f"{list(self.shape)}"
        )
    lead = len(size) - self.ndim
    shape, strides = [], []
    for dim, requested in enumerate(size):
        # Sizes line up from the last dimension, as in broadcasting.
        own = dim - lead
        if own < 0:
            if requested < 0:
                raise ShapeError(
                    f"{op}(): dimension {dim} of {list(size)} is new, and a new dimension needs a size of its own, not "
                    f"{requested}"
                )
            shape.append(requested)
            strides.append(0)
            continue
        have = self.shape[own]
        requested = have if requested == -1 else requested
        if (requested != have and have != 1) or requested < 0:
            raise ShapeError(
                f"{op}(): a tensor of shape {list(self.shape)} does not expand to {list(size)}: in dimension {dim} the "
                f"size {have} cannot become {requested}, only a size of 1 repeats"
            )
        shape.append(requested)
        strides.append(self.strides[own] if requested == have else 0)
    for dim in range(lead - 1, -1, -1):
        # As PyTorch gives new dimensions: 0 where they repeat, else the step over everything behind them.
        strides[dim] = 0 if shape[dim] != 1 or dim + 1 == len(shape) else shape[dim + 1] * strides[dim + 1]
    return view(self, shape, strides)


@rule("repeat")
def repeat(self: Described, repeats: Sequence[int], *, op: str) -> Shape:
    """Every dimension repeated, as a copy."""
    if len(repeats) < self.ndim:
        raise DimensionCountError(
            f"{op}(): {len(repeats)} counts for a tensor of {self.ndim} dimensions; each dimension needs one"
        )
    counts = check_size(op, repeats)
    padded = (1,) * (len(counts) - self.ndim) + tuple(self.shape)
    return tuple(size * count for size, count in zip(padded, counts, strict=True))


# --- other element types ---------------------------------------------------------------------------------------


@rule("view_dtype")
def view_dtype(self: Described, dtype: Dtype, *, op: str) -> Result:
    """The same bytes read as another dtype."""
    old, new = self.dtype.itemsize, dtype.itemsize
    if old == new:
        return Result(self.shape, tuple(self.strides), self.offset, dtype)
    if not self.ndim:
        raise ShapeError(
            f"{op}(): a tensor without dimensions of {self.dtype} cannot be read as {dtype}, which has another size"
        )
    # Only bytes that are neighbours in memory can be read as one element, or one element as several.
    if self.strides[-1] != 1:
        raise ShapeError(
            f"{op}(): {self.dtype} read as {dtype}, which has another size, needs a last stride of 1, but it is "
            f"{self.strides[-1]}"
        )
    if old > new:
        # Strides and offset count elements, of which the same bytes hold more now.
        ratio = old // new
        return Result(
            (*self.shape[:-1], self.shape[-1] * ratio),
            (*(stride * ratio for stride in self.strides[:-1]), 1),
            self.offset * ratio,
            dtype,
        )
    ratio = new // old
    # Each wider element must begin at a multiple of its own size, wherever a stride leads.
    if self.shape[-1] % ratio or self.offset % ratio or any(stride % ratio for stride in self.strides[:-1]):
        raise ShapeError(
            f"{op}(): the last size ({self.shape[-1]}), the strides {list(self.strides[:-1])} and the storage offset "
            f"({self.offset}) must be multiples of {ratio} to read {self.dtype} as {dtype}"
        )
    return Result(
        (*self.shape[:-1], self.shape[-1] // ratio),
        (*(stride // ratio for stride in self.strides[:-1]), 1),
        self.offset // ratio,
        dtype,
    )


@rule("view_as_real")
def view_as_real(self: Described, /, *, op: str) -> Result:
    """Complex numbers as a last dimension of two reals."""
    if not self.dtype.is_complex:
        raise DtypeError(f"{op}(): the tensor must be complex, but is {self.dtype}")
    real = self.dtype.to_real()
    strides = (*(2 * stride for stride in self.strides), 1)
    return Result((*self.shape, 2), strides, 2 * self.offset, real)


@rule("view_as_complex")
def view_as_complex(self: Described, /, *, op: str) -> Result:
    """A last dimension of two reals as complex numbers."""
    if self.dtype not in (float16, float32, float64):
        raise DtypeError(f"{op}(): the tensor must be of float16, float32 or float64, but is {self.dtype}")
    if not self.ndim or self.shape[-1] != 2:
        raise ShapeError(f"{op}(): the last dimension must have size 2, but the shape is {list(self.shape)}")
    if self.strides[-1] != 1:
        raise ShapeError(f"{op}(): the last stride must be 1, but is {self.strides[-1]}")
    if any(stride % 2 for stride in self.strides[:-1]):
        raise ShapeError(f"{op}(): every stride but the last must be even, but they are {list(self.strides)}")
    if self.offset % 2:
        raise ShapeError(f"{op}(): the storage offset must be even, but is {self.offset}")
    strides = tuple(stride // 2 for stride in self.strides[:-1])
    return Result(self.shape[:-1], strides, self.offset // 2, self.dtype.to_complex())


@rule("real")
def real(self: Described, /, *, op: str) -> Result:
    """The real parts as a view; a real tensor itself."""
    if not self.dtype.is_complex:
        return view(self, self.shape, self.strides)
    return select(view_as_real(self, op=op).described(self.dtype.to_real()), -1, 0, op=op)


@rule("imag")
def imag(self: Described, /, *, op: str) -> Result:
    """The imaginary parts as a view."""
    if not self.dtype.is_complex:
        raise DtypeError(f"{op}(): the tensor must be complex, but is {self.dtype}")
    return select(view_as_real(self, op=op).described(self.dtype.to_real()), -1, 1, op=op)


@rule("alias")
def alias(self: Described, /) -> Result:
    """The same memory as it is."""
    return view(self, self.shape, self.strides)


@rule("cat")
def cat(tensors: Sequence[Described], dim: int = 0, *, op: str) -> Result:
    """Tensors one after the other along a dimension; empty one-dimensional ones are skipped."""
    if not tensors:
        raise ValueRangeError(f"{op}(): the list holds no tensor")
    for index, tensor in enumerate(tensors):
        if not tensor.ndim:
            raise ShapeError(
                f"{op}(): tensor {index} has no dimension along which it could be joined\n  try: stack()"
            )
    kept = [(i, t) for i, t in enumerate(tensors) if tuple(t.shape) != (0,)]
    if not kept:
        return Result((0,))  # whatever the dimension, which tensors of other shapes may have
    position, first = kept[0]
    at = wrap_dim(op, dim, first.ndim)
    for index, tensor in kept[1:]:
        if tensor.ndim != first.ndim:
            raise DimensionCountError(
                f"{op}(): tensor {position} has {first.ndim} dimensions and tensor {index} has {tensor.ndim}; only "
                f"equal numbers can be joined"
            )
        for other in range(first.ndim):
            if other != at and tensor.shape[other] != first.shape[other]:
                raise ShapeError(
                    f"{op}(): tensors that are joined along dimension {at} must agree in the others, and in dimension "
                    f"{other} tensor {position} has size {first.shape[other]}, tensor {index} has {tensor.shape[other]}"
                )
    shape = list(first.shape)
    shape[at] = sum(tensor.shape[at] for _, tensor in kept)
    return Result(tuple(shape))


@rule("block_diag")
def block_diag(tensors: Sequence[Described], *, op: str) -> Shape:
    """Matrices along the diagonal of one."""
    rows = columns = 0
    for tensor in tensors:
        if tensor.ndim > 2:
            raise DimensionCountError(
                f"{op}(): Input tensors must have 2 or fewer dimensions. Got {tensor.ndim}"
            )
        # A number is a matrix of one element, and a vector one row.
        height, width = ((1, 1), (1, *tensor.shape), tuple(tensor.shape))[tensor.ndim]
        rows, columns = rows + height, columns + width
    # PyTorch makes one empty row of no tensors at all.
    return (rows, columns) if tensors else (1, 0)


# --- rearranged copies -----------------------------------------------------------------------------------------


@rule("flip")
def flip(self: Described, dims: Sequence[int], *, op: str) -> Result:
    """Some dimensions reversed, as a copy."""
    wrap_dims(op, dims, self.ndim)
    return Result(self.shape, like_strides(self))


@rule("roll")
def roll(self: Described, shifts: Sequence[int], dims: Sequence[int] = (), *, op: str) -> Shape:
    """Elements shifted along dimensions, as a copy."""
    shift_list = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    dim_list = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    if not shift_list:
        raise ShapeError(f"{op}(): no shift is given")
    # A single shift without a dimension moves the flattened tensor.
    if dim_list or len(shift_list) != 1:
        if len(shift_list) != len(dim_list):
            raise ShapeError(
                f"{op}(): {len(shift_list)} shifts for {len(dim_list)} dimensions; each dimension needs one"
            )
        for dim in dim_list:
            if not self.ndim:
                raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has none")
            wrap_dim(op, dim, self.ndim)
    return self.shape


@rule("triangle")
def triangle(self: Described, /, *, op: str) -> Shape:
    """A matrix with one triangle set to zero."""
    if self.ndim < 2:
        raise DimensionCountError(
            f"{op}(): only matrices have triangles, and the tensor has {self.ndim} dimensions"
        )
    return self.shape


@rule("diag_embed")
def diag_embed(self: Described, offset: int = 0, dim1: int = -2, dim2: int = -1, *, op: str) -> Shape:
    """The last dimension on a diagonal of two new ones."""
    ndim = self.ndim + 1
    first, second = wrap_dim(op, dim1, ndim), wrap_dim(op, dim2, ndim)
    if first == second:
        raise ShapeError(
            f"{op}(): a diagonal runs through two dimensions, and {dim1} and {dim2} are the same"
        )
    if not self.ndim:
        raise ShapeError(f"{op}(): needs a tensor of at least one dimension")
    # Off the main diagonal, as many elements need as many more rows and columns.
    size = self.shape[-1] + abs(offset)
    rest = iter(self.shape[:-1])
    return tuple(size if i in (first, second) else next(rest) for i in range(ndim))


@rule("constant_pad_nd")
def constant_pad_nd(self: Described, pad: Sequence[int], *, op: str) -> Shape:
    """Elements added before and after the last dimensions (negative: removed)."""
    if len(pad) % 2:
        raise ShapeError(
            f"{op}(): pad holds two counts for each dimension, before and after it, and {len(pad)} is odd"
        )
    count = len(pad) // 2
    if count > self.ndim:
        raise ShapeError(f"{op}(): pad holds counts for {count} dimensions, and the tensor has {self.ndim}")
    shape = list(self.shape)
    for i in range(count):
        # The pairs begin at the last dimension.
        dim = self.ndim - 1 - i
        shape[dim] += pad[2 * i] + pad[2 * i + 1]
        # What one side adds does not make up for the other: elements are removed before any are added.
        if self.shape[dim] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
            raise ShapeError(
                f"{op}(): pad ({pad[2 * i]}, {pad[2 * i + 1]}) takes more away from dimension {dim} than its size, "
                f"{self.shape[dim]}"
            )
    return tuple(shape)


@rule("pad_places")
def pad_places(self: Described, pad: Sequence[int], mode: str, *, op: str) -> Shape:
    """Elements of the tensor itself added before and after the last dimensions."""
    shape = constant_pad_nd(self, pad, op=op)
    modes = ("reflect", "replicate", "circular")
    if mode not in modes:
        raise ShapeError(f"{op}(): unknown mode {mode!r}\n  there are: {', '.join(modes)}")
    for position, count in enumerate(pad):
        size = self.shape[self.ndim - 1 - position // 2]
        # A reflection leaves out the edge itself, so one element fewer can be mirrored.
        if count > 0 and (count >= size if mode == "reflect" else size == 0):
            raise ShapeError(f"{op}(): mode {mode!r} cannot add {count} elements to a dimension of {size}")
    return shape


@rule("pixel_shuffle")
def pixel_shuffle(self: Described, upscale_factor: int, *, op: str) -> Shape:
    """Channels turned into pixels."""
    if self.ndim < 3 or self.shape[-3] % upscale_factor**2:
        raise ShapeError(
            f"{op}(): expects its input's 'channel' dimension to be divisible by the square of upscale_factor "
            f"({upscale_factor}), but the input is {list(self.shape)}"
        )
    *batch, channels, height, width = self.shape
    return (*batch, channels // upscale_factor**2, height * upscale_factor, width * upscale_factor)


@rule("pixel_unshuffle")
def pixel_unshuffle(self: Described, downscale_factor: int, *, op: str) -> Shape:
    """Pixels turned into channels."""
    if self.ndim < 3 or self.shape[-1] % downscale_factor or self.shape[-2] % downscale_factor:
        raise ShapeError(
            f"{op}(): expects height and width to be divisible by downscale_factor ({downscale_factor}), but the "
            f"input is {list(self.shape)}"
        )
    *batch, channels, height, width = self.shape
    return (*batch, channels * downscale_factor**2, height // downscale_factor, width // downscale_factor)


# --- parts -----------------------------------------------------------------------------------------------------


@rule("select")
def select(self: Described, dim: int, index: int, *, op: str) -> Result:
    """One slice of a dimension, which disappears."""
    if not self.ndim:
        raise IndexValueError(f"{op}(): the tensor has no dimension to take something of")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if not -size <= index < size:
        raise IndexValueError(
            f"{op}(): index {index} is out of range in dimension {at} of a tensor of shape {list(self.shape)}"
        )
    offset = self.offset + (index % size) * self.strides[at]
    return view(
        self, self.shape[:at] + self.shape[at + 1 :], self.strides[:at] + self.strides[at + 1 :], offset
    )


@rule("slice")
def slice_rule(
    self: Described, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, op: str
) -> Result:
    """A range of a dimension."""
    if not self.ndim:
        raise IndexValueError(f"{op}(): the tensor has no dimension to take something of")
    at = wrap_dim(op, dim, self.ndim)
    if step <= 0:
        raise ShapeError(
            f"{op}(): the step is {step}, and only positive ones are possible\n  try: flip() for the reverse order"
        )
    size = self.shape[at]
    first = clip(0 if start is None else start, size)
    # An end before the start gives an empty range, and no negative size.
    last = max(clip(size if end is None else end, size), first)
    shape, strides = list(self.shape), list(self.strides)
    shape[at] = (last - first + step - 1) // step
    strides[at] *= step
    return view(self, shape, strides, self.offset + first * self.strides[at])


def clip(index: int, size: int) -> int:
    """Return a slice bound, counted from the front and inside the dimension."""
    return min(max(index + size if index < 0 else index, 0), size)


@rule("diagonal")
def diagonal(self: Described, offset: int = 0, dim1: int = 0, dim2: int = 1, *, op: str) -> Result:
    """A diagonal of two dimensions, as a new last dimension."""
    shape, strides, start = diagonal_geometry(op, self.shape, self.strides, offset, dim1, dim2)
    return view(self, shape, strides, self.offset + start)


def diagonal_geometry(
    op: str, shape: Shape, strides: Shape, offset: int, dim1: int, dim2: int
) -> tuple[Shape, Shape, int]:
    """Return shape, strides and first element of a diagonal."""
    ndim = len(shape)
    first, second = wrap_dim(op, dim1, ndim), wrap_dim(op, dim2, ndim)
    if first == second:
        raise ShapeError(
            f"{op}(): a diagonal runs through two dimensions, and {dim1} and {dim2} are the same"
        )
    rows, columns = shape[first], shape[second]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    start = 0
    # An empty diagonal keeps the place of the tensor: its own start may lie outside the memory.
    if length:
        start = offset * strides[second] if offset >= 0 else -offset * strides[first]
    rest = [i for i in range(ndim) if i not in (first, second)]
    return (
        (*(shape[i] for i in rest), length),
        (*(strides[i] for i in rest), strides[first] + strides[second]),
        start,
    )


@rule("unfold")
def unfold(self: Described, dimension: int, size: int, step: int, *, op: str) -> Result:
    """Overlapping windows along a dimension, as a new last dimension."""
    return view(self, *unfold_geometry(op, self.shape, self.strides, dimension, size, step))


def unfold_geometry(
    op: str, shape: Shape, strides: Shape, dimension: int, size: int, step: int
) -> tuple[Shape, Shape]:
    """Return shape and strides of the windows along a dimension."""
    at = wrap_dim(op, dimension, len(shape))
    # A number is unfolded as a vector of one element.
    have = shape[at] if shape else 1
    if size < 0:
        raise ShapeError(f"{op}(): the size of a window is {size}, and cannot be negative")
    if size > have:
        raise ShapeError(f"{op}(): a window of {size} does not fit in dimension {at}, whose size is {have}")
    if step <= 0:
        raise ShapeError(f"{op}(): the step from window to window is {step}, and must be positive")
    if not shape:
        return (size,), (1,)
    count = (have - size) // step + 1
    return (
        (*shape[:at], count, *shape[at + 1 :], size),
        (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at]),
    )


@rule("as_strided")
def as_strided(
    self: Described,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
    *,
    op: str,
) -> Result:
    """Any sizes and strides over the same memory."""
    if len(size) != len(stride):
        raise ShapeError(
            f"{op}(): {len(size)} sizes and {len(stride)} strides; each dimension needs one of both"
        )
    shape = check_size(op, size)
    if any(value < 0 for value in stride):
        raise ShapeError(f"{op}(): the strides {list(stride)} are not possible: a stride cannot be negative")
    offset = self.offset if storage_offset is None else storage_offset
    if offset < 0:
        raise ShapeError(f"{op}(): the storage offset {offset} lies before the memory")
    extent = getattr(self, "extent", None)
    needed = required_extent(shape, stride, offset)
    # A description without memory of its own has no end to check.
    if extent is not None and needed > extent:
        itemsize = self.dtype.itemsize
        raise ShapeError(
            f"{op}(): sizes {list(shape)}, strides {list(stride)} and storage offset {offset} reach "
            f"{needed * itemsize} bytes into a memory of {extent * itemsize}"
        )
    return view(self, shape, stride, offset)


def required_extent(shape: Sequence[int], strides: Sequence[int], offset: int) -> int:
    """Return how many elements a memory must have to be read like this; nothing to read needs none."""
    if 0 in shape:
        return 0
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


# --- several parts ---------------------------------------------------------------------------------------------


@rule("unbind")
def unbind(self: Described, dim: int = 0, *, op: str) -> list[Result]:
    """All slices of a dimension."""
    if not self.ndim:
        raise IndexValueError(f"{op}(): dimension {dim} does not exist: the tensor has none")
    at = wrap_dim(op, dim, self.ndim)
    return [select(self, at, index, op=op) for index in range(self.shape[at])]


@rule("split")
def split(self: Described, split_size: Any, dim: int = 0, *, op: str) -> list[Result]:
    """Parts of equal size, the last one smaller, or parts of given sizes."""
    if isinstance(split_size, (list, tuple)):
        return _split_in_sizes(self, split_size, dim, op=op)
    if not self.ndim:
        raise ShapeError(f"{op}(): the tensor has no dimension to split")
    if split_size < 0:
        raise ShapeError(f"{op}(): the size of the pieces is {split_size}, and cannot be negative")
    at = wrap_dim(op, dim, self.ndim)
    size = self.shape[at]
    if split_size == 0:
        if size:
            raise ShapeError(f"{op}(): dimension {at} has size {size} and cannot be split into pieces of 0")
        return [slice_rule(self, at, op=op)]
    # An empty dimension still gives one piece, which is empty.
    starts = range(0, max(size, 1), split_size)
    return [slice_rule(self, at, start, start + split_size, op=op) for start in starts]


def _split_in_sizes(self: Described, split_sizes: Sequence[int], dim: int = 0, *, op: str) -> list[Result]:
    """Parts of given sizes."""
    if not self.ndim:
        raise ShapeError(f"{op}(): the tensor has no dimension to split")
    at = wrap_dim(op, dim, self.ndim)
    if any(size < 0 for size in split_sizes):
        raise ShapeError(f"{op}(): the sizes {list(split_sizes)} hold a negative one")
    if sum(split_sizes) != self.shape[at]:
        raise ShapeError(
            f"{op}(): the sizes {list(split_sizes)} add up to {sum(split_sizes)}, and dimension {at} has size "
            f"{self.shape[at]}"
        )
    parts, start = [], 0
    for size in split_sizes:
        parts.append(slice_rule(self, at, start, start + size, op=op))
        start += size
    return parts


@rule("resize")
def resize(self: Described, size: Sequence[int], memory_format: Any = None, *, op: str) -> Result:
    """Dense elements from the first one on, in the same memory or in larger one."""
    shape = check_size(op, size)
    name = str(memory_format).rpartition(".")[2]
    # The size it has leaves a tensor as it is, strides with gaps included.
    if memory_format is None and shape == tuple(self.shape):
        return Result(shape, tuple(self.strides), self.offset)
    if name == "preserve_format":
        raise UnsupportedError(f"{op}_(): unsupported memory format preserve_format")
    strides = ordered_strides(op, shape, name) if name in ORDERS else contiguous_strides(shape)
    return Result(shape, strides, self.offset)


@rule("select_scatter")
def select_scatter(self: Described, src: Described, dim: int, index: int, *, op: str) -> Result:
    """A copy with one slice replaced."""
    return _replaced(op, self, src, select(self, dim, index, op=op).shape)


@rule("slice_scatter")
def slice_scatter(
    self: Described, src: Described, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1,
    *, op: str,
) -> Result:  # fmt: skip
    """A copy with a range of slices replaced."""
    return _replaced(op, self, src, slice_rule(self, dim, start, end, step, op=op).shape)


@rule("diagonal_scatter")
def diagonal_scatter(
    self: Described, src: Described, offset: int = 0, dim1: int = 0, dim2: int = 1, *, op: str
) -> Result:
    """A copy with a diagonal replaced."""
    return _replaced(op, self, src, diagonal(self, offset, dim1, dim2, op=op).shape)


@rule("as_strided_scatter")
def as_strided_scatter(
    self: Described, src: Described, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None,
    *, op: str,
) -> Result:  # fmt: skip
    """A copy with a strided view replaced."""
    return _replaced(op, self, src, as_strided(self, size, stride, storage_offset, op=op).shape)


def _replaced(op: str, self: Described, src: Described, shape: Shape) -> Result:
    if tuple(src.shape) != tuple(shape):
        raise ShapeError(
            f"{op}(): src has shape {list(src.shape)}, and the part that it replaces has {list(shape)}"
        )
    return Result(self.shape, like_strides(self))
