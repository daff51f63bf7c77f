"""Native samples at the points of a grid: against the composites and PyTorch, also where a slope jumps."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tt
import tt.nn.functional as F
from tt.backends.cpu.native.loading import load, status

NATIVE = load("grid")

native = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

HOW = [how for how in product((0, 1, 2), (0, 1, 2), (False, True), (2, 3)) if how[0] < 2 or how[3] == 2]
"""Modes, paddings, whether corners are aligned, dimensions."""


def samples(dims: int, dtype: Any) -> Any:
    """Yield inputs with grids: inside, outside, far away, and at places where a slope jumps."""
    rng = np.random.default_rng(0)
    for far in (0.9, 1.3, 5.0):
        for rounded in (False, True):
            sizes, points = rng.integers(1, 6, dims), rng.integers(1, 12, dims)
            x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
            grid = rng.uniform(-far, far, (2, *points, dims)).astype(dtype)
            yield x, np.round(grid * 2) / 2 if rounded else grid


@native
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("mode", "padding", "align", "dims"), HOW)
def test_native_kernels_agree_with_the_composites(
    mode: int, padding: int, align: bool, dims: int, dtype: Any
) -> None:
    from tt.operators.resampling.composites import grid_sampler, grid_sampler_backward

    for x, grid in samples(dims, dtype):
        args = (tt.tensor(x), tt.tensor(grid), mode, padding, align)
        found = tt.grid_sampler(*args)
        tolerance = 2e-4 if dtype is np.float32 else 1e-10
        np.testing.assert_allclose(found.numpy(), grid_sampler(*args).numpy(), rtol=tolerance, atol=tolerance)
        g = tt.tensor(np.random.default_rng(1).standard_normal(found.shape).astype(dtype))
        both = zip(tt.ops._grid_sampler_backward(g, *args), grid_sampler_backward(g, *args), strict=True)
        for one, other in both:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("padding", [0, 2])
def test_rounding_moves_no_place_behind_a_long_input(mode: int, padding: int) -> None:
    from tt.operators.resampling.composites import grid_sampler

    # The last place, 2**25 + 3, is 2**25 + 4 as a float32.
    x, grid = tt.ones(1, 1, 1, 2**25 + 4), tt.tensor([[[[1.0, 0.0], [0.0, 0.0]]]])
    for sample in (tt.ops.grid_sampler, grid_sampler)[: 1 + (mode == 1)]:
        last, middle = sample(x, grid, mode, padding, True).flatten().tolist()
        assert last == (1.0 if padding else 0.0)
        assert middle == 1.0


def test_what_lies_outside_is_zero_whatever_the_input_is() -> None:
    image = tt.full((1, 1, 2, 2), float("inf"))
    grid = tt.tensor([[[[-5.0, 0.0], [-1.0, -1.0]]]])
    found = F.grid_sample(image, grid, "nearest", "zeros", align_corners=True)
    assert found.flatten().tolist() == [0.0, float("inf")]
    assert F.grid_sample(image, grid[:, :, :1], align_corners=False).item() == 0.0


def test_a_map_that_changes_nothing_gives_the_image_back() -> None:
    image = tt.arange(12.0).reshape(1, 1, 3, 4)
    for align in (False, True):
        grid = F.affine_grid(tt.eye(2, 3)[None], image.shape, align_corners=align)
        np.testing.assert_allclose(
            F.grid_sample(image, grid, align_corners=align).numpy(), image.numpy(), atol=1e-5
        )


@native
def test_what_does_not_fit_is_refused() -> None:
    x, grid = np.zeros((2, 3, 4, 5)), np.zeros((2, 6, 7, 2))
    good = (x, grid, 0, 0, False)
    for at, wrong in (
        (0, x[0]), (0, x[:, :, :0]), (0, x.astype(np.float16)), (1, grid[:1]), (1, grid[..., :1]), (2, 3), (2, -1),
        (3, 3), (1, grid.astype(np.float32)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"the (arguments|shapes)"):
            NATIVE.grid_sampler(*good[:at], wrong, *good[at + 1 :])
    with pytest.raises(ValueError, match="the shapes"):
        NATIVE._grid_sampler_backward(np.zeros((2, 3, 6, 6)), *good)


@pytest.mark.torch
@pytest.mark.parametrize(("mode", "padding", "align", "dims"), HOW)
def test_samples_and_gradients_are_those_of_torch(mode: int, padding: int, align: bool, dims: int) -> None:
    torch = pytest.importorskip("torch")
    how = (("bilinear", "nearest", "bicubic")[mode], ("zeros", "border", "reflection")[padding], align)
    for array, points in samples(dims, np.float64):
        found = []
        for lib, function in ((tt, F.grid_sample), (torch, torch.nn.functional.grid_sample)):
            x, grid = (lib.tensor(a).requires_grad_() for a in (array, points))
            y = function(x, grid, *how)
            (y * y).sum().backward()
            found.append([t.detach().numpy() for t in (y, x.grad, grid.grad)])
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.torch
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 1, 3), (2, 3, 2, 3, 4)])
@pytest.mark.filterwarnings("ignore")
def test_grids_are_those_of_torch(size: tuple[int, ...], align: bool) -> None:
    torch = pytest.importorskip("torch")
    dims = len(size) - 2
    theta = np.random.default_rng(0).standard_normal((2, dims, dims + 1))
    found = F.affine_grid(tt.tensor(theta), size, align).numpy()
    expected = torch.nn.functional.affine_grid(torch.tensor(theta), size, align).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
