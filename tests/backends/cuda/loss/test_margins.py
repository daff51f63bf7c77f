"""Losses with a margin and their gradients by own kernels, run on the host, against the CPU's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.serving import backend_on, check_against_cpu, served, values
from tt.backends.cuda.loss import margins
from tt.core.errors import PlaceError

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-6, "float64": 1e-13}
DTYPES = [
    name if name in ("float32", "bfloat16") else pytest.param(name, marks=pytest.mark.exhaustive)
    for name in TOLERANCES
]
SHAPES = [(3, 4), (5, 70), (0, 4), (2, 1)]


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, served(margins.tables(backend))[0]


def named(rows: int, classes: int) -> np.ndarray:
    """Return classes of rows: as many as there are, in any order and more than once, some before a -1."""
    found = np.random.default_rng(3).integers(0, classes, (rows, classes))
    for row in range(rows):
        if row != 1:
            found[row, (row * 7) % classes] = -1
    return found


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_class_that_exceeds_the_others(own, shape, name):
    x, grad = values(1, shape, name), values(2, shape[:1], name)
    target = np.random.default_rng(3).integers(0, shape[1], shape[:1])
    for how in ((1, 1.0), (2, 0.5)):
        check_against_cpu(own, "_multi_margin", [x, target, *how], TOLERANCES[name])
        args = [grad, x, target, *how]
        check_against_cpu(own, "_multi_margin_backward", args, 4 * TOLERANCES[name])


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_classes_that_exceed_the_others(own, shape, name):
    x, grad, target = values(1, shape, name), values(2, shape[:1], name), named(*shape)
    check_against_cpu(own, "_multilabel_margin", [x, target], 4 * TOLERANCES[name])
    check_against_cpu(own, "_multilabel_margin_backward", [grad, x, target], 8 * TOLERANCES[name])


def test_arrays_in_another_order(own):
    x, target = values(1, (4, 3)).T, named(4, 3).T
    check_against_cpu(own, "_multi_margin", [x, target[:, 0].clip(0), 1, 1.0], 1e-6)
    check_against_cpu(own, "_multilabel_margin", [x, target], 1e-6)


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_class_that_there_is_not_is_noted(own, wrong):
    backend, kernels = own
    x, grad, target = (
        backend.normalise(a) for a in (values(1, (3, 4)), values(2, (3,)), np.array([0, wrong, 1]))
    )
    for op, before in (("_multi_margin", ()), ("_multi_margin_backward", (grad,))):
        with pytest.raises(PlaceError, match=f"index {wrong} is out of bounds for dimension 1 with size 4"):
            kernels[op](*before, x, target, 1, 1.0)


@pytest.mark.parametrize("wrong", [-2, 4])
def test_a_named_class_that_there_is_not_is_noted_behind_the_end_too(own, wrong):
    backend, kernels = own
    names = np.array([[0, -1, -1, -1], [1, -1, wrong, 0]])
    x, grad, target = (backend.normalise(a) for a in (values(1, (2, 4)), values(2, (2,)), names))
    for op, before in (("_multilabel_margin", ()), ("_multilabel_margin_backward", (grad,))):
        with pytest.raises(PlaceError, match=f"index {wrong} is out of bounds for dimension 1 with size 4"):
            kernels[op](*before, x, target)


def test_nothing_is_lacking_beyond_nan(own):
    x = np.array([[np.nan, 1.0, 2.0], [1.0, np.inf, 2.0]])
    check_against_cpu(own, "_multi_margin", [x, np.array([0, 0]), 1, 1.0], 0)
    check_against_cpu(own, "_multilabel_margin", [x, np.array([[0, -1, 0], [0, 2, -1]])], 0)


@pytest.mark.parametrize("name", ["float16", "float64"])
def test_nvrtc_compiles_every_kernel(nvrtc, name):
    names = margins.kernel_names(name)
    assert set(nvrtc.compile_source(margins.PROGRAM.source, names, "sm_80").names) == set(names)
