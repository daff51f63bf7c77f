"""Random numbers and dropout: on the host behind the shim, against the CPU's numbers and published vectors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tt
from tests.backends.cuda.running import Running, prepared
from tests.backends.cuda.test_sorting import STEPS
from tt.backends.cpu import random as cpu
from tt.backends.cuda import random
from tt.backends.cuda.launch.gather_scatter import INDEXING
from tt.backends.cuda.launch.programs import Program
from tt.backends.cuda.random import RANDOM
from tt.backends.cuda.sorting import SORTING
from tt.core import errors
from tt.core.library import Generator

FLOATING = ("float16", "bfloat16", "float32", "float64")
KERNELS = [
    *(f"draw_{name}<{dtype}>" for name in ("uniform", "normal", "exponential") for dtype in FLOATING),
    *(f"draw_integers<{dtype}, {n}>" for dtype in ("int64", "uint8", "float32", "bool", "float16") for n in (2, 4)),
    *(f"draw_below<{dtype}>" for dtype in ("float16", "bfloat16", "float32", "int64", "bool")), "draw_words",
    *(f"draw_bernoulli<{dtype}, {dtype}>" for dtype in FLOATING), "draw_bernoulli<int64, float32>",
    *(f"drop_elements<{dtype}, 1>" for dtype in FLOATING), *(f"drop_gradient<{dtype}, 1>" for dtype in FLOATING),
    *(f"draw_by_function<{dtype}, {name}>" for dtype in ("float16", "float32") for name in ("Cauchy", "Geometric")),
    *(f"draw_log_normal<{dtype}>" for dtype in ("float16", "float32")),
    "pick_places", *(f"{name}<{dtype}>" for name in ("check_weights", "draw_rates") for dtype in FLOATING),
    *(f"{name}<{dtype}, 2>" for name in ("drop_elements", "drop_gradient") for dtype in ("float32", "float64")),
]  # fmt: skip
REST = [
    *(f"draw_integers<{dtype}, {n}>" for n in (2, 4)
      for dtype in ("int8", "int16", "int32", "uint16", "uint32", "uint64", "float64", "bfloat16")),
    *(f"draw_below<{dtype}>" for dtype in ("float64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")),
    *(f"draw_bernoulli<{dtype}, {p}>" for dtype in ("bool", "uint8", "int32", "float16", "float64")
      for p in FLOATING if p != dtype),
]  # fmt: skip
SEED = 2**63 + 2**33 + 5
OFFSET = 2**32 - 2  # the counter passes into its second word
COUNTS = (0, 1, 2, 3, 4, 5, 1023, 1030)
TYPES = {name: np.dtype(getattr(ml_dtypes, name, name)) for name in (*FLOATING, "complex64", "complex128")}


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, RANDOM, [*KERNELS, "write_state"])
    prepared(host_engine, SORTING, STEPS)
    prepared(
        host_engine,
        INDEXING,
        [f"{k}_places<{u}, int32, 0>" for k in ("take", "put") for u in ("uint8", "uint32", "Unit16")],
    )


@pytest.fixture
def run(host_backend):
    return Running(host_backend, random)


@pytest.fixture
def generators():
    """Two generators in the same state, one of the device and one of the host."""

    def make():
        found = Generator("cuda").manual_seed(SEED), Generator("cpu").manual_seed(SEED)
        for generator in found:
            generator.set_offset(OFFSET)
        return found

    return make


def test_the_words_are_those_that_the_authors_published(host_backend, tmp_path):
    (tmp_path / "known.cuh").write_text(
        '#include "random.cuh"\n__global__ void known(uint64* out, int64 seed, int64 block) {'
        " Words found = philox(uint64(seed), uint64(block));"
        " for (int i = 0; i < 4; i++) out[i] = found.w[i]; }"
    )
    for name in ("random.cuh", "common.cuh", "failures.cuh"):
        (tmp_path / name).write_text((RANDOM.folder / name).read_text())
    out = host_backend.empty((4,), np.uint64)
    Program("known.cuh", folder=tmp_path).kernel("known")(host_backend, (1,), (1,), (out, 0, 0))
    # Counter and key zero: Random123's kat_vectors, philox 4x32 10.
    assert [f"{word:08x}" for word in out.array] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("name", TYPES)
def test_uniform_numbers_are_those_of_the_cpu_bit_by_bit(run, generators, name):
    for count in COUNTS:
        ours, theirs = generators()
        np.testing.assert_array_equal(
            run("rand", (count,), ours, TYPES[name]), cpu.rand((count,), theirs, TYPES[name])
        )
        assert ours.get_offset() == theirs.get_offset()
        like = np.zeros((1, count), TYPES[name])
        found, expected = run("uniform", like, -1.3, 2.9, ours), cpu.uniform(like, -1.3, 2.9, theirs)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", TYPES)
def test_normal_numbers_are_those_of_the_cpu_up_to_the_last_digits(run, generators, name):
    eps = {"float16": 2**-10, "bfloat16": 2**-7, "float64": 2**-52, "complex128": 2**-52}.get(name, 2**-23)
    wide = np.complex128 if "complex" in name else np.float64
    for count in COUNTS:
        ours, theirs = generators()
        found, expected = run("randn", (count,), ours, TYPES[name]), cpu.randn((count,), theirs, TYPES[name])
        assert ours.get_offset() == theirs.get_offset()
        np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=4 * eps, atol=16 * eps)
        like = np.zeros((count, 1), TYPES[name])
        found, expected = run("normal", like, 0.3, 2.5, ours), cpu.normal(like, 0.3, 2.5, theirs)
        np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=4 * eps, atol=16 * eps)


@pytest.mark.filterwarnings("ignore:randint")  # float32 lacks some of the integers
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "bool", "float16"])
def test_integers_are_those_of_the_cpu(run, generators, dtype):
    bounds = [(0, 2), (0, 1)] if dtype == "bool" else [(0, 7), (3, 250)]
    bounds += (
        [(-9, 100), (-(2**31), 2**31), (0, 2**40), (-(2**62), 2**62 + 5)]
        if dtype in ("int64", "float32")
        else []
    )
    for low, high in bounds:
        for count in COUNTS:
            ours, theirs = generators()
            found = run("randint.low", low, high, (count,), ours, np.dtype(dtype))
            np.testing.assert_array_equal(found, cpu.randint(low, high, (count,), theirs, np.dtype(dtype)))
            assert ours.get_offset() == theirs.get_offset()


def test_integers_span_all_of_int64(run, generators):
    ours, theirs = generators()
    found = run("randint.low", -(2**63), 2**63 - 1, (100,), ours, np.dtype(np.int64))
    np.testing.assert_array_equal(found, cpu.randint(-(2**63), 2**63 - 1, (100,), theirs, np.dtype(np.int64)))


def test_permutations_are_those_of_the_cpu(run, generators):
    for n in (0, 1, 2, 97):
        for dtype in (np.int64, np.int32, np.float32):
            ours, theirs = generators()
            found = run("randperm", n, ours, np.dtype(dtype))
            np.testing.assert_array_equal(found, cpu.randperm(n, theirs, np.dtype(dtype)))


@pytest.mark.parametrize("name", FLOATING)
def test_bernoulli_numbers_are_those_of_the_cpu(run, generators, name):
    probabilities = np.random.default_rng(1).random((31, 33)).astype(TYPES[name])
    probabilities[0, :4] = (0, 1, 0, 1)
    for p in (probabilities, probabilities.T):
        ours, theirs = generators()
        np.testing.assert_array_equal(run("bernoulli", p, ours), cpu.bernoulli(p, theirs))
    ours, theirs = generators()
    found = run("bernoulli.p", probabilities, 0.3, ours)
    np.testing.assert_array_equal(found, cpu.bernoulli_p(probabilities, 0.3, theirs))
    assert (
        run("bernoulli.p", probabilities, 1.0, ours).all()
        and not run("bernoulli.p", probabilities, 0.0, ours).any()
    )
    like = np.zeros((31, 33), np.int64)
    ours, theirs = generators()
    p = probabilities.astype(np.float32)
    np.testing.assert_array_equal(
        run("bernoulli.Tensor", like, p, ours), cpu.bernoulli_tensor(like, p, theirs)
    )


@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_what_is_no_probability_is_found_on_the_device(run, generators, wrong):
    with pytest.raises(errors.ValueRangeError, match="probabilities lie between 0 and 1"):
        run("bernoulli", np.array([0.5, wrong], np.float32), generators()[0])


@pytest.mark.parametrize("name", FLOATING)
def test_exponential_numbers_are_those_of_the_cpu_up_to_the_last_digit(run, generators, name):
    like = np.zeros((1030,), TYPES[name])
    ours, theirs = generators()
    found, expected = (
        f("exponential", like, 2.5, g) for f, g in ((run, ours), (lambda op, *a: cpu.exponential(*a), theirs))
    )
    eps = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}[name]
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=2 * eps)


@pytest.mark.parametrize("name", [
    "float32", "float16",
    *(pytest.param(n, marks=pytest.mark.exhaustive) for n in ("bfloat16", "float64", "uint8", "int64")),
])  # fmt: skip
def test_distributions_have_the_numbers_of_the_cpu(run, generators, name):
    like, other = (
        np.zeros(1031, TYPES.get(name, np.dtype(name) if name != "bfloat16" else None)),
        tt.zeros(1031),
    )
    other = other.to(getattr(tt, name))
    for op, args in (("cauchy", (1.5, 0.5)), ("log_normal", (0.5, 1.25)), ("geometric", (0.01,))):
        if op != "geometric" and "int" in name:
            continue
        ours, theirs = generators()
        expected = getattr(other.clone(), f"{op}_")(*args, generator=theirs).double().numpy()
        found = run(op, like, *args, ours).astype(np.float64)
        np.testing.assert_allclose(found, expected, rtol=1e-15 if "int" in name else np.finfo(np.float32).eps)


@pytest.mark.parametrize("name", TYPES)
def test_dropout_keeps_what_the_cpu_keeps(run, name, monkeypatch):
    x = np.random.default_rng(2).standard_normal((13, 17)).astype(TYPES[name])
    for state in (x, x.T, x[:, ::2]):
        for p in (0.0, 0.3, 1.0):
            ours, theirs = Generator("cuda").manual_seed(3), Generator("cpu").manual_seed(3)
            monkeypatch.setattr(random, "reserve", lambda g, n, d, ours=ours: ours.reserve(n))
            monkeypatch.setattr(cpu, "reserve", lambda g, n, d, theirs=theirs: theirs.reserve(n))
            out, mask = run("native_dropout", state, p, True)
            expected, kept = cpu.native_dropout(state, p, True)
            np.testing.assert_array_equal(mask, kept)
            np.testing.assert_array_equal(out, expected)
            back = run("native_dropout_backward", state, mask, 1.7)
            np.testing.assert_array_equal(back, cpu.native_dropout_backward(state, mask, 1.7))
    out, mask = run("native_dropout", x, 0.5, False)
    assert mask.all() and (out == x).all()


def test_dropout_of_nothing_launches_nothing(run, host_engine):
    before = len(host_engine.launches)
    out, mask = run("native_dropout", np.zeros((0, 3), np.float32), 0.5, True)
    assert out.shape == mask.shape == (0, 3) and len(host_engine.launches) == before


@pytest.mark.parametrize(
    ("op", "args", "kind"),
    [
        ("uniform", (np.zeros(2), 2.0, 1.0, None), errors.ValueRangeError),
        ("normal", (np.zeros(2), 0.0, -1.0, None), errors.ValueRangeError),
        ("bernoulli.p", (np.zeros(2), 1.5, None), errors.ValueRangeError),
        ("exponential", (np.zeros(2), 0.0, None), errors.ValueRangeError),
        ("cauchy", (np.zeros(2), 0.0, 0.0, None), errors.ValueRangeError),
        ("log_normal", (np.zeros(2), 0.0, 0.0, None), errors.ValueRangeError),
        ("geometric", (np.zeros(2), 1.0, None), errors.ValueRangeError),
        ("randint.low", (3, 3, (2,), None, np.dtype(np.int64)), errors.ShapeError),
        ("randint.low", (0, 300, (2,), None, np.dtype(np.uint8)), errors.DtypeError),
        ("randperm", (-1, None, np.dtype(np.int64)), ValueError),
        ("rand", ((-1,), None, np.dtype(np.float32)), ValueError),
    ],
)  # fmt: skip
def test_what_the_cpu_refuses_is_refused(run, op, args, kind):
    with pytest.raises(kind):
        run(op, *args)


def test_the_grid_changes_no_number(run, generators, monkeypatch):
    expected = run("randn", (5000,), generators()[0], TYPES["float32"])
    monkeypatch.setattr(random, "grid_of", lambda count: (2,))
    np.testing.assert_array_equal(run("randn", (5000,), generators()[0], TYPES["float32"]), expected)


# --- places by their weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("name", FLOATING)
def test_places_drawn_by_weights_are_those_of_the_cpu(run, generators, name, replacement):
    rng = np.random.default_rng(3)
    for shape, samples in (((40,), 9), ((3, 1030), 700), ((2, 3, 5), 1), ((0, 4), 2)):
        weights = (rng.random(shape) * (rng.random(shape) < 0.8) + (np.arange(shape[-1]) == 2)).astype(
            TYPES[name]
        )
        ours, theirs = generators()
        found = run("multinomial", weights, samples, replacement, ours)
        np.testing.assert_array_equal(found, cpu.multinomial(weights, samples, replacement, theirs))
        assert found.dtype == np.int64
        assert ours.get_offset() == theirs.get_offset()


def test_places_without_a_weight_are_never_drawn(run, generators):
    weights = np.zeros(600)
    weights[[7, 300, 599]] = 1e-300, 1e-290, 3e-290
    assert set(run("multinomial", weights, 5000, True, generators()[0])) == {300, 599}
    wide = np.zeros((1, 9000), np.float32)
    wide[0, 4321] = 0.1
    assert (run("multinomial", wide, 100, True, generators()[0]) == 4321).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_weights_that_are_none_are_refused(run, generators, replacement):
    for wrong in (-1.0, np.inf, np.nan):
        weights = np.array([[1.0, 2.0], [3.0, wrong]], np.float32)
        with pytest.raises(errors.ValueRangeError, match="a weight is negative, infinite or not a number"):
            run("multinomial", weights, 1, replacement, generators()[0])
    with pytest.raises(errors.ValueRangeError, match="the weights of a row are all zero"):
        run("multinomial", np.array([[1.0, 2.0], [0.0, 0.0]]), 1, replacement, generators()[0])


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_source_compiles_for_gpus(nvrtc, arch):
    names = KERNELS[::3] if arch == "sm_80" else KERNELS[1::3]
    assert set(nvrtc.compile_source(RANDOM.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_of_the_source_compiles_for_gpus(nvrtc, arch):
    names = [*KERNELS, *REST]
    assert set(nvrtc.compile_source(RANDOM.source, names, arch).names) == set(names)


def test_kernels_of_a_graph_count_from_its_state(host_backend):
    class Numbers:
        """The result of a capture: seed and offset in memory, and counters from there."""

        state = host_backend.empty((2,), np.uint64)

        def is_capturing(self):
            return True

        def reserve(self, generator, count):
            first = generator.get_offset()
            return 0, generator.reserve(count)[1] - first + 7, self.state.data_ptr

    generator = Generator("cuda").manual_seed(SEED)
    generator.set_offset(OFFSET)
    expected = [Running(host_backend, random)("rand", (9,), generator, np.dtype(np.float32))]
    host_backend.captured_numbers = Numbers()
    address = np.uint64(Numbers.state.data_ptr)
    for seed, offset in ((SEED, OFFSET - 7), (SEED + 1, OFFSET - 7)):
        RANDOM.kernel("write_state")(host_backend, (1,), (1,), (address, np.uint64(seed), np.uint64(offset)))
        expected.append(Running(host_backend, random)("rand", (9,), generator, np.dtype(np.float32)))
    np.testing.assert_array_equal(expected[0], expected[1])
    assert (expected[0] != expected[2]).any()
