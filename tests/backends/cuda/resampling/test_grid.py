"""Samples at the points of a grid by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, dtype_of, served, values
from tt.backends.cuda.resampling import grid

CASES = [(mode, dims) for dims in (2, 3) for mode in range(3 if dims == 2 else 2)]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(grid.tables(backend))[0]


def sampled(dims, name="float64", channels=3):
    """Return an input and points, some of them far outside, at corners and at no number."""
    points = values(2, (2, *(4, 3, 2)[:dims], dims), name) * dtype_of(name).type(1.2)
    points.reshape(-1)[:8] = [-1, 1, 0, 30, -30, np.nan, 1, np.inf]
    return [values(1, (2, channels, *(5, 4, 6)[:dims]), name), points]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize(("mode", "dims"), CASES)
def test_samples_and_their_gradients(own, mode, dims, padding, align):
    x, points = sampled(dims)
    y = check_against_cpu(own, "grid_sampler", [x, points, mode, padding, align], 1e-12)
    points = np.where(np.isfinite(points), points, 0.25)
    g = values(3, y.shape, "float64")
    check_against_cpu(own, "_grid_sampler_backward", [g, x, points, mode, padding, align], 1e-11)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "tolerance"), [("float16", 4e-3), ("bfloat16", 4e-2), ("float32", 1e-5)])
def test_other_dtypes_are_computed_in_float32(own, name, tolerance):
    x, points = sampled(2, name)
    points = np.where(np.isfinite(points), points, 0.25).astype(x.dtype)
    y = check_against_cpu(own, "grid_sampler", [x, points, 0, 0, False], tolerance)
    g = values(3, y.shape, name)
    check_against_cpu(own, "_grid_sampler_backward", [g, x, points, 0, 0, False], 4 * tolerance)


def test_strides_and_empty_inputs(own):
    x, points = sampled(2)
    turned = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    check_against_cpu(own, "grid_sampler", [turned, points[:, ::2], 0, 1, True], 1e-12)
    for channels, count in ((0, 4), (3, 0)):
        x, points = sampled(2, channels=channels)
        check_against_cpu(own, "grid_sampler", [x, points[:, :count], 0, 1, True], 0)
        g = np.zeros((2, channels, count, 3))
        check_against_cpu(own, "_grid_sampler_backward", [g, x, points[:, :count], 0, 1, True], 0)


def test_channels_are_divided_among_threads_of_few_points():
    backend = backend_on()
    x, points = (backend.empty(shape, np.float32) for shape in ((1, 64, 8, 8), (1, 512, 512, 2)))
    assert grid._points(x, points, 0, False)[0] == 64
    points = backend.empty((1, 64, 64, 2), np.float32)
    assert grid._points(x, points, 0, False)[0] == 1


@pytest.mark.parametrize("name", ["float16", pytest.param("float64", marks=pytest.mark.exhaustive)])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = grid.kernel_names(name)
    assert set(nvrtc.compile_source(grid.PROGRAM.source, names, "sm_80").names) == set(names)
