"""How gamma and beta numbers change with their concentrations, against fine integrals and differences of quantiles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import tt
from tt.backends.cpu.native.random import NATIVE
from tt.operators.random.reparametrization import dirichlet_grad, standard_gamma_grad

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

TOLERANCES = {"float32": 1e-6, "float64": 3e-11}
MIDDLE = [0.3, 0.5, 0.51, 0.59]
LEVELS = np.array([1e-8, 1e-3, 0.1, 0.4, 0.6, 0.9, 0.999, 1 - 1e-8])
GAMMA = [1e-3, 0.05, 0.6, 1.0, 2.4, 7.0, 60.0, 1e3, 1e6]
BETA = [1e-3, 0.19, 1.0, 2.01, 3.01, 4.0, 70.0, 2e4, 1e6]


def integral(distance, exponent, sign):
    """Return the integral of |distance(w)| exp(-exponent(w)) to one side, in parts of each scale."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.concatenate([[0.0], 10.0 ** np.arange(-7, 7.1, 0.04)])
    w = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2) * sign
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.abs(distance(w)) * np.exp(-np.minimum(exponent(w), 800.0))
    return float((np.nan_to_num(values) * weights).sum(1) @ np.diff(edges) / 2)


def gamma_slope(a, z):
    rest = math.log(z) - special.digamma(a)
    return z * integral(lambda w: w + rest, lambda w: z * np.expm1(w) - a * w, 1 if rest > 0 else -1)


def beta_slope(x, a, b):
    rest = math.log(x) + special.digamma(a + b) - special.digamma(a)

    def grown(w):  # the logarithm of 1 - x + x exp(w)
        return np.where(w < 20, np.log1p(x * np.expm1(w)), w + np.log(x + (1 - x) * np.exp(-np.abs(w))))

    exponent = lambda w: (a + b) * grown(w) - a * w  # noqa: E731
    return x * integral(lambda w: w - grown(w) + rest, exponent, 1 if rest > 0 else -1)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("a", GAMMA)
def test_gamma_numbers_have_all_digits_of_their_derivative(a, dtype):
    a = float(np.dtype(dtype).type(a))
    z = special.gammaincinv(a, LEVELS).astype(dtype)
    z = z[z > 1e-30].astype(np.float64)
    z = np.concatenate([z, [0.4 * a, a, 1.7 * a] if a < 70 else [a]]).astype(dtype).astype(np.float64)
    found = tt._standard_gamma_grad(*(tt.tensor(v).to(getattr(tt, dtype)) for v in (np.full_like(z, a), z)))
    expected = [gamma_slope(a, number) for number in z]
    np.testing.assert_allclose(found.numpy(), expected, rtol=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("a", BETA)
def test_beta_numbers_have_all_digits_of_their_derivative(a, dtype):
    cases = []
    for b in BETA:
        kept, total = np.array([a, a + b], dtype).astype(np.float64)
        x = np.concatenate([special.betaincinv(a, b, LEVELS), MIDDLE if a + b < 50 else []]).astype(dtype)
        if total > kept:
            cases += [(float(v), kept, total) for v in x if 1e-30 < v < 1 - 1e-6]
    x, kept, total = np.array(cases).T
    found = tt._dirichlet_grad(*(tt.tensor(v).to(getattr(tt, dtype)) for v in (x, kept, total))).numpy()
    # The difference of digammas below loses digits by the ratio of the concentrations.
    expected = [beta_slope(v, a, t - a) for v, a, t in cases]
    loss = 1e-14 * np.maximum(1.0, total * np.abs(special.digamma(total)) / (total - kept))
    np.testing.assert_array_less(np.abs(found / expected - 1), max(TOLERANCES[dtype], 3e-10) + loss)


@pytest.mark.parametrize("a", [0.3, 1.0, 5.0, 200.0, 1e5])
def test_gamma_numbers_change_as_quantiles_do(a):
    x, h = special.gammaincinv(a, LEVELS[1:-1]), 1e-4 * a
    of = lambda k: special.gammaincinv(a + k * h, LEVELS[1:-1])  # noqa: E731
    slope = (8 * (of(1) - of(-1)) - (of(2) - of(-2))) / (12 * h)
    found = tt._standard_gamma_grad(tt.full((len(x),), a, dtype=tt.float64), tt.tensor(x))
    np.testing.assert_allclose(found.numpy(), slope, rtol=2e-8)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("a", [64.0, 100.0, 300.0, 1e4, 1e8])
def test_the_expansion_of_large_concentrations_is_the_integral_up_to_its_ends(a, dtype):
    # Within 0.4 a of the concentration there is the expansion, and behind it the integral.
    parts = np.array([-0.41, -0.4, -0.39, -0.1, -1e-3, -1e-9, 0.0, 1e-9, 1e-3, 0.1, 0.39, 0.4, 0.41])
    z = (a * (1 + parts)).astype(dtype).astype(np.float64)
    number = special.gammaincinv(a, LEVELS).astype(dtype).astype(np.float64)
    z = np.concatenate([z if a < 1e4 else z[3:10], number])
    found = tt._standard_gamma_grad(*(tt.tensor(v).to(getattr(tt, dtype)) for v in (np.full_like(z, a), z)))
    expected = [gamma_slope(a, one) for one in z]
    np.testing.assert_allclose(found.numpy(), expected, rtol=TOLERANCES[dtype])


def test_both_sides_of_the_border_of_large_concentrations_agree():
    a = np.array([np.nextafter(64.0, 0), 64.0])
    for z in (40.0, 63.0, 64.0, 80.0):
        below, above = tt._standard_gamma_grad(tt.tensor(a), tt.tensor([z, z], dtype=tt.float64)).tolist()
        assert abs(below / above - 1) < 3e-11


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (2.0, 0.3), (1.0, 1.0), (40.0, 9.0), (3e3, 1e4)])
def test_beta_numbers_change_as_quantiles_do(a, b):
    x, h = special.betaincinv(a, b, LEVELS[1:-1]), 1e-4 * a
    of = lambda k: special.betaincinv(a + k * h, b, LEVELS[1:-1])  # noqa: E731
    slope = (8 * (of(1) - of(-1)) - (of(2) - of(-2))) / (12 * h)
    alpha = tt.full((len(x),), a, dtype=tt.float64)
    found = tt._dirichlet_grad(tt.tensor(x), alpha, alpha + b).numpy() * (1 - x)
    # Quantiles near 1 have few digits of their distance from it.
    np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-9 * float(slope.max()))


def test_numbers_of_all_kinds_may_stand_in_any_order_and_layout():
    rng = np.random.default_rng(3)
    a, z = 10 ** rng.uniform(-2, 4, (40, 30)), 10 ** rng.uniform(-3, 4, (40, 30))
    for dtype in (tt.float64, tt.float32, tt.float16, tt.bfloat16):
        left, right = tt.tensor(a).to(dtype), tt.tensor(z).to(dtype)
        found = tt._standard_gamma_grad(left.t(), right.t()[:, :1])
        wide = tt.float64 if dtype is tt.float64 else tt.float32
        one = [
            [
                float(tt._standard_gamma_grad(left[j, i].to(wide), right[0, i].to(wide)).to(dtype))
                for j in range(3)
            ]
            for i in range(5)
        ]
        assert found.shape == (30, 40) and found[:5, :3].tolist() == one
    x, t = rng.uniform(0.01, 0.99, 300), 10 ** rng.uniform(0, 3, 300)
    found = tt._dirichlet_grad(tt.tensor(x)[:, None], tt.tensor(0.5, dtype=tt.float64), tt.tensor(t))
    assert float(found[7, 9]) == float(
        tt._dirichlet_grad(*map(tt.tensor, (x[7:8], np.array([0.5]), t[9:10])))
    )


def test_threads_change_nothing():
    rng = np.random.default_rng(5)
    a, z = tt.tensor(10 ** rng.uniform(-2, 4, 5000)), tt.tensor(10 ** rng.uniform(-3, 4, 5000))
    before = tt.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            tt.set_num_threads(threads)
            found.append((tt._standard_gamma_grad(a, z), tt._dirichlet_grad(1 / (1 + z), a, a + 3.0)))
    finally:
        tt.set_num_threads(before)
    assert all(tt.equal(one, other) for one, other in zip(*found, strict=True))


def test_the_composites_agree():
    rng = np.random.default_rng(7)
    a, z = tt.tensor(10 ** rng.uniform(-1, 3, 400)), tt.tensor(10 ** rng.uniform(-2, 3, 400))
    assert tt.allclose(tt._standard_gamma_grad(a, z), standard_gamma_grad(a, z), rtol=1e-10)
    x = tt.tensor(rng.uniform(0.01, 0.99, 400))
    assert tt.allclose(tt._dirichlet_grad(x, a, a + z), dirichlet_grad(x, a, a + z), rtol=1e-8)


@pytest.mark.parametrize(
    ("of_gamma", "of_beta"),
    [(tt._standard_gamma_grad, tt._dirichlet_grad), (standard_gamma_grad, dirichlet_grad)],
)
def test_what_is_no_gamma_or_beta_number_has_no_derivative(of_gamma, of_beta):
    nan, inf = math.nan, math.inf
    for a, z in [(0.0, 1.0), (-1.0, 1.0), (nan, 1.0), (1.0, nan), (1.0, -1.0), (inf, 1.0)]:
        assert of_gamma(tt.tensor(a), tt.tensor(z)).isnan()
    for x, a, t in [(0.5, 0.0, 1.0), (0.5, 1.0, 1.0), (nan, 1.0, 2.0), (1.5, 1.0, 2.0), (0.5, 1.0, nan)]:
        assert of_beta(*map(tt.tensor, (x, a, t))).isnan()
    assert float(of_gamma(tt.tensor(0.5), tt.tensor(0.0))) == 0.0  # a number that underflowed
    for x in (0.0, 1.0):
        assert of_beta(tt.tensor(x), tt.tensor(1.0), tt.tensor(3.0)).isfinite()


def test_huge_concentrations_have_the_limit_of_the_exponent() -> None:
    a = tt.tensor([2e100, 1e150, 1e200, 1e308], dtype=tt.float64)
    small = tt._standard_gamma_grad(a, tt.ones_like(a))
    np.testing.assert_allclose(small.numpy(), np.log(a.numpy()) / a.numpy(), rtol=1e-12)
    np.testing.assert_allclose(tt._standard_gamma_grad(a, a).numpy(), 1.0)
    np.testing.assert_allclose(tt._standard_gamma_grad(a, a / 2).numpy(), math.log(2), rtol=1e-12)
