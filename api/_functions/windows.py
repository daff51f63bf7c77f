"""`tt.hann_window` and others: the older names of windows, periodic by default; `tt.signal.windows` has more."""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import ArgumentError, UnsupportedError, ValueRangeError

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]


def _made(
    name: str, shape: str, window_length: int, periodic: bool, options: dict[str, Any], **values: Any
) -> Any:
    """Return a window of `tt.signal.windows` in the requested dtype."""
    layout = options.pop("layout", None)
    if layout is not None and layout != tt.strided:
        raise UnsupportedError(f"{name}() makes strided tensors, not {layout}")
    known = {"dtype", "device", "pin_memory", "requires_grad"}
    if unknown := sorted(set(options) - known):
        raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
    dtype = options.get("dtype") or tt.get_default_dtype()
    if not dtype.is_floating_point:
        raise ValueRangeError(f"{name} expects floating point dtypes, got: {dtype}")
    if isinstance(window_length, bool) or not isinstance(window_length, int):
        raise ArgumentError(name, f"argument 'window_length' must be int, not {type(window_length).__name__}")
    for argument, value in values.items():
        if not isinstance(value, int | float):
            raise ArgumentError(name, f"argument {argument!r} must be float, not {type(value).__name__}")
    if window_length < 0:
        raise ValueRangeError(
            f"{name} requires non-negative window_length, got window_length={window_length}"
        )
    # Halves are too coarse to compute cosines in.
    wide = tt.float64 if dtype == tt.float64 else tt.float32
    make = getattr(tt.signal.windows, shape)
    window = make(window_length, sym=not periodic, dtype=wide, device=options.get("device"), **values).to(
        dtype
    )
    if options.get("pin_memory"):
        window = window.pin_memory()
    return window.requires_grad_() if options.get("requires_grad") else window


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> tt.Tensor:
    """Return a Hann window; periodic, for spectra, or symmetric.

    Parameters
    ----------
    window_length : int
        The number of samples.
    periodic : bool
        Whether it is the symmetric window with a sample more, without its last.
    **options
        dtype, layout, device, pin_memory and requires_grad.

    Examples
    --------
    >>> import tt
    >>> tt.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    window: tt.Tensor = _made("hann_window", "hann", window_length, periodic, options)
    return window


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> tt.Tensor:
    """Return a Hamming window, alpha - beta cos(2πn / N).

    Examples
    --------
    >>> import tt
    >>> tt.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    window: tt.Tensor
    # These weights need a single call; `alpha` and `beta` that do not add up to 1 are put together below.
    if beta == 1.0 - alpha or (alpha, beta) == (0.54, 0.46):
        window = _made("hamming_window", "general_hamming", window_length, periodic, options, alpha=alpha)
        return window
    flat = _made(
        "hamming_window",
        "general_hamming",
        window_length,
        periodic,
        {**options, "requires_grad": False},
        alpha=1.0,
    )
    cosine = 1.0 - 2.0 * _made(
        "hamming_window", "hann", window_length, periodic, {**options, "requires_grad": False}
    )
    window = alpha * flat - beta * cosine if window_length > 1 else flat
    return window.requires_grad_() if options.get("requires_grad") else window


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> tt.Tensor:
    """Return a Blackman window.

    Examples
    --------
    >>> import tt
    >>> tt.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    window: tt.Tensor = _made("blackman_window", "blackman", window_length, periodic, options)
    return window


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> tt.Tensor:
    """Return a Bartlett window, a triangle that begins with zero.

    Examples
    --------
    >>> import tt
    >>> tt.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    window: tt.Tensor = _made("bartlett_window", "bartlett", window_length, periodic, options)
    return window


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> tt.Tensor:
    """Return a Kaiser window; the larger beta, the narrower.

    Examples
    --------
    >>> import tt
    >>> tt.kaiser_window(5, periodic=False, beta=0.0)
    tensor([1., 1., 1., 1., 1.])
    """
    window: tt.Tensor = _made("kaiser_window", "kaiser", window_length, periodic, options, beta=beta)
    return window
