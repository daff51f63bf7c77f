"""Reductions in CUDA C++, run on the host behind the shim, against NumPy in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.backends.cuda.cases import BFLOAT16, FLOATS, Case, check, kernels_of, launched, rows, strided
from tt.backends.cuda.reduction import PROGRAM, tables

# Variances of one element, without a degree of freedom, are among the cases.
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0:UserWarning")

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")


def axes_of(x, dim):
    if not x.ndim or dim is None or (not isinstance(dim, int) and not len(dim)):
        return None
    return dim if isinstance(dim, int) else tuple(dim)


def over(function, **options):
    """Return a reference that takes dim and keepdim from a function of NumPy's that takes axis and keepdims."""

    def reference(x, dim=None, keepdim=False):
        return function(x, axis=axes_of(x, dim), keepdims=keepdim, **options)

    return reference


def in_dtype(function):
    return lambda x, dim=None, keepdim=False: function(
        x, axis=axes_of(x, dim), keepdims=keepdim, dtype=x.dtype
    )


def truth(function):
    def reference(x, dim=None, keepdim=False):
        if dim is not None and not isinstance(dim, int) and not len(dim):
            return x != 0
        return function(x != 0, axis=axes_of(x, dim), keepdims=keepdim)

    return reference


def both(function, place):
    def reference(x, dim, keepdim):
        return over(function)(x, dim, keepdim), place(x, axis=axes_of(x, dim), keepdims=keepdim)

    return reference


def variance(x, dim, correction, keepdim):
    axis = axes_of(x, dim)
    count = x.size if axis is None else math.prod(x.shape[d] for d in np.atleast_1d(axis))
    # Of equal numbers the mean is that number: a sum in float64 would be off by its last digit.
    mean = x.mean(axis=axis, keepdims=True, dtype=np.longdouble).astype(x.dtype)
    freedom = max(0, count - (1 if correction is None else correction))
    return np.divide(((x - mean) ** 2).sum(axis=axis, keepdims=keepdim), freedom), mean.reshape(
        x.sum(axis=axis, keepdims=keepdim).shape
    )


def log_sum_exp(x, dim, keepdim):
    return np.logaddexp.reduce(x, axis=axes_of(x, dim), keepdims=keepdim) if x.ndim else x


def vector_norm(x, ord, dim, keepdim):
    axis, size = axes_of(x, dim), np.abs(x).astype(np.longdouble)
    if ord == 0:
        return (x != 0).sum(axis=axis, keepdims=keepdim)
    if math.isinf(ord):
        return over(np.max if ord > 0 else np.min)(size, dim, keepdim)
    return (size**ord).sum(axis=axis, keepdims=keepdim) ** (1 / np.longdouble(ord))


DIMS = {
    "sum": in_dtype(np.sum), "mean": over(np.mean), "prod": in_dtype(np.prod), "nansum": over(np.nansum),
    "all": truth(np.all), "any": truth(np.any), "amax": over(np.max), "amin": over(np.min), "logsumexp": log_sum_exp,
}  # fmt: skip
NAMED = {"sum": "sum.dim", "mean": "mean.dim", "prod": "prod.dim", "all": "all.dim", "any": "any.dim"}
PLACES = {"argmax": over(np.argmax), "argmin": over(np.argmin)}
PAIRS = {"max.dim": both(np.max, np.argmax), "min.dim": both(np.min, np.argmin)}
MOMENTS = {
    "var": lambda *args: variance(*args)[0],
    "std": lambda *args: np.sqrt(variance(*args)[0]),
    "var_mean": variance,
    "std_mean": lambda *args: (np.sqrt(variance(*args)[0]), variance(*args)[1]),
}
NEEDS_ELEMENTS = ("amax", "amin", *PLACES, *PAIRS)
FLOATING_ONLY = ("mean", "nansum", "logsumexp", *MOMENTS, "_vector_norm")


def layouts(dtype, offset):
    """Return arrays, the dimensions to reduce, and a name: every kernel, and every way to it."""

    def x(*shape):
        return rows(shape, dtype, scale=0.5, offset=offset)

    yield from ((x(3, n), -1, f"{n}") for n in (1, 3, 31, 32, 33, 1000, 4097))
    yield x(70, 700), 1, "many"
    yield x(1, 5000), (0, 1), "parts"
    yield x(2, 3001), 1, "parts of two"
    yield x(), None, "number"
    yield x(70, 33), 0, "columns"
    yield x(2000, 17), (0,), "parts of columns"
    yield x(600, 3), 0, "few columns"
    yield x(3, 5, 40), (0, 2), "channels"
    yield x(3, 5, 4, 6), (1, 3), "alternating"
    yield x(2, 3, 4, 3, 2), (0, 2, 4), "alternating often"
    yield x(6, 5, 40).transpose(2, 0, 1), (0, 1), "permuted"
    yield strided(x(4, 33, 5)), 1, "strided"
    yield x(4, 1025)[:, 1:], 1, "unaligned"
    yield x(4, 2000)[::-1, ::-1], 1, "backwards"
    yield np.broadcast_to(x(1, 40), (7, 40)), 0, "expanded"


def special(dtype):
    x = rows((9, 40), dtype)
    x[0, 3], x[1, 7], x[2, 9], x[3, :] = np.nan, np.inf, -np.inf, -np.inf
    x[4, 5:7], x[5, [3, 8]], x[6, [2, 30]], x[7, [2, 30]], x[8, :] = (
        np.inf,
        np.nan,
        (np.inf, np.nan),
        (np.inf, -np.inf),
        0,
    )
    return x


def cases_of(op, dtype):
    floating = np.dtype(dtype) in FLOATS
    reference = {**DIMS, **PLACES, **PAIRS, **MOMENTS}[op]
    slack = 32 if op == "prod" else 8
    rest = (1, False) if op in MOMENTS else (False,)
    name = NAMED.get(op, op)
    for x, dim, title in layouts(dtype, 1.0 if op == "prod" and floating else 0.0):
        if (op in PAIRS and not isinstance(dim, int)) or (op in PLACES and isinstance(dim, tuple)):
            dim = 0
        if op in PAIRS and not x.ndim:
            continue
        yield Case(name, (x, dim, *rest), reference, title, slack)
    if op in PLACES:
        yield Case(op, (rows((4, 5, 6), dtype).transpose(2, 0, 1), None, True), reference, "flattened")
    if floating:
        yield Case(name, (special(dtype), 1, *rest), reference, "special", slack)
        yield Case(name, (np.asfortranarray(special(dtype)), 1, *rest), reference, "special columns", slack)
    if op not in NEEDS_ELEMENTS:
        yield Case(name, (rows((3, 0), dtype), 1, *rest), reference, "nothing", slack)
        yield Case(name, (rows((3, 0), dtype), None, *rest), reference, "nothing at all", slack)
    yield Case(name, (rows((0, 3), dtype), 1, *rest), reference, "no lines", slack)
    keeps = (*rest[:-1], True)
    yield Case(name, (rows((3, 4, 5), dtype), 1, *keeps), reference, "keepdim", slack)
    if op in NAMED and op != "sum":
        yield Case(op, (rows((3, 50), dtype),), reference, "whole", slack)
    if op in ("all", "any"):
        yield Case(name, (rows((3, 4), dtype), [], False), reference, "no dimensions")
    if op in MOMENTS:
        yield Case(name, (rows((3, 1), dtype), 1, 1, False), reference, "no freedom")
        yield Case(
            name, (rows((3, 700), "f8", offset=100).astype(dtype), 1, 0, True), reference, "far from 0", 64
        )


def norm_cases(dtype, orders=(2, 1, 0, 3, 0.5, -1, math.inf, -math.inf)):
    for ord in orders:
        yield Case("_vector_norm", (rows((3, 1000), dtype), ord, 1, False), vector_norm, f"{ord}", 16)
        yield Case("_vector_norm", (rows((33, 20), dtype), ord, [0], True), vector_norm, f"{ord} columns", 16)
        if np.dtype(dtype).itemsize > 2 and ord in (2, 3, -1):
            big = rows((3, 40), dtype, scale=float(np.finfo(dtype).max) / 1e3)
            yield Case("_vector_norm", (big, ord, 1, False), vector_norm, f"{ord} large", 16)
            small = rows((3, 40), dtype, scale=float(np.finfo(dtype).tiny) * 1e3)
            yield Case("_vector_norm", (small, ord, 1, False), vector_norm, f"{ord} small", 16)
    x = rows((4, 40), dtype)
    x[0, 3], x[1, 4], x[2], x[3, [4, 9]] = np.nan, np.inf, 0, (np.inf, np.nan)
    for ord in (2, 1, 0, math.inf):
        if ord in orders:
            yield Case("_vector_norm", (x, ord, 1, False), vector_norm, f"{ord} special", 16)


def cases(dtypes, ops):
    return [case for op in ops for dtype in dtypes for case in cases_of(op, dtype)]


FEW = ("33", "1000", "4097", "columns", "special", "nothing", "keepdim", "whole", "no freedom", "far from 0")
CASES = [
    *cases([np.float32], ("sum", "argmax", "var_mean")),
    *[c for c in cases([np.float32], ("mean", "amax", "max.dim", "logsumexp", "std")) if c.name in FEW],
    *[c for c in cases([BFLOAT16], ("sum", "amin")) if c.name in FEW],
    *[c for c in cases([np.int64], ("sum", "prod", "argmin")) if c.name in FEW],
    *[c for c in cases([np.bool_], ("all", "any")) if c.name in (*FEW, "no dimensions")],
    *[c for c in norm_cases(np.float32, (2, 3)) if "columns" not in c.name],
    *[c for c in norm_cases(np.float64, (2,)) if "columns" not in c.name],
    Case("count_nonzero", (rows((3, 40), "i4"), 1), lambda x, dim: (x != 0).sum(dim)),
    Case("aminmax", (rows((3, 40), "f4"), None, False), lambda x, dim, keep: (x.min(), x.max())),
    Case("all.dim", (rows((3, 40), "u1"), 1, False), lambda x, dim, keep: x.all(1).astype("u1")),
]  # fmt: skip


@pytest.mark.sampled(10)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_kernels_agree_with_numpy(kernels, case):
    check(kernels, case)


def test_the_first_of_equal_extremes_has_the_place(kernels):
    x = np.zeros((2, 3000), np.float32)
    x[0, [7, 2900]], x[1, [5, 6]] = 1, np.nan
    check(kernels, Case("argmax", (x, 1, False), lambda x, dim, keep: [7, 5]))


def test_nothing_has_no_extreme(kernels):
    for case in (
        Case("amax", (rows((3, 0), "f4"), 1, False), None),
        Case("argmax", (rows((3, 0), "f4"), None, False), None),
    ):
        with pytest.raises(ValueError, match="no elements"):
            check(kernels, case)
    with pytest.raises(IndexError, match="repeated"):
        check(kernels, Case("sum.dim", (rows((3, 2), "f4"), (1, -1), False), None))


def test_each_walk_is_taken():
    names = {kernel.name.split("<")[0] for kernel in launched(tables, CASES)}
    assert names == {"reduce_rows", "reduce_groups", "reduce_columns", "reduce_parts"}


@pytest.mark.cupy
def test_kernels_compile_for_a_gpu(nvrtc):
    names = [kernel.name for kernel in launched(tables, CASES)][::12]
    assert set(nvrtc.compile_source(PROGRAM.source, names, "sm_90").names) == set(names)


def everything(op):
    if op == "_vector_norm":
        return [case for dtype in FLOATS for case in norm_cases(dtype)]
    if op in FLOATING_ONLY:
        return cases(FLOATS, [op])
    return cases(
        (*FLOATS, *INTEGERS, *(["bool"] if op in ("all", "any", "amax", "amin", *PAIRS) else [])), [op]
    )


EVERY = (*DIMS, *PLACES, *PAIRS, *MOMENTS, "_vector_norm")


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", EVERY)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_kernels_compile_for_gpus(nvrtc, arch, op):
    names = [kernel.name for kernel in launched(tables, everything(op))]
    assert set(nvrtc.compile_source(PROGRAM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("op", EVERY)
def test_all_dtypes_agree_with_numpy(host_engine, op):
    host_engine.prepare(launched(tables, everything(op)))
    for case in everything(op):
        check(kernels_of(tables, host_engine), case)
