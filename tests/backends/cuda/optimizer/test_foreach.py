"""Arithmetic and norms over lists of handles: on the host behind the shim, against NumPy in double precision."""

from __future__ import annotations

import math
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from tests.backends.cuda.running import Running, prepared
from tt.backends.cuda.optimizer import foreach
from tt.backends.cuda.optimizer.foreach import FOREACH, FUNCTORS, Lists, apart
from tt.backends.cuda.optimizer.steps import CHUNK

FLOATING = ("float16", "bfloat16", "float32", "float64")
PRECISION = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 1e-6, "float64": 1e-14}
SHAPES = ((3, 5), (), (CHUNK + 7,), (0, 4), (4, 2, 3))


def of_one(function, x, n):
    with np.errstate(invalid="ignore"):  # beyond 1 there is no angle
        return function(x)


EXPECTED = {
    "AddNumber": lambda x, n: x + n,
    "SubNumber": lambda x, n: x - n,
    "MulNumber": lambda x, n: x * n,
    "DivNumber": lambda x, n: x / n,
    "MaximumNumber": np.maximum,
    "MinimumNumber": np.minimum,
    **{name.capitalize(): partial(of_one, getattr(np, name)) for name in (
        "abs", "ceil", "cos", "cosh", "exp", "expm1", "floor", "log", "log10", "log1p", "log2", "reciprocal", "sign",
        "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
    )},
    **{f"A{name}": partial(of_one, getattr(np, f"arc{name}")) for name in ("cos", "sin", "tan")},
    **{name.capitalize(): partial(of_one, np.vectorize(getattr(math, name), otypes=[float])) for name in (
        "erf", "erfc", "lgamma",
    )},
    "Neg": lambda x, n: -x,
    "Frac": lambda x, n: x - np.trunc(x),
    "Round": lambda x, n: np.rint(x),
    "Rsqrt": lambda x, n: 1 / np.sqrt(x),
    "Sigmoid": lambda x, n: 1 / (1 + np.exp(-x)),
    "Add": lambda x, y, n: x + n * y,
    "Sub": lambda x, y, n: x - n * y,
    "Mul": lambda x, y, n: x * y,
    "Div": lambda x, y, n: x / y,
    "Maximum": lambda x, y, n: np.maximum(x, y),
    "Minimum": lambda x, y, n: np.minimum(x, y),
    "Lerp": lambda x, y, n: x + n * (y - x),
    "AddCMul": lambda x, y, z, n: x + n * y * z,
    "AddCDiv": lambda x, y, z, n: x + n * (y / z),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, FOREACH, [name for dtype in FLOATING for name in foreach.kernel_names(dtype)])


@pytest.fixture
def run(host_backend):
    return Running(host_backend, foreach)


def arrays(dtype, seed, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    found = getattr(ml_dtypes, dtype, dtype)
    return [np.asarray(rng.uniform(0.5, 2, shape)).astype(found) for shape in shapes]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize(("functor", "names"), [*dict.fromkeys((f, n) for f, n, _ in FUNCTORS.values())])
@pytest.mark.parametrize("number", [0.25, 0.75])
def test_each_element_is_computed_once_and_rounded_once(run, host_engine, functor, names, number, dtype):
    lists = [arrays(dtype, seed) for seed, _ in enumerate(names)]
    out = [np.full_like(x, 9) for x in lists[0]]
    host_engine.launches.clear()
    Lists(run.backend).each(functor, run.handle(out), [run.handle(one) for one in lists], number)
    assert len(host_engine.launches) == 1
    for found, *given in zip(out, *lists, strict=True):
        expected = EXPECTED[functor](*(one.astype(np.float64) for one in given), number)
        np.testing.assert_allclose(found.astype(float), expected, PRECISION[dtype], PRECISION[dtype])


def test_results_may_be_written_over_what_is_read_in_any_order_of_memory(run):
    x, y = (list(map(np.asfortranarray, arrays("float32", seed))) for seed in (1, 2))
    before = run.copied(x)
    Lists(run.backend).each("Add", run.handle(x), [run.handle(x), run.handle(y)], 2.0)
    for found, one, other in zip(x, before, y, strict=True):
        np.testing.assert_allclose(found, one + 2 * other, 1e-6)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("order", [1.0, 2.0, np.inf])
def test_norms_are_those_of_numpy(run, host_engine, order, dtype):
    given = arrays(dtype, 4, [(3, 5), (), (2 * CHUNK + 7,), (4, 2, 3)])
    out = [np.full((), 9, one.dtype) for one in given]
    host_engine.launches.clear()
    Lists(run.backend).norms(order, run.handle(out), run.handle(given))
    assert len(host_engine.launches) == 2
    for found, one in zip(out, given, strict=True):
        expected = np.linalg.norm(one.astype(np.float64).ravel(), order)
        np.testing.assert_allclose(found.astype(float), expected, 4 * PRECISION[dtype])


def test_norms_do_not_overflow_before_they_are_taken(run):
    given = [np.array([3e200, 4e200]), np.array([3e30, 4e30], np.float32), np.array([300, 400], np.float16)]
    out = [np.zeros((), one.dtype) for one in given]
    Lists(run.backend).norms(2.0, run.handle(out), run.handle(given))
    np.testing.assert_allclose([float(x) for x in out], [5e200, 5e30, 500], 1e-3)


def test_targets_that_share_memory_are_found(run):
    whole = np.zeros(12)
    halves, handle = [whole[:6], whole[6:]], run.handle
    assert apart(handle(halves), [handle(halves), handle([np.zeros(6), np.zeros(6)])])
    assert not apart(handle([whole[:7], whole[6:]]), [])
    assert not apart(handle(halves), [handle(halves[::-1])])
    assert not apart(handle(halves), [handle([np.zeros(6), whole[4:10]])])
    assert not apart(handle([whole[:6], whole[:6]]), [])
    assert apart(handle([whole[:0], whole[3:6]]), [handle([whole[3:3], whole[3:6]])])


@pytest.mark.cupy
@pytest.mark.parametrize("dtype", ["float16", pytest.param("float64", marks=pytest.mark.exhaustive)])
def test_the_source_compiles_for_gpus(nvrtc, dtype):
    names = foreach.kernel_names(dtype)
    assert set(nvrtc.compile_source(FOREACH.source, names, "sm_80").names) == set(names)
