"""The extension for Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import tt

Array: TypeAlias = tt.Tensor

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the discrete Fourier transform along an axis.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.fft(xp.asarray([1.0, 3.0]))
    tensor([ 4.+0.j, -2.+0.j])
    """
    return tt.fft.fft(x, n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the inverse of `fft`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.ifft(xp.asarray([4 + 0j, -2]))
    tensor([1.+0.j, 3.+0.j])
    """
    return tt.fft.ifft(x, n, axis, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the half of the transform of real numbers that the other half follows from.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.rfft(xp.asarray([1.0, 3.0, 2.0])).shape
    tt.Size([2])
    """
    return tt.fft.rfft(x, n, axis, norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the inverse of `rfft`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.irfft(xp.asarray([4 + 0j, -2]))
    tensor([1., 3.])
    """
    return tt.fft.irfft(x, n, axis, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the real transform of one half of a signal whose other half is its conjugate.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.hfft(xp.asarray([1 + 0j, 2]))
    tensor([ 3., -1.])
    """
    return tt.fft.hfft(x, n, axis, norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """Return the inverse of `hfft`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.ihfft(xp.asarray([3.0, -1.0])).real
    tensor([1., 2.])
    """
    return tt.fft.ihfft(x, n, axis, norm)


def fftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Array:
    """Return the transform along several axes, all by default.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.fftn(xp.ones((2, 2))).real
    tensor([[4., 0.],
            [0., 0.]])
    """
    return tt.fft.fftn(x, s, axes, norm)


def ifftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Array:
    """Return the inverse of `fftn`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.ifftn(xp.asarray([[4 + 0j, 0], [0, 0]])).real
    tensor([[1., 1.],
            [1., 1.]])
    """
    return tt.fft.ifftn(x, s, axes, norm)


def rfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Array:
    """Return the transform of real numbers along several axes; the last of them is halved.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.rfftn(xp.ones((2, 4))).shape
    tt.Size([2, 3])
    """
    return tt.fft.rfftn(x, s, axes, norm)


def irfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
) -> Array:
    """Return the inverse of `rfftn`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.irfftn(xp.fft.rfftn(xp.ones((2, 2))))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return tt.fft.irfftn(x, s, axes, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: tt.dtype | None = None, device: tt.device | str | None = None
) -> Array:
    """Return the frequencies of the results of `fft`, for samples at a distance `d`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return tt.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: tt.dtype | None = None, device: tt.device | str | None = None
) -> Array:
    """Return the frequencies of the results of `rfft`, for samples at a distance `d`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return tt.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the frequency zero to the middle.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.fftshift(xp.asarray([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return tt.fft.fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Return the inverse of `fftshift`.

    Examples
    --------
    >>> from tt import array_api as xp
    >>> xp.fft.ifftshift(xp.asarray([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return tt.fft.ifftshift(x, axes)
