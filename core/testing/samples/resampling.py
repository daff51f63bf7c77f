"""Samples of resampling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.testing.samples.base import FamilyTable, Inputs, Sample
from tt.core.types.dtype import float64

family = FamilyTable()

MODES = {
    1: ("nearest", "nearest-exact", "linear", "area"),
    2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    3: ("nearest", "nearest-exact", "trilinear", "area"),
}


@family("interpolate")
def interpolate(make: Inputs) -> Iterator[Sample]:
    for n, modes in MODES.items():
        x = make.tensor(2, 2, *(3, 4, 2)[:n])
        for mode in modes:
            how: dict[str, Any] = {"mode": mode}
            if make.dtype.kind == "unsigned" and mode in ("area", "linear", "trilinear"):
                continue
            for size in (2, 5):
                yield Sample((x, size), how, f"{n}d {mode}, size {size}")
            yield Sample((x, (5, 1, 4)[:n]), how, f"{n}d {mode}, one size for a dimension")
            yield Sample((x,), {"scale_factor": 1.7, **how}, f"{n}d {mode}, scale")
            yield Sample((x,), {"scale_factor": 2, **how}, f"{n}d {mode}, doubled")
            recomputed = {"scale_factor": 1.7, "recompute_scale_factor": True, **how}
            yield Sample((x,), recomputed, f"{n}d {mode}, scale recomputed")
            yield Sample((x[:0], 2), how, f"{n}d {mode}, empty batch")
            if mode.endswith(("linear", "cubic")):
                yield Sample((x, 5), {"align_corners": True, **how}, f"{n}d {mode}, corners aligned")
                yield Sample((x, 1), {"align_corners": True, **how}, f"{n}d {mode}, one corner")
            if mode in ("bilinear", "bicubic"):
                wide = make.tensor(1, 2, 9, 7)
                for both in ((3, 4), (12, 3)):
                    yield Sample((wide, both), {"antialias": True, **how}, f"{mode}, antialias to {both}")
    x = make.tensor(1, 2, 3, 4)
    yield Sample((x.transpose(2, 3), 5), name="transposed")
    yield Sample((x,), name="error: no size", error=ValueError)
    yield Sample((x, 2, 2.0), name="error: two sizes", error=ValueError)
    yield Sample((x, (2,)), name="error: number of sizes", error=ValueError)
    yield Sample((x, 0), name="error: size", error=RuntimeError)
    yield Sample((x, 2), {"mode": "linear"}, "error: dimensions", NotImplementedError)
    yield Sample((x, 2), {"mode": "cubic"}, "error: mode", NotImplementedError)
    yield Sample((x, 2), {"align_corners": True}, "error: align_corners", ValueError)
    yield Sample((x, 2), {"antialias": True}, "error: antialias", ValueError)


def _taps(make: Inputs, taps: int, new: int, size: int) -> tuple[Any, Any]:
    """Return places among so many elements, and weights for them."""
    places = make.indices(taps, new, limit=size)
    return places, (places.to(float64) - 0.5) / (size + 1)


@family("weighted_taps")
def weighted_taps(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(2, 3, 5)
    for taps in (1, 2, 3, 4):
        for dim in (0, 1, -1):
            yield Sample((x, *_taps(make, taps, 4, x.shape[dim]), dim), name=f"{taps} taps, dim {dim}")
    yield Sample((x[:0], *_taps(make, 2, 4, 5), 2), name="empty")
    yield Sample((x.transpose(0, 2), *_taps(make, 2, 4, 2), 2), name="transposed")
    yield Sample(
        (x, make.indices(4, limit=5), make.indices(4, limit=5), 2), name="error: places", error=RuntimeError
    )


@family("spread_taps")
def spread_taps(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(2, 3, 4)
    for taps in (1, 2, 3):
        for dim in (0, 1, -1):
            yield Sample((x, *_taps(make, taps, x.shape[dim], 6), dim, 6), name=f"{taps} taps, dim {dim}")
    yield Sample((x[:0], *_taps(make, 2, 4, 5), 2, 5), name="empty")
    yield Sample((x.transpose(0, 2), *_taps(make, 2, 2, 3), 2, 3), name="transposed")
    yield Sample((x, *_taps(make, 2, 5, 5), 2, 5), name="error: places", error=RuntimeError)
