"""Special functions by own kernels, run on the host, against SciPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.backends.cuda.serving import backend_on, contents, served, values
from tt.backends.cuda.launch.elementwise import SPECIAL
from tt.backends.cuda.pointwise import special
from tt.core.errors import ValueRangeError

sc = pytest.importorskip("scipy.special")


def modified(name):
    return lambda x: np.where(x < 0, np.nan, getattr(sc, name)(np.abs(x)))


ONE = {
    "erfinv": sc.erfinv, "special_erfcx": sc.erfcx, "special_ndtr": sc.ndtr, "special_ndtri": sc.ndtri,
    "special_log_ndtr": sc.log_ndtr, "digamma": sc.digamma, "i0": sc.i0, "special_i0e": sc.i0e, "special_i1": sc.i1,
    "special_i1e": sc.i1e, "special_bessel_j0": sc.j0, "special_bessel_j1": sc.j1, "special_bessel_y0": sc.y0,
    "special_bessel_y1": sc.y1, "special_spherical_bessel_j0": lambda x: sc.spherical_jn(0, x),
    "special_modified_bessel_i0": sc.i0, "special_modified_bessel_i1": sc.i1,
    "special_modified_bessel_k0": modified("k0"), "special_modified_bessel_k1": modified("k1"),
    "special_scaled_modified_bessel_k0": modified("k0e"), "special_scaled_modified_bessel_k1": modified("k1e"),
    "special_airy_ai": lambda x: sc.airy(x)[0], "special_entr": sc.entr, "logit": sc.logit,
}  # fmt: skip
PROBABILITIES = ("erfinv", "special_ndtri", "logit")
WIDE = np.concatenate(
    [np.linspace(-25, 25, 301), [0.0, -0.0, 1e-9, -1e-9, 0.499, 1.999, 2.001, 7.999, 8.001, np.nan]]
)
UNIT = np.concatenate([np.linspace(-1, 1, 101), [0.0, 1e-12, 1e-300, 1 - 1e-9, np.nan]])


@pytest.fixture
def own(host_engine):
    backend = backend_on(host_engine)
    return backend, {k.op: k.function for k in special.tables(backend)[0].kernels if k.form == "functional"}


def test_every_operator_is_compared():
    served_here = served(special.tables(backend_on()))[0]
    rest = {*special.TWO, "polygamma", *(f"special_{name}" for name in special.FAMILIES)}
    assert set(served_here) == set(ONE) | rest


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "tolerance"), [("float64", 3e-13), ("float32", 2e-5)])
@pytest.mark.parametrize("op", ONE)
def test_functions_of_one_operand(own, op, name, tolerance):
    backend, kernels = own
    x = (UNIT if op in PROBABILITIES else WIDE).astype(name)
    if op in ("logit", "special_ndtri"):
        x = np.abs(x)
    args = (None,) if op == "logit" else ()
    found = contents(kernels[op](backend.normalise(x), *args))
    with np.errstate(all="ignore"):
        expected = ONE[op](x.astype(np.float64)).astype(name).astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 4)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_airys_function_is_a_number_at_all_negative_numbers(own, name):
    backend, kernels = own
    x = np.array([-1e3, -1.1e6, -1e7, -1e10, -1e20, -1e30, -3e38, -np.inf]).astype(name)
    found = contents(kernels["special_airy_ai"](backend.normalise(x)))
    assert (np.abs(found[:-1]) < 0.6 * np.abs(x[:-1].astype(np.float64)) ** -0.25).all() and np.isnan(
        found[-1]
    )
    if name == "float64":
        expected = tt.special.airy_ai(tt.from_numpy(x[:3])).numpy()
        np.testing.assert_allclose(found[:3], expected, atol=1e-7)


@pytest.mark.parametrize("n", [0, 1, 2, 7, pytest.param(30, marks=pytest.mark.exhaustive)])
def test_polygamma(own, n):
    backend, kernels = own
    x = np.concatenate([np.linspace(-6.3, 20, 60), [-3.0, 0.0, 1e5]])
    found = kernels["polygamma"](n, backend.normalise(x))
    positive = x > 0
    np.testing.assert_allclose(found.array[positive], sc.polygamma(n, x[positive]), rtol=1e-12)
    whole = (x <= 0) & (x == np.floor(x))
    expected = tt.special.polygamma(n, tt.from_numpy(x)).numpy()
    np.testing.assert_allclose(found.array[~whole], expected[~whole], rtol=1e-10)
    np.testing.assert_array_equal(found.array[whole], expected[whole])


@pytest.mark.parametrize("op", ["igamma", "igammac"])
def test_incomplete_gamma_functions(own, op):
    backend, kernels = own
    a = np.array([1e-8, 0.3, 1.0, 4.5, 30, 150, 1e4, 1e6, 0.0, np.inf, -1.0, np.nan])[:, None]
    shares = np.array([0.01, 0.3, 0.8, 0.99, 1, 1.01, 1.2, 3, 40])
    x = np.concatenate(
        [np.where(np.isfinite(a), a, 1.0) * shares, np.tile([0.0, 2.0, np.inf, -1.0], (12, 1))], 1
    )
    reference = sc.gammainc if op == "igamma" else sc.gammaincc
    found = kernels[op](backend.normalise(np.broadcast_to(a, x.shape).copy()), backend.normalise(x))
    found, expected = found.array, reference(a, x)
    np.testing.assert_allclose(found[:7], expected[:7], rtol=2e-11, atol=1e-290)
    np.testing.assert_allclose(
        found[7:], expected[7:], rtol=1e-9, atol=1e-290
    )  # SciPy's own error at a million
    far = np.array([1e9, 1e12]), np.array([1e9 + 5e4, 1e12 - 2e6])
    found = kernels[op](*map(backend.normalise, far))
    np.testing.assert_allclose(found.array, reference(*far), rtol=1e-9)


def test_zeta(own):
    backend, kernels = own
    s, a = np.meshgrid([1.0, 1.5, 2.0, 3.0, 9.5, 40.0, 0.5], [0.1, 1.0, 3.7, 1e3, 1e9, -0.5, -7.3, -2.0, 0.0])
    found = kernels["special_zeta"](*map(backend.normalise, (s, a)))
    np.testing.assert_allclose(found.array, sc.zeta(s, a), rtol=1e-12)
    found = kernels["special_zeta"](backend.normalise(s), 2.5)
    np.testing.assert_allclose(found.array, sc.zeta(s, 2.5), rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", list(special.FAMILIES))
def test_polynomials(own, name):
    backend, kernels = own
    x, n = np.meshgrid(np.linspace(-1.5, 1.5, 13), [-2.0, 0.0, 1.0, 2.7, 9.0, 600.0, np.nan])
    op = f"special_{name}"
    found = kernels[op](backend.normalise(x), backend.normalise(n))
    expected = getattr(tt.special, name)(tt.from_numpy(x), tt.from_numpy(n)).numpy()
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(found.array, expected, rtol=1e-12)


def test_degrees_beyond_the_highest_are_noted(own):
    backend, kernels = own
    x = backend.normalise(np.linspace(-1, 1, 5))
    with pytest.raises(
        ValueRangeError, match=r"polynomial_p.*: the degree is 70000, and the highest is 65536"
    ):
        kernels["special_legendre_polynomial_p"](x, 70000.0)


def test_half_types_are_computed_in_float32(own):
    backend, kernels = own
    x = np.abs(values(1, (50,), "bfloat16"))
    found = kernels["digamma"](backend.normalise(x))
    np.testing.assert_allclose(contents(found), sc.digamma(x.astype(float)), rtol=1e-2)


NAMES = [*special.ONE.values(), "Logit", "LogitWithin", "Polygamma"]
TWO = [*special.TWO.values(), *special.FAMILIES.values()]


def test_nvrtc_compiles_some_functors(nvrtc):
    names = [
        f"pointwise_flat<special::{one}, float32, Types<float32>>" for one in ("AiryAi", "K1", "Polygamma")
    ]
    names += [
        f"pointwise_flat<special::{two}, float16, Types<float16, float16>>"
        for two in ("Igammac", "PolynomialL")
    ]
    assert set(nvrtc.compile_source(SPECIAL.source, names, "sm_80").names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_nvrtc_compiles_every_functor(nvrtc, name):
    names = [f"pointwise_flat<special::{one}, {name}, Types<{name}>>" for one in dict.fromkeys(NAMES)]
    names += [f"pointwise_flat<special::{two}, {name}, Types<{name}, {name}>>" for two in TWO]
    assert set(nvrtc.compile_source(SPECIAL.source, names, "sm_80").names) == set(names)
