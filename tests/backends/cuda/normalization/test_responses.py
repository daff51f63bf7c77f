"""Normalization by neighbouring channels by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.normalization import responses

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 4e-6, "float64": 1e-12}
DTYPES = [
    name if name in ("float32", "float16") else pytest.param(name, marks=pytest.mark.exhaustive)
    for name in TOLERANCES
]
# x, size, alpha, beta, k
NEIGHBOURS = [
    ((2, 7, 3), 3, 0.5, 0.75, 1.0),
    ((2, 4, 2, 3), 4, 0.3, 0.5, 2.0),
    ((1, 3, 2, 1, 2), 9, 1.0, 1.0, 0.5),
    ((0, 3, 2), 2, 1.0, 1.0, 0.5),
]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(responses.tables(backend))[0]


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("case", NEIGHBOURS, ids=str)
def test_neighbouring_channels_and_their_gradients(own, case, name):
    shape, *how = case
    x, grad = values(1, shape, name), values(2, shape, name)
    check_against_cpu(own, "_local_response_norm", [x, *how], TOLERANCES[name])
    check_against_cpu(own, "_local_response_norm_backward", [grad, x, *how], 4 * TOLERANCES[name])


def test_arrays_in_another_order(own):
    x, grad = values(1, (3, 4, 2)).T, values(2, (2, 4, 3))
    check_against_cpu(own, "_local_response_norm_backward", [grad, x, 3, 0.5, 0.75, 1.0], 1e-5)


@pytest.mark.parametrize("name", ["bfloat16", "float32"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = responses.kernel_names(name)
    assert set(nvrtc.compile_source(responses.PROGRAM.source, names, "sm_80").names) == set(names)
