"""Distances of rows by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.linalg import distances as linalg

MODE = "use_mm_for_euclid_dist_if_necessary"


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(linalg.tables(backend))[0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, np.inf, 0.5, 3.0])
@pytest.mark.parametrize(("name", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_distances(own, name, tolerance, p):
    x, y = values(1, (2, 37, 21), name), values(2, (2, 18, 21), name)
    x[0, 0], y[0, 1] = y[0, 0], x[0, 0]
    check_against_cpu(own, "cdist", [x, y, p, MODE], tolerance)
    check_against_cpu(own, "cdist", [x[:, :, ::2], y[:1, :, ::2], p, MODE], tolerance)


def distances(own, x, y, p):
    backend, kernels = own
    return kernels["cdist"](backend.normalise(x), backend.normalise(y), p, MODE).array


@pytest.mark.parametrize("p", [2.0, 3.0])
def test_powers_neither_overflow_nor_vanish(own, p):
    x, y = values(1, (5, 4), "float64"), values(2, (3, 4), "float64")
    expected = distances(own, x, y, p)
    for scale in (2.0**600, 2.0**-600):
        np.testing.assert_allclose(distances(own, x * scale, y * scale, p) / scale, expected, rtol=1e-12)


def test_infinite_and_missing_numbers(own):
    x = np.array([[0.0, np.inf], [np.nan, 1.0], [1.0, 2.0]])
    with np.errstate(invalid="ignore"):
        apart = np.abs(x[:, None] - x[None])
    for p, expected in (
        (0.0, (apart != 0).sum(-1)), (1.0, apart.sum(-1)), (2.0, np.sqrt((apart**2).sum(-1))),
        (np.inf, apart.max(-1)), (3.0, np.cbrt((apart**3).sum(-1))),
    ):  # fmt: skip
        np.testing.assert_allclose(distances(own, x, x, p), expected)


def test_without_elements(own):
    for rows, others, columns in ((0, 3, 4), (3, 0, 4), (3, 2, 0)):
        for p in (2.0, 1.0, np.inf, 0.0, 3.0):
            check_against_cpu(
                own, "cdist", [np.ones((rows, columns)), np.ones((others, columns)), p, MODE], 0
            )


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = linalg.kernel_names(name)
    assert set(nvrtc.compile_source(linalg.PROGRAM.source, names, "sm_80").names) == set(names)
