"""Composites of the short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any, Final

from tt.core.composites.helpers import python_value
from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import ArgumentError, DimensionCountError, DtypeError, ShapeError, ValueRangeError
from tt.core.types.user_warnings import warn_user

composites: Final = CompositeTable()
composite = composites.composite


def _lengths(
    op: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Any
) -> tuple[int, int]:
    """Return how far apart frames begin and how long the window is."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if hop <= 0:
        raise ValueRangeError(f"{op}(): expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise ValueRangeError(
            f"{op}(): expected 0 < win_length <= n_fft={n_fft}, but got win_length={length}"
        )
    if window is not None and tuple(window.shape) != (length,):
        raise ShapeError(
            f"{op}(): expected a window of the size win_length={length}, but got one of the size {list(window.shape)}"
        )
    return hop, length


def _window(x: Any, n_fft: int, length: int, window: Any) -> Any:
    """Return a window in the middle of n_fft zeros; None where it would be ones."""
    if window is None:
        if length == n_fft:
            return None
        window = ops.ones((length,), dtype=x.dtype.to_real(), device=x.device)
    left = (n_fft - length) // 2
    return ops.constant_pad_nd(window, (left, n_fft - length - left), 0) if length < n_fft else window


def _warn_of_rectangle(op: str) -> None:
    warn_user(
        f"{op}(): without a window all samples of a frame count alike, and spectra leak into other frequencies\n"
        f"  try: window=tt.hann_window(n)"
    )


@composite("stft")
def stft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    pad_mode: str,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Any:
    op = "stft"
    is_complex = self.dtype.is_complex or (window is not None and window.dtype.is_complex)
    if center and align_to_window is not None:
        raise ValueRangeError(f"{op}(): align_to_window is for center=False only")
    if return_complex is None:
        if not is_complex:
            raise ValueRangeError(f"{op}(): return_complex must be given for real inputs")
        return_complex = True
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        raise DtypeError(f"{op}(): expected a tensor of floating point or complex values, got {self.dtype}")
    if self.ndim not in (1, 2):
        raise DimensionCountError(f"{op}(): expected 1 or 2 dimensions, got {self.ndim}")
    x = ops.unsqueeze(self, 0) if self.ndim == 1 else self
    if n_fft <= 0:
        raise ValueRangeError(f"{op}(): expected n_fft > 0, but got n_fft={n_fft}")
    hop, length = _lengths(op, n_fft, hop_length, win_length, window)
    if window is None:
        _warn_of_rectangle(op)
    if center:
        x = ops.squeeze.dim(ops.pad(ops.unsqueeze(x, 1), (n_fft // 2, n_fft // 2), pad_mode), 1)
    if n_fft > x.shape[1] and not align_to_window:
        raise ValueRangeError(
            f"{op}(): expected n_fft <= {x.shape[1]}, the size of the signal, but got n_fft={n_fft}"
        )
    if align_to_window:
        left = (n_fft - length) // 2
        if length > x.shape[1]:
            raise ValueRangeError(f"{op}(): the window is longer than the signal, whose size is {x.shape[1]}")
        x = ops.constant_pad_nd(x, (left, n_fft - length - left), 0)
    frames = ops.unfold(x, 1, n_fft, hop)
    padded = _window(x, n_fft, length, window)
    frames = frames if padded is None else ops.mul(frames, padded)
    onesided = not is_complex if onesided is None else onesided
    if onesided and is_complex:
        raise ValueRangeError(f"{op}(): a onesided result is for real inputs and windows only")
    transform = ops.fft_rfft if onesided else ops.fft_fft
    found = ops.transpose(transform(frames, None, -1, "ortho" if normalized else None), 1, 2)
    found = ops.squeeze.dim(found, 0) if self.ndim == 1 else found
    if return_complex:
        return found
    warn_user(f"{op}(): return_complex=False is deprecated: see view_as_real")
    return ops.view_as_real(found)


@composite("istft")
def istft(
    self: Any,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Any,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Any:
    op = "istft"
    if not self.dtype.is_complex:
        raise DtypeError(f"{op}(): requires a complex-valued input, got {self.dtype}: see view_as_complex")
    if not self.numel():
        raise ShapeError(f"{op}(): the input has no elements")
    if self.ndim not in (2, 3):
        raise DimensionCountError(f"{op}(): expected 2 or 3 dimensions, got {self.ndim}")
    onesided = n_fft // 2 + 1 == self.shape[-2] if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if self.shape[-2] != expected:
        raise ShapeError(
            f"{op}(): expected {expected} frequencies of n_fft={n_fft} with onesided={onesided}, got {self.shape[-2]}"
        )
    hop, size = _lengths(op, n_fft, hop_length, win_length, window)
    if window is None:
        _warn_of_rectangle(op)
    elif window.dtype.is_complex and not return_complex:
        raise ArgumentError(op, "a complex window needs return_complex=True")
    if return_complex and onesided:
        raise ValueRangeError(f"{op}(): the input of a complex signal is not onesided")
    x = ops.transpose(ops.unsqueeze(self, 0) if self.ndim == 2 else self, 1, 2)
    norm = "ortho" if normalized else None
    if return_complex:
        frames = ops.fft_ifft(x, n_fft, -1, norm)
    else:
        half = x if onesided else ops.slice(x, 2, 0, n_fft // 2 + 1, 1)
        frames = ops.fft_irfft(half, n_fft, -1, norm)
    shape = ops.ones((n_fft,), dtype=self.dtype.to_real(), device=self.device)
    padded = _window(x, n_fft, size, window)
    shape = shape if padded is None else padded
    batch, count = frames.shape[0], frames.shape[1]
    total = n_fft + hop * (count - 1)
    places = ops.add(
        ops.unsqueeze(ops.mul(ops.arange(count, device=self.device), hop), 1),
        ops.arange(n_fft, device=self.device),
    )
    places = ops.reshape(places, (-1,))
    added = ops.reshape(ops.mul(frames, shape), (batch, -1))
    signal = ops.zeros((batch, total), dtype=added.dtype, device=self.device)
    signal = ops.index_add(signal, 1, places, added)
    squares = ops.repeat(ops.square(shape), (count,))
    envelope = ops.index_add(ops.zeros((total,), dtype=squares.dtype, device=self.device), 0, places, squares)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else (total - n_fft // 2 if center else total)
    signal, envelope = ops.slice(signal, 1, start, end, 1), ops.slice(envelope, 0, start, end, 1)
    if envelope.numel() and python_value(ops.le(ops.amin(ops.abs(envelope)), 1e-11)):
        raise ValueRangeError(f"{op}(): the windows of the frames add up to zero somewhere")
    signal = ops.div.default(signal, envelope)
    if end > total:
        warn_user(f"{op}(): the signal is shorter than length, and padded with zeros")
        signal = ops.constant_pad_nd(signal, (0, end - total), 0)
    return ops.squeeze.dim(signal, 0) if self.ndim == 2 else signal
