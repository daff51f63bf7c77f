"""Poisson and binomial numbers in C: those of the composites, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load, status
from tt.operators.random.counts import binomial, poisson

native = load("random")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")


def made() -> tt.Generator:
    return tt.Generator().manual_seed(2**35 + 3)


def rates(kind: str) -> tt.Tensor:
    draws = np.random.default_rng(2)
    low, high = {"small": (-3, 0.9), "large": (1.1, 10), "both": (-3, 10)}[kind]
    return tt.tensor(10 ** draws.uniform(low, high, 20_001))


@pytest.mark.parametrize("kind", ["small", "large", "both"])
def test_poisson_numbers_are_those_of_the_composite(kind):
    one, other = made(), made()
    found, expected = tt.poisson(rates(kind), generator=one), poisson(rates(kind), other)
    assert tt.equal(found, expected) and one.get_offset() == other.get_offset()


@pytest.mark.parametrize("kind", ["small", "large", "both"])
def test_binomial_numbers_are_those_of_the_composite(kind):
    count = rates(kind).ceil()
    prob = tt.tensor(np.random.default_rng(4).uniform(-0.02, 1.02, count.shape))
    one, other = made(), made()
    found, expected = tt.binomial(count, prob, generator=one), binomial(count, prob, other)
    assert tt.equal(found, expected) and one.get_offset() == other.get_offset()


@pytest.mark.parametrize("dtype", [tt.float32, tt.float16, tt.bfloat16])
def test_narrow_dtypes_and_layouts_get_the_rounded_numbers(dtype):
    wide = rates("both")[:600].clamp(0, 3e4).reshape(20, 30).to(dtype)
    expected = poisson(wide, made())
    assert tt.equal(tt.poisson(wide, generator=made()), expected) and expected.dtype is dtype
    turned = wide.t().contiguous().t()
    found = tt.poisson(turned, generator=made())
    assert tt.equal(found, expected) and found.stride() == poisson(turned, made()).stride()
    prob = tt.tensor(0.25, dtype=dtype)
    assert tt.equal(tt.binomial(turned, prob, generator=made()), binomial(turned, prob, made()))


def test_threads_change_nothing():
    before, found = tt.get_num_threads(), []
    try:
        for threads in (1, 2):
            tt.set_num_threads(threads)
            found.append(tt.poisson(rates("both"), generator=made()))
    finally:
        tt.set_num_threads(before)
    assert tt.equal(*found)


def test_numbers_that_a_dtype_cannot_hold_are_infinite_without_a_warning():
    rate, certain = tt.full((4,), 65504.0, dtype=tt.float16), tt.ones((), dtype=tt.float16)
    assert (tt.poisson(rate) > 6e4).all()  # half of them are infinite
    assert tt.binomial(rate, certain).tolist() == [65504.0] * 4


def test_the_functions_refuse_other_arrays():
    for wrong in (np.ones(3, "f4"), np.ones((4, 4))[:, ::2], [1.0]):
        with pytest.raises(TypeError, match="contiguous arrays of float64"):
            native.poisson_counts(wrong, made())
    with pytest.raises(TypeError, match="of one size"):
        native.binomial_counts(np.ones(3), np.ones(4), made())
