"""Kernels that read at places: on the host behind the shim, against NumPy and the CPU's kernels."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

from tests.backends.cuda.running import Running, prepared
from tt.backends.cpu import indexing as cpu
from tt.backends.cuda import indexing
from tt.backends.cuda.launch.gather_scatter import INDEXING
from tt.backends.cuda.runtime.device_asserts import Failures
from tt.core import errors

pytestmark = pytest.mark.sampled(10)

UNITS = ("uint8", "uint16", "uint32", "uint64", "Unit16")
COUNTED = ("bool", "int8", "float16", "bfloat16", "int32", "float32", "float64", "complex64", "complex128")
NAMES = [
    *(f"take_places<{unit}, int32, {k}>" for unit in UNITS for k in (0, 1, 2)),
    *(f"put_places<{unit}, int32, {k}>" for unit in UNITS for k in (0, 1)),
    *(f"{name}<{unit}, int32>" for unit in UNITS
      for name in ("fill_masked", "scatter_masked", "copy_triangle", "copy_rolled", "join_rows")),
    "sum_before<256>", *(f"count_true<{name}, 256>" for name in COUNTED),
    *(f"write_true<{name}, int32, 256>" for name in COUNTED),
    "take_places<uint32, int32, 3>", "put_places<uint32, int32, 2>", "find_places<int32, 1>", "find_places<int32, 2>",
]  # fmt: skip
"""The kernels that the tests of this folder launch, compiled at once."""

WIDE = [
    *(f"take_places<{unit}, int64, {k}>" for unit in UNITS for k in range(9)),
    *(f"take_places<{unit}, int32, {k}>" for unit in UNITS for k in range(3, 9)),
    *(f"put_places<{unit}, {j}, {k}>" for unit in UNITS for j in ("int32", "int64") for k in range(9)),
    *(f"find_places<{j}, {k}>" for j in ("int32", "int64") for k in range(1, 9)),
    *(f"{name}<{unit}, int64>" for unit in UNITS
      for name in ("fill_masked", "scatter_masked", "copy_triangle", "copy_rolled", "join_rows")),
    *(f"write_true<{name}, int64, 256>" for name in COUNTED),
    *(f"count_true<{name}, 256>" for name in ("uint8", "int16", "int64", "uint16", "uint32", "uint64")),
    *(f"write_true<{name}, {j}, 256>" for j in ("int32", "int64")
      for name in ("uint8", "int16", "int64", "uint16", "uint32", "uint64")),
]  # fmt: skip
"""What else can be launched."""

DTYPES = [
    np.bool_,
    np.int8,
    np.float16,
    ml_dtypes.bfloat16,
    np.int32,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, INDEXING, NAMES)


@pytest.fixture
def run(host_backend):
    return Running(host_backend, indexing)


def values(shape, dtype, seed=0):
    drawn = np.asarray(np.random.default_rng(seed).integers(-50, 50, (2, *shape)))
    real = np.dtype(dtype).kind != "c"
    return np.asarray(drawn[0] if real else drawn[0] + 1j * drawn[1]).astype(dtype)


def variants(array):
    """Return the same elements in different layouts of memory."""
    yield array
    yield np.asfortranarray(array)
    padded = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)
    padded[..., 1::2] = array
    yield padded[..., 1::2]
    yield np.ascontiguousarray(array[::-1])[::-1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_reads_along_each_dimension(run, dtype):
    rng = np.random.default_rng(1)
    for shape, index_shape in (((5, 7), (3, 7)), ((5, 7, 3), (5, 2, 3)), ((4,), (9,))):
        for x in variants(values(shape, dtype)):
            dim = next(d for d, (n, m) in enumerate(zip(shape, index_shape, strict=True)) if n != m)
            for kind in (np.int64, np.int32):
                index = rng.integers(0, shape[dim], index_shape).astype(kind)
                np.testing.assert_array_equal(run("gather", x, dim, index), cpu.gather(x, dim, index))
                turned = np.asfortranarray(index)
                np.testing.assert_array_equal(
                    run("gather", x, dim - len(shape), turned), cpu.gather(x, dim, index)
                )


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_selected(run, dtype):
    index = np.array([4, 0, 0, 3])
    for shape in ((5, 8), (5, 3), (5,), (5, 2, 3)):
        for x in variants(values(shape, dtype)):
            np.testing.assert_array_equal(run("index_select", x, 0, index), np.take(x, index, 0))
    for x in variants(values((3, 5, 16), dtype)):
        np.testing.assert_array_equal(run("index_select", x, 1, index[::2]), np.take(x, index[::2], 1))
        np.testing.assert_array_equal(run("index_select", x, -2, np.array(2)), x[:, 2:3])


@pytest.mark.filterwarnings("ignore:indexing with dtype uint8")
@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.complex128])
def test_advanced_indices_are_those_of_numpy(run, dtype):
    rng = np.random.default_rng(2)
    base = values((4, 5, 6, 2), dtype)
    one, two = rng.integers(-4, 4, (3, 1)), rng.integers(-5, 5, (2,))
    mask = rng.integers(0, 2, (4, 5)).astype(bool)
    keys = [
        [one], [one, two], [None, two], [None, two, None], [one, None, rng.integers(0, 6, (3, 2))],
        [None, None, None, one % 2],
        [mask], [None, None, np.array([True, False, True, True, False, False])], [np.array(2)], [np.array(-1), two],
        [one.astype(np.int32), two], [mask.astype(np.uint8), rng.integers(0, 6, ())], [np.zeros((0,), np.int64)],
    ]  # fmt: skip
    for key, x in itertools.product(keys, variants(base)):
        place = tuple(slice(None) if k is None else k.astype(bool) if k.dtype == np.uint8 else k for k in key)
        np.testing.assert_array_equal(run("index", x, key), x[place])
    for truth in (np.array(True), np.array(False)):
        np.testing.assert_array_equal(run("index", base, [truth]), base[truth])


def test_flat_places_are_taken(run):
    x = values((4, 5), np.float32)
    index = np.array([[0, -1], [7, -20]])
    for y in variants(x):
        np.testing.assert_array_equal(run("take", y, index), np.take(x, index))


def test_tensors_without_elements_launch_nothing(run, host_engine):
    before = len(host_engine.launches)
    empty = np.zeros((0, 3), np.float32)
    assert run("gather", empty, 0, np.zeros((0, 3), np.int64)).shape == (0, 3)
    assert run("index_select", np.zeros((4, 0)), 0, np.array([1, 2])).shape == (2, 0)
    assert run("take", np.zeros(3), np.zeros((0, 2), np.int64)).shape == (0, 2)
    assert run("index", np.zeros((3, 4)), [np.zeros((0, 2), np.int64)]).shape == (0, 2, 4)
    assert run("masked_fill", empty, np.zeros((0, 3), bool), 1).shape == (0, 3)
    assert len(host_engine.launches) == before


OUTSIDE = [
    ("gather", (np.zeros((2, 3)), 1, np.array([[0, 3, 1]])), errors.PlaceError, r"index 3 .* dimension 1 with size 3"),
    ("gather", (np.zeros(3), 0, np.array([-1])), errors.PlaceError, r"index -1 .* dimension 0 with size 3"),
    ("index_select", (np.zeros((2, 3)), 0, np.array([2])), errors.IndexValueError, "dimension of size 2"),
    ("take", (np.zeros((2, 3)), np.array([-7])), errors.IndexValueError, "-7 is out of range: the tensor has 6"),
    ("index", (np.zeros((2, 3)), [None, np.array([1, 5])]), errors.IndexValueError, "index 5 .* dimension 1"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args", "kind", "message"), OUTSIDE)
def test_an_index_out_of_range_raises_what_it_raises_elsewhere(run, op, args, kind, message):
    with pytest.raises(kind, match=message):
        run(op, *args)


def test_an_index_out_of_range_is_raised_when_the_host_waits(run, host_engine, monkeypatch):
    monkeypatch.setattr(type(host_engine), "synchronous", False)
    x = np.arange(3.0)
    found = run("gather", x, 0, np.array([2, 5, 0]))
    np.testing.assert_array_equal(found, [2, 0, 0])  # nothing is read outside of the array
    run("gather", x, 0, np.array([9]))
    with pytest.raises(errors.PlaceError, match="index 5 is out of bounds") as caught:  # the first one
        run.backend.failures.raise_first()
    assert any("gather() found this on the device" in note for note in caught.value.__notes__)
    run.backend.failures.raise_first()  # once


def test_calls_wait_for_their_own_faults_where_the_user_asks_for_it(run, host_engine, monkeypatch):
    monkeypatch.setattr(type(host_engine), "synchronous", False)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setattr(run.backend, "failures", Failures(run.backend))
    monkeypatch.setattr(run.backend, "synchronize", run.backend.failures.raise_first)
    with pytest.raises(errors.PlaceError, match="index 5"):
        run("gather", np.arange(3.0), 0, np.array([5]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_are_filled(run, dtype):
    x, mask = values((4, 6), dtype), np.random.default_rng(3).integers(0, 2, (4, 6)).astype(bool)
    for y in variants(x):
        np.testing.assert_array_equal(run("masked_fill", y, mask, 1), np.where(mask, np.array(1, dtype), x))
        row = mask[0]
        np.testing.assert_array_equal(
            run("masked_fill", y, row, np.array(3, dtype)), np.where(row, np.array(3, dtype), x)
        )
        changed = run.copied(y)
        run.inplace("masked_fill", changed, mask.T.copy().T, 1)
        np.testing.assert_array_equal(changed, np.where(mask, np.array(1, dtype), x))
    wide = run("masked_fill", x[0], mask, 1)
    np.testing.assert_array_equal(wide, np.where(mask, np.array(1, dtype), x[0]))


# --- true elements -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_that_are_not_zero_are_those_of_numpy(run, dtype):
    rng = np.random.default_rng(7)
    for shape in ((0,), (1,), (7, 3), (2, 1, 3000), (9, 11, 257), (5000,), (3, 0, 2)):
        x = values(shape, dtype) * (rng.random(shape) < 0.4).astype(dtype)
        for y in variants(x):
            found = run("nonzero", y)
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found, np.argwhere(x))


def test_nan_and_the_smallest_numbers_are_not_zero(run):
    x = np.array([0.0, -0.0, np.nan, 5e-324, -np.inf])
    assert run("nonzero", x).tolist() == [[2], [3], [4]]
    imaginary = np.zeros(5, np.complex128)
    imaginary.imag = x
    assert run("nonzero", imaginary).tolist() == [[2], [3], [4]]
    assert [run("nonzero", np.array(n)).shape for n in (0, 3)] == [(0, 0), (1, 0)]


@pytest.mark.exhaustive
def test_long_masks_are_shared_by_many_blocks(run):
    mask = np.random.default_rng(1).random(700_000) < 0.5
    np.testing.assert_array_equal(run("nonzero", mask), np.argwhere(mask))
    np.testing.assert_array_equal(run("nonzero", np.ones((300, 2000), bool))[-3:, 1], [1997, 1998, 1999])


def test_the_host_waits_once_for_the_number_of_places(run, monkeypatch):
    waits = []
    monkeypatch.setattr(run.backend, "will_wait", waits.append)
    run("nonzero", np.ones(5))
    run("index", np.arange(6.0), [np.arange(6) > 2])
    assert waits == ["nonzero()", "index()"]


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_source_compiles_for_gpus(nvrtc, arch):
    names = NAMES[::3] if arch == "sm_80" else NAMES[1::3]
    assert set(nvrtc.compile_source(INDEXING.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_of_the_source_compiles_for_gpus(nvrtc, arch):
    names = [*NAMES, *WIDE]
    assert set(nvrtc.compile_source(INDEXING.source, names, arch).names) == set(names)
