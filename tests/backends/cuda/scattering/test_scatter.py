"""Kernels that write to places: on the host behind the shim, against the CPU's kernels and NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.backends.cuda.running import Running, prepared
from tests.backends.cuda.test_indexing import DTYPES, NAMES, values, variants
from tests.backends.cuda.test_sorting import STEPS
from tt.backends.cpu import scattering as cpu
from tt.backends.cpu.indexing import cpu as cpu_indexing
from tt.backends.cuda import combining, indexing
from tt.backends.cuda.combining import ATOMIC, SCATTERING
from tt.backends.cuda.launch.gather_scatter import INDEXING
from tt.backends.cuda.scattering import scatter as scattering
from tt.backends.cuda.sorting import SORTING
from tt.core import errors

pytestmark = pytest.mark.sampled(10)

ORDERED = ("Adding", "Multiplying", "Largest", "Smallest")
KERNELS = [
    *(f"add_places<{part}, int32, 1, {parts}>" for part, parts in ATOMIC.values()),
    *(f"combine_segments<{dtype}, {how}, int32>" for how in ORDERED
      for dtype in ("bool", "int8", "float16", "bfloat16", "int32", "float32", "float64")),
    *(f"combine_segments<{dtype}, {how}, int32>" for dtype in ("complex64", "complex128") for how in ORDERED[:2]),
]  # fmt: skip
REST = [
    *(f"add_places<{part}, int64, 1, {parts}>" for part, parts in ATOMIC.values()),
    *(f"combine_segments<{dtype}, {how}, {j}>" for dtype in ("uint8", "int16", "int64", "uint16", "uint32", "uint64")
      for how in ORDERED for j in ("int32", "int64")),
    *(f"combine_segments<{dtype}, Adding, int64>" for dtype in ("float16", "bfloat16", "float32", "complex64")),
]  # fmt: skip
KINDS = [d for d in DTYPES if d != np.float64]


@pytest.fixture(scope="module", autouse=True)
def compiled(host_engine):
    prepared(host_engine, INDEXING, NAMES)
    prepared(host_engine, SCATTERING, KERNELS)
    prepared(host_engine, SORTING, STEPS)


@pytest.fixture
def run(host_backend):
    # index_put writes as scatter does.
    return Running(host_backend, scattering, indexing)


def reference(op, x, *args):
    """Return the result of the CPU's kernel on a copy, halves in float32 and rounded once."""
    table = cpu_indexing if op == "index_put" else cpu.cpu
    (kernel,) = (k for k in table.kernels if (k.op, k.form) == (op, "inplace"))
    half = x.dtype in (np.float16, ml_dtypes.bfloat16) and kernel.half != "native"

    def widened(value):
        return value.astype(np.float32) if half and getattr(value, "dtype", None) == x.dtype else value

    found = np.ascontiguousarray(widened(x)).copy()
    kernel.function(found, *(widened(arg) for arg in args))
    return found.astype(x.dtype)


def same(found, expected):
    """Compare: sums of floats may be rounded in another order."""
    if expected.dtype == ml_dtypes.bfloat16:
        found, expected = found.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_allclose(found, expected, rtol=2**-7)
    elif expected.dtype.kind in "fc":
        precision = np.finfo(expected.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=8 * precision, atol=64 * precision)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", KINDS)
def test_elements_are_scattered(run, dtype):
    rng = np.random.default_rng(1)
    index = np.array([rng.permutation(6)[:4] for _ in range(3)])
    source = values((3, 5), dtype, 7)
    for x in variants(values((4, 6), dtype)):
        same(run("scatter", x, 1, index, source), reference("scatter", x, 1, index, source))
        narrow = index.astype(np.int32)
        same(run("scatter.value", x, -1, narrow, 3), reference("scatter.value", x, -1, narrow, 3))
    x = values((), dtype)
    same(
        run("scatter", x, 0, np.array([0]), source[0, :1]),
        reference("scatter", x, 0, np.array([0]), source[0, :1]),
    )


@pytest.mark.parametrize("dtype", KINDS)
def test_elements_are_added_and_reduced(run, dtype):
    rng = np.random.default_rng(2)
    kind = np.dtype(dtype).kind
    for x in variants(values((5, 6), dtype)):
        index = rng.integers(0, 5, (9, 4))
        source = values((10, 5), dtype, 3)
        same(run("scatter_add", x, 0, index, source), reference("scatter_add", x, 0, index, source))
        small = np.sign(source) if kind != "b" else source
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            if (kind, reduce) in {("c", "amax"), ("c", "amin"), ("b", "mean")}:
                continue
            given = small if reduce == "prod" else source
            for include in (True, False):
                args = (0, index.astype(np.int32), given.astype(dtype), reduce, include)
                same(run("scatter_reduce", x, *args), reference("scatter_reduce", x, *args))


def test_nan_is_the_largest_and_the_smallest(run):
    source = np.array([1.0, np.nan, 2.0], np.float32)
    for reduce in ("amax", "amin"):
        found = run("scatter_reduce", np.zeros(2, np.float32), 0, np.array([0, 0, 0]), source, reduce, True)
        assert np.isnan(found[0]) and found[1] == 0


@pytest.mark.parametrize("dtype", KINDS)
def test_slices_are_added_copied_and_filled(run, dtype):
    index = np.array([3, 0, 3, 1, 3])
    for x in variants(values((5, 4, 3), dtype)):
        for dim, shape in ((0, (5, 4, 3)), (1, (5, 5, 3)), (2, (5, 4, 5))):
            places = index % x.shape[dim]
            source = values(shape, dtype, 4)
            same(
                run("index_add", x, dim, places, source, 1), reference("index_add", x, dim, places, source, 1)
            )
            if dtype != np.bool_:
                same(
                    run("index_add", x, dim, places, source, 3),
                    reference("index_add", x, dim, places, source, 3),
                )
            same(
                run("index_fill", x, dim, places - x.shape[dim], 1),
                reference("index_fill", x, dim, places - x.shape[dim], 1),
            )
        some = values((2, 4, 3), dtype, 5)
        same(run("index_copy", x, 0, index[:2], some), reference("index_copy", x, 0, index[:2], some))
    value = np.array(2, dtype)
    same(
        run("index_fill", values((4,), dtype), 0, index[:2], value),
        reference("index_fill", values((4,), dtype), 0, index[:2], value),
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_sums_are_made_in_a_fixed_order_where_that_is_required(run, monkeypatch, dtype):
    def refused(*args):
        raise AssertionError("added with atomics")

    monkeypatch.setattr(combining.Combiner, "add_atomically", refused)
    x, source = values((5, 4), dtype), values((9, 4), dtype, 3)
    index = np.random.default_rng(2).integers(0, 5, (9, 4))
    with pytest.raises(AssertionError, match="atomics"):
        run("scatter_add", x, 0, index, source)
    monkeypatch.setattr(scattering.DETERMINISM, "required", True)
    same(run("scatter_add", x, 0, index, source), reference("scatter_add", x, 0, index, source))
    for alpha in (1, 3):
        places = index[:, 0]
        same(
            run("index_add", x, 0, places, source, alpha), reference("index_add", x, 0, places, source, alpha)
        )


def test_alpha_scales_numbers_that_no_float_holds(run):
    x = np.zeros(2, np.int64)
    found = run("index_add", x, 0, np.array([1, 1]), np.array([3, 1]), 2**53 + 1)
    np.testing.assert_array_equal(found, [0, 4 * (2**53 + 1)])
    found = run("index_add", np.zeros(2, np.complex64), 0, np.array([1]), np.array([2j], np.complex64), 1j)
    np.testing.assert_array_equal(found, [0, -2])


@pytest.mark.parametrize("dtype", KINDS)
def test_values_are_put_at_advanced_indices(run, dtype):
    rng = np.random.default_rng(6)
    one, two = rng.permutation(5)[:3, None], rng.permutation(4)[:2]
    mask = rng.integers(0, 2, (5, 4)).astype(bool)
    for x in variants(values((5, 4, 3), dtype)):
        for key, shape in (
            ([one, two - 4], (3, 2, 3)),
            ([None, two], (5, 2, 3)),
            ([mask], (mask.sum(), 3)),
            ([one[:, 0]], (1,)),
        ):
            given = values(shape, dtype, 8)
            same(run("index_put", x, key, given, False), reference("index_put", x, key, given, False))
        again = [np.array([[1, 1, -4]]), np.array([[0], [3]])]
        apart = [np.array([1, 0, -4, 1]), None, np.array([2, 2, 1, 2])]
        for key, shape in (
            (apart, (4, 4)),
            (again, (2, 3, 3)),
            (again[:1], (1, 3, 4, 3)),
            ([None, again[1]], (1, 1)),
            ([mask], (3,)),
        ):
            given = values(shape, dtype, 9)
            same(run("index_put", x, key, given, True), reference("index_put", x, key, given, True))


@pytest.mark.parametrize("dtype", KINDS)
def test_flat_places_are_put(run, dtype):
    for x in variants(values((3, 4), dtype)):
        index, source = np.array([[0, -1], [5, 7]]), values((2, 2), dtype, 2)
        same(run("put", x, index, source, False), reference("put", x, index, source, False))
        index = np.array([[0, -12], [5, 0]])
        same(run("put", x, index, source, True), reference("put", x, index, source, True))


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_are_scattered(run, dtype):
    x, mask = values((4, 6), dtype), np.random.default_rng(4).integers(0, 2, (4, 6)).astype(bool)
    source = values((30,), dtype, 5)
    for y in variants(x):
        np.testing.assert_array_equal(run("masked_scatter", y, mask, source), _scattered(x, mask, source))
    np.testing.assert_array_equal(
        run("masked_scatter", x[:1], mask, source[::-1]),
        _scattered(np.broadcast_to(x[:1], x.shape), mask, source[::-1]),
    )


def _scattered(x, mask, source):
    found = x.copy()
    found[mask] = source[: mask.sum()]
    return found


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("by_count", [False, True])
def test_rows_of_gradients_are_added_up(run, dtype, by_count):
    rng = np.random.default_rng(5)
    indices = rng.integers(0, 6, (7, 3))
    wide = np.complex128 if dtype == np.complex64 else np.float64
    for rows in variants(values((7, 3, 5), dtype)):
        for padding in (-1, 2):
            expected = np.zeros((6, 5), wide)
            counts = np.bincount(indices.ravel(), minlength=6)
            for place, row in zip(indices.ravel(), rows.reshape(-1, 5).astype(wide), strict=True):
                if place != padding:
                    expected[place] += row / counts[place] if by_count else row
            args = (rows, indices.astype(np.int32), 6, padding, by_count)
            same(run("embedding_dense_backward", *args), expected.astype(dtype))
    empty = run("embedding_dense_backward", np.zeros((0, 4), dtype), np.zeros((0,), np.int64), 3, -1, False)
    np.testing.assert_array_equal(empty, np.zeros((3, 4), dtype))


def test_long_sums_of_halves_and_floats_keep_their_digits(run):
    count = 20_000
    index = np.zeros(count, np.int64)
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32):
        each = np.full((count, 1), 0.1, dtype)
        exact = float(each[0, 0]) * count
        found = run("embedding_dense_backward", each, index, 1, -1, False)
        assert found[0, 0] == np.array(exact).astype(dtype), dtype


def test_sums_of_infinities_are_infinite(run):
    rows = np.array([[np.inf], [1.0], [np.inf]], np.float32)
    assert run("embedding_dense_backward", rows, np.zeros(3, np.int64), 1, -1, False)[0, 0] == np.inf


OUTSIDE = [
    ("scatter", (np.zeros(3), 0, np.array([3]), np.ones(1)), errors.PlaceError, "index 3 .* dimension 0 with size 3"),
    ("scatter.value", (np.zeros(3), 0, np.array([-1]), 1), errors.PlaceError, "index -1"),
    ("scatter_add", (np.zeros(3), 0, np.array([3]), np.ones(1)), errors.PlaceError, "index 3"),
    ("scatter_reduce", (np.zeros(3), 0, np.array([3]), np.ones(1), "prod", True), errors.PlaceError, "index 3"),
    ("index_add", (np.zeros(3), 0, np.array([3]), np.ones(1), 1), errors.IndexValueError, "dimension of size 3"),
    ("index_copy", (np.zeros(3), 0, np.array([-1]), np.ones(1)), errors.IndexValueError, "index -1"),
    ("index_fill", (np.zeros(3), 0, np.array([-4]), 1), errors.IndexValueError, "index -4"),
    ("index_put", (np.zeros(3), [np.array([3])], np.ones(1), True), errors.IndexValueError, "index 3"),
    ("index_put", (np.zeros(3), [np.array([-4])], np.ones(1), False), errors.IndexValueError, "index -4"),
    ("put", (np.zeros((2, 2)), np.array([4]), np.ones(1), True), errors.IndexValueError, "index 4 .* has 4 elements"),
    ("embedding_dense_backward", (np.ones((1, 2), np.float32), np.array([3]), 3, -1, False), IndexError, "size 3"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "args", "kind", "message"), OUTSIDE)
def test_an_index_out_of_range_writes_nothing_and_raises(run, op, args, kind, message):
    with pytest.raises(kind, match=message):
        run(op, *args)
    run.backend.engine.synchronous = False
    try:
        if not op.startswith("embedding"):
            changed = args[0].copy()
            run.inplace(op, changed, *args[1:])
            np.testing.assert_array_equal(changed, args[0])
    finally:
        del run.backend.engine.synchronous
        with pytest.raises(kind) if not op.startswith("embedding") else np.errstate():
            run.backend.failures.raise_first()


def test_a_source_with_too_few_elements_for_a_mask_is_an_error(run):
    with pytest.raises(errors.ShapeError, match="2 elements, fewer than the 3"):
        run("masked_scatter", np.zeros(3), np.ones(3, bool), np.zeros(2))


def test_values_that_do_not_broadcast_are_an_error(run):
    with pytest.raises(errors.ShapeError, match=r"values of shape \[3\] do not broadcast to the shape \[2\]"):
        run("index_put", np.zeros(4), [np.array([0, 1])], np.zeros(3), False)


def test_a_source_as_large_as_memory_is_not_copied(run, host_engine):
    host_engine.launches.clear()
    run("scatter_reduce", np.zeros(4, np.float32), 0, np.array([0, 0]), np.ones(2, np.float32), "prod", True)
    names = [name.split("<")[0] for name, *_ in host_engine.launches]
    assert names == ["find_places", *STEPS, "combine_segments"]


@pytest.mark.cupy
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_source_compiles_for_gpus(nvrtc, arch):
    names = KERNELS[::4] if arch == "sm_80" else KERNELS[1::4]
    assert set(nvrtc.compile_source(SCATTERING.source, names, arch).names) == set(names)


@pytest.mark.exhaustive
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_all_of_the_source_compiles_for_gpus(nvrtc, arch):
    names = [*KERNELS, *REST]
    assert set(nvrtc.compile_source(SCATTERING.source, names, arch).names) == set(names)
