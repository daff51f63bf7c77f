"""Elementary functions of the native kernels, against longer precision over their whole range."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import tt
from tt.backends.cpu.native.loading import load, status

P: Any = load("pointwise")
pytestmark = pytest.mark.skipif(P is None, reason=f"native kernels are not in use: {status().reason}")

Function = Callable[[Any], Any]
WIDE = np.longdouble

# Function -> reference in longer precision, the largest error in units in the last place.
FUNCTIONS: dict[str, tuple[Function, float]] = {
    "exp": (np.exp, 1.5),
    "exp2": (np.exp2, 1.5),
    "expm1": (np.expm1, 2),
    "log": (np.log, 1.5),
    "log2": (np.log2, 1.5),
    "log10": (np.log10, 2),
    "log1p": (np.log1p, 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 4),
    "asin": (np.arcsin, 3),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 3),
    "sinh": (np.sinh, 3),
    "cosh": (np.cosh, 2),
    "tanh": (np.tanh, 3),
    "asinh": (np.arcsinh, 3),
    "acosh": (np.arccosh, 4),
    "atanh": (np.arctanh, 3),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 3),
    "sqrt": (np.sqrt, 0.5),
    "reciprocal": (lambda x: 1 / x, 0.5),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.5),
}


def points(dtype: Any) -> Any:
    """Return numbers of every size, near the places where functions bend, and special ones."""
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    sizes = np.exp(rng.uniform(np.log(info.tiny), np.log(info.max) - 1e-6, 20_000))
    tiny = float(info.smallest_subnormal)
    special_ones = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        -1.0,
        0.5,
        -0.5,
        tiny,
        -tiny,
        info.tiny / 4,
        info.max,
        -info.max,
    ]
    return np.concatenate(
        [
            sizes, -sizes, rng.uniform(-1, 1, 20_000), rng.uniform(-10, 10, 20_000), rng.uniform(-110, 110, 20_000),
            rng.uniform(-750, 750, 20_000), 1 + rng.uniform(-1e-3, 1e-3, 20_000),
            np.pi / 2 * rng.integers(-10_000, 10_000, 20_000), special_ones,
        ]
    ).astype(dtype)  # fmt: skip


def check(found: Any, wanted: Any, most: float) -> None:
    """Compare with longer precision, in units in the last place; NaN, infinities and signs of zeros exactly."""
    dtype = found.dtype
    limit = float(np.finfo(dtype).max)
    rounded = wanted.astype(dtype)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    sure = np.abs(wanted) < limit * (1 - 1e-6)  # next to the largest number, rounding may go either way
    np.testing.assert_array_equal(np.isinf(found)[sure], np.isinf(rounded)[sure])
    zeros = (found == 0) & (rounded == 0)
    np.testing.assert_array_equal(np.signbit(found)[zeros], np.signbit(rounded)[zeros])
    compared = np.isfinite(found) & np.isfinite(rounded)
    unit = np.spacing(np.abs(rounded[compared])).astype(WIDE)
    errors = np.abs(found[compared].astype(WIDE) - wanted[compared]) / unit
    assert errors.max() <= most, (errors.max(), found[compared][errors.argmax()])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_right_in_its_whole_range(name, dtype):
    reference, most = FUNCTIONS[name]
    x = points(dtype)
    with np.errstate(all="ignore"):
        wanted = reference(x.astype(WIDE))
        check(getattr(P, name)(x), wanted, most)


C_FUNCTIONS: dict[str, Function] = {
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "ndtr": np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[np.float64]),
}


@pytest.mark.parametrize("name", C_FUNCTIONS)
def test_the_error_function_and_its_kin(name):
    reference = C_FUNCTIONS[name]
    x = points(np.float32)[::5]
    if name == "ndtr":  # the reference rounds its argument, which matters in the tail
        x = x[(x > -5) | np.isnan(x)]
    with np.errstate(all="ignore"):
        check(getattr(P, name)(x), reference(x.astype(np.float64)).astype(WIDE), 8)
    x = np.concatenate([points(np.float64)[::5], np.linspace(-7, 7, 20_001)])
    if name == "ndtr":
        x = x[(x > -5) | np.isnan(x)]
    np.testing.assert_allclose(getattr(P, name)(x), reference(x), rtol=1e-14, atol=1e-300)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_arguments_of_many_turns(name):
    x = np.array([1e6, 1e7, -3e9, 1e15, 1e22, 3.0, np.inf])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(x)
        np.testing.assert_allclose(getattr(P, name)(x), wanted, rtol=1e-14)
        single = x.astype(np.float32)
        wanted = getattr(np, name)(single.astype(np.float64))
    np.testing.assert_allclose(getattr(P, name)(single), wanted, rtol=1e-6)


# --- two arguments ---------------------------------------------------------------------------------------------

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 2.5, -2.5, 7.0, 1e-30, -1e30, np.inf, -np.inf, np.nan]
BINARY: dict[str, tuple[Any, float]] = {
    "pow": (np.power, 1),
    "atan2": (np.arctan2, 4),
    "hypot": (np.hypot, 3),
    "fmod": (np.fmod, 0),
    "remainder": (np.remainder, 0),
    "floor_divide": (np.floor_divide, 0),
    "copysign": (np.copysign, 0),
    "add": (np.add, 0.5),
    "sub": (np.subtract, 0.5),
    "mul": (np.multiply, 0.5),
    "div": (np.true_divide, 0.5),
}


def pairs(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    first, second = np.meshgrid(SPECIAL, SPECIAL)
    more = rng.standard_normal(20_000) * 10, rng.standard_normal(20_000) * 5
    far = np.exp(rng.uniform(-40, 40, 20_000)), rng.uniform(-9, 9, 20_000)
    return tuple(
        np.concatenate([special_ones.ravel(), a, b]).astype(dtype)
        for special_ones, a, b in zip((first, second), more, far, strict=True)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_arguments_is_that_of_c(name, dtype):
    reference, most = BINARY[name]
    a, b = pairs(dtype)
    # Quotients rounded down are defined by roundings of their own precision.
    wide = np.float64 if dtype == np.float32 and name not in ("remainder", "floor_divide") else dtype
    with np.errstate(all="ignore"):
        wanted = reference(a.astype(wide), b.astype(wide))
        if wide == np.float64 and name in ("hypot", "mul", "div", "add", "sub", "pow"):
            wanted = wanted.astype(dtype).astype(wide)  # overflow of the narrower precision
        check(getattr(P, name)(a, b), wanted.astype(WIDE), most if dtype == np.float32 else most + 1)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_larger_and_the_smaller_one(name, dtype):
    a, b = pairs(dtype)
    np.testing.assert_array_equal(getattr(P, name)(a, b), getattr(np, name)(a, b))


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name):
    a, b = pairs(np.float32)
    reference = {
        "eq": "equal",
        "ne": "not_equal",
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
    }
    found = getattr(P, name)(a, b)
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, getattr(np, reference[name])(a, b))


@given(st.floats(width=32), st.floats(width=32))
def test_a_remainder_is_that_of_the_exact_quotient(a, b):
    x, y = np.array([a], np.float32), np.array([b], np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(P.fmod(x, y), np.fmod(x, y))
        np.testing.assert_array_equal(P.remainder(x, y), np.remainder(x, y))


@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 4e-7), (np.float64, 1e-14)])
def test_the_inverse_of_the_error_function(dtype, error):
    rng = np.random.default_rng(0)
    near_one = 1 - np.logspace(np.log10(np.finfo(dtype).epsneg), -1, 5000)
    x = np.concatenate([rng.uniform(-1, 1, 50_000), near_one, -near_one, np.logspace(-37, -1, 1000)]).astype(
        dtype
    )
    np.testing.assert_allclose(P.erfinv(x), special.erfinv(x.astype(np.float64)), rtol=error)
    ends = np.array([1, -1, 1.5, -np.inf, np.nan, 0.0, -0.0], dtype)
    assert np.array_equal(P.erfinv(ends), [np.inf, -np.inf, np.nan, np.nan, np.nan, 0, 0], equal_nan=True)
    assert np.signbit(P.erfinv(ends)[5:]).tolist() == [False, True]


def test_the_logarithm_of_the_gamma_function_also_about_its_zeros():
    rng = np.random.default_rng(0)
    ones = np.concatenate(
        [np.linspace(-0.01, 0.01, 1001), np.logspace(-7, -2, 200), -np.logspace(-7, -2, 200)]
    )
    sizes = np.logspace(-44, 36, 2000)
    parts = [rng.uniform(-30, 60, 20_000), 1 + ones, 2 + ones, sizes, -sizes[sizes < 1e6]]
    x = np.concatenate(parts).astype(np.float32)
    wide = tt.lgamma(tt.tensor(x.astype(np.float64))).numpy()
    with np.errstate(over="ignore"):
        wanted = wide.astype(np.float32)
    near = np.abs(wide) < 0.1  # where x is negative, SciPy loses digits there, too
    found = P.lgamma(x)
    np.testing.assert_allclose(found[~near], wanted[~near], rtol=3e-7)
    np.testing.assert_allclose(found[near & (x > 0)], wanted[near & (x > 0)], rtol=3e-7)
    np.testing.assert_allclose(found[near], wanted[near], rtol=3e-7, atol=1e-13)
    ends = np.array([0.0, -0.0, 1, 2, -1, -7, np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    inf = np.inf
    assert np.array_equal(
        P.lgamma(ends), [inf, inf, 0, 0, inf, inf, inf, inf, np.nan, inf, inf], equal_nan=True
    )
    with pytest.raises(TypeError, match="no kernel for float64"):
        P.lgamma(ends.astype(np.float64))
