"""Poisson and binomial numbers: their distributions, edges, and errors."""

import numpy as np
import pytest
from scipy import stats

import tt

COUNT = 20_000


def expect_distribution(found, distribution):
    """Compare how many numbers fall between quantiles with how many should."""
    edges = np.unique(distribution.ppf(np.linspace(0.02, 0.98, 25)))
    shares = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
    seen = np.histogram(found, np.concatenate([[-1.0], edges, [np.inf]]) + 0.5)[0]
    often = shares * len(found) > 5
    expected = shares[often] * seen[often].sum() / shares[often].sum()
    assert stats.chisquare(seen[often], expected).pvalue > 1e-3
    assert abs(found.mean() - distribution.mean()) < 5 * distribution.std() / np.sqrt(len(found))
    assert (found == np.floor(found)).all() and found.min() >= 0


@pytest.mark.parametrize("rate", [0.05, 0.1, 1.0, 5.0, 9.99, 10.0, 11.0, 30.0, 1e3, 1e6, 1e9])
def test_poisson_numbers_have_their_distribution(rate):
    generator = tt.Generator().manual_seed(3)
    found = tt.poisson(tt.full((COUNT,), rate, dtype=tt.float64), generator)
    expect_distribution(found.numpy(), stats.poisson(rate))


@pytest.mark.parametrize("rate", [0.1, 5.0, 30.0])  # whose numbers half precision has all
@pytest.mark.parametrize("dtype", [tt.float32, tt.float16, tt.bfloat16])
def test_poisson_numbers_of_narrow_dtypes_have_their_distribution(rate, dtype):
    rates = tt.full((COUNT,), rate, dtype=dtype)
    found = tt.poisson(rates, tt.Generator().manual_seed(4)).to(tt.float64).numpy()
    expect_distribution(found, stats.poisson(float(rates[0])))


@pytest.mark.parametrize(
    ("count", "prob"),
    [
        (1, 0.3),
        (10, 0.5),
        (25, 0.45),
        (30, 0.9),
        (100, 0.01),
        (100, 0.1),
        (1000, 0.97),
        (10**6, 0.3),
        (10**10, 1e-9),
    ],
)
def test_binomial_numbers_have_their_distribution(count, prob):
    generator = tt.Generator().manual_seed(5)
    counts = tt.full((COUNT,), float(count), dtype=tt.float64)
    found = tt.binomial(counts, tt.full_like(counts, prob), generator).numpy()
    expect_distribution(found, stats.binom(count, prob))
    assert found.max() <= count


def test_small_and_large_means_in_one_tensor():
    tt.manual_seed(0)
    rates = tt.tensor([0.5, 300.0, 3.0, 20.0], dtype=tt.float64).repeat(COUNT, 1)
    for column, rate in zip(tt.poisson(rates).numpy().T, (0.5, 300.0, 3.0, 20.0), strict=True):
        expect_distribution(column, stats.poisson(rate))
    found = tt.binomial(tt.full((COUNT, 1), 50.0), tt.tensor([0.02, 0.4, 0.95, 0.7]))
    assert found.shape == (COUNT, 4)
    for column, prob in zip(found.numpy().T, (0.02, 0.4, 0.95, 0.7), strict=True):
        expect_distribution(column.astype(float), stats.binom(50, prob))


def test_the_edges_of_the_parameters():
    inf, nan = tt.inf, tt.nan
    assert tt.poisson(tt.tensor([0.0, inf])).tolist() == [0.0, inf]
    assert tt.poisson(tt.full((5,), 1e20)).log10().round().tolist() == [20.0] * 5
    found = tt.binomial(tt.tensor([9.0, 9.0, 0.0, -3.0, inf]), tt.tensor([1.5, -0.5, 0.5, 0.5, 0.5]))
    assert found.tolist() == [9.0, 0.0, 0.0, 0.0, inf]
    assert tt.binomial(tt.tensor([nan, 3.0]), tt.tensor([0.5, nan])).isnan().all()
    assert tt.poisson(tt.ones(0, 2)).shape == (0, 2) and tt.poisson(tt.ones(2, device="meta")).shape == (2,)


def test_the_generator_decides_and_the_default_one_is_seeded():
    rates = tt.tensor([2.0, 30.0]).repeat(50)
    one = [tt.poisson(rates, generator=tt.Generator().manual_seed(1)) for _ in range(2)]
    assert tt.equal(*one)
    tt.manual_seed(4)
    first = tt.binomial(rates, tt.full_like(rates, 0.5))
    assert not tt.equal(first, tt.binomial(rates, tt.full_like(rates, 0.5)))
    tt.manual_seed(4)
    assert tt.equal(first, tt.binomial(rates, tt.full_like(rates, 0.5)))


def test_half_precision_strides_and_out():
    rates = tt.full((3, 2), 20.0, dtype=tt.bfloat16).t()
    found = tt.poisson(rates)
    assert (found.dtype, found.shape, found.stride()) == (tt.bfloat16, (2, 3), (1, 2))
    out = tt.empty(2, 3, dtype=tt.bfloat16)
    assert tt.poisson(rates, out=out) is out and out.min() > 0


def test_gradients_of_poisson_are_zero_and_wrong_parameters_are_refused():
    rate, prob = tt.tensor([3.0, 50.0], requires_grad=True), tt.tensor([0.2, 0.7], requires_grad=True)
    tt.poisson(rate).sum().backward()
    assert rate.grad.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="the derivative for 'binomial' is not implemented"):
        tt.binomial(rate, prob).sum().backward()
    for bad in (-1.0, tt.nan):
        with pytest.raises(ValueError, match="rates must be 0 or more"):
            tt.poisson(tt.tensor([1.0, bad]))
    with pytest.raises(RuntimeError, match="int64"):
        tt.poisson(tt.tensor([1]))
    with pytest.raises(RuntimeError, match="share one dtype"):
        tt.binomial(tt.ones(2), tt.ones(2, dtype=tt.float64))
    with pytest.raises(RuntimeError, match=r"broadcast|match"):
        tt.binomial(tt.ones(2), tt.ones(3))


def test_dtypes_that_differ_are_refused_where_a_layer_meets_the_composite_too():
    count, prob = tt.ones(2, 3, dtype=tt.float64), tt.full((2, 3), 0.5)
    with pytest.raises(tt.errors.DtypeError, match="must share one dtype"):
        tt.func.vmap(tt.binomial, randomness="different")(count, prob)
    with pytest.raises(tt.errors.DtypeError, match="must share one dtype"):
        tt.binomial(count, prob)
