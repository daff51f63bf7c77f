"""Samples of Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.types.dtype import float32
from tt.operators._samples.base import OPTION, FamilyTable, Inputs, Layout, Sample

family = FamilyTable()

LAYOUTS: tuple[Layout, ...] = ("transposed", "strided", "offset")
DIM = (IndexError, RuntimeError)


# --- what all transforms are made of ---------------------------------------------------------------------------


@family("fft_c2c")
def fft_c2c(make: Inputs) -> Iterator[Sample]:
    for shape, dim in (((3,), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, -1)), ((2, 3), ()), ((0, 3), (1,))):
        yield Sample((make.tensor(*shape), dim, "backward", True), name=f"{shape} along {dim}")
    for norm in ("ortho", "forward"):
        yield Sample((make.tensor(3, 4), (0, 1), norm, False), name=f"inverse, {norm}")
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), (1,), "backward", False), name=layout)
    yield Sample((make.tensor(3), (1,), "backward", True), name="error: no such dim", error=DIM)


@family("fft_r2c")
def fft_r2c(make: Inputs) -> Iterator[Sample]:
    # Lines of even and of odd length have spectra that end differently.
    for shape, dim in (
        ((3,), (0,)),
        ((4,), (0,)),
        ((1,), (0,)),
        ((2, 3, 4), (2, 0)),
        ((2, 3, 4), (2, 1)),
        ((0, 3), (1,)),
    ):
        yield Sample((make.tensor(*shape), dim, "backward"), name=f"{shape} along {dim}")
    for norm in ("ortho", "forward"):
        yield Sample((make.tensor(3, 4), (0, 1), norm), name=norm)
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), (1,), "backward"), name=layout)
    yield Sample((make.tensor(3), (), "backward"), name="error: no dim", error=DIM)


@family("fft_c2r")
def fft_c2r(make: Inputs) -> Iterator[Sample]:
    for shape, dim, n in (
        # A spectrum of 3 numbers belongs to lines of 4 and of 5.
        ((3,), (0,), 4), ((3,), (0,), 5), ((1,), (0,), 1), ((2, 3, 4), (2, 1), 4), ((2, 3, 4), (0, 1), 5),
    ):  # fmt: skip
        yield Sample((make.tensor(*shape), dim, "backward", n), name=f"{shape} along {dim} to {n}")
    for norm in ("ortho", "forward"):
        yield Sample((make.tensor(3, 4), (0, 1), norm, 7), name=norm)
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout), (1,), "backward", 6), name=layout)
    yield Sample((make.tensor(3), (0,), "backward", 9), name="error: too long", error=RuntimeError)


# --- the namespace fft -----------------------------------------------------------------------------------------


@family("fft_line")
def fft_line(make: Inputs) -> Iterator[Sample]:
    """Transforms of one dimension."""
    for shape in ((5,), (4,), (2, 4), (2, 3, 4)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    calls: tuple[dict[str, Any], ...] = (
        {"n": 2}, {"n": 7}, {"n": 8}, {"dim": 0}, {"dim": -2, "n": 4}, {"norm": "ortho"}, {"norm": "forward", "n": 5},
        {"norm": "backward"},
    )  # fmt: skip
    for kwargs in calls:
        yield Sample((make.tensor(3, 4),), kwargs, str(kwargs))
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout),), name=layout)
    yield Sample((make.tensor(0, 4),), name="no lines")
    yield Sample((make.tensor(3),), {"n": 0}, "error: n 0", RuntimeError)
    yield Sample((make.tensor(3),), {"dim": 1}, "error: no such dim", DIM)
    yield Sample((make.tensor(),), {}, "error: no dims", DIM)
    yield Sample((make.tensor(3),), {"norm": "both"}, "error: norm", OPTION)
    if make.definition.name in ("fft_rfft", "fft_ihfft"):
        yield Sample((make.of([1j, 2], _complex(make)),), {}, "error: complex", RuntimeError)


@family("fft_several")
def fft_several(make: Inputs) -> Iterator[Sample]:
    """Transforms of several dimensions."""
    for shape in ((4, 5), (2, 3, 4), (2, 3, 3, 2)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    calls: tuple[dict[str, Any], ...] = (
        {"s": (2, 6)}, {"s": (-1, 5)}, {"dim": (0, 2)}, {"dim": (-1, 0)}, {"dim": (1,)}, {"dim": 0},
        {"s": (3, 4), "dim": (2, 0)}, {"norm": "ortho"}, {"norm": "forward", "s": (5, 2)},
    )  # fmt: skip
    two = make.definition.signature.name.endswith("2")
    for kwargs in calls:
        yield Sample((make.tensor(2, 3, 4),), kwargs, str(kwargs))
    for layout in LAYOUTS:
        yield Sample((make.tensor(3, 4, layout=layout),), name=layout)
    yield Sample((make.tensor(0, 3, 4),), {"dim": (1, 2)}, "no matrices")
    yield Sample((make.tensor(3, 4),), {"s": (0, 2)}, "error: size 0", RuntimeError)
    yield Sample((make.tensor(3, 4),), {"dim": (0, 2)}, "error: no such dim", DIM)
    yield Sample((make.tensor(3, 4),), {"dim": (1, 1)}, "error: twice", RuntimeError)
    yield Sample((make.tensor(3, 4),), {"s": (2,), "dim": (0, 1)}, "error: lengths", RuntimeError)
    yield Sample((make.tensor(3, 4),), {"norm": "both"}, "error: norm", OPTION)
    if two:
        yield Sample((make.tensor(3),), {}, "error: a vector", DIM)
    else:
        yield Sample((make.tensor(3, 4),), {"s": (2, 2, 2)}, "error: too many sizes", RuntimeError)


def _complex(make: Inputs) -> Any:
    return make.dtype.to_complex() if make.dtype.is_floating_point else float32.to_complex()


@family("fft_shift")
def fft_shift(make: Inputs) -> Iterator[Sample]:
    for shape in ((5,), (4,), (2, 3), (2, 0, 3)):
        yield Sample((make.tensor(*shape),), name=f"shape {shape}")
    for dim in (0, (1,), (0, 1), (-1, 0)):
        yield Sample((make.tensor(3, 4), dim), name=f"dim {dim}")
    yield Sample((make.tensor(3, 4, layout="transposed"),), name="transposed")
    yield Sample((make.tensor(3), (1,)), name="error: no such dim", error=DIM)


@family("fft_freq")
def fft_freq(make: Inputs) -> Iterator[Sample]:
    options = {"dtype": make.dtype, "device": make.device}
    for n, d in ((5, 1.0), (4, 1.0), (1, 0.5), (8, 0.1)):
        yield Sample((n, d), options, f"{n} steps of {d}")
    yield Sample((-4,), options, "error: negative", RuntimeError)


@family("stft")
def stft(make: Inputs) -> Iterator[Sample]:
    whole = {"return_complex": True}
    for shape in ((20,), (2, 17)):
        yield Sample((make.tensor(*shape), 8), whole, f"shape {shape}")
        yield Sample((make.tensor(*shape), 7, 3, 5), whole, f"shape {shape}, lengths")
    x = make.tensor(2, 20)
    real = make.dtype.to_real()
    # Away from 0: the inverse divides by the window.
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
    # Away from 0: what is divided by is the sum of overlapping windows.
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
    # Overlapping windows that add up to zero cannot be divided by.
    yield Sample((x, 8, 2), {"window": window * 0}, "error: window of zeros", RuntimeError)
    yield Sample((x, 8), {"return_complex": True}, "error: onesided", RuntimeError)
