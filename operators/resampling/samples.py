"""Samples of resampling."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from tt.core.types.dtype import float64
from tt.operators._samples.base import FamilyTable, Inputs, Sample

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

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
            # PyTorch resamples bytes by nearest, bilinear and bicubic modes alone.
            if make.dtype.kind == "unsigned" and mode in ("area", "linear", "trilinear"):
                continue
            # Smaller and larger than the input.
            for size in (2, 5):
                yield Sample((x, size), how, f"{n}d {mode}, size {size}")
            yield Sample((x, (5, 1, 4)[:n]), how, f"{n}d {mode}, one size for a dimension")
            # A factor that does not divide evenly: the size is rounded down.
            yield Sample((x,), {"scale_factor": 1.7, **how}, f"{n}d {mode}, scale")
            yield Sample((x,), {"scale_factor": 2, **how}, f"{n}d {mode}, doubled")
            recomputed = {"scale_factor": 1.7, "recompute_scale_factor": True, **how}
            yield Sample((x,), recomputed, f"{n}d {mode}, scale recomputed")
            yield Sample((x[:0], 2), how, f"{n}d {mode}, empty batch")
            if mode.endswith(("linear", "cubic")):
                yield Sample((x, 5), {"align_corners": True, **how}, f"{n}d {mode}, corners aligned")
                # With one element there is no distance between corners to divide by.
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
    positions = make.indices(taps, new, limit=size)
    return positions, (positions.to(float64) - 0.5) / (size + 1)


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


def points(make: Inputs, *shape: int, far: float = 1.3) -> Tensor:
    """Return points inside of the input and around it."""
    return make.tensor(*shape, low=-far, high=far)


def image(make: Inputs, *shape: int) -> Tensor:
    """Return small elements: the gradient of a point consists of their differences."""
    return make.tensor(*shape, low=-1, high=1)


def calls(make: Inputs) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield arguments with a name: mode and padding as numbers."""
    for mode, padding, align in product((0, 1, 2), (0, 1, 2), (False, True)):
        how = (mode, padding, align)
        yield f"image, {how}", (image(make, 2, 3, 4, 5), points(make, 2, 3, 2, 2), *how)
        if mode < 2:
            yield f"volume, {how}", (image(make, 2, 2, 3, 4, 2), points(make, 2, 2, 3, 1, 3), *how)
    how = (0, 2, True)
    # Reflections that go back and forth several times.
    yield "far away", (image(make, 1, 2, 3, 4), points(make, 1, 2, 3, 2, far=9), *how)
    yield "one element", (image(make, 1, 2, 1, 1), points(make, 1, 2, 2, 2), *how)
    yield "empty batch", (image(make, 0, 2, 3, 4), points(make, 0, 2, 2, 2), *how)
    yield "no points", (image(make, 1, 2, 3, 4), points(make, 1, 0, 2, 2), *how)
    yield "no channels", (image(make, 1, 0, 3, 4), points(make, 1, 2, 2, 2), *how)
    x = make.tensor(2, 3, 4, 5, layout="transposed")
    yield "transposed", (x, points(make, 2, 2, 3, 2).transpose(1, 2), 0, 0, False)


def wrong(make: Inputs) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield images and grids that do not fit."""
    x, grid = make.tensor(2, 3, 4, 5), points(make, 2, 3, 2, 2)
    yield "error: input", (x[0], grid)
    yield "error: grid", (x, grid[0])
    yield "error: batch", (x, grid[:1])
    yield "error: coordinates", (x, grid[..., :1])
    yield "error: no elements", (x[:, :, :0], grid)


@family("grid_sampler")
def grid_sampler(make: Inputs) -> Iterator[Sample]:
    dims = next((int(c) for c in make.definition.name if c.isdigit()), None)
    for name, args in calls(make):
        if dims is None or args[0].ndim == dims + 2:
            yield Sample(args, name=name)
    for name, args in wrong(make):
        yield Sample((*args, 0, 0, True), name=name, error=RuntimeError)
    volume = (make.tensor(1, 2, 2, 2, 2), points(make, 1, 2, 2, 2, 3))
    yield Sample((*volume, 2, 0, True), name="error: bicubic", error=RuntimeError)


@family("grid_sampler_backward")
def grid_sampler_backward(make: Inputs) -> Iterator[Sample]:
    for name, args in calls(make):
        shape = (*args[0].shape[:2], *args[1].shape[1:-1])
        yield Sample((image(make, *shape), *args), name=name)
    x, grid = make.tensor(2, 3, 4, 5), points(make, 2, 3, 2, 2)
    yield Sample((make.tensor(2, 3, 2, 3), x, grid, 0, 0, True), name="error: grad", error=RuntimeError)


@family("grid_sample")
def grid_sample(make: Inputs) -> Iterator[Sample]:
    x, grid = make.tensor(2, 3, 4, 5), points(make, 2, 3, 2, 2)
    for mode, padding in product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")):
        yield Sample((x, grid, mode, padding), {"align_corners": padding == "border"}, f"{mode}, {padding}")
    yield Sample((x, grid), name="a warning")
    yield Sample((x, grid, "cubic"), name="error: mode", error=ValueError)
    yield Sample((x, grid, "nearest", "ones"), name="error: padding", error=ValueError)
    for name, args in wrong(make):
        yield Sample((*args, "bilinear", "zeros", False), name=name, error=RuntimeError)


@family("affine_grid")
def affine_grid(make: Inputs) -> Iterator[Sample]:
    generator = make.definition.name == "affine_grid_generator"
    plane, space = make.tensor(2, 2, 3), make.tensor(2, 3, 4)
    for align in (False, True):
        yield Sample((plane, (2, 3, 4, 5), align), name=f"image, {align}")
        yield Sample((space, (2, 3, 2, 3, 4), align), name=f"volume, {align}")
        yield Sample((plane, (2, 1, 1, 3), align), name=f"one row, {align}")
    yield Sample((plane[:1], (2, 3, 4, 5), False), name="error: batch", error=RuntimeError)
    error: Any = RuntimeError if generator else ValueError
    yield Sample((plane, (2, 3, 4, 5, 6), False), name="error: dimensions", error=error)
    yield Sample((plane[0], (2, 3, 4, 5), False), name="error: theta", error=error)
    if not generator:
        yield Sample((plane, (2, 3, 4, 5)), name="a warning")
        yield Sample((plane, (2, 3, 0, 5), False), name="error: size", error=ValueError)
        yield Sample((plane, (2, 3, 4), False), name="error: line", error=NotImplementedError)


@family("upsample", "upsample_bilinear")
def upsample(make: Inputs) -> Iterator[Sample]:
    x = make.tensor(1, 2, 3, 4)
    yield Sample((x, (5, 7)), name="size")
    yield Sample((x,), {"scale_factor": 2}, "factor")
    if make.definition.name == "upsample" and make.dtype.is_floating_point:
        yield Sample((x, None, 2, "bilinear", True), name="bilinear")
    yield Sample((x,), name="error: size", error=ValueError)
