"""Copies of quantized tensors, writing into them, comparisons, and real numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.library import REGISTRY, Tensor, errors, handle_of, layout_name, ops
from tt.plugins.quantized.handle import (
    QuantizedHandle,
    ints_of,
    is_quantized,
    like,
    made,
    order_of,
    per_tensor,
    quantizer_of,
    refuse,
)
from tt.plugins.quantized.quantizer import PerChannel
from tt.plugins.quantized.rounding import real, rounded

__all__ = ["COMPARISONS", "COPIES", "IN_PLACE", "equal", "number", "real_of"]


def real_of(value: Any) -> Any:
    """Return a quantized tensor as float32, and anything else as it is."""
    return real(ints_of(value), quantizer_of(value)) if is_quantized(value) else value


def number(op: str, self: Tensor, value: Any) -> int:
    """Return the integer that stands for a number in a tensor with one scale."""
    scalar = ops.full((), float(value), dtype="float32", device=self.device)
    level: Any = ops.item(rounded(scalar, per_tensor(op, self), self.dtype, alone=True))
    return int(level)


def dequantize(self: Tensor) -> Tensor:
    """Return the numbers that the integers stand for."""
    result: Tensor = real_of(self)
    return result


# --- copies ---------------------------------------------------------------------------------------------------------


def clone(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return a copy."""
    kept = memory_format is None or str(memory_format).endswith("preserve_format")
    return like(self, ops.clone(ints_of(self), memory_format=order_of(self) if kept else memory_format))


def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """Return the tensor in an order in memory, itself if it has that order."""
    ints = ints_of(self)
    result = ops.contiguous(ints, memory_format=memory_format)
    return self if result is ints else like(self, result)


def to_copy(
    self: Tensor, dtype: Any, layout: Any, device: Any, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Return a copy, on another device if one is given."""
    if dtype is not None and dtype is not self.dtype:
        raise errors.DtypeError(
            f"to(): a quantized tensor of {self.dtype} does not become one of {dtype}: its integers have a scale\n"
            "  try: x.dequantize(), and then tt.quantize_per_tensor or to()"
        )
    if layout is not None and layout_name(layout) != "quantized":
        raise refuse("to", f"a quantized tensor has the layout tt.quantized, not {layout}")
    options = {"device": device, "non_blocking": non_blocking, "memory_format": memory_format}
    ints = ops._to_copy(ints_of(self), **options)
    return made(ints, self.dtype, quantizer_of(self))


def empty_like(self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any = None) -> Tensor:
    """Return a tensor with the same size and quantizer, whose integers are not set."""
    if dtype is not None and dtype is not self.dtype:
        raise errors.DtypeError(
            f"empty_like(): a quantized tensor of {self.dtype} has no likes of {dtype}\n"
            "  try: tt.empty(x.shape, dtype=...)"
        )
    return made(
        ops.empty_like(ints_of(self), device=device, memory_format=memory_format),
        self.dtype,
        quantizer_of(self),
    )


def ones_like(self: Tensor, dtype: Any, layout: Any, device: Any, memory_format: Any = None) -> Tensor:
    """Return a tensor with the same size and quantizer, full of the number next to 1."""
    return fill_(empty_like(self, dtype, layout, device, memory_format), 1.0)


# --- writing --------------------------------------------------------------------------------------------------------


def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor: of the same dtype with its quantizer, or float32 ones, rounded."""
    if not is_quantized(self):
        raise refuse("copy_", "a dense tensor does not take quantized numbers", "src.dequantize()")
    if not is_quantized(src):
        if src.dtype.name != "float32":
            raise errors.DtypeError(
                f"copy_(): a quantized tensor takes numbers of float32, not of {src.dtype}\n  try: src.float()"
            )
        spread = ops.expand(src, self.shape)
        ops.copy_(ints_of(self), rounded(spread, quantizer_of(self), self.dtype))
        return self
    if src.dtype is not self.dtype:
        raise errors.DtypeError(
            f"copy_(): the quantized tensors must share one dtype: {self.dtype}, {src.dtype}"
        )
    own, other = quantizer_of(self), quantizer_of(src)
    if own.scheme is not other.scheme:
        raise refuse("copy_", f"the quantized tensors must share one qscheme: {own.scheme}, {other.scheme}")
    if isinstance(other, PerChannel) and tuple(src.shape) != tuple(self.shape):
        raise errors.ShapeError("copy_(): tensors with a scale for each channel must have the same shape")
    ops.copy_(ints_of(self), ints_of(src))
    handle: QuantizedHandle = handle_of(self)
    handle.quantizer = other
    return self


def fill_(self: Tensor, value: Any) -> Tensor:
    """Set all elements to the number next to a value."""
    return copy_(self, ops.full(self.shape, float(value), dtype="float32", device=self.device))


def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Set the elements where a mask is True to the number next to a value."""
    ops.masked_fill_(ints_of(self), mask, number("masked_fill_", self, value))
    return self


def index_put_(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """Set some elements to the numbers next to values of float32."""
    if accumulate:
        raise refuse("index_put_", "quantized numbers are not added up (accumulate=True)")
    quantizer = per_tensor("index_put_", self)
    ints = rounded(ops.to.dtype(real_of(values), "float32"), quantizer, self.dtype, alone=True)
    ops.index_put_(ints_of(self), indices, ints)
    return self


def resize_(self: Tensor, size: Sequence[int], memory_format: Any = None) -> Tensor:
    """Give the tensor another size in its memory."""
    per_tensor("resize_", self)  # channels of another size would need other scales
    handle: QuantizedHandle = handle_of(self)
    # A new tensor of the same memory: others may hold that of the integers.
    ints = ops.detach(handle.ints)
    ops.resize_(ints, size, memory_format=memory_format)
    handle.ints, handle.shape, handle.ndim = ints, tuple(ints.shape), ints.ndim
    return self


# --- comparing ------------------------------------------------------------------------------------------------------


def equal(self: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same integers, dtype, size and quantizer."""
    if not (is_quantized(self) and is_quantized(other)) or self.dtype is not other.dtype:
        return False
    return quantizer_of(self).same(quantizer_of(other)) and bool(ops.equal(ints_of(self), ints_of(other)))


def _comparison(op: str) -> Callable[..., Tensor]:
    """Return a comparison of the numbers that integers stand for."""

    def kernel(self: Tensor, other: Any) -> Tensor:
        result: Tensor = REGISTRY.overload(op).execute((real_of(self), real_of(other)))
        return result

    return kernel


def item(self: Tensor) -> float:
    """Return the only element as a number."""
    result: Any = ops.item(real_of(self))
    return float(result)


COMPARISONS: Final = {op: _comparison(op) for op in ("eq", "ge", "gt", "le", "lt", "ne")}
"""Operators of two tensors, of which one may be dense -> their function."""
COPIES: Final[dict[str, Callable[..., Any]]] = {
    "_to_copy": to_copy, "clone": clone, "contiguous": contiguous, "dequantize": dequantize, "empty_like": empty_like,
    "item": item, "ones_like": ones_like,
}  # fmt: skip
"""Operator -> its function."""
IN_PLACE: Final[dict[str, Callable[..., Any]]] = {
    "copy": copy_, "fill": fill_, "index_put": index_put_, "masked_fill": masked_fill_,
    "resize": resize_,
}  # fmt: skip
"""Operator -> its in-place form."""
