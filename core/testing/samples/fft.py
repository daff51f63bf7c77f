"""Samples of Fourier transforms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import OPTION, FamilyTable, Inputs, Layout, Sample
from tt.core.types.dtype import float32

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
    place = {"dtype": make.dtype, "device": make.device}
    for n, d in ((5, 1.0), (4, 1.0), (1, 0.5), (8, 0.1)):
        yield Sample((n, d), place, f"{n} steps of {d}")
    yield Sample((-4,), place, "error: negative", RuntimeError)
