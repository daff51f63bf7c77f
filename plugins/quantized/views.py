"""Views of quantized tensors: views of their integers, with the channels along the right dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from tt.core.library import REGISTRY, errors
from tt.plugins.quantized.handle import QuantizedHandle, refuse
from tt.plugins.quantized.quantizer import PerChannel, Quantizer

__all__ = ["VIEWS"]

Handle = QuantizedHandle


def _channels(handle: Handle) -> PerChannel | None:
    """Return the quantizer of a tensor with a scale for each channel; None for one scale."""
    return handle.quantizer if isinstance(handle.quantizer, PerChannel) else None


def _run(op: str, handle: Handle, *args: Any) -> Any:
    """Return the view of the integers."""
    return REGISTRY.overload(op).execute((handle.ints, *args))


def _dim(op: str, handle: Handle, dim: int, more: int = 0) -> int:
    # A number has the dimensions 0 and -1, as in PyTorch.
    count = handle.ndim + more
    if not -max(count, 1) <= dim < max(count, 1):
        raise errors.DimensionError(op, dim, count)
    return dim % max(count, 1)


def _keeping(op: str) -> Callable[..., Handle]:
    """Return a view that changes nothing but the tensor object."""

    def kernel(self: Handle, *args: Any) -> Handle:
        return self.with_ints(_run(op, self, *args))

    return kernel


def _per_tensor(op: str) -> Callable[..., Handle]:
    """Return a view that only tensors with one scale have."""

    def kernel(self: Handle, *args: Any) -> Handle:
        if _channels(self) is not None:
            raise refuse(
                op, "the channels of a tensor with a scale for each would not lie along one dimension"
            )
        return self.with_ints(_run(op, self, *args))

    return kernel


# --- dimensions in another order ------------------------------------------------------------------------------------


def _ordered(self: Handle, ints: Any, order: Sequence[int]) -> Handle:
    channels = _channels(self)
    return self.with_ints(
        ints, None if channels is None else channels.moved(list(order).index(channels.axis))
    )


def permute(self: Handle, dims: Sequence[int]) -> Handle:
    """Return the dimensions in another order."""
    ints = _run("permute", self, dims)
    return _ordered(self, ints, [_dim("permute", self, d) for d in dims])


def transpose(self: Handle, dim0: int, dim1: int) -> Handle:
    """Return the tensor with two dimensions exchanged."""
    ints, order = _run("transpose", self, dim0, dim1), list(range(self.ndim))
    if order:
        one, two = _dim("transpose", self, dim0), _dim("transpose", self, dim1)
        order[one], order[two] = order[two], order[one]
    return _ordered(self, ints, order)


def t(self: Handle) -> Handle:
    """Return the transpose of a matrix."""
    return _ordered(self, _run("t", self), range(self.ndim)[::-1])


# --- parts ----------------------------------------------------------------------------------------------------------


def select(self: Handle, dim: int, index: int) -> Handle:
    """Return one place of a dimension; a channel has one scale."""
    ints, channels = _run("select", self, dim, index), _channels(self)
    if channels is None:
        return self.with_ints(ints)
    at = _dim("select", self, dim)
    quantizer: Quantizer
    if at != channels.axis:
        # Dimensions behind the one that goes away move up.
        quantizer = channels.moved(channels.axis - (at < channels.axis))
    elif channels.fractional:
        raise refuse("select", "a channel whose zero point is not a whole number is no tensor with one scale")
    else:
        quantizer = channels.channel(index)
    return self.with_ints(ints, quantizer)


def slice_(self: Handle, dim: int, start: int | None, end: int | None, step: int) -> Handle:
    """Return a part of a dimension, with the scales of its channels."""
    ints, channels = _run("slice", self, dim, start, end, step), _channels(self)
    if channels is None or _dim("slice", self, dim) != channels.axis:
        return self.with_ints(ints)
    return self.with_ints(ints, channels.part(slice(start, end, step)))


def split(self: Handle, split_size: int, dim: int) -> list[Handle]:
    """Return parts of one size."""
    return _parts(self, _run("split", self, split_size, dim), _dim("split", self, dim))


def split_sizes(self: Handle, split_size: Sequence[int], dim: int) -> list[Handle]:
    """Return parts of given sizes."""
    return _parts(self, _run("split.sizes", self, split_size, dim), _dim("split", self, dim))


def _parts(self: Handle, parts: Sequence[Any], dim: int) -> list[Handle]:
    channels, start, pieces = _channels(self), 0, []
    for ints in parts:
        stop = start + int(ints.shape[dim])
        own = channels.part(slice(start, stop)) if channels is not None and channels.axis == dim else None
        pieces.append(self.with_ints(ints, own))
        start = stop
    return pieces


def unbind(self: Handle, dim: int) -> list[Handle]:
    """Return the places of a dimension."""
    if not self.ndim:
        _run("unbind", self, dim)  # which refuses
    return [select(self, dim, index) for index in range(self.shape[_dim("unbind", self, dim)])]


# --- sizes ----------------------------------------------------------------------------------------------------------


def _reshaped(op: str, self: Handle, ints: Any) -> Handle:
    """Return other sizes of the same elements: the dimension of the channels must stay."""
    channels = _channels(self)
    if channels is None:
        return self.with_ints(ints)
    before, sizes = prod(self.shape[: channels.axis]), tuple(ints.shape)
    for axis, size in enumerate(sizes):
        # The channels are where as many elements come before them as there were.
        if prod(sizes[:axis]) == before and size == self.shape[channels.axis]:
            return self.with_ints(ints, channels.moved(axis))
    raise errors.ShapeError(
        f"{op}(): length of scales must equal to channel: the shape {list(sizes)} has no dimension for the "
        f"{len(channels.scales)} channels of dimension {channels.axis} of {list(self.shape)}\n  try: x.dequantize()"
    )


def view(self: Handle, size: Sequence[int]) -> Handle:
    """Return the elements in another shape."""
    return _reshaped("view", self, _run("view", self, size))


def unsqueeze(self: Handle, dim: int) -> Handle:
    """Return the tensor with a dimension of size 1 more."""
    ints, channels = _run("unsqueeze", self, dim), _channels(self)
    if channels is None:
        return self.with_ints(ints)
    at = _dim("unsqueeze", self, dim, 1)
    return self.with_ints(ints, channels.moved(channels.axis + (at <= channels.axis)))


def squeeze(self: Handle) -> Handle:
    """Return the tensor without dimensions of size 1."""
    return _squeezed(self, _run("squeeze", self), range(self.ndim))


def squeeze_dim(self: Handle, dim: Sequence[int]) -> Handle:
    """Return the tensor without some dimensions of size 1."""
    dims = [dim] if isinstance(dim, int) else dim
    return _squeezed(self, _run("squeeze.dim", self, dim), [_dim("squeeze", self, d) for d in dims])


def _squeezed(self: Handle, ints: Any, dims: Sequence[int]) -> Handle:
    channels = _channels(self)
    if channels is None:
        return self.with_ints(ints)
    gone = [d for d in dims if self.shape[d] == 1]
    if channels.axis in gone:
        raise refuse("squeeze", "the dimension of the channels stays", "x.select(axis, 0)")
    return self.with_ints(ints, channels.moved(channels.axis - sum(d < channels.axis for d in gone)))


def expand(self: Handle, size: Sequence[int]) -> Handle:
    """Return the tensor with repeated elements, which are in memory once."""
    ints, channels = _run("expand", self, size), _channels(self)
    if channels is None:
        return self.with_ints(ints)
    # New dimensions come in front.
    axis = channels.axis + ints.ndim - self.ndim
    if ints.shape[axis] != self.shape[channels.axis]:
        raise refuse("expand", "the dimension of the channels keeps its size")
    return self.with_ints(ints, channels.moved(axis))


VIEWS: Final[dict[str, Callable[..., Any]]] = {
    "alias": _keeping("alias"), "detach": _keeping("detach"),
    "as_strided": _per_tensor("as_strided"), "diagonal": _per_tensor("diagonal"), "unfold": _per_tensor("unfold"),
    "expand": expand, "permute": permute, "select": select, "slice": slice_, "split": split,
    "split.sizes": split_sizes, "squeeze": squeeze, "squeeze.dim": squeeze_dim, "t": t, "transpose": transpose,
    "unbind": unbind, "unsqueeze": unsqueeze, "view": view,
}  # fmt: skip
"""Operator -> its function of handles."""
