"""Special functions, against PyTorch and SciPy, where the samples do not reach."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

NAMES = ("entr", "erf", "erfc", "erfcx", "erfinv", "i0", "i0e", "i1", "i1e", "log_ndtr", "ndtr", "ndtri", "gammaln",
         "digamma", "psi", "logit", "sinc", "expit", "exp2", "expm1", "log1p", "round")  # fmt: skip
NUMBERS = [0.0, 0.25, -0.25, 0.5, 1.0, -1.0, 1.5, -1.5, 2.0, 3.0, 5.0, -5.0, 20.0, -20.0, math.inf, math.nan]


@pytest.mark.parametrize("name", NAMES)
def test_the_namespace(same, name):
    same(lambda m, x: getattr(m.special, name)(x), torch.tensor(NUMBERS, dtype=torch.float64))


@pytest.mark.parametrize("name", ["entr", "erfcx", "i0e", "i1", "ndtr", "gammaln", "digamma"])
def test_integers_give_floating_point_numbers(same, name):
    same(lambda m, x: getattr(m.special, name)(x), torch.tensor([1, 2, 5]))
    same(lambda m, x: getattr(m.special, name)(x), torch.tensor([True]))


@pytest.mark.parametrize("n", [0, 2, 3, 5])
def test_polygamma(same, n):
    x = torch.tensor([0.1, 0.5, 1.0, 2.5, 30.0, -0.5, -1.25, 0.0, -1.0], dtype=torch.float64)
    same(lambda m, x: m.polygamma(n, x), x if n else x[:-2])  # at its poles digamma has signs of its own
    same(lambda m, x: m.special.polygamma(n, x), x[:3])


def test_trigamma():
    # PyTorch's has 9 digits.
    found = tt.polygamma(1, tt.tensor([1.0, 0.5, -0.5, 0.0, -1.0], dtype=tt.float64)).tolist()
    assert found[:3] == pytest.approx([math.pi**2 / 6, math.pi**2 / 2, math.pi**2 / 2 + 4], rel=1e-14)
    assert found[3:] == [math.inf, math.inf]


def test_polygamma_has_no_negative_order(same):
    same(lambda m, x: m.polygamma(-1, x), torch.ones(2))


# --- numerically hard places -----------------------------------------------------------------------------------


def test_the_logarithm_of_gamma_keeps_its_digits_near_its_zeros():
    z = np.array([1e-15, 1e-12, 1e-6, 1e-3])
    near_two = tt.lgamma(tt.tensor(2 + z)).numpy()
    exact = ((2 + z) - 2) * (1 - np.euler_gamma) + ((2 + z) - 2) ** 2 * (math.pi**2 / 6 - 1) / 2
    np.testing.assert_allclose(near_two, exact, rtol=1e-6)
    near_one = tt.lgamma(tt.tensor(1 + z)).numpy()
    exact = -((1 + z) - 1) * np.euler_gamma + ((1 + z) - 1) ** 2 * math.pi**2 / 12
    np.testing.assert_allclose(near_one, exact, rtol=1e-6)
    assert tt.lgamma(tt.tensor([1.0, 2.0])).tolist() == [0.0, 0.0]
    assert tt.lgamma(tt.tensor(-math.inf)).item() == math.inf


def test_the_logarithm_of_gamma_of_numbers_whose_reciprocal_overflows():
    x = np.array([5e-324, 1e-310, -1e-310, 5.5e-309, 1e-300, 2e-300])
    np.testing.assert_allclose(
        tt.lgamma(tt.tensor(x)).numpy(), [-math.log(abs(one)) for one in x], rtol=1e-14
    )
    assert tt.lgamma(tt.tensor(1e-310, dtype=tt.float64)).item() == pytest.approx(
        310 * math.log(10), rel=1e-14
    )
    assert tt.lgamma(tt.tensor([0.0, -0.0], dtype=tt.float64)).tolist() == [math.inf, math.inf]


def test_the_inverse_error_function_near_one():
    y = 1 - 2.0 ** -np.arange(1, 53)
    x = tt.erfinv(tt.tensor(y)).numpy()
    np.testing.assert_allclose(scipy.special.erfc(x), 1 - y, rtol=1e-13)
    assert tt.erfinv(tt.tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf]
    assert math.isnan(tt.erfinv(tt.tensor(1.5)).item())


def test_small_tails_are_no_zeros():
    assert tt.erfc(tt.tensor(20.0, dtype=tt.float64)).item() == pytest.approx(5.3958656116079e-176, rel=1e-12)
    assert tt.special.ndtr(tt.tensor(-30.0, dtype=tt.float64)).item() == pytest.approx(
        4.906713927148e-198, rel=1e-11
    )
    assert tt.special.log_ndtr(tt.tensor(-1e5, dtype=tt.float64)).item() == pytest.approx(-5000000012.431848)
    assert tt.special.erfcx(tt.tensor(1e5)).item() == pytest.approx(1 / (1e5 * math.sqrt(math.pi)))


# --- the composites --------------------------------------------------------------------------------------------

RANGES = {
    "erfc": (-6, 26), "special_erfcx": (-5, 100), "erfinv": (-1, 1), "lgamma": (-5, 30), "digamma": (-5, 30),
    "i0": (-30, 30), "special_i0e": (-30, 100), "special_i1": (-30, 30), "special_i1e": (-30, 100),
    "special_ndtr": (-20, 10), "special_log_ndtr": (-100, 10), "special_ndtri": (0, 1), "special_entr": (0, 5),
    "logit": (0, 1), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "asinh": (-50, 50), "acosh": (1, 50),
    "sinh": (-30, 30), "cosh": (-30, 30), "tan": (-10, 10), "log2": (0, 50), "log10": (0, 50), "exp2": (-50, 50),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_a_composite_is_as_exact_as_a_kernel(name):
    x = tt.tensor(np.random.default_rng(0).uniform(*RANGES[name], 500))
    expected = getattr(tt.ops, name)(x).numpy()
    with tt.mask_kernels("@non-core"):
        found = getattr(tt.ops, name)(x).numpy()
    np.testing.assert_allclose(found, expected, rtol=5e-13, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_the_composite_of_polygamma_is_as_exact_as_a_kernel(n):
    x = tt.tensor(np.random.default_rng(0).uniform(-3, 30, 500))
    expected = tt.polygamma(n, x).numpy()
    with tt.mask_kernels("@non-core"):
        found = tt.polygamma(n, x).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "name", ["asin", "acos", "asinh", "acosh", "atanh", "tan", "sinh", "cosh", "log2", "exp2"]
)
def test_a_composite_has_the_same_branch_cuts(name):
    z = [complex(a, b) for a in (2.0, -2.0, 0.5, -0.5, 0.0, -0.0) for b in (0.0, -0.0, 2.0, -2.0)]
    x = tt.tensor(z, dtype=tt.complex128)
    expected = getattr(tt.ops, name)(x).numpy()
    with tt.mask_kernels("@non-core"):
        found = getattr(tt.ops, name)(x).numpy()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-13, atol=1e-15)


FAR_BELOW = [-1.0e3, -1.1e6, -1e7, -1e10, -1e20, -1e30, -3e38]


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64], ids=str)
def test_airys_function_is_a_number_at_all_negative_numbers(dtype):
    x = tt.tensor([*FAR_BELOW, tt.finfo(dtype).min], dtype=dtype)
    kernel = tt.special.airy_ai(x)
    with tt.mask_kernels("@non-core"):
        composite = tt.special.airy_ai(x)
        assert tt.special.airy_ai(tt.tensor(-tt.inf, dtype=dtype)).isnan()
    bound = 0.6 * x.abs() ** -0.25  # between this and its negative it oscillates
    assert (kernel.abs() < bound).all() and (composite.abs() < bound).all()
    if dtype is tt.float64:  # float32 has no digit of the phase from the second one on
        np.testing.assert_allclose(composite[:3].numpy(), kernel[:3].numpy(), atol=1e-7)
