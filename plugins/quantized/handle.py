"""The handle of a quantized tensor: its integers and their meaning."""

from __future__ import annotations

from typing import Any

from tt.core.library import REGISTRY, Tensor, dtype, errors, handle_of, wrap
from tt.plugins.quantized.quantizer import PerTensor, Quantizer

__all__ = [
    "QuantizedHandle", "ints_of", "is_quantized", "like", "made", "order_of", "per_tensor", "quantizer_of", "refuse",
]  # fmt: skip


class QuantizedHandle:
    """Integers with a quantizer.

    Parameters
    ----------
    ints : Tensor
        Strided, of int8, uint8 or int32.
    dtype : dtype
        qint8, quint8 or qint32.
    quantizer : PerTensor or PerChannel
        The values of the integers.

    Examples
    --------
    >>> import tt
    >>> from tt.plugins.quantized.handle import QuantizedHandle
    >>> from tt.plugins.quantized.quantizer import PerTensor
    >>> QuantizedHandle(tt.ones(2, 3, dtype=tt.int8), tt.qint8, PerTensor(0.5, 0)).shape
    (2, 3)
    """

    __slots__ = ("dtype", "ints", "ndim", "quantizer", "shape")

    def __init__(self, ints: Tensor, dtype: dtype, quantizer: Quantizer) -> None:
        self.ints, self.dtype, self.quantizer = ints, dtype, quantizer
        self.shape: tuple[int, ...] = tuple(ints.shape)
        self.ndim = len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size of the integers in bytes."""
        return int(self.ints.numel()) * self.dtype.itemsize

    def with_ints(self, ints: Tensor, quantizer: Quantizer | None = None) -> QuantizedHandle:
        """Return a handle of other integers, with the same quantizer unless another is given."""
        return QuantizedHandle(ints, self.dtype, self.quantizer if quantizer is None else quantizer)

    def __repr__(self) -> str:
        return f"QuantizedHandle(shape={self.shape}, dtype={self.dtype}, {self.quantizer.scheme})"


# --- tensors --------------------------------------------------------------------------------------------------------


def is_quantized(value: Any) -> bool:
    """Return whether a value is a quantized tensor."""
    return isinstance(value, Tensor) and value.layout.name == "quantized"


def order_of(tensor: Tensor) -> str:
    """Return the order in memory of a copy of a tensor: row-major, unless its channels come last."""
    last = {4: "channels_last", 5: "channels_last_3d"}.get(tensor.ndim)
    return last if last is not None and tensor.is_contiguous(memory_format=last) else "contiguous_format"


def ints_of(tensor: Tensor) -> Tensor:
    """Return the integers of a quantized tensor, in its memory."""
    handle: QuantizedHandle = handle_of(tensor)
    return handle.ints


def quantizer_of(tensor: Tensor) -> Quantizer:
    """Return the values that the integers of a quantized tensor represent."""
    handle: QuantizedHandle = handle_of(tensor)
    return handle.quantizer


def per_tensor(op: str, tensor: Tensor) -> PerTensor:
    """Return the quantizer of a tensor that has one scale.

    Raises
    ------
    LayoutError
        When it has one for each channel.
    """
    quantizer = quantizer_of(tensor)
    if not isinstance(quantizer, PerTensor):
        raise refuse(op, f"expected a tensor with one scale (tt.per_tensor_affine), got {quantizer.scheme}")
    return quantizer


def refuse(op: str, why: str, instead: str = "x.dequantize()") -> errors.LayoutError:
    """Return the error for what an operator does not do to quantized tensors."""
    return errors.LayoutError(f"{op}(): {why}\n  try: {instead}")


def made(ints: Tensor, dtype: dtype, quantizer: Quantizer) -> Tensor:
    """Return the quantized tensor of integers, in their memory.

    Raises
    ------
    UnsupportedError
        For integers of each example of `vmap`.
    """
    backend = REGISTRY.backend(ints.device.type, "quantized")
    plain = REGISTRY.backend(ints.device.type).handle_type, REGISTRY.backend("meta").handle_type
    if not isinstance(handle_of(ints), plain):
        raise errors.UnsupportedError(
            f"vmap(): no quantized tensors are made of the examples that it maps over, here of {dtype}\n"
            "  try: tt.quantize_per_tensor after vmap"
        )
    return wrap(QuantizedHandle(ints, dtype, quantizer), backend.spec(dtype, ints.device))


def like(tensor: Tensor, ints: Tensor, quantizer: Quantizer | None = None) -> Tensor:
    """Return a quantized tensor with the dtype and, unless another is given, the quantizer of another."""
    return made(ints, tensor.dtype, quantizer_of(tensor) if quantizer is None else quantizer)
