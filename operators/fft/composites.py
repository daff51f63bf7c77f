"""Composites of Fourier transforms.

Every transform of the namespace fft is one of three operators, after its input was cut or filled up with zeros:
`_fft_c2c`, `_fft_r2c` (real input, half of the frequencies) and `_fft_c2r` (its inverse).  Only the first is core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import (
    ArgumentError,
    DimensionCountError,
    DimensionError,
    DtypeError,
    ShapeError,
    ValueRangeError,
)
from tt.core.shapes.geometry import wrap_dim, wrap_dims
from tt.core.types.dtype import bfloat16, complex32, float16, float64
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.promotion import get_default_dtype
from tt.core.types.user_warnings import warn_user
from tt.operators.fft.shapes import expect_points
from tt.operators.helpers import as_type, check_shapes, is_integral, python_value

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

Dims = tuple[int, ...]

OPPOSITE: Final = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The normalization with which the transform in the other direction multiplies by the same number."""

# --- what goes in ----------------------------------------------------------------------------------------------


def _input(op: str, self: Tensor, *, real: bool = False) -> Tensor:
    """Return a tensor in a dtype that transforms serve: integers and bools become floating point numbers."""
    if real and self.dtype.is_complex:
        raise DtypeError(f"{op}(): transforms real numbers, not {self.dtype}")
    dtype = self.dtype
    if is_integral(dtype):
        return as_type(self, get_default_dtype())
    if dtype in (float16, bfloat16, complex32):
        raise DtypeError(
            f"{op}(): half precision is not transformed, and this is {self.dtype}\n  try: x.to(tt.float32)"
        )
    return self


def _norm(op: str, norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in OPPOSITE:
        raise ValueRangeError(f'{op}(): norm is "backward", "ortho" or "forward", not "{norm}"')
    return norm


def _one_dim(op: str, self: Tensor, dim: int) -> Dims:
    if not self.ndim:
        raise DimensionError(op, dim, 0)
    return (wrap_dim(op, dim, self.ndim),)


def _several(
    op: str, self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None
) -> tuple[Dims, list[int]]:
    """Return the dims of a transform and their sizes; -1 means the existing size."""
    if dim is not None and len(dim) and not self.ndim:
        raise DimensionError(op, dim[0], 0)
    dims = None if dim is None else wrap_dims(op, dim, self.ndim)
    if s is None:
        dims = tuple(range(self.ndim)) if dims is None else dims
        sizes = [self.shape[d] for d in dims]
    else:
        if dims is not None and len(dims) != len(s):
            raise ShapeError(f"{op}(): s has {len(s)} sizes for {len(dims)} dims")
        if len(s) > self.ndim:
            raise DimensionCountError(
                f"{op}(): s has {len(s)} sizes, and the tensor only {self.ndim} dimensions"
            )
        dims = tuple(range(self.ndim - len(s), self.ndim)) if dims is None else dims
        sizes = [self.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    for n in sizes:
        expect_points(op, n)
    return dims, sizes


def _resized(self: Tensor, dims: Dims, sizes: Sequence[int]) -> Tensor:
    """Return the tensor with dims cut, or filled up with zeros, to sizes."""
    shape = self.shape
    for d, n in zip(dims, sizes, strict=True):
        size = shape[d]
        if n < size:
            self = ops.narrow(self, d, 0, n)
        elif n > size:
            missing = (*self.shape[:d], n - size, *self.shape[d + 1 :])
            self = ops.cat([self, ops.new_zeros(self, missing)], d)
    return self


# --- one dimension ---------------------------------------------------------------------------------------------


def _line(op: str, self: Tensor, n: int | None, dim: int, *, real: bool = False) -> tuple[Any, Dims]:
    dims = _one_dim(op, self, dim)
    size = self.shape[dims[0]] if n is None else n
    expect_points(op, size)
    return _resized(_input(op, self, real=real), dims, (size,)), dims


def _half_line(op: str, self: Tensor, n: int | None, dim: int) -> tuple[Any, Dims, int]:
    """Return the frequencies from which n real numbers follow, the dims and n."""
    dims = _one_dim(op, self, dim)
    # Half a spectrum does not say whether the size was odd; even is the convention.
    size = 2 * (self.shape[dims[0]] - 1) if n is None else n
    expect_points(op, size)
    return _resized(_input(op, self), dims, (size // 2 + 1,)), dims, size


@composite("fft_fft")
def fft_fft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    line, dims = _line("fft_fft", self, n, dim)
    return ops._fft_c2c(line, dims, _norm("fft_fft", norm), True)


@composite("fft_ifft")
def fft_ifft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    line, dims = _line("fft_ifft", self, n, dim)
    return ops._fft_c2c(line, dims, _norm("fft_ifft", norm), False)


@composite("fft_rfft")
def fft_rfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    line, dims = _line("fft_rfft", self, n, dim, real=True)
    return ops._fft_r2c(line, dims, _norm("fft_rfft", norm))


@composite("fft_irfft")
def fft_irfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    half, dims, size = _half_line("fft_irfft", self, n, dim)
    return ops._fft_c2r(half, dims, _norm("fft_irfft", norm), size)


@composite("fft_hfft")
def fft_hfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    half, dims, size = _half_line("fft_hfft", self, n, dim)
    # A forward transform of a Hermitian signal: the inverse of the conjugate, with the factor of the other
    # direction.
    return ops._fft_c2r(_conj(half), dims, OPPOSITE[_norm("fft_hfft", norm)], size)


@composite("fft_ihfft")
def fft_ihfft(self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    line, dims = _line("fft_ihfft", self, n, dim, real=True)
    return ops.conj(ops._fft_r2c(line, dims, OPPOSITE[_norm("fft_ihfft", norm)]))


def _conj(self: Tensor) -> Tensor:
    return ops.conj(self) if self.dtype.is_complex else self


# --- several dimensions ----------------------------------------------------------------------------------------


def _c2c(op: str, forward: bool) -> None:
    def transform(
        self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
    ) -> Tensor:
        dims, sizes = _several(op, self, s, dim)
        return ops._fft_c2c(_resized(_input(op, self), dims, sizes), dims, _norm(op, norm), forward)

    composite(op, transform)


def _r2c(op: str) -> None:
    def transform(
        self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
    ) -> Tensor:
        dims, sizes = _several(op, self, s, dim)
        _expect_dims(op, dims)
        return ops._fft_r2c(_resized(_input(op, self, real=True), dims, sizes), dims, _norm(op, norm))

    composite(op, transform)


def _half(op: str, self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None) -> tuple[Any, Dims, int]:
    """Return the frequencies that a transform to real numbers takes, its dims and the size of the last."""
    dims, sizes = _several(op, self, s, dim)
    _expect_dims(op, dims)
    last = 2 * (self.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else sizes[-1]
    expect_points(op, last)
    return _resized(_input(op, self), dims, (*sizes[:-1], last // 2 + 1)), dims, last


def _c2r(op: str) -> None:
    def transform(
        self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
    ) -> Tensor:
        half, dims, last = _half(op, self, s, dim)
        return ops._fft_c2r(half, dims, _norm(op, norm), last)

    composite(op, transform)


def _hermitian(op: str) -> None:
    def transform(
        self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
    ) -> Tensor:
        half, dims, last = _half(op, self, s, dim)
        mode = _norm(op, norm)
        half = ops._fft_c2c(half, dims[:-1], mode, True) if len(dims) > 1 else half
        return ops._fft_c2r(_conj(half), dims[-1:], OPPOSITE[mode], last)

    composite(op, transform)


def _hermitian_inverse(op: str) -> None:
    def transform(
        self: Tensor, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
    ) -> Tensor:
        dims, sizes = _several(op, self, s, dim)
        _expect_dims(op, dims)
        mode = _norm(op, norm)
        line = _resized(_input(op, self, real=True), dims, sizes)
        half = ops.conj(ops._fft_r2c(line, dims[-1:], OPPOSITE[mode]))
        return ops._fft_c2c(half, dims[:-1], mode, False) if len(dims) > 1 else half

    composite(op, transform)


def _expect_dims(op: str, dims: Dims) -> None:
    if not dims:
        raise ShapeError(f"{op}(): transforms at least one dimension")


for _count in ("2", "n"):
    _c2c(f"fft_fft{_count}", forward=True)
    _c2c(f"fft_ifft{_count}", forward=False)
    _r2c(f"fft_rfft{_count}")
    _c2r(f"fft_irfft{_count}")
    _hermitian(f"fft_hfft{_count}")
    _hermitian_inverse(f"fft_ihfft{_count}")

# --- real numbers, from the complex transform ------------------------------------------------------------------


@composite("_fft_r2c")
def fft_r2c(self: Tensor, dim: Sequence[int], norm: str) -> Tensor:
    check_shapes("_fft_r2c", self, dim)
    last = dim[-1] % self.ndim
    # A copy: a view would keep the other half of the spectrum in memory.
    return _copied(ops.narrow(ops._fft_c2c(self, dim, norm, True), last, 0, self.shape[last] // 2 + 1))


@composite("_fft_c2r")
def fft_c2r(self: Tensor, dim: Sequence[int], norm: str, last_dim_size: int) -> Tensor:
    check_shapes("_fft_c2r", self, dim, norm, last_dim_size)
    last = dim[-1] % self.ndim
    # The last dim comes last: only along it is the half that is not there the mirrored conjugate.
    half = ops._fft_c2c(self, tuple(dim[:-1]), norm, False) if len(dim) > 1 else self
    # Frequency zero, and half the sampling frequency of an even size, are their own mirror images.
    mirrored = ops.flip(ops.narrow(half, last, 1, (last_dim_size - 1) // 2), (last,))
    line = ops.cat([half, _conj(mirrored)], last)
    return _copied(ops.real(ops._fft_c2c(line, (last,), norm, False)))


def _copied(view: Tensor) -> Tensor:
    """Return a row-major copy, also where the view counts as one because its sizes are one."""
    return ops.clone(view, memory_format="contiguous_format")


# --- helpers of transforms -------------------------------------------------------------------------------------


def _shifted(op: str, self: Tensor, dim: Sequence[int] | None, forward: bool) -> Tensor:
    dims = tuple(range(self.ndim)) if dim is None else dim
    if not dims:
        raise ShapeError(f"{op}(): the tensor has no dimension to shift along")
    if not self.ndim:
        raise DimensionError(op, dims[0], 0)
    for d in (wrap_dim(op, d, self.ndim) for d in dims):
        n = self.shape[d]
        first = n - n // 2 if forward else n // 2
        self = ops.cat([ops.narrow(self, d, first, n - first), ops.narrow(self, d, 0, first)], d)
    return self


composite("fft_fftshift", lambda self, dim: _shifted("fft_fftshift", self, dim, True))
composite("fft_ifftshift", lambda self, dim: _shifted("fft_ifftshift", self, dim, False))


def _step(n: int, d: float) -> float:
    return 1.0 / (n * d) if n * d else math.inf


@composite("fft_fftfreq")
def fft_fftfreq(n: int, d: float, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    check_shapes("fft_fftfreq", n)
    # In float64, rounded once at the end.
    index = ops.arange.default(n, dtype=float64, layout=layout, device=device)
    signed = ops.where.default(ops.ge(index, (n + 1) // 2), ops.sub(index, n), index)
    return as_type(ops.mul(signed, _step(n, d)), dtype or get_default_dtype())


@composite("fft_rfftfreq")
def fft_rfftfreq(n: int, d: float, dtype: Dtype | None, layout: Any, device: Any) -> Tensor:
    check_shapes("fft_rfftfreq", n)
    index = ops.arange.default(n // 2 + 1, dtype=float64, layout=layout, device=device)
    return as_type(ops.mul(index, _step(n, d)), dtype or get_default_dtype())


def _lengths(
    op: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
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


def _window(x: Tensor, n_fft: int, length: int, window: Tensor | None) -> Any:
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
    spectrum = ops.transpose(transform(frames, None, -1, "ortho" if normalized else None), 1, 2)
    spectrum = ops.squeeze.dim(spectrum, 0) if self.ndim == 1 else spectrum
    if return_complex:
        return spectrum
    warn_user(f"{op}(): return_complex=False is deprecated: see view_as_real")
    return ops.view_as_real(spectrum)


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
        # A real signal's spectrum is symmetric: half of it says everything, and the result has no imaginary part.
        half = x if onesided else ops.slice(x, 2, 0, n_fft // 2 + 1, 1)
        frames = ops.fft_irfft(half, n_fft, -1, norm)
    shape = ops.ones((n_fft,), dtype=self.dtype.to_real(), device=self.device)
    padded = _window(x, n_fft, size, window)
    shape = shape if padded is None else padded
    batch, count = frames.shape[0], frames.shape[1]
    total = n_fft + hop * (count - 1)
    positions = ops.add(
        ops.unsqueeze(ops.mul(ops.arange(count, device=self.device), hop), 1),
        ops.arange(n_fft, device=self.device),
    )
    positions = ops.reshape(positions, (-1,))
    # Least squares (Griffin and Lim 1984): window the frames again, add them, divide by the sum of squared windows.
    added = ops.reshape(ops.mul(frames, shape), (batch, -1))
    signal = ops.zeros((batch, total), dtype=added.dtype, device=self.device)
    signal = ops.index_add(signal, 1, positions, added)
    squares = ops.repeat(ops.square(shape), (count,))
    envelope = ops.index_add(
        ops.zeros((total,), dtype=squares.dtype, device=self.device), 0, positions, squares
    )
    # stft(center=True) padded half a frame on both sides.
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else (total - n_fft // 2 if center else total)
    signal, envelope = ops.slice(signal, 1, start, end, 1), ops.slice(envelope, 0, start, end, 1)
    # PyTorch's threshold.
    if envelope.numel() and python_value(ops.le(ops.amin(ops.abs(envelope)), 1e-11)):
        raise ValueRangeError(f"{op}(): the windows of the frames add up to zero somewhere")
    signal = ops.div.default(signal, envelope)
    if end > total:
        warn_user(f"{op}(): the signal is shorter than length, and padded with zeros")
        signal = ops.constant_pad_nd(signal, (0, end - total), 0)
    return ops.squeeze.dim(signal, 0) if self.ndim == 2 else signal
