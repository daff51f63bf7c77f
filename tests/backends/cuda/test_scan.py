"""Running sums, products and extremes in CUDA C++, run on the host behind the shim, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.cases import BFLOAT16, FLOATS, Case, check, kernels_of, launched, rows, strided
from tt.backends.cuda.scan import PROGRAM, tables

pytestmark = pytest.mark.sampled(20)

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def in_dtype(function):
    """Return a scan of NumPy's in more than float64, or in the integers of the argument, which wrap around."""

    def reference(x, dim):
        if not x.ndim:
            return x
        wide = np.longdouble if x.dtype.kind == "f" else x.dtype
        return function.accumulate(x, axis=dim, dtype=wide).astype(x.dtype)

    return reference


def extreme(function, at_least):
    def reference(x, dim):
        if not x.ndim:
            return x, 0
        values = function.accumulate(x, axis=dim)
        found = at_least(x, values) | (x != x)
        shape = [1] * x.ndim
        shape[dim] = -1
        places = np.where(found, np.arange(x.shape[dim]).reshape(shape), 0)
        return values, np.maximum.accumulate(places, axis=dim)

    return reference


OPS = {
    "cumsum": in_dtype(np.add),
    "cumprod": in_dtype(np.multiply),
    "logcumsumexp": in_dtype(np.logaddexp),
    "cummax": extreme(np.maximum, np.greater_equal),
    "cummin": extreme(np.minimum, np.less_equal),
}


def cases_of(op, dtype):
    scale = 0.3 if op == "cumprod" else 1.0
    offset = 1.0 if op == "cumprod" and np.dtype(dtype) in FLOATS else 0.0
    slack = 64 if op == "cumprod" else 8

    def made(shape, name, dim, change=None):
        x = rows(shape, dtype, scale=scale, offset=offset)
        return Case(op, (x if change is None else change(x), dim), OPS[op], name, slack)

    for n in (1, 31, 32, 33, 513, 1000):
        yield made((3, n), f"{n}", -1)
    yield made((1, 4097), "parts", 1)
    yield made((2, 3001), "parts of two", 1)
    yield made((0, 4), "no lines", 1)
    yield made((4, 0), "no elements", 1)
    yield made((), "number", 0)
    yield made((33, 9), "columns", 0)
    yield made((300, 9), "parts of columns", 0)
    yield made((2, 33, 3, 5), "middle", 1)
    yield made((40, 3), "few columns", 0)
    yield made((4, 33, 5), "strided", 1, strided)
    yield made(
        (3, 4, 33), "permuted", 2, lambda x: np.ascontiguousarray(x.transpose(1, 2, 0)).transpose(2, 0, 1)
    )
    if np.dtype(dtype) in FLOATS:
        special = rows((8, 50), dtype)
        special[0, 3], special[1, 7], special[2, 9], special[3, :4] = np.nan, np.inf, -np.inf, -np.inf
        special[4, 5:7], special[5, [3, 8]], special[6, [2, 40]] = np.inf, np.nan, (np.inf, -np.inf)
        yield Case(op, (special, 1), OPS[op], "special", slack)


def cases(dtypes, ops):
    return [case for op in ops for dtype in dtypes for case in cases_of(op, dtype)]


CASES = [
    *cases([np.float32], ("cumsum", "cummax")),
    *[
        c
        for c in cases([BFLOAT16, np.int64], ("cumsum", "cumprod"))
        if c.name in ("33", "1000", "columns", "special")
    ],
    *[c for c in cases([np.float32], ("logcumsumexp",)) if c.name in ("33", "parts", "columns", "special")],
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_numpy(kernels, case):
    check(kernels, case)


def test_many_equal_numbers_keep_their_digits(kernels):
    x = np.full((1, 200_000), 0.1, np.float32)
    check(kernels, Case("cumsum", (x, 1), OPS["cumsum"], slack=1))


def test_the_last_of_equal_extremes_has_the_place(kernels):
    x = np.array([[1, 3, 3, 2, 3]], np.float32)
    check(kernels, Case("cummax", (x, 1), lambda x, dim: ([[1, 3, 3, 3, 3]], [[0, 1, 2, 2, 4]])))


def test_long_lines_are_cut_into_parts():
    names = {kernel.name.split("<")[0] for kernel in launched(tables, CASES)}
    assert names == {"scan_lines", "scan_columns", "scan_carries"}


@pytest.mark.cupy
def test_kernels_compile_for_a_gpu(nvrtc):
    names = [kernel.name for kernel in launched(tables, CASES)][::7]
    assert set(nvrtc.compile_source(PROGRAM.source, names, "sm_90").names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_kernels_compile_for_gpus(nvrtc, arch, op):
    dtypes = FLOATS if op == "logcumsumexp" else (*FLOATS, *INTEGERS)
    names = [kernel.name for kernel in launched(tables, cases(dtypes, [op]))]
    assert set(nvrtc.compile_source(PROGRAM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", OPS)
def test_all_dtypes_agree_with_numpy(host_engine, op):
    everything = cases(FLOATS if op == "logcumsumexp" else (*FLOATS, *INTEGERS), [op])
    host_engine.prepare(launched(tables, everything))
    for case in everything:
        check(kernels_of(tables, host_engine), case)
