"""Pooling by powers by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, on_cpu, served, values
from tt.backends.cuda.pooling import powers as unpooling

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-12}
DTYPES = [
    name if name in ("float32", "float16") else pytest.param(name, marks=pytest.mark.exhaustive)
    for name in TOLERANCES
]
# x, norm, kernel, stride, ceil_mode
WINDOWS = [
    ((2, 3, 11), 2.0, (3,), None, False),
    ((2, 3, 11), 3.0, (4,), (3,), True),
    ((3, 7, 8), 1.5, (3, 2), (2, 1), False),
    ((2, 3, 7, 8), 1.0, (2, 3), (2, 2), True),
    ((1, 2, 5, 6, 4), -2.0, (2, 3, 2), (2, 2, 3), True),
    ((0, 2, 5), 2.0, (2,), None, False),
]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(unpooling.tables(backend))[0]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_norms_of_windows_and_their_gradients(own, case, name):
    shape, *how = case
    x = values(1, shape, name)
    x = (abs(x) + x.dtype.type(0.5)).astype(x.dtype)
    found = check_against_cpu(own, "_lp_pool", [x, *how], TOLERANCES[name])
    grad = values(2, found.shape, name)
    check_against_cpu(own, "_lp_pool_backward", [grad, x, *how], 4 * TOLERANCES[name])


def test_windows_of_zeros_and_of_negative_numbers(own):
    x = np.array([[0.0, 0.0, -1.0, -2.0, 0.0, 3.0, np.nan, 1.0]])
    for norm in (1.0, 2.0, 3.0):
        how = [norm, (2,), None, False]
        check_against_cpu(own, "_lp_pool", [x, *how], 1e-14)
        check_against_cpu(own, "_lp_pool_backward", [np.ones((1, 4)), x, *how], 1e-14)


def test_halves_are_summed_in_float32(own):
    x = np.full((1, 4), 300.0, np.float16)  # whose squares are infinite in float16
    found = check_against_cpu(own, "_lp_pool", [x, 2.0, (4,), None, False], 1e-3)
    np.testing.assert_array_equal(found.array, [[600]])


def test_arrays_in_another_order(own):
    x = values(1, (3, 4, 2)).T
    window = [2.0, (2,), None, False]
    grad = on_cpu("_lp_pool", [x, *window]).numpy()
    check_against_cpu(own, "_lp_pool_backward", [grad, x, *window], 1e-5)


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = unpooling.kernel_names(name)
    assert set(nvrtc.compile_source(unpooling.PROGRAM.source, names, "sm_80").names) == set(names)
