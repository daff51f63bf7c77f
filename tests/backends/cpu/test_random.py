"""Random numbers: the published answers of Philox, the same numbers by every way, and their distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import tt
from tt.backends.array_api.random import philox, words_of
from tt.backends.cpu.random import word_pieces

# From the file kat_vectors of Random123, the authors' implementation: counter, key, result.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_philox_gives_the_published_answers(counter, key, result):
    words = philox(np, [np.array([c], np.uint64) for c in counter], key)
    assert tuple(int(w[0]) for w in words) == result


def in_pieces(seed: int, offset: int, count: int) -> np.ndarray:
    return np.concatenate(
        [np.empty(0, np.uint32), *(words.copy() for _, words in word_pieces(seed, offset, count))]
    )


def test_the_words_of_a_call_begin_at_the_offset():
    first = KNOWN[0][2]
    assert in_pieces(0, 0, 4).tolist() == list(first)
    assert in_pieces(7, 3, 8)[4:].tolist() == in_pieces(7, 4, 4).tolist()


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 40_000))
def test_the_words_made_in_pieces_are_those_of_the_standard_functions(seed, offset, count):
    np.testing.assert_array_equal(in_pieces(seed, offset, count), words_of(np, seed, offset, count))


# --- the seed decides ----------------------------------------------------------------------------------------------

DRAWS = {
    "rand": lambda g: tt.rand(1001, generator=g),
    "rand double": lambda g: tt.rand(1001, generator=g, dtype=tt.float64),
    "rand half": lambda g: tt.rand(1001, generator=g, dtype=tt.float16),
    "rand bfloat16": lambda g: tt.rand(1001, generator=g, dtype=tt.bfloat16),
    "rand complex": lambda g: tt.rand(1001, generator=g, dtype=tt.complex64),
    "randn": lambda g: tt.randn(1001, generator=g),
    "randn double": lambda g: tt.randn(1001, generator=g, dtype=tt.float64),
    "randn complex": lambda g: tt.randn(1001, generator=g, dtype=tt.complex128),
    "randint": lambda g: tt.randint(0, 7, (1001,), generator=g),
    "randint, far": lambda g: tt.randint(-(2**62), 2**62, (1001,), generator=g),
    "randperm": lambda g: tt.randperm(1001, generator=g),
    "bernoulli": lambda g: tt.bernoulli(tt.linspace(0, 1, 1001), generator=g),
    "bernoulli_": lambda g: tt.zeros(1001).bernoulli_(0.25, generator=g),
    "normal_": lambda g: tt.zeros(1001).normal_(2, 3, generator=g),
    "uniform_": lambda g: tt.zeros(1001).uniform_(-2, 3, generator=g),
    "uniform_ complex": lambda g: tt.zeros(1001, dtype=tt.complex64).uniform_(-2, 3, generator=g),
    "rand_like": lambda g: tt.rand_like(tt.zeros(7, 11).t(), generator=g),
    "randn_like": lambda g: tt.randn_like(tt.zeros(1001), generator=g),
    "randint_like": lambda g: tt.randint_like(tt.zeros(1001), 3, 9, generator=g),
    "bernoulli_ of a tensor": lambda g: tt.zeros(3, 1001).bernoulli_(tt.linspace(0, 1, 1001), generator=g),
    "bernoulli_ of doubles": lambda g: tt.zeros(1001).bernoulli_(
        tt.linspace(0, 1, 1001, dtype=tt.float64), generator=g
    ),
    "exponential_": lambda g: tt.zeros(1001).exponential_(2, generator=g),
    "exponential_ double": lambda g: tt.zeros(1001, dtype=tt.float64).exponential_(generator=g),
    "exponential_ half": lambda g: tt.zeros(1001, dtype=tt.float16).exponential_(generator=g),
    "normal of tensors": lambda g: tt.normal(tt.arange(1001.0), tt.ones(1001), generator=g),
    "normal of a size": lambda g: tt.normal(1.0, 2.0, (1001,), generator=g),
    "multinomial": lambda g: tt.multinomial(tt.arange(1.0, 1002), 1000, generator=g),
    "multinomial, one each": lambda g: tt.multinomial(tt.ones(1001, 3), 1, generator=g),
    "multinomial with replacement": lambda g: tt.multinomial(tt.arange(50.0), 1001, True, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_gives_the_same_numbers(name):
    generator = tt.Generator().manual_seed(5)
    first, second = DRAWS[name](generator), DRAWS[name](generator)
    assert tt.equal(first, DRAWS[name](generator.manual_seed(5)))
    assert not tt.equal(first, second)
    assert not tt.equal(first, DRAWS[name](generator.manual_seed(6)))


@pytest.mark.parametrize("name", DRAWS)
def test_composites_draw_the_numbers_of_kernels(name):
    generator = tt.Generator().manual_seed(5)
    kernels = DRAWS[name](generator)
    with tt.mask_kernels("@non-core"):
        assert tt.equal(DRAWS[name](generator.manual_seed(5)), kernels)


def test_a_call_takes_as_many_counters_as_it_needs():
    generator = tt.Generator().manual_seed(0)
    for count, words in ((5, 5), (4, 4), (0, 0), (9, 9)):
        before = generator.get_offset()
        tt.rand(count, generator=generator)
        assert generator.get_offset() - before == -(-words // 4)
    before = generator.get_offset()
    tt.rand(5, dtype=tt.float64, generator=generator)
    assert generator.get_offset() - before == 3


def test_elements_are_numbered_in_row_major_order_whatever_the_strides():
    generator = tt.Generator()
    contiguous = tt.zeros(3, 4).uniform_(generator=generator.manual_seed(1))
    turned = tt.zeros(4, 3).t()
    turned.uniform_(generator=generator.manual_seed(1))
    assert tt.equal(turned, contiguous)


# --- distributions -------------------------------------------------------------------------------------------------


def pvalue(sample: tt.Tensor, distribution: str, *parameters: float) -> float:
    # Not the name and the parameters: SciPy 1.18 passes those to a function of the standard distribution.
    cdf = getattr(scipy.stats, distribution)(*parameters).cdf
    return scipy.stats.kstest(sample.numpy().astype(np.float64), cdf).pvalue


@pytest.fixture
def generator() -> tt.Generator:
    return tt.Generator().manual_seed(12345)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rand_is_uniform(generator, dtype):
    x = tt.rand(50_000, dtype=getattr(tt, dtype), generator=generator)
    assert pvalue(x, "uniform") > 0.01 and x.min().item() >= 0 and x.max().item() < 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rand_in_half_precision_never_is_one(generator, dtype):
    x = tt.rand(100_000, dtype=getattr(tt, dtype), generator=generator).to(tt.float32)
    assert x.max().item() < 1 and x.min().item() == 0 and x.mean().item() == pytest.approx(0.5, abs=5e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_randn_is_normal(generator, dtype):
    x = tt.randn(50_001, dtype=getattr(tt, dtype), generator=generator)
    assert pvalue(x, "norm") > 0.01 and tt.isfinite(x).all().item()
    neighbours = np.corrcoef(x.numpy()[:-1:2], x.numpy()[1::2])[0, 1]
    assert abs(neighbours) < 0.02


def test_complex_normal_numbers_have_variance_one(generator):
    x = tt.randn(50_000, dtype=tt.complex64, generator=generator)
    assert tt.var(x).item() == pytest.approx(1, abs=0.03)
    assert (
        pvalue(tt.real(x), "norm", 0, math.sqrt(0.5)) > 0.01
        and pvalue(tt.imag(x), "norm", 0, math.sqrt(0.5)) > 0.01
    )


def test_uniform_and_normal_with_parameters(generator):
    assert pvalue(tt.empty(20_000).uniform_(-3, 5, generator=generator), "uniform", -3, 8) > 0.01
    assert pvalue(tt.empty(20_000).normal_(-3, 5, generator=generator), "norm", -3, 5) > 0.01


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponential(generator, dtype):
    x = tt.empty(50_000, dtype=getattr(tt, dtype)).exponential_(2.5, generator=generator)
    assert pvalue(x, "expon", 0, 1 / 2.5) > 0.01 and x.min().item() > 0
    assert not tt.empty(3).exponential_(math.inf).any().item()


def test_normal_with_parameters_of_each_element(generator):
    means, stds = tt.tensor([[-3.0], [7.0]]), tt.tensor([1.0, 5.0])
    drawn = {
        "both": tt.normal(means.expand(2, 20_000), tt.tensor([[1.0], [5.0]]), generator=generator),
        "means": tt.normal(means.expand(2, 20_000), 2.0, generator=generator),
        "deviations": tt.normal(1.5, stds.unsqueeze(1).expand(2, 20_000), generator=generator),
    }
    expected = {"both": ((-3, 1), (7, 5)), "means": ((-3, 2), (7, 2)), "deviations": ((1.5, 1), (1.5, 5))}
    for name, x in drawn.items():
        for row, parameters in zip(x, expected[name], strict=True):
            assert pvalue(row, "norm", *parameters) > 0.01, name
    assert pvalue(tt.normal(-1.0, 0.5, (20_000,), generator=generator), "norm", -1, 0.5) > 0.01
    assert tt.normal(tt.zeros(2, dtype=tt.float64), tt.ones(2)).dtype is tt.float64
    assert tt.normal(tt.zeros(2, 1), tt.ones(3)).shape == (2, 3)


def test_multinomial_with_replacement_draws_by_weight(generator):
    weights = tt.tensor([[1.0, 0.0, 2.0, 5.0], [0.0, 3.0, 3.0, 0.0]])
    drawn = tt.multinomial(weights, 40_000, True, generator=generator).numpy()
    for row, weight in zip(drawn, weights.numpy(), strict=True):
        counts = np.bincount(row, minlength=4)
        assert (counts[weight == 0] == 0).all()
        expected = weight[weight > 0] / weight.sum() * 40_000
        assert scipy.stats.chisquare(counts[weight > 0], expected).pvalue > 0.01


def test_multinomial_without_replacement_draws_each_index_once(generator):
    weights = tt.tensor([1.0, 2.0, 5.0])
    drawn = tt.multinomial(weights.expand(30_000, 3), 3, generator=generator).numpy()
    assert (np.sort(drawn, -1) == [0, 1, 2]).all()
    chance = {(a, b, c): weights.tolist()[a] / 8 * weights.tolist()[b] / (8 - weights.tolist()[a])
              for a, b, c in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))}  # fmt: skip
    counts = [(drawn == order).all(-1).sum() for order in chance]
    assert scipy.stats.chisquare(counts, [30_000 * p for p in chance.values()]).pvalue > 0.01
    assert tt.multinomial(tt.tensor([0.0, 4.0, 0.0]), 1).tolist() == [1]


def test_multinomial_never_draws_what_has_no_weight():
    with_gaps = tt.tensor([0.0, 1e-30, 0.0, 1.0, 0.0])
    assert set(tt.multinomial(with_gaps, 20_000, True).tolist()) == {3}
    assert set(tt.multinomial(tt.tensor([1.0, 1.0, 0.0]), 20_000, True).tolist()) == {0, 1}


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_dropout_keeps_the_mean(p):
    tt.manual_seed(3)
    x = tt.ones(100_000)
    dropped = tt.nn.functional.dropout(x, p)
    assert scipy.stats.binomtest(int((dropped == 0).sum().item()), 100_000, p).pvalue > 0.01
    assert dropped.unique().tolist() == [0, pytest.approx(1 / (1 - p))]


def test_dropout_in_place_and_at_its_ends():
    x = tt.ones(1000)
    assert tt.nn.functional.dropout(x, 0.5, inplace=True) is x and (x == 0).any().item()
    assert tt.nn.functional.dropout(x, 0.5, training=False) is x
    assert not tt.nn.functional.dropout(x, 1.0).any().item()
    with pytest.raises(ValueError, match="between 0 and 1"):
        tt.nn.functional.dropout(x, -0.5)
    with pytest.raises(RuntimeError):
        tt.nn.functional.dropout(tt.ones(3, dtype=tt.int64))


def test_the_gradient_of_dropout_is_its_mask():
    x = tt.ones(1000, requires_grad=True)
    y = tt.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    assert tt.equal(x.grad, y.detach())


def test_alpha_dropout_keeps_mean_and_variance():
    tt.manual_seed(3)
    x = tt.randn(200_000)
    y = tt.nn.functional.alpha_dropout(x, 0.3, training=True)
    assert y.mean().item() == pytest.approx(0, abs=0.01) and y.var().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("dropout1d", (20, 30, 4)), ("dropout2d", (20, 30, 4, 5)), ("dropout3d", (20, 30, 2, 2, 2))],
)
def test_channels_are_dropped_as_a_whole(name, shape):
    tt.manual_seed(3)
    y = getattr(tt.nn.functional, name)(tt.ones(*shape), 0.4).reshape(20, 30, -1)
    assert ((y == 0).all(-1) | (y != 0).all(-1)).all().item()
    dropped = int((y[:, :, 0] == 0).sum().item())
    assert scipy.stats.binomtest(dropped, 600, 0.4).pvalue > 0.01


@pytest.mark.parametrize(
    ("low", "high"), [(0, 7), (-5, 3), (0, 2), (2**40, 2**40 + 10), (0, 2**32), (-(2**63), 2**63 - 1)]
)
def test_randint_gives_every_integer_as_often(generator, low, high):
    x = tt.randint(low, high, (70_000,), generator=generator).numpy()
    assert x.dtype == np.int64 and x.min() >= low and x.max() < high
    bins = min(high - low, 64)
    place = [(int(v) - low) * bins // (high - low) for v in x]
    assert scipy.stats.chisquare(np.bincount(place, minlength=bins)).pvalue > 0.01


def test_randint_of_other_dtypes(generator):
    assert tt.randint(3, (10,), dtype=tt.float32, generator=generator).dtype is tt.float32
    assert set(tt.randint(0, 256, (5000,), dtype=tt.uint8, generator=generator).tolist()) == set(range(256))
    assert tt.randint(2**63, 2**64 - 1, (3,), dtype=tt.uint64, generator=generator).numpy().min() >= 2**63


def test_randperm_gives_every_order_as_often(generator):
    orders = [tuple(tt.randperm(3, generator=generator).tolist()) for _ in range(3000)]
    counts = np.unique([str(o) for o in orders], return_counts=True)[1]
    assert len(counts) == 6 and scipy.stats.chisquare(counts).pvalue > 0.01


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.75, 1.0])
def test_bernoulli(generator, p):
    for x in (
        tt.zeros(40_000).bernoulli_(p, generator=generator),
        tt.bernoulli(tt.full((40_000,), p), generator=generator),
    ):
        assert scipy.stats.binomtest(int(x.sum().item()), 40_000, p).pvalue > 0.01
        assert set(x.tolist()) <= {0.0, 1.0}


# --- generators ----------------------------------------------------------------------------------------------------


def test_manual_seed_starts_the_default_generator_anew():
    assert tt.manual_seed(3) is tt.default_generator
    first = tt.rand(3)
    assert tt.initial_seed() == 3
    tt.manual_seed(3)
    assert tt.equal(tt.rand(3), first)


def test_seeds_of_the_system_differ():
    assert tt.seed() != tt.seed() and tt.Generator().initial_seed() != tt.Generator().initial_seed()
    generator = tt.Generator()
    assert generator.seed() == generator.initial_seed()


def test_a_negative_seed_counts_from_the_end():
    assert tt.Generator().manual_seed(-1).initial_seed() == 2**64 - 1
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="a seed is from"):
            tt.manual_seed(wrong)
    with pytest.raises(TypeError):
        tt.manual_seed("seven")


def test_a_state_can_be_kept():
    tt.manual_seed(1)
    tt.rand(10)
    state = tt.get_rng_state()
    first = tt.randn(4)
    tt.set_rng_state(state)
    assert tt.equal(tt.randn(4), first) and state.dtype is tt.uint8 and state.numel() == 16
    for wrong in (tt.zeros(16), [1, 2]):
        with pytest.raises(TypeError, match="RNG state must be"):
            tt.set_rng_state(wrong)
    with pytest.raises(RuntimeError, match="wrong size"):
        tt.set_rng_state(state[:3])


def test_generators_are_independent_and_can_be_copied():
    import copy
    import pickle

    a = tt.Generator().manual_seed(9)
    tt.rand(5, generator=a)
    copies = [a.clone_state(), copy.deepcopy(a), pickle.loads(pickle.dumps(a))]
    expected = tt.rand(5, generator=a)
    for each in copies:
        assert tt.equal(tt.rand(5, generator=each), expected)


def test_a_generator_of_another_device_is_refused():
    with pytest.raises(RuntimeError, match="numbers for cpu come from a generator of cpu, not of meta"):
        tt.rand(2, generator=tt.Generator("meta"))


def test_threads_do_not_get_the_same_numbers():
    from concurrent.futures import ThreadPoolExecutor

    generator = tt.Generator().manual_seed(0)
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: tuple(tt.rand(4, generator=generator).tolist()), range(200)))
    assert len(set(drawn)) == 200 and generator.get_offset() == 200


# --- mistakes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: tt.randint(3, 3, (2,)),
        lambda: tt.randint(0, 300, (2,), dtype=tt.uint8),
        lambda: tt.randint(-1, 3, (2,), dtype=tt.uint8),
        lambda: tt.randperm(-1),
        lambda: tt.rand(-1),
        lambda: tt.zeros(2).bernoulli_(1.5),
        lambda: tt.bernoulli(tt.tensor([2.0])),
        lambda: tt.bernoulli(tt.tensor([math.nan])),
        lambda: tt.zeros(2).normal_(0, -1),
        lambda: tt.zeros(2).uniform_(1, 0),
        lambda: tt.rand(2, dtype=tt.int64),
        lambda: tt.rand_like(tt.zeros(2, dtype=tt.int64)),
        lambda: tt.randint(0, 3, (2,), dtype=tt.bool),
        lambda: tt.randint(65505, 65507, (2,), dtype=tt.float16),
        lambda: tt.randint(-65505, 0, (2,), dtype=tt.float16),
        lambda: tt.randint(0, 2**63, (2,)),
        lambda: tt.randint(0, 2**63, (2,), dtype=tt.float64),
        lambda: tt.randint_like(tt.zeros(2), 2**63),
        lambda: tt.randperm(300, dtype=tt.uint8),
        lambda: tt.randperm(3000, dtype=tt.float16),
        lambda: tt.zeros(2).uniform_(-3e38, 3e38),
        lambda: tt.zeros(2, dtype=tt.float16).uniform_(-65000, 65000),
        lambda: tt.zeros(2, dtype=tt.float64).uniform_(0, math.inf),
        lambda: tt.zeros(2, dtype=tt.complex64).uniform_(math.nan, 1),
        lambda: tt.zeros(2).exponential_(0),
        lambda: tt.zeros(2).exponential_(-1),
        lambda: tt.zeros(2, dtype=tt.int64).exponential_(),
        lambda: tt.zeros(2).bernoulli_(tt.tensor([0.5, 2.0])),
        lambda: tt.zeros(2).bernoulli_(tt.tensor([1, 0])),
        lambda: tt.zeros(2).bernoulli_(tt.rand(3)),
        lambda: tt.normal(tt.zeros(2), -1.0),
        lambda: tt.normal(0.0, tt.tensor([1.0, -1.0])),
        lambda: tt.normal(tt.zeros(2), tt.ones(3)),
        lambda: tt.normal(tt.zeros(2), tt.ones(2, dtype=tt.complex64)),
        lambda: tt.normal(tt.zeros(2, dtype=tt.int64), 1.0),
        lambda: tt.normal(0.0, -1.0, (2,)),
        lambda: tt.multinomial(tt.ones(2, dtype=tt.int64), 1),
        lambda: tt.multinomial(tt.zeros(2), 1),
        lambda: tt.multinomial(tt.tensor([1.0, math.nan]), 1),
        lambda: tt.multinomial(tt.tensor([1.0, math.inf]), 1, True),
        lambda: tt.multinomial(tt.ones(2), 3),
        lambda: tt.multinomial(tt.ones(2), 0),
        lambda: tt.multinomial(tt.ones(2, 2, 2), 1),
        lambda: tt.nn.functional.dropout1d(tt.ones(3)),
    ],
)
def test_mistakes_are_refused(call):
    with pytest.raises((RuntimeError, ValueError)) as error:
        call()
    assert isinstance(error.value, tt.library.errors.TTError)


def test_bounds_may_be_the_last_numbers_of_a_dtype():
    with pytest.warns(UserWarning, match="65504 is beyond 2048"):
        assert tt.randint(65504, 65505, (2,), dtype=tt.float16).tolist() == [65504.0] * 2
    assert tt.randint(2**64 - 1, 2**64, (2,), dtype=tt.uint64).tolist() == [2**64 - 1] * 2
    assert tt.randint(127, 128, (2,), dtype=tt.int8).tolist() == [127] * 2
