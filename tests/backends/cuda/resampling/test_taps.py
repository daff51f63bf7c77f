"""Sums of weighted elements by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.resampling import taps as resampling
from tt.core.errors import IndexValueError


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(resampling.tables(backend))[0]


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize(("name", "tolerance"), [("float64", 1e-13), ("float16", 2e-3)])
def test_weighted_sums_and_their_gradients(own, name, tolerance, dim):
    x = values(1, (5, 4, 6), name)
    places = np.random.default_rng(2).integers(0, x.shape[dim], (3, 7))
    weights = values(3, (3, 7), "float64")
    y = check_against_cpu(own, "_weighted_taps", [x, places, weights, dim], tolerance)
    g = values(4, y.shape, name)
    check_against_cpu(own, "_spread_taps", [g, places, weights, dim, x.shape[dim]], 4 * tolerance)
    check_against_cpu(own, "_spread_taps", [g, places, weights, dim, 300], 4 * tolerance)


def test_without_elements(own):
    places, weights = np.zeros((0, 7), np.int64), np.zeros((0, 7))
    check_against_cpu(own, "_weighted_taps", [values(1, (5, 4)), places, weights, 0], 0)
    check_against_cpu(own, "_spread_taps", [values(1, (7, 4)), places, weights, 0, 5], 0)
    places, weights = np.zeros((2, 0), np.int64), np.zeros((2, 0))
    check_against_cpu(own, "_weighted_taps", [values(1, (5, 4)), places, weights, 0], 0)


@pytest.mark.parametrize("place", [-1, 5])
def test_places_that_are_not_there_are_noted(own, place):
    backend, kernels = own
    places, weights = np.array([[0, place, 2]]), np.ones((1, 3))
    given = [backend.normalise(one) for one in (values(1, (5, 4)), places, weights)]
    with pytest.raises(IndexValueError, match=f"index {place} is out of range for a dimension of size 5"):
        kernels["_weighted_taps"](*given, 0)
    given[0] = backend.normalise(values(1, (3, 4)))
    with pytest.raises(IndexValueError, match=f"index {place} is out of range for a dimension of size 5"):
        kernels["_spread_taps"](*given, 0, 5)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = resampling.kernel_names(name)
    assert set(nvrtc.compile_source(resampling.PROGRAM.source, names, "sm_80").names) == set(names)
