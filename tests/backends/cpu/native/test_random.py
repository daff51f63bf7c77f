"""Random numbers in C: those that NumPy's kernels draw, whatever the number of threads."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.backends.array_api.random import words_of
from tt.backends.cpu import random as reference
from tt.backends.cpu.native.loading import load, status
from tt.backends.cpu.native.numpy_fallback import quietly

native = load("random")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")

SINGLE, DOUBLE, HALF = np.dtype("f4"), np.dtype("f8"), np.dtype("f2")
BFLOAT, COMPLEX, WIDE = np.dtype(ml_dtypes.bfloat16), np.dtype("c8"), np.dtype("c16")
FLOATING = (SINGLE, DOUBLE, HALF, BFLOAT, COMPLEX, WIDE)
SIZES = ((0,), (1,), (3,), (), (7, 5), (1023,), (1024,), (1025,), (3, 40_001))
OFFSETS = (0, 5, 2**32 - 2, 2**64 - 3)


def generator(offset: int = 0, seed: int = 2**40 + 77) -> tt.Generator:
    made = tt.Generator().manual_seed(seed)
    made.set_offset(offset)
    return made


def bits(array: np.ndarray) -> bytes:
    return array.tobytes()


def both(name: str, *arguments, offset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return what both kernels draw; they must take as many counters."""
    first, second = generator(offset), generator(offset)
    place = next(i for i, a in enumerate(arguments) if a is generator)
    found = getattr(native, name)(*arguments[:place], first, *arguments[place + 1 :])
    wanted = getattr(reference, name)(*arguments[:place], second, *arguments[place + 1 :])
    assert first.get_offset() == second.get_offset()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    return found, wanted


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 6000))
def test_words_are_those_of_the_standard_functions(seed, offset, count):
    made = generator(offset, seed)
    found = native.randint(0, 2**32, (count,), made, np.dtype("i8"))
    np.testing.assert_array_equal(found, words_of(np, seed, offset, count).astype(np.int64))


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_uniform_numbers_are_equal_bit_by_bit(dtype, offset):
    for size in SIZES:
        found, wanted = both("rand", size, generator, dtype, offset=offset)
        assert bits(found) == bits(wanted)


@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_normal_numbers_agree_up_to_the_last_digits(dtype):
    real = np.empty(0, dtype).real.dtype
    step = float(ml_dtypes.finfo(real).eps)
    for size in SIZES:
        found, wanted = both("randn", size, generator, dtype, offset=3)
        wide = np.complex128 if dtype.kind == "c" else np.float64
        np.testing.assert_allclose(
            found.astype(wide), wanted.astype(wide), rtol=4 * step, atol=4e-7 * (step < 1e-3)
        )


def test_normal_numbers_are_within_a_few_units_of_exact_ones():
    # The definition in docs/design/random.md, in double precision.
    words = words_of(np, 2**40 + 77, 0, 200_000).astype(np.float32)
    u = (words[0::2] * np.float32(2**-32) + np.float32(2**-33)).astype(np.float64)
    angle = (words[1::2] * np.float32(2 * np.pi * 2.0**-32)).astype(np.float64)
    radius = np.sqrt(-2 * np.log(u))
    exact = np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1).reshape(-1)
    found = native.randn((200_000,), generator(), SINGLE)
    # Next to a zero of the sine the error of the reduction counts, which is one of the angle.
    np.testing.assert_allclose(found, exact, rtol=4e-7, atol=4e-7)
    assert scipy.stats.kstest(found, "norm").pvalue > 1e-4


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_scaled_numbers_round_as_in_numpy(dtype):
    for size in SIZES:
        like = np.zeros(size, dtype)
        assert bits(*both("uniform", like, -1.3, 2.7, generator)[:1]) == bits(
            both("uniform", like, -1.3, 2.7, generator)[1]
        )
        found, wanted = both("normal", like, 1.5, 2.7, generator)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=3e-6 if dtype == SINGLE else 1e-14)
        found, wanted = both("exponential", like, 1.5, generator)
        np.testing.assert_allclose(found, wanted, rtol=2 * np.finfo(dtype).eps)


RANGES = (
    (0, 10), (-5, 100), (-(2**24), 2**24 + 1), (0, 2**32), (0, 2**32 + 1), (-(2**53), 2**53 + 1), (-(2**60), 2**62),
    (-(2**63), 2**63 - 1),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:randint")  # which lacks some of the integers
@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1", "f4", "f8"])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_integers_are_equal(dtype, low, high):
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and (low < np.iinfo(dtype).min or high - 1 > np.iinfo(dtype).max):
        with pytest.raises(tt.errors.DtypeError):
            native.randint(low, high, (3,), generator(), dtype)
        return
    for size in SIZES:
        found, wanted = both("randint", low, high, size, generator, dtype, offset=5)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("n", [0, 1, 2, 10, 24, 25, 1000, 2048, 2049, 5000, 8192, 8193, 100_003])
def test_permutations_are_equal(n):
    for dtype in ("i8", "i4", "i2" if n < 2**15 else "f8"):
        found, wanted = both("randperm", n, generator, np.dtype(dtype), offset=9)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "?", "i8", "u1", "i4"])
def test_bernoulli_numbers_are_equal(dtype):
    for size in SIZES:
        for p in (0.0, 0.3, 1.0, 2.0**-25):
            found, wanted = both("bernoulli_p", np.zeros(size, dtype), p, generator)
            np.testing.assert_array_equal(found, wanted)
        if dtype in ("f4", "f8", "f2"):
            p = np.random.default_rng(0).random(size).astype(dtype)
            found, wanted = both("bernoulli", p, generator)
            np.testing.assert_array_equal(found, wanted)
            found, wanted = both("bernoulli_tensor", np.zeros(size, dtype), p, generator)
            np.testing.assert_array_equal(found, wanted)


def test_probabilities_that_are_none_are_refused_before_counters_are_taken():
    for wrong in (1.5, -0.1, float("nan")):
        made = generator()
        with pytest.raises(ValueError, match="probab"):
            native.bernoulli(np.array([0.5, wrong], "f4"), made)
        with pytest.raises(ValueError, match="probab"):
            native.bernoulli_p(np.zeros(2), wrong, made)
        assert made.get_offset() == 0


@pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
def test_draws_by_weights_are_equal(dtype):
    weights = np.random.default_rng(1).random((20, 300)).astype(dtype)
    weights[weights < 0.2] = 0
    for rows in (weights, weights[0], weights.T):
        found, wanted = both("multinomial", rows, 50, True, generator)
        np.testing.assert_array_equal(found, wanted)
    for draws in (1, 5, 32, 33, 200):
        found, wanted = both("multinomial", weights, draws, False, generator)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(tt.errors.ValueRangeError, match="weight"):
        native.multinomial(np.array(weights), 1, True, generator())


@pytest.mark.parametrize("dtype", [tt.float32, tt.float64, tt.float16, tt.complex64])
def test_dropout_scales_what_it_keeps_and_its_gradient_alike(dtype):
    x = tt.ones(3, 1001, dtype=dtype).t().requires_grad_()
    tt.manual_seed(3)
    y = tt.nn.functional.dropout(x, 0.25)
    y.backward(tt.ones_like(y))
    tt.manual_seed(3)
    kept = tt.empty(1001, 3, dtype=dtype.to_real()).bernoulli_(0.75)
    wanted = (kept * (1 / 0.75)).to(dtype)
    assert tt.equal(y, wanted)
    assert tt.equal(x.grad, wanted)


def test_dropout_keeps_what_numpys_kernel_keeps():
    x = np.random.default_rng(0).standard_normal((100, 77)).astype("f4")
    x[0, :4] = np.inf, -np.inf, np.nan, -0.0
    for p in (0.0, 0.3, 1.0):
        tt.manual_seed(5)
        found, mask = native.native_dropout(x, p, True)
        tt.manual_seed(5)
        wanted, kept = quietly(reference.native_dropout)(x, p, True)
        np.testing.assert_array_equal(mask, kept)
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(native.native_dropout(x, 0.3, False)[0], x)


def test_threads_change_no_number():
    threads = load("threads")
    before = threads.get_num_threads()
    drawn = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            drawn.append(
                [
                    native.rand((300_001,), generator(), SINGLE),
                    native.randn((300_001,), generator(), DOUBLE),
                    native.randint(0, 77, (300_001,), generator(), np.dtype("i4")),
                    native.randperm(300_001, generator(), np.dtype("i8")),
                ]
            )
    finally:
        threads.set_num_threads(before)
    for others in drawn[1:]:
        for one, other in zip(drawn[0], others, strict=True):
            assert bits(one) == bits(other)
