"""Samples of the short-time Fourier transform and its inverse."""

from __future__ import annotations

from collections.abc import Iterator

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample

family = FamilyTable()


@family("stft")
def stft(make: Inputs) -> Iterator[Sample]:
    whole = {"return_complex": True}
    for shape in ((20,), (2, 17)):
        yield Sample((make.tensor(*shape), 8), whole, f"shape {shape}")
        yield Sample((make.tensor(*shape), 7, 3, 5), whole, f"shape {shape}, lengths")
    x = make.tensor(2, 20)
    real = make.dtype.to_real()
    window = make.tensor(8, low=0.5, high=1, dtype=real)
    yield Sample((x, 8, 2), {**whole, "window": window}, "window")
    yield Sample((x, 8, 2, 6), {**whole, "window": window[:6], "center": False}, "short window, not centred")
    yield Sample((x, 8, 2, 6), {**whole, "center": False, "align_to_window": True}, "aligned")
    yield Sample((x, 8), {**whole, "normalized": True}, "normalized")
    yield Sample((x, 8), {**whole, "pad_mode": "constant", "onesided": False}, "constant, both sides")
    for layout in ("transposed", "strided", "offset"):
        yield Sample((make.tensor(2, 20, layout=layout), 8), whole, layout)
    yield Sample((x, 0), whole, "error: n_fft", RuntimeError)
    yield Sample((x, 8, 0), whole, "error: hop_length", RuntimeError)
    yield Sample((x, 8, 2, 9), whole, "error: win_length", RuntimeError)
    yield Sample((x, 8), {**whole, "window": window[:4]}, "error: window", RuntimeError)
    yield Sample((x[None], 8), whole, "error: dimensions", RuntimeError)
    if not make.dtype.is_complex:
        yield Sample((x, 8), {}, "error: return_complex", RuntimeError)


@family("istft")
def istft(make: Inputs) -> Iterator[Sample]:
    real = make.dtype.to_real()
    window = make.tensor(8, low=0.5, high=1, dtype=real)
    for shape in ((5, 4), (2, 5, 3)):
        yield Sample((make.tensor(*shape), 8), name=f"shape {shape}")
        yield Sample((make.tensor(*shape), 8, 2), {"window": window}, f"shape {shape}, window")
    x = make.tensor(2, 5, 4)
    yield Sample((x, 8, 2), {"center": False, "normalized": True}, "not centred, normalized")
    yield Sample((x, 8, 2), {"length": 5}, "length")
    yield Sample((make.tensor(8, 4), 8, 2), {"onesided": False}, "both sides")
    yield Sample((make.tensor(8, 4), 8, 2), {"onesided": False, "return_complex": True}, "complex")
    yield Sample((make.tensor(2, 5, 4, layout="transposed"), 8), name="transposed")
    yield Sample((x, 6), name="error: frequencies", error=RuntimeError)
    yield Sample((x, 8, 0), name="error: hop_length", error=RuntimeError)
    yield Sample((x[0, 0], 8), name="error: dimensions", error=RuntimeError)
    yield Sample((x, 8, 2), {"window": window * 0}, "error: window of zeros", RuntimeError)
    yield Sample((x, 8), {"return_complex": True}, "error: onesided", RuntimeError)
