"""Composites that view a whole tensor otherwise, in terms of other views."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call.memory_formats import format_of
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    DimensionCountError,
    DtypeError,
    IndexValueError,
    ShapeError,
)
from tt.core.shapes.geometry import broadcast, common_shape, infer_size, view_strides, wrap_dim, wrap_dims
from tt.core.types.memory_format import ORDERS
from tt.core.types.user_warnings import warn_user
from tt.operators.helpers import (
    alone,
    check_integers,
    check_shapes,
    wrap,
)
from tt.operators.shaping.shapes import diagonal_geometry, unfold_geometry

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- the same elements in another shape ------------------------------------------------------------------------


@composite("reshape")
def reshape(self: Tensor, shape: Sequence[int]) -> Tensor:
    size = infer_size("reshape", shape, self.numel())
    if view_strides(tuple(self.shape), self.stride(), size) is not None:
        return ops.view.default(self, size)
    # Nobody else sees the copy, so the result is no view for autograd.
    return alone(ops.view.default(ops.clone(self, memory_format="contiguous_format"), size))


@composite("flatten")
def flatten(self: Tensor, start_dim: int, end_dim: int) -> Tensor:
    start, end = wrap("flatten", start_dim, self), wrap("flatten", end_dim, self)
    if start > end:
        raise ShapeError(f"flatten(): start_dim {start} comes after end_dim {end}")
    if not self.ndim:
        return ops.reshape(self, (1,))
    if start == end:
        return self
    shape = tuple(self.shape)
    return ops.reshape(self, (*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]))


composite("broadcast_to", lambda self, size: ops.expand(self, size))
composite("detach", lambda self: ops.alias(self))


@composite("transpose")
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    first, second = wrap("transpose", dim0, self), wrap("transpose", dim1, self)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = second, first
    return ops.permute(self, tuple(order))


@composite("t")
def t(self: Tensor) -> Tensor:
    check_shapes("t", self)
    return ops.permute(self, tuple(reversed(range(self.ndim))))


def _without(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the view without dimensions of size 1."""
    # From the last one on, so that the dimensions before keep their numbers.
    for dim in sorted(dims, reverse=True):
        if self.shape[dim] == 1:
            self = ops.select(self, dim, 0)
    return self


@composite("squeeze")
def squeeze(self: Tensor) -> Tensor:
    # An alias first: the result is a new view also where no dimension goes.
    return _without(ops.alias(self), range(self.ndim))


@composite("squeeze.dim")
def squeeze_dim(self: Tensor, dim: Sequence[int]) -> Tensor:
    dims = wrap_dims("squeeze", [dim] if isinstance(dim, int) else dim, self.ndim)
    return _without(ops.alias(self), dims if self.ndim else ())


# --- the order of dimensions -----------------------------------------------------------------------------------


@composite("T")
def dimensions_reversed(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        warn_user(
            f".T is for matrices, and the tensor has {self.ndim} dimension{'s' * (self.ndim > 1)}; this is "
            "deprecated\n"
            "  try: .mT for a batch of matrices, permute() to reverse the dimensions"
        )
    elif not self.ndim:
        _warn_of_number(".T")
    return ops.permute(self, tuple(reversed(range(self.ndim))))


composite("mT", lambda self: _transposed(".mT", self, conjugate=False))
composite("mH", lambda self: _transposed(".mH", self, conjugate=True))
composite("adjoint", lambda self: _transposed("adjoint()", self, conjugate=True))


@composite("H")
def conjugate_transpose(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        more = "\n  try: .mH for a batch of matrices" if self.ndim > 2 else ""
        raise DimensionCountError(f".H is for matrices, and the tensor has {self.ndim} dimensions{more}")
    return _transposed(".H", self, conjugate=True)


def _warn_of_number(op: str) -> None:
    warn_user(
        f"{op} is for matrices, and the tensor has no dimensions; this is deprecated\n"
        "  try: conj(), or the tensor itself"
    )


def _transposed(op: str, self: Tensor, *, conjugate: bool) -> Tensor:
    """Return matrices transposed; a number is its own transpose."""
    if self.ndim == 1:
        raise ShapeError(f"{op} is for matrices and batches of them, and the tensor has 1 dimension")
    if not self.ndim:
        _warn_of_number(op)
    result = ops.conj(self) if conjugate and self.dtype.is_complex else self
    return ops.transpose(result, -2, -1) if self.ndim else result


@composite("movedim")
def movedim(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    if len(source) != len(destination):
        raise ShapeError(
            f"movedim(): {len(source)} dimensions, {list(source)}, cannot go to {len(destination)} places, "
            f"{list(destination)}"
        )
    sources = [wrap("movedim", dim, self) for dim in source]
    targets = [wrap("movedim", dim, self) for dim in destination]
    # For the check alone: no dimension may be named twice.
    wrap_dims("movedim", sources, self.ndim), wrap_dims("movedim", targets, self.ndim)
    if not self.ndim:
        return ops.alias(self)
    moved = dict(zip(targets, sources, strict=True))
    rest = iter([dim for dim in range(self.ndim) if dim not in sources])
    return ops.permute(self, tuple(moved[dim] if dim in moved else next(rest) for dim in range(self.ndim)))


composite("movedim.int", lambda self, source, destination: movedim(self, (source,), (destination,)))

# --- the shape of another tensor, more dimensions -----------------------------------------------------------------

composite("view_as", lambda self, other: ops.view.default(self, tuple(other.shape)))
composite("reshape_as", lambda self, other: ops.reshape(self, tuple(other.shape)))
composite("expand_as", lambda self, other: ops.expand(self, tuple(other.shape)))
composite("ravel", lambda self: ops.view.default(ops.contiguous(self), (-1 if self.numel() else 0,)))


@composite("unflatten")
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    if not sizes or not self.ndim:
        raise DimensionCountError(
            f"unflatten(): needs a dimension to split and sizes for its parts, and got {self.ndim} dimensions and "
            f"sizes {list(sizes)}"
        )
    index, shape = wrap("unflatten", dim, self), tuple(self.shape)
    known = prod(size for size in sizes if size != -1)
    if (-1 not in sizes and known != shape[index]) or (-1 in sizes and (not known or shape[index] % known)):
        raise ShapeError(
            f"unflatten(): the product of the sizes {list(sizes)} is not {shape[index]}, the size of dimension {index}"
        )
    inner = infer_size("unflatten", sizes, shape[index])
    return ops.view.default(self, (*shape[:index], *inner, *shape[index + 1 :]))


@composite("broadcast_shapes")
def broadcast_shapes(shapes: Sequence[Any]) -> Any:
    return common_shape(*shapes)


@composite("broadcast_tensors")
def broadcast_tensors(tensors: Sequence[Any]) -> list[Any]:
    shape = broadcast("broadcast_tensors", *(tuple(tensor.shape) for tensor in tensors))
    return [tensor if tuple(tensor.shape) == shape else ops.expand(tensor, shape) for tensor in tensors]


@composite("atleast_1d")
def atleast_1d(self: Tensor) -> Tensor:
    return self if self.ndim else ops.reshape(self, (1,))


@composite("atleast_2d")
def atleast_2d(self: Tensor) -> Tensor:
    if self.ndim > 1:
        return self
    return ops.unsqueeze(self, 0) if self.ndim else ops.reshape(self, (1, 1))


@composite("atleast_3d")
def atleast_3d(self: Tensor) -> Tensor:
    if self.ndim > 2:
        return self
    return ops.unsqueeze(atleast_2d(self), -1)


composite("atleast_1d.sequence", lambda tensors: [atleast_1d(tensor) for tensor in tensors])
composite("atleast_2d.sequence", lambda tensors: [atleast_2d(tensor) for tensor in tensors])
composite("atleast_3d.sequence", lambda tensors: [atleast_3d(tensor) for tensor in tensors])


@composite("meshgrid")
def meshgrid(tensors: Sequence[Any], indexing: str | None) -> list[Any]:
    if not len(tensors):
        raise ShapeError("meshgrid(): no tensor is given")
    if indexing not in (None, "ij", "xy"):
        raise ShapeError(f"meshgrid(): indexing is 'ij' or 'xy', not {indexing!r}")
    for tensor in tensors:
        if tensor.ndim > 1:
            raise ShapeError(
                f"meshgrid(): takes numbers and vectors, not a tensor of shape {list(tensor.shape)}"
            )
        if tensor.dtype is not tensors[0].dtype:
            raise DtypeError(
                f"meshgrid(): the tensors must have one dtype, not {tensors[0].dtype} and {tensor.dtype}"
            )
    if indexing is None:
        warn_user(
            "meshgrid(): it will be required to pass the indexing argument, which is 'ij' if it is left out"
        )
    axes = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        axes[0], axes[1] = 1, 0
    sizes = [1] * len(tensors)
    for tensor, axis in zip(tensors, axes, strict=True):
        sizes[axis] = tensor.numel()

    def alone(tensor: Tensor, axis: int) -> Tensor:
        return ops.view.default(tensor, tuple(n if i == axis else 1 for i, n in enumerate(sizes)))

    return [ops.expand(alone(tensor, axis), tuple(sizes)) for tensor, axis in zip(tensors, axes, strict=True)]


# --- parts -----------------------------------------------------------------------------------------------------


@composite("narrow")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    if not self.ndim:
        raise ShapeError("narrow(): the tensor has no dimension to take something of")
    if length < 0:
        raise ShapeError(f"narrow(): the length is {length}, and cannot be negative")
    size = self.shape[wrap("narrow", dim, self)]
    if not -size <= start <= size:
        raise IndexValueError(
            f"narrow(): start is {start}, and the dimension has places from {-size} to {size}"
        )
    first = start + size if start < 0 else start
    if first + length > size:
        raise ShapeError(
            f"narrow(): {length} indices from {start} reach beyond the dimension, whose size is {size}"
        )
    return ops.slice(self, dim, first, first + length, 1)


def _pieces(self: Tensor, dim: int, sizes: Sequence[int]) -> list[Any]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(ops.slice(self, dim, start, start + size, 1))
        start += size
    return pieces


@composite("split")
def split(self: Tensor, split_size: int, dim: int) -> list[Any]:
    check_shapes("split", self, split_size, dim)
    check_integers("split", self, split_size, dim)
    size = self.shape[wrap("split", dim, self)]
    count = max(-(-size // split_size), 1) if split_size else 1
    return _pieces(self, dim, [split_size] * (count - 1) + [size - split_size * (count - 1)])


@composite("split.sizes")
def split_sizes(self: Tensor, split_size: Sequence[int], dim: int) -> list[Any]:
    check_shapes("split.sizes", self, split_size, dim)
    return _pieces(self, dim, split_size)


@composite("narrow.tensor")
def narrow_tensor(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    if start.ndim or start.dtype.kind not in ("signed", "unsigned"):
        raise ShapeError(
            f"narrow(): start must be an int or a tensor of one, not {start.dtype} of shape {list(start.shape)}"
        )
    return narrow(self, dim, int(start.item()), length)


composite("split_with_sizes", lambda self, split_sizes, dim: ops.split.sizes(self, split_sizes, dim))


@composite("chunk")
def chunk(self: Tensor, chunks: int, dim: int) -> Any:
    check_integers("chunk", self, chunks, dim)
    if not self.ndim:
        raise ShapeError("chunk(): the tensor has no dimension to split")
    if chunks <= 0:
        raise ShapeError(f"chunk(): cannot split into {chunks} pieces")
    size = self.shape[wrap("chunk", dim, self)]
    # An empty dimension has as many pieces as requested.
    return (
        ops.split.default(self, -(-size // chunks), dim)
        if size
        else ops.split.sizes(self, (0,) * chunks, dim)
    )


@composite("tensor_split")
def tensor_split(self: Tensor, sections: int, dim: int) -> list[Any]:
    size = _size_to_split(self, dim)
    if sections <= 0:
        raise ShapeError(f"tensor_split(): cannot split into {sections} pieces")
    if sections >= 2**31:
        raise ShapeError(f"tensor_split(): {sections} pieces are more than there can be tensors")
    least, more = divmod(size, sections)
    # The first pieces are longer by one, as in NumPy's array_split.
    return _pieces(self, dim, [least + (i < more) for i in range(sections)])


@composite("tensor_split.indices")
def tensor_split_indices(self: Tensor, indices: Sequence[int], dim: int) -> list[Any]:
    check_integers("tensor_split.indices", self, indices, dim)
    bounds = [0, *indices, _size_to_split(self, dim)]
    return [ops.slice(self, dim, start, end, 1) for start, end in itertools.pairwise(bounds)]


@composite("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor(self: Tensor, tensor_indices_or_sections: Tensor, dim: int) -> Any:
    points = tensor_indices_or_sections
    _size_to_split(self, dim)
    # Sizes are needed by the host; to read them from a device would wait for it unseen.
    if points.device.type not in ("cpu", "meta"):
        raise ShapeError(f"tensor_split(): the tensor of split points is on {points.device}\n  try: .cpu()")
    if points.dtype.name != "int64":
        raise DtypeError(
            f"tensor_split(): the tensor of split points must have dtype int64, not {points.dtype}"
        )
    if points.ndim > 1:
        raise DimensionCountError(
            f"tensor_split(): it takes a number of pieces or a vector of indices, not a tensor of "
            f"{points.ndim} dimensions"
        )
    if not points.ndim:
        return tensor_split(self, int(points.item()), dim)
    return tensor_split_indices(self, [int(index) for index in points.tolist()], dim)


def _size_to_split(self: Tensor, dim: int) -> int:
    if not self.ndim:
        raise ShapeError("tensor_split(): the tensor has no dimension to split")
    return int(self.shape[wrap("tensor_split", dim, self)])


def _split_along(op: str, self: Tensor, how: Any, least: int) -> Any:
    """Split the dimension of an operator into a number of equal pieces, or before indices."""
    if self.ndim < least:
        raise DimensionCountError(
            f"{op}(): the tensor has {self.ndim} dimensions, and needs at least {least}"
        )
    dim = {"hsplit": 0 if self.ndim == 1 else 1, "vsplit": 0, "dsplit": 2}[op]
    if not isinstance(how, int):
        return tensor_split_indices(self, how, dim)
    if how <= 0 or self.shape[dim] % how:
        raise ShapeError(
            f"{op}(): dimension {dim} has size {self.shape[dim]}, which {how} pieces cannot share equally\n"
            f"  try: tensor_split()"
        )
    return tensor_split(self, how, dim)


composite("hsplit", lambda self, sections: _split_along("hsplit", self, sections, 1))
composite("vsplit", lambda self, sections: _split_along("vsplit", self, sections, 2))
composite("dsplit", lambda self, sections: _split_along("dsplit", self, sections, 3))
composite("hsplit.array", lambda self, indices: _split_along("hsplit", self, indices, 1))
composite("vsplit.array", lambda self, indices: _split_along("vsplit", self, indices, 2))
composite("dsplit.array", lambda self, indices: _split_along("dsplit", self, indices, 3))


@composite("unbind")
def unbind(self: Tensor, dim: int) -> list[Any]:
    check_shapes("unbind", self, dim)
    return [ops.select(self, dim, index) for index in range(self.shape[dim])]


# --- geometries ------------------------------------------------------------------------------------------------


@composite("diagonal")
def diagonal(self: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
    shape, strides, start = diagonal_geometry(
        "diagonal", tuple(self.shape), self.stride(), offset, dim1, dim2
    )
    if start:  # the first element of the diagonal comes first, so that the rest counts from there
        self = ops.slice(self, dim2 if offset > 0 else dim1, abs(offset), None, 1)
    return ops.as_strided(self, shape, strides)


composite("linalg_diagonal", lambda matrix, offset, dim1, dim2: ops.diagonal(matrix, offset, dim1, dim2))


@composite("unfold")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    shape, strides = unfold_geometry("unfold", tuple(self.shape), self.stride(), dimension, size, step)
    return ops.as_strided(self, shape, strides)


@composite("stack")
def stack(tensors: Sequence[Any], dim: int) -> Any:
    if not len(tensors):
        raise ShapeError("stack(): no tensor is given")
    first = tuple(tensors[0].shape)
    at = wrap_dim("stack", dim, len(first) + 1)
    for index, tensor in enumerate(tensors):
        if tuple(tensor.shape) != first:
            raise ShapeError(
                f"stack(): the tensors must have one shape, and tensor 0 has {list(first)}, tensor {index} has "
                f"{list(tensor.shape)}"
            )
    # Images in channels_last stay so: `cat` of permuted tensors would come out row-major.
    name = format_of(tensors) if at < len(first) else None
    if name is not None:
        return _stacked_in_order(tensors, at, ORDERS[name])
    return ops.cat([ops.unsqueeze(tensor, at) for tensor in tensors], at)


def _stacked_in_order(tensors: Sequence[Any], dim: int, order: Sequence[int]) -> Any:
    """Stack tensors whose dimensions lie in an order in memory; the new one lies around that whose place it takes."""
    position = order.index(dim)
    joined = ops.cat([ops.unsqueeze(ops.permute(tensor, order), position) for tensor in tensors], position)
    lies = [other + (other >= dim) for other in order]
    lies.insert(position, dim)
    return ops.permute(joined, [lies.index(other) for other in range(len(lies))])


def _some(op: str, tensors: Sequence[Any]) -> Sequence[Any]:
    if not len(tensors):
        raise ShapeError(f"{op}(): no tensor is given")
    return tensors


@composite("hstack")
def hstack(tensors: Sequence[Any]) -> Tensor:
    shaped = [atleast_1d(tensor) for tensor in _some("hstack", tensors)]
    return ops.cat(shaped, 0 if shaped[0].ndim == 1 else 1)


@composite("vstack")
def vstack(tensors: Sequence[Any]) -> Tensor:
    return ops.cat([atleast_2d(tensor) for tensor in _some("vstack", tensors)], 0)


@composite("dstack")
def dstack(tensors: Sequence[Any]) -> Tensor:
    return ops.cat([atleast_3d(tensor) for tensor in _some("dstack", tensors)], 2)


@composite("column_stack")
def column_stack(tensors: Sequence[Any]) -> Tensor:
    some = _some("column_stack", tensors)
    return ops.cat([t if t.ndim > 1 else ops.reshape(t, (t.numel(), 1)) for t in some], 1)


# --- combinations ----------------------------------------------------------------------------------------------


@composite("cartesian_prod")
def cartesian_prod(tensors: Sequence[Any]) -> Any:
    if not len(tensors):
        raise ShapeError("cartesian_prod(): no tensor is given")
    for position, tensor in enumerate(tensors):
        if tensor.ndim != 1:
            raise DimensionCountError(
                f"cartesian_prod(): takes vectors, and tensor {position} has {tensor.ndim} dimensions"
            )
    if len(tensors) == 1:
        return tensors[0]
    grid = ops.meshgrid([*tensors], indexing="ij")
    return ops.stack([ops.flatten(part) for part in grid], 1)


@composite("combinations")
def combinations(self: Tensor, r: int, with_replacement: bool) -> Tensor:
    if self.ndim != 1:
        raise DimensionCountError(
            f"combinations(): takes a vector, and this tensor has {self.ndim} dimensions"
        )
    if r < 0:
        raise ShapeError(f"combinations(): r must not be negative, got {r}")
    if not r:
        return ops.empty((0,), dtype=self.dtype, device=self.device)
    n, step = self.shape[0], 0 if with_replacement else 1
    if n < (1 if with_replacement else r):
        return ops.repeat(ops.unsqueeze(ops.narrow(self, 0, 0, 0), 1), (1, r))  # of self, as all others are
    if with_replacement and n > 1:
        # Raises at once where the result is too large.  With 64 and 64 to choose from there are more than 2**63.
        count = math.comb(n + r - 1, r) if min(n - 1, r) < 64 else 1 << 62
        ops.empty((count, r), dtype=self.dtype, device=self.device)
    if with_replacement and n == 1:
        return ops.repeat(ops.unsqueeze(self, 0), (1, r))
    last = ops.arange(n, device=self.device)
    chosen = [last]
    for taken in range(2, r + 1):
        # Each choice of fewer elements is followed by all places from its last one on.
        counts = ops.rsub(last, n - step)
        size = math.comb(n + taken - 1, taken) if with_replacement else math.comb(n, taken)
        row = ops.repeat_interleave.Tensor(counts, output_size=size)
        before = ops.sub(ops.cumsum(counts, 0), counts)
        offset = ops.sub(ops.arange(size, device=self.device), ops.index_select(before, 0, row))
        last = ops.add(ops.add(ops.index_select(last, 0, row), offset), step)
        chosen = [*(ops.index_select(c, 0, row) for c in chosen), last]
    return ops.stack([ops.index_select(self, 0, c) for c in chosen], 1)


def copied(views: Any) -> Any:
    """Return copies in row-major order of one view, or of several."""
    if isinstance(views, list | tuple):
        return [copied(view) for view in views]
    if views.layout.name != "strided":  # other layouts have no order in memory
        return ops.clone(views)
    return ops.clone(views, memory_format="contiguous_format")


def _copying(name: str) -> Callable[..., Any]:
    def copy(*args: Any) -> Any:
        packet, _, overload = name.partition(".")
        view = getattr(ops, packet)
        return copied(getattr(view, overload)(*args) if overload else getattr(view, "default", view)(*args))

    return copy


def _is_view(name: str) -> bool:
    return (
        name in REGISTRY.names() and REGISTRY.operator(name).definition.signature.returns[0].alias is not None
    )


# Found by their names: an operator x_copy copies the view x, whichever those are.
for _name in tuple(REGISTRY.names()):
    _base, _, _overload = _name.partition(".")
    _view = _base.removesuffix("_copy") + (f".{_overload}" if _overload else "")
    if _view != _name and _is_view(_view):
        composite(_name, _copying(_view))


@composite("view_as_real")
def view_as_real(self: Tensor) -> Tensor:
    check_shapes("view_as_real", self)
    # Of backends without shared memory the result is a new tensor.
    if not self._spec.backend.has_views:
        return ops.stack([ops.real(self), ops.imag(self)], -1)
    return ops.view.dtype(ops.unsqueeze(self, -1), self.dtype.to_real())


@composite("view_as_complex")
def view_as_complex(self: Tensor) -> Tensor:
    check_shapes("view_as_complex", self)
    if not self._spec.backend.has_views:
        return ops.add(ops.select(self, -1, 0), ops.mul(ops.select(self, -1, 1), 1j))
    return ops.squeeze.dim(ops.view.dtype(self, self.dtype.to_complex()), -1)
