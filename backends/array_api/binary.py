"""Kernels of two and three arrays, element by element."""

from __future__ import annotations

from typing import Any

from tt.backends.array_api.kernel_builder import KernelBuilder
from tt.core.library import errors

__all__ = ["add_kernels"]


def add_kernels(builder: KernelBuilder) -> None:
    """Add the kernels of this family."""
    _floating(builder)
    _bits(builder)
    _complex(builder)


def _floating(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand
    builder.kernel("atan2", lambda self, other: xp.atan2(self, other), dtypes="floating")
    builder.kernel("copysign", lambda self, other: xp.copysign(self, operand(other, self)), dtypes="floating")
    builder.kernel("nextafter", lambda self, other: xp.nextafter(self, other), needs="nextafter", dtypes="floating",
               half="native")  # fmt: skip
    builder.kernel("hypot", lambda self, other: xp.hypot(self, other), dtypes="floating")
    builder.kernel("logaddexp", lambda self, other: xp.logaddexp(self, other), dtypes="floating")


def _bits(builder: KernelBuilder) -> None:
    xp, operand = builder.xp, builder.operand

    def within(self: Any, places: Any) -> tuple[Any, Any, int]:
        """Return the places as an array, whether there are as many, and the number of bits; others shift all out."""
        bits = xp.iinfo(self.dtype).bits
        places = places if builder.is_array(places) else xp.asarray(places, dtype=self.dtype)
        return places, (places >= 0) & (places < bits), bits

    @builder.kernel("bitwise_left_shift", dtypes="integral")
    def left(self: Any, other: Any) -> Any:
        places, valid, _ = within(self, other)
        zero = operand(0, self)
        return xp.where(valid, xp.bitwise_left_shift(self, xp.where(valid, places, zero)), zero)

    @builder.kernel("bitwise_right_shift", dtypes="integral")
    def right(self: Any, other: Any) -> Any:
        places, valid, bits = within(self, other)
        if builder.is_kind(self, "signed integer"):
            return xp.bitwise_right_shift(self, xp.where(valid, places, operand(bits - 1, self)))
        zero = operand(0, self)
        return xp.where(valid, xp.bitwise_right_shift(self, xp.where(valid, places, zero)), zero)


def _complex(builder: KernelBuilder) -> None:
    xp = builder.xp
    builder.kernel(
        "view_as_real", lambda self: xp.stack([xp.real(self), xp.imag(self)], axis=-1), dtypes="complex"
    )

    @builder.kernel("view_as_complex", dtypes=["float32", "float64"])
    def view_as_complex(self: Any) -> Any:
        if not self.ndim or self.shape[-1] != 2:
            raise errors.ShapeError("view_as_complex(): Tensor must have a last dimension of size 2")
        wide = xp.astype(self, xp.complex128 if self.dtype == xp.float64 else xp.complex64)
        return wide[..., 0] + wide[..., 1] * 1j
