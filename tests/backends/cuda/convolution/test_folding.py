"""Windows as columns and images from columns by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.convolution import folding

# kernel, dilation, padding, stride
CASES = [((2, 3), 1, 0, 1), ((3, 2), (2, 1), (1, 2), (1, 3)), (1, 1, 0, 2)]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(folding.tables(backend))[0]


@pytest.mark.parametrize("name", [
    "float32", "complex64", *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (
        "float16", "bfloat16", "float64", "int8", "int64", "uint16", "complex128")),
])  # fmt: skip
@pytest.mark.parametrize("case", CASES, ids=str)
def test_columns_of_an_image_and_back(own, case, name):
    kernel, dilation, padding, stride = case
    tolerance = {"float16": 4e-3, "bfloat16": 4e-2, "float32": 1e-6, "complex64": 1e-6}.get(name, 1e-13)
    x = values(1, (2, 3, 7, 8), name)
    found = check_against_cpu(own, "functional_unfold", [x, kernel, dilation, padding, stride], 0)
    columns = values(2, found.shape, name)
    for one in (columns, columns[0]):
        check_against_cpu(own, "functional_fold", [one, (7, 8), kernel, dilation, padding, stride], tolerance)


def test_truth_values_are_joined(own):
    x = values(1, (3, 7, 8), "int8") > 2
    found = check_against_cpu(own, "functional_unfold", [x, 2, 1, 1, 1], 0)
    check_against_cpu(own, "functional_fold", [np.asarray(found.array), (7, 8), 2, 1, 1, 1], 0)


def test_an_empty_batch_and_strides(own):
    check_against_cpu(own, "functional_unfold", [np.zeros((0, 3, 7, 8)), 2, 1, 0, 1], 0)
    check_against_cpu(own, "functional_unfold", [values(1, (8, 7, 3, 2)).T, 2, 1, 0, 1], 0)


@pytest.mark.parametrize("name", ["bool", "float16", "int64", "complex128"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = folding.kernel_names(name)
    assert set(nvrtc.compile_source(folding.PROGRAM.source, names, "sm_80").names) == set(names)
