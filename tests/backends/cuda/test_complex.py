"""Functions of complex numbers on CUDA: their text, run on the host, against wider precision."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.backends.cuda.kernels import call, kernels_of
from tests.backends.cuda.test_handle import HostMemory
from tt.backends.cuda.backend import CudaBackend
from tt.backends.cuda.pointwise import arithmetic as pointwise

pytestmark = pytest.mark.sampled(10)


def exact_log1p(z: np.ndarray) -> np.ndarray:
    """Return log(1 + z); NumPy's adds 1 first, which loses a small z."""
    x, y = z.real, z.imag
    size = np.where(np.abs(z) < 1, 0.5 * np.log1p(x * (2 + x) + y * y), np.log(np.abs(1 + z)))
    found = np.empty_like(z)
    found.real, found.imag = size, np.arctan2(y, 1 + x)
    return found


FUNCTIONS = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": lambda z: exact_log1p(z),
    "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "exp2": lambda z: np.exp(z * np.log(z.real.dtype.type(2))), "rsqrt": lambda z: 1 / np.sqrt(z),
    "sigmoid": lambda z: np.where(z.real < 0, np.exp(z) / (1 + np.exp(z)), 1 / (1 + np.exp(-z))),
}  # fmt: skip
SIZES = (0.0, 1e-30, 3e-9, 0.25, 0.6, 0.8, 1.0, 1.0 + 2.0**-20, 1.5, 3.0, 17.0, 40.0, 87.0)
LARGE = (1e18, 3e38)
HUGE = (1e-310, 1e-170, 355.0, 709.5, 711.0, 1e160, 1.7e308)
OSCILLATING = {"exp", "exp2", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sigmoid"}
"""Functions in which one part is an angle; far from zero it says nothing that is worth comparing."""


def points(op: str, dtype: str) -> np.ndarray:
    """Numbers with both parts of many sizes and either sign."""
    sizes = [*SIZES, *(() if op in OSCILLATING else LARGE)]
    if dtype == "complex128":
        sizes += HUGE[:5] if op in OSCILLATING else HUGE
    parts = [s * size for size in sizes for s in (1.0, -1.0)]
    found = np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    cut = {"log": 0, "log1p": -1, "log2": 0, "log10": 0, "rsqrt": 0, "atanh": 1, "atan": 1j, "sigmoid": 0}
    poles = {"atanh": (1, -1), "atan": (1j, -1j), "log1p": (-1,)}.get(op, (0,) if op in cut else ())
    return found[~np.isin(found, poles)]


def wide(op: str, z: np.ndarray) -> np.ndarray:
    """Return the function in the next wider precision."""
    wider = np.complex128 if z.dtype == np.complex64 else np.clongdouble
    with np.errstate(all="ignore"):
        return FUNCTIONS[op](z.astype(wider))


@pytest.fixture(scope="module")
def kernels(host_engine):
    """The kernels of all functions, compiled together."""
    backend = CudaBackend(HostMemory(), lambda: np, host_engine)
    served = kernels_of(pointwise.tables(backend))
    with host_engine.collecting():
        for op in FUNCTIONS:
            for dtype in ("complex64", "complex128"):
                call(backend, served[op, dtype], {"self": np.ones(9, dtype)})
    return backend, served


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_function_is_exact_up_to_rounding(kernels, op, dtype):
    if dtype == "complex128" and np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double must be wider than double")
    backend, served = kernels
    z = points(op, dtype)
    expected = wide(op, z)
    usable = np.isfinite(expected.real) & np.isfinite(expected.imag)
    z, expected = z[usable], expected[usable]
    found = call(backend, served[op, dtype], {"self": z}).array
    with np.errstate(all="ignore"):
        rounded = expected.astype(dtype)
        fits = np.isfinite(rounded.real) & np.isfinite(rounded.imag)
        error = np.abs(found[fits].astype(expected.dtype) - expected[fits])
    limits = np.finfo(dtype)
    allowed = (1 if dtype == "complex64" else 12) * limits.eps * np.abs(expected[fits]) + limits.tiny
    worst = np.argmax(error / allowed)
    assert (error <= allowed).all(), (z[fits][worst], found[fits][worst], rounded[fits][worst])


@pytest.mark.parametrize("op", sorted(set(FUNCTIONS) - {"sigmoid", "rsqrt", "exp2", "log2", "log10"}))
def test_zeros_keep_their_signs(kernels, op):
    backend, served = kernels
    parts = (0.0, -0.0, 0.5, -0.5, 2.0, -2.0)
    z = np.array([complex(a, b) for a, b in itertools.product(parts, parts) if a == 0 or b == 0])
    z = z[z != {"log": 0, "log1p": -1}.get(op, 1e9)]
    found = call(backend, served[op, "complex128"], {"self": z}).array
    expected = FUNCTIONS[op](z)
    for part, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
        exact = (np.abs(wanted) > 1e-15) | (wanted == 0)
        np.testing.assert_array_equal(np.signbit(part[exact]), np.signbit(wanted[exact]), str(z[exact]))
    # On a cut the sign of the zero decides.
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-15)


def test_sizes_do_not_overflow(kernels):
    backend, served = kernels
    z = np.array([1e308 + 1e308j, 3e-310 + 4e-310j])
    np.testing.assert_allclose(
        call(backend, served["abs", "complex128"], {"self": z}).array,
        [np.sqrt(2) * 1e308, 5e-310],
        rtol=1e-13,
    )
    small = np.array([3e38 + 1e38j], np.complex64)
    found = call(backend, served["abs", "complex64"], {"self": small}).array
    np.testing.assert_allclose(found, [np.sqrt(10) * 1e38], rtol=1e-6)
    infinite = np.array([complex(np.inf, np.nan), complex(np.nan, -np.inf)])
    assert np.isposinf(call(backend, served["abs", "complex128"], {"self": infinite}).array).all()
    assert np.isposinf(call(backend, served["log", "complex128"], {"self": infinite}).array.real).all()
    below = call(backend, served["exp", "complex128"], {"self": np.array([complex(-np.inf, np.inf)])}).array
    assert below == 0


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, -1, -2, 7, 0.5, 1 / 3, 2 - 1j])
def test_powers(host_backend, exponent):
    served = kernels_of(pointwise.tables(host_backend))
    z = np.array([1 + 2j, -3 + 0.5j, 0.1 - 0.1j, -1, 2j, 1e-3 + 4j])
    power = served["pow", "complex128"].function
    expected = z.astype(np.clongdouble) ** exponent
    np.testing.assert_allclose(
        power(host_backend.normalise(z), exponent).array, expected.astype(complex), rtol=2e-14
    )
    each = host_backend.normalise(np.full(z.shape, exponent, complex))
    np.testing.assert_allclose(
        power(host_backend.normalise(z), each).array, expected.astype(complex), rtol=2e-14
    )


def test_whole_powers_are_products(host_backend):
    power = kernels_of(pointwise.tables(host_backend))["pow", "complex64"].function
    z = host_backend.normalise(np.array([1 + 2j, 0, 3 - 4j], np.complex64))
    assert power(z, 3).array.tolist() == [-11 - 2j, 0, -117 - 44j]
    assert power(z, 0).array.tolist() == [1, 1, 1]
    nothing = host_backend.normalise(np.array([0j], np.complex64))
    assert np.isnan(power(nothing, -1).array).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_are_joined_as_they_are(host_backend, dtype):
    parts = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5], dtype)
    joined = kernels_of(pointwise.tables(host_backend))["complex", dtype].function
    real, imaginary = (np.array(part) for part in zip(*itertools.product(parts, parts), strict=True))
    found = joined(host_backend.normalise(real), host_backend.normalise(imaginary))
    assert found.dtype == np.dtype(f"c{2 * real.itemsize}")
    for part, given in ((found.array.real, real), (found.array.imag, imaginary)):
        np.testing.assert_array_equal(part, given)
        np.testing.assert_array_equal(np.signbit(part), np.signbit(given))
