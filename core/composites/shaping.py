"""Composites that view a whole tensor otherwise, in terms of other views."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

from tt.core.composites.helpers import alone, check_shapes, wrap
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DimensionCountError, DtypeError, ShapeError
from tt.core.shapes.geometry import broadcast, common_shape, infer_size, view_strides, wrap_dims
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite

# --- the same elements in another shape ------------------------------------------------------------------------


@composite("reshape")
def reshape(self: Any, shape: Sequence[int]) -> Any:
    size = infer_size("reshape", shape, self.numel())
    if view_strides(tuple(self.shape), self.stride(), size) is not None:
        return ops.view.default(self, size)
    return alone(ops.view.default(ops.clone(self, memory_format="contiguous_format"), size))


@composite("flatten")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
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
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    first, second = wrap("transpose", dim0, self), wrap("transpose", dim1, self)
    order = list(range(self.ndim))
    if order:
        order[first], order[second] = second, first
    return ops.permute(self, tuple(order))


@composite("t")
def t(self: Any) -> Any:
    check_shapes("t", self)
    return ops.permute(self, tuple(reversed(range(self.ndim))))


def _without(self: Any, dims: Sequence[int]) -> Any:
    """Return the view without dimensions of size 1."""
    for dim in sorted(dims, reverse=True):
        if self.shape[dim] == 1:
            self = ops.select(self, dim, 0)
    return self


@composite("squeeze")
def squeeze(self: Any) -> Any:
    return _without(ops.alias(self), range(self.ndim))


@composite("squeeze.dim")
def squeeze_dim(self: Any, dim: Sequence[int]) -> Any:
    dims = wrap_dims("squeeze", [dim] if isinstance(dim, int) else dim, self.ndim)
    return _without(ops.alias(self), dims if self.ndim else ())


# --- the order of dimensions -----------------------------------------------------------------------------------


@composite("T")
def dimensions_reversed(self: Any) -> Any:
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
def conjugate_transpose(self: Any) -> Any:
    if self.ndim not in (0, 2):
        more = "\n  try: .mH for a batch of matrices" if self.ndim > 2 else ""
        raise DimensionCountError(f".H is for matrices, and the tensor has {self.ndim} dimensions{more}")
    return _transposed(".H", self, conjugate=True)


def _warn_of_number(op: str) -> None:
    warn_user(
        f"{op} is for matrices, and the tensor has no dimensions; this is deprecated\n"
        "  try: conj(), or the tensor itself"
    )


def _transposed(op: str, self: Any, *, conjugate: bool) -> Any:
    """Return matrices transposed; a number is its own transpose."""
    if self.ndim == 1:
        raise ShapeError(f"{op} is for matrices and batches of them, and the tensor has 1 dimension")
    if not self.ndim:
        _warn_of_number(op)
    found = ops.conj(self) if conjugate and self.dtype.is_complex else self
    return ops.transpose(found, -2, -1) if self.ndim else found


@composite("movedim")
def movedim(self: Any, source: Sequence[int], destination: Sequence[int]) -> Any:
    if len(source) != len(destination):
        raise ShapeError(
            f"movedim(): {len(source)} dimensions, {list(source)}, cannot go to {len(destination)} places, "
            f"{list(destination)}"
        )
    sources = [wrap("movedim", dim, self) for dim in source]
    targets = [wrap("movedim", dim, self) for dim in destination]
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
def unflatten(self: Any, dim: int, sizes: Sequence[int]) -> Any:
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
def atleast_1d(self: Any) -> Any:
    return self if self.ndim else ops.reshape(self, (1,))


@composite("atleast_2d")
def atleast_2d(self: Any) -> Any:
    if self.ndim > 1:
        return self
    return ops.unsqueeze(self, 0) if self.ndim else ops.reshape(self, (1, 1))


@composite("atleast_3d")
def atleast_3d(self: Any) -> Any:
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
    places = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        places[0], places[1] = 1, 0
    sizes = [1] * len(tensors)
    for tensor, place in zip(tensors, places, strict=True):
        sizes[place] = tensor.numel()

    def alone(tensor: Any, place: int) -> Any:
        return ops.view.default(tensor, tuple(n if i == place else 1 for i, n in enumerate(sizes)))

    return [
        ops.expand(alone(tensor, place), tuple(sizes)) for tensor, place in zip(tensors, places, strict=True)
    ]
