"""The windows of `tt.signal.windows`."""

from __future__ import annotations

from collections.abc import Iterable
from math import pi, sqrt
from typing import Any

import tt
from tt.types import Device

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
    "hann", "kaiser", "nuttall",
]  # fmt: skip


def _check(name: str, M: int, dtype: tt.dtype | None, layout: tt.layout | None) -> Any:  # noqa: N803  PyTorch's name
    """Return the dtype of a window whose length, dtype and layout are fine."""
    if M < 0:
        raise tt.errors.ValueRangeError(f"{name} requires non-negative window length, got M={M}")
    if layout is not None and layout is not tt.strided:
        raise tt.errors.ValueRangeError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = tt.get_default_dtype() if dtype is None else dtype
    if dtype not in (tt.float32, tt.float64):
        raise tt.errors.ValueRangeError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _points(start: float, step: float, M: int, dtype: tt.dtype | None, device: Device) -> Any:  # noqa: N803
    return tt.linspace(start, start + (M - 1) * step, M, dtype=dtype, device=device)


def _made(window: tt.Tensor, requires_grad: bool) -> tt.Tensor:
    return window.requires_grad_() if requires_grad else window


def _short(M: int, dtype: tt.dtype | None, device: Device, requires_grad: bool) -> tt.Tensor:  # noqa: N803
    """Return a window of no or of one sample."""
    return _made(tt.ones((M,), dtype=dtype, device=device), requires_grad)


def exponential(
    M: int,  # noqa: N803
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return a window that decays as exp(-|n - center| / tau).

    Parameters
    ----------
    M : int
        How many samples it has.
    center : float, optional
        Where it is largest; only of a periodic window. The middle by default.
    tau : float
        How slowly it decays.
    sym : bool
        Whether it is symmetric; else periodic.
    dtype, layout, device, requires_grad
        Of the result.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    dtype = _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise tt.errors.ValueRangeError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise tt.errors.ValueRangeError("Center must be None for symmetric windows")
    if not M:
        return _short(0, dtype, device, requires_grad)
    if center is None:
        # A periodic window is a symmetric one of M + 1 points without the last.
        center = (M if not sym and M > 1 else M - 1) / 2
    return _made(tt.exp(-abs(_points(-center / tau, 1 / tau, M, dtype, device))), requires_grad)


def cosine(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return half a period of a sine.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    dtype = _check("cosine", M, dtype, layout)
    if not M:
        return _short(0, dtype, device, requires_grad)
    # The samples lie in the middle of their intervals, so none is 0.
    step = pi / (M + 1 if not sym and M > 1 else M)
    return _made(tt.sin(_points(step / 2, step, M, dtype, device)), requires_grad)


def gaussian(
    M: int,  # noqa: N803
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return a normal distribution with standard deviation std, in samples.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    dtype = _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise tt.errors.ValueRangeError(f"Standard deviation must be positive, got: {std} instead.")
    if not M:
        return _short(0, dtype, device, requires_grad)
    step = 1 / (std * sqrt(2))
    # Periodic: as many points to the left of the middle as if one more followed.
    start = -(M if not sym and M > 1 else M - 1) / 2
    return _made(tt.exp(-(_points(start * step, step, M, dtype, device) ** 2)), requires_grad)


def kaiser(
    M: int,  # noqa: N803
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return Kaiser's window, whose energy lies mostly in the middle; a larger beta makes it narrower.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    dtype = _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise tt.errors.ValueRangeError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _short(M, dtype, device, requires_grad)
    bound = tt.tensor(float(beta), dtype=dtype, device=device)
    step = 2 * beta / (M - 1 if sym else M)
    # Rounding must not take the last sample beyond the bound, where the root does not exist.
    k = tt.linspace(-beta, min(beta, -beta + (M - 1) * step), M, dtype=dtype, device=device)
    return _made(tt.i0(tt.sqrt(bound * bound - k**2)) / tt.i0(bound), requires_grad)


def general_cosine(
    M: int,  # noqa: N803
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return a sum of cosines, whose coefficients `a` alternate in sign.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.general_cosine(5, a=[0.5, 0.5])
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    dtype = _check("general_cosine", M, dtype, layout)
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    a = [*a]
    if not a:
        raise tt.errors.ValueRangeError("Coefficients cannot be empty")
    if M < 2:
        return _short(M, dtype, device, requires_grad)
    k = _points(0.0, 2 * pi / (M - 1 if sym else M), M, dtype, device)
    signed = tt.tensor([(-1) ** i * w for i, w in enumerate(a)], dtype=dtype, device=device)
    i = tt.arange(len(a), dtype=dtype, device=device)
    return _made((signed.unsqueeze(-1) * tt.cos(i.unsqueeze(-1) * k)).sum(0), requires_grad)


def general_hamming(
    M: int,  # noqa: N803
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def hamming(M: int, *, sym: bool = True, **options: Any) -> tt.Tensor:  # noqa: N803
    """Return Hamming's window, which does not quite reach zero.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, **options)


def hann(M: int, *, sym: bool = True, **options: Any) -> tt.Tensor:  # noqa: N803
    """Return Hann's window, a period of a raised cosine.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, sym=sym, **options)


def blackman(M: int, *, sym: bool = True, **options: Any) -> tt.Tensor:  # noqa: N803
    """Return Blackman's window, a sum of three cosines.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.blackman(3, dtype=tt.float64).round(decimals=4).abs()
    tensor([0., 1., 0.], dtype=tt.float64)
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, **options)


def nuttall(M: int, *, sym: bool = True, **options: Any) -> tt.Tensor:  # noqa: N803
    """Return Nuttall's window with the least side lobes, a sum of four cosines.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.nuttall(3).round(decimals=4)
    tensor([4.0000e-04, 1.0000e+00, 4.0000e-04])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, **options)


def bartlett(
    M: int,  # noqa: N803
    *,
    sym: bool = True,
    dtype: tt.dtype | None = None,
    layout: tt.layout | None = None,
    device: Device = None,
    requires_grad: bool = False,
) -> tt.Tensor:
    """Return a triangle that is zero at both ends.

    Examples
    --------
    >>> import tt
    >>> tt.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    dtype = _check("bartlett", M, dtype, layout)
    if M < 2:
        return _short(M, dtype, device, requires_grad)
    return _made(1 - abs(_points(-1, 2 / (M - 1 if sym else M), M, dtype, device)), requires_grad)
