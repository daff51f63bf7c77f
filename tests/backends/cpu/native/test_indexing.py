"""Reading at places in C: what NumPy's kernels read, of every dtype, from whatever memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cpu.native.places import BFLOAT, DTYPES, SHAPES, expect_equal, layouts, outcome, whole
from tt.backends.cpu import indexing as reference
from tt.backends.cpu import scattering
from tt.backends.cpu.native.loading import load, status

native = load("indexing")
pytestmark = pytest.mark.skipif(native is None, reason=f"native kernels are not built: {status().reason}")

rng = np.random.default_rng(0)


def numpys(name: str):
    """Return NumPy's kernel; that of embedding lies in the family of its gradient."""
    return getattr(scattering if name == "embedding" else reference, name)


def same(name: str, *arguments) -> np.ndarray:
    found, wanted = (outcome(kernel, *arguments) for kernel in (getattr(native, name), numpys(name)))
    expect_equal(found, wanted, (name, *arguments))
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elements_along_a_dimension(shape, dtype):
    for x in layouts(whole(rng, shape, dtype)):
        for dim in range(-len(shape), len(shape)):
            axis = dim % len(shape)
            smaller = [9 if d == axis else max(1, n - 1) for d, n in enumerate(shape)]
            places = rng.integers(0, shape[axis], smaller)
            for index in (places, places.astype("i4"), np.asfortranarray(places), places[..., :0]):
                same("gather", x, dim, index)
            vector = rng.integers(0, shape[axis], 11)
            for index in (vector, vector.astype("i4"), vector[::2], vector[:0], np.asarray(vector[0])):
                assert same("index_select", x, dim, index).flags.c_contiguous
        same("take", x, rng.integers(-x.size, x.size, (3, 7)))
        same("take", x, np.asarray(-1))
        if x.ndim == 2:
            same("embedding", x, rng.integers(0, shape[0], (2, 3)), None, False, False)
            same("embedding", x, np.asarray(1), None, False, False)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "c16"])
def test_many_places_of_which_one_is_negative_or_outside(dtype):
    x = whole(rng, (3, 2000), dtype)
    places = rng.integers(0, 2000, (3, 1700))
    same("gather", x, 1, places)
    same("take", x, places)
    for wrong in (-1, -2000, 2000, 6000):
        places[2, 1601] = wrong
        same("gather", x, 1, places)
        same("take", x, places)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "c16"])
@pytest.mark.parametrize("columns", [1, 3, 16, 32, 64, 65, 200, 1000])
def test_rows_of_any_width(dtype, columns):
    x = whole(rng, (40, columns), dtype)
    for count in (1, 7, 8, 9, 500):
        places = rng.integers(0, 40, count)
        same("embedding", x, places, None, False, False)
        same("index_select", x, 0, places)
        same("index_select", x[:, ::2], 0, places[::-1])
        same("index", x, [places])
        for place in {0, count - 1, count // 2}:  # also where rows are fetched ahead of their turn
            for wrong in (-1, 40, 2**62, -(2**62)):
                bad = places.copy()
                bad[place] = wrong
                same("embedding", x, bad, None, False, False)
                same("index_select", x, 0, bad)


def indices_of(shape):
    """Yield advanced indices: one tensor, several next to each other or apart, masks over one or all dimensions."""
    mask = rng.random(shape) < 0.3
    yield [rng.integers(-shape[0], shape[0], (2, 3))]
    yield [np.asarray(-1)]
    yield [mask]
    yield [np.zeros(shape, bool)]
    yield [np.ones(shape, bool)]
    if len(shape) > 1:
        rows, columns = rng.integers(-shape[0], shape[0], (4, 1)), rng.integers(-shape[1], shape[1], 3)
        yield [mask[..., 0]] if len(shape) == 2 else [None, mask[0, :, 0]]
        yield [None, columns]
        yield [rows, columns]
        yield [np.asarray(0), columns]
        yield [None, rng.random(shape[1]) < 0.5]
        yield [rng.random(shape[0]) < 0.5, np.asarray(1)]
    if len(shape) > 2:
        last = rng.integers(0, shape[2], 3)
        yield [rows, None, last]
        yield [None, columns, last]
        yield [rows, columns, last]
        yield [mask[..., 0]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_advanced_indexing_reads_and_writes(shape, dtype):
    for x in layouts(whole(rng, shape, dtype)):
        for index in indices_of(shape):
            found = same("index", x, index)
            if not isinstance(found, np.ndarray):
                continue
            assert found.flags.c_contiguous
            row = whole(rng, found.shape[-1:], dtype)
            for values in (
                whole(rng, (), dtype),
                whole(rng, found.shape, dtype),
                np.broadcast_to(row, found.shape),
            ):
                for accumulate in (False, True):
                    one, other = x.copy("K"), x.copy("K")
                    native.index_put(one, index, values, accumulate)
                    reference.index_put(other, index, values, accumulate)
                    expect_equal(one, other, (index, accumulate))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_masks(shape, dtype):
    number = True if dtype.kind == "b" else 2.5 if dtype.kind == "f" or dtype == BFLOAT else 3
    for x in layouts(whole(rng, shape, dtype)):
        mask = rng.random(shape) < 0.4
        for where in (
            mask,
            mask[..., :1],
            mask[-1:],
            np.asfortranarray(mask),
            np.asarray(True),
            mask[..., :0],
        ):
            for value in (number, whole(rng, (), dtype)):
                same("masked_fill", x, where, value)
                one, other = x.copy("K"), x.copy("K")
                assert outcome(native.masked_fill_inplace, one, where, value) == outcome(
                    reference.masked_fill_inplace, other, where, value
                )
                expect_equal(one, other)
            same("masked_select", x, where)
        found, wanted = native.nonzero(x), reference.nonzero(x)
        expect_equal(found, wanted)
        assert found.strides == wanted.strides


@pytest.mark.parametrize("density", [0.0, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 4099])
def test_masks_of_any_density_and_length(size, density):
    x, mask = rng.standard_normal(size), rng.random(size) < density
    expect_equal(native.masked_select(x, mask), x[mask])
    expect_equal(native.nonzero(mask), np.argwhere(mask))


def test_special_values_keep_their_bits():
    x = np.array([np.nan, -0.0, np.inf, 5e-324], "f8").view("i8")
    doubles = x.view("f8")
    order = np.array([3, 1, 0, 2])
    assert native.gather(doubles, 0, order).view("i8").tolist() == x[order].tolist()
    assert native.masked_select(doubles, np.ones(4, bool)).view("i8").tolist() == x.tolist()
    expect_equal(native.nonzero(doubles), np.argwhere(doubles))


def test_counts_that_repeat_places():
    for dtype in ("i8", "i4"):
        same("repeat_interleave", np.array([2, 0, 3], dtype), None)
        same("repeat_interleave", np.array([2, 0, 3], dtype)[::-1], 5)
        same("repeat_interleave", np.array([2, -1], dtype), None)
        same("repeat_interleave", np.array([2, 1], dtype), 4)


WRONG = {
    "gather": (np.zeros(5), 0, np.array([5])),
    "gather nothing": (np.zeros((0, 5)), 0, np.zeros((1, 5), int)),
    "gather rows": (np.zeros((2, 5)), 0, np.zeros((1, 6), int)),
    "gather floats": (np.zeros(5), 0, np.zeros(1)),
    "index_select": (np.zeros(5), 0, np.array([-1])),
    "index_select dim": (np.zeros(5), 1, np.array([0])),
    "take": (np.zeros(4), np.array([4])),
    "take nothing": (np.zeros(0), np.array([0])),
    "embedding": (np.zeros((4, 2)), np.array([4]), None, False, False),
    "index": (np.zeros((5, 5)), [np.array([7])]),
    "index both": (np.zeros((5, 5)), [np.array([1]), np.array([-7])]),
    "index many": (np.zeros(5), [np.array([1]), np.array([1])]),
    "index_put": (np.zeros((5, 5)), [np.array([7])], np.ones(()), False),
    "index_put values": (np.zeros((5, 5)), [np.array([1])], np.ones(3), False),
    "masked_select": (np.zeros(3), np.zeros(2, bool)),
    "masked_select floats": (np.zeros(3), np.zeros(3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_are_those_of_numpys_kernels(name):
    arguments = WRONG[name]
    found = outcome(getattr(native, name.split()[0]), *arguments)
    assert isinstance(found, tuple)
    assert found == outcome(numpys(name.split()[0]), *arguments)


def test_a_wrong_place_leaves_the_target_as_it_was():
    target = np.arange(1000.0)
    index = np.arange(1000)
    index[700] = 1000
    assert isinstance(outcome(native.index_put, target, [index], np.zeros(1000), False), tuple)
    assert target.tolist() == list(range(1000))


def test_a_source_that_is_the_target_is_read_before_it_is_written():
    one, other = np.arange(8.0), np.arange(8.0)
    native.index_put(one, [np.arange(1, 8)], one[:-1], False)
    reference.index_put(other, [np.arange(1, 8)], other[:-1], False)
    expect_equal(one, other)


def test_threads_change_no_result():
    threads = load("threads")
    before = threads.get_num_threads()
    x, index = rng.standard_normal((700, 500)).astype("f4"), rng.integers(0, 500, (700, 500))
    found = []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            sums = x.copy()
            native.index_put(sums, [index[:, 0] % 7], x, True)
            found.append((native.gather(x, 1, index), sums, native.masked_fill(x, x > 0, 1.0)))
    finally:
        threads.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert one.tobytes() == other.tobytes()
