"""How integers stand for real numbers: a scale and a zero point, for the whole tensor or for each channel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from tt.core.library import errors

__all__ = [
    "QSCHEMES",
    "PerChannel",
    "PerTensor",
    "Quantizer",
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qscheme",
    "to_qscheme",
]


class qscheme:  # noqa: N801 - PyTorch's name
    """A kind of quantization: for the whole tensor or for each channel, with or without zero points.

    There is one object for each of the five schemes, so `is` and `==` agree.

    Examples
    --------
    >>> import tt
    >>> tt.per_tensor_affine, isinstance(tt.per_channel_symmetric, tt.qscheme)
    (tt.per_tensor_affine, True)
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"tt.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        # A copy or an unpickled scheme is the same object.
        return to_qscheme, (self.name,)


per_tensor_affine: Final = qscheme("per_tensor_affine")
per_channel_affine: Final = qscheme("per_channel_affine")
per_tensor_symmetric: Final = qscheme("per_tensor_symmetric")
per_channel_symmetric: Final = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams: Final = qscheme("per_channel_affine_float_qparams")
QSCHEMES: Final = {
    scheme.name: scheme
    for scheme in (
        per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric,
        per_channel_affine_float_qparams,
    )
}  # fmt: skip
"""Name -> the scheme."""


def to_qscheme(name: str) -> qscheme:
    """Return the scheme of a name.

    Raises
    ------
    UnknownNameError
        When there is none.
    """
    if name not in QSCHEMES:
        raise errors.UnknownNameError("qscheme", name, QSCHEMES)
    return QSCHEMES[name]


@dataclass(frozen=True, slots=True)
class PerTensor:
    """One scale and one zero point: the integer q stands for (q - zero_point) * scale.

    Examples
    --------
    >>> from tt.plugins.quantized.quantizer import PerTensor
    >>> PerTensor(0.5, 3).scheme
    tt.per_tensor_affine
    """

    scale: float
    zero_point: int

    @property
    def scheme(self) -> qscheme:
        """The scheme of the tensor."""
        return per_tensor_affine

    def same(self, other: Quantizer) -> bool:
        """Return whether integers stand for the same numbers."""
        return isinstance(other, PerTensor) and (self.scale, self.zero_point) == (
            other.scale,
            other.zero_point,
        )


@dataclass(frozen=True, slots=True, eq=False)
class PerChannel:
    """A scale and a zero point for each place of one dimension.

    Attributes
    ----------
    scales, zero_points : numpy.ndarray
        Float64 and int64; both float32 if zero points need not be whole numbers.
    axis : int
        The dimension, not negative.
    """

    scales: np.ndarray[Any, Any]
    zero_points: np.ndarray[Any, Any]
    axis: int

    @property
    def scheme(self) -> qscheme:
        """The scheme of the tensor."""
        return per_channel_affine_float_qparams if self.fractional else per_channel_affine

    @property
    def fractional(self) -> bool:
        """Whether zero points need not be whole numbers."""
        return bool(self.zero_points.dtype.kind == "f")

    def same(self, other: Quantizer) -> bool:
        """Return whether integers stand for the same numbers."""
        if not isinstance(other, PerChannel) or (self.scheme, self.axis) != (other.scheme, other.axis):
            return False
        pairs = ((self.scales, other.scales), (self.zero_points, other.zero_points))
        return all(bool(np.array_equal(own, others)) for own, others in pairs)

    def moved(self, axis: int) -> PerChannel:
        """Return the same channels along another dimension."""
        return replace(self, axis=axis)

    def part(self, places: slice) -> PerChannel:
        """Return some of the channels."""
        return replace(self, scales=self.scales[places], zero_points=self.zero_points[places])

    def channel(self, place: int) -> PerTensor:
        """Return the quantizer of one channel."""
        return PerTensor(float(self.scales[place]), int(self.zero_points[place]))


Quantizer = PerTensor | PerChannel
