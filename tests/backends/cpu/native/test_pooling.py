"""Native pooling: every window taken by itself, of the geometry of PyTorch's documentation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tt
from tt.backends.cpu.native.loading import load, status

NATIVE = load("pooling")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

DTYPES = st.sampled_from([np.float32, np.float64])


@st.composite
def geometries(draw: Any, dilated: bool) -> Any:
    """Draw the sizes of an input, and windows that fit into it."""
    dims = draw(st.integers(1, 3))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    kernel, hops, gaps = each(1, 4), each(1, 3), each(1, 2) if dilated else (1,) * dims
    reach = [gap * (width - 1) + 1 for gap, width in zip(gaps, kernel, strict=True)]
    pads = tuple(
        draw(st.integers(0, min(span, width) // 2)) for span, width in zip(reach, kernel, strict=True)
    )
    sizes = tuple(
        draw(st.integers(max(1, span - 2 * pad), 12 if dims < 3 else 7))
        for span, pad in zip(reach, pads, strict=True)
    )
    return sizes, kernel, hops, pads, gaps, draw(st.booleans())


def places(size: int, width: int, hop: int, pad: int, gap: int, ceil_mode: bool) -> list[list[int]]:
    """Return the places of each window along a dimension, those of the padding among them."""
    span = size + 2 * pad - gap * (width - 1) - 1
    count = (-(-span // hop) if ceil_mode else span // hop) + 1
    if ceil_mode and (count - 1) * hop >= size + pad:
        count -= 1
    return [[i * hop - pad + k * gap for k in range(width)] for i in range(count)]


def windows(sizes: Any, kernel: Any, hops: Any, pads: Any, gaps: Any, ceil_mode: bool) -> Any:
    """Return the places of all windows along each dimension."""
    return [places(*one, ceil_mode) for one in zip(sizes, kernel, hops, pads, gaps, strict=True)]


def inside(size: int, window: list[int]) -> list[int]:
    return [at for at in window if 0 <= at < size]


def numbers(seed: int, *shape: int, dtype: Any) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


# --- the largest element -------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(geometries(dilated=True), DTYPES, st.booleans())
def test_the_largest_element(geometry: Any, dtype: Any, few: bool) -> None:
    sizes, kernel, hops, pads, gaps, ceil_mode = geometry
    x = numbers(0, 2, 3, *sizes, dtype=dtype)
    if few:  # equal elements: the first one counts; of NaN the last
        x = np.round(x)
        x[x > 1] = np.nan
        x[x < -1] = -np.inf
    along = windows(*geometry)
    out = tuple(map(len, along))
    values, indices = np.empty((2, 3, *out), dtype), np.empty((2, 3, *out), np.int64)
    for at in product(*map(range, out)):
        reach = [inside(size, lines[i]) for size, lines, i in zip(sizes, along, at, strict=True)]
        assume(all(reach))  # with gaps, a window may have elements of the padding only
        for n, c in product(range(2), range(3)):
            best, place = -np.inf, int(np.ravel_multi_index([r[0] for r in reach], sizes))
            for element in product(*reach):
                value = x[(n, c, *element)]
                if value > best or np.isnan(value):
                    best, place = value, int(np.ravel_multi_index(element, sizes))
            values[(n, c, *at)], indices[(n, c, *at)] = best, place
    op = getattr(NATIVE, f"max_pool{len(sizes)}d_with_indices")
    found, where = op(x, kernel, hops, pads, gaps, ceil_mode, False)
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(where, indices)
    assert found.dtype == dtype
    # The gradient goes back to where the values came from.
    g = numbers(1, *found.shape, dtype=dtype)
    expected = np.zeros((6, int(np.prod(sizes))))
    for row, (to, parts) in enumerate(zip(indices.reshape(6, -1), g.reshape(6, -1), strict=True)):
        np.add.at(expected[row], to, parts)
    taken = NATIVE._unpool(g, where, x.shape, len(sizes))
    np.testing.assert_allclose(taken, expected.reshape(x.shape), rtol=1e-5, atol=1e-5)


def test_a_window_whose_elements_are_all_padding() -> None:
    found, where = NATIVE.max_pool1d_with_indices(np.ones((1, 1), np.float32), 2, 1, 1, 2, False, False)
    assert found.tolist() == [[-np.inf]]
    assert where.tolist() == [[0]]


def test_indices_outside_of_a_channel_are_refused() -> None:
    with pytest.raises(IndexError, match="outside"):
        NATIVE._unpool(np.ones((1, 2)), np.array([[0, 5]]), (1, 5), 1)


# --- the mean ------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(geometries(dilated=False), DTYPES, st.booleans(), st.sampled_from([None, 3, -2]))
def test_the_mean(geometry: Any, dtype: Any, padded: bool, divisor: int | None) -> None:
    sizes, kernel, hops, pads, _, ceil_mode = geometry
    dims = len(sizes)
    divisor = None if dims == 1 else divisor
    x = numbers(0, 2, 3, *sizes, dtype=dtype)
    along = windows(*geometry)
    out = tuple(map(len, along))
    g = numbers(1, 2, 3, *out, dtype=dtype)
    expected, shares = np.empty((2, 3, *out)), np.zeros((2, 3, *sizes))
    for at in product(*map(range, out)):
        window = [lines[i] for lines, i in zip(along, at, strict=True)]
        reach = np.ix_(*(inside(size, line) for size, line in zip(sizes, window, strict=True)))
        counts = [
            sum(-pad <= place < size + pad if padded else 0 <= place < size for place in line)
            for size, pad, line in zip(sizes, pads, window, strict=True)
        ]
        by = divisor or int(np.prod(counts))
        for n, c in product(range(2), range(3)):
            expected[(n, c, *at)] = x[n, c][reach].sum(dtype=np.float64) / by
            shares[n, c][reach] += g[(n, c, *at)] / by
    how = (kernel, hops, pads, ceil_mode, padded)
    found = getattr(NATIVE, f"avg_pool{dims}d")(x, *how, *(() if dims == 1 else (divisor,)))
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert found.dtype == dtype
    taken = NATIVE._avg_unpool(g, sizes, *how, divisor)
    np.testing.assert_allclose(taken, shares, rtol=2e-5, atol=2e-5)


# --- windows that cover the input ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=3), DTYPES)
def test_adaptive_windows(pairs: Any, dtype: Any) -> None:
    sizes, out = tuple(size for size, _ in pairs), tuple(new for _, new in pairs)
    x = numbers(0, 2, *sizes, dtype=dtype)
    g = numbers(1, 2, *out, dtype=dtype)
    mean, largest = np.empty((2, *out)), np.empty((2, *out), dtype)
    shares = np.zeros((2, *sizes))
    for at in product(*map(range, out)):
        reach = tuple(
            slice(i * size // new, -(-(i + 1) * size // new))
            for i, size, new in zip(at, sizes, out, strict=True)
        )
        for c in range(2):
            mean[(c, *at)] = x[c][reach].mean(dtype=np.float64)
            largest[(c, *at)] = x[c][reach].max()
            shares[c][reach] += g[(c, *at)] / x[c][reach].size
    dims = len(sizes)
    found = getattr(NATIVE, f"adaptive_avg_pool{dims}d")(x, out)
    np.testing.assert_allclose(found, mean, rtol=2e-5, atol=2e-6)
    values, indices = getattr(NATIVE, f"adaptive_max_pool{dims}d_with_indices")(x, out, False)
    np.testing.assert_array_equal(values, largest)
    np.testing.assert_array_equal(
        np.take_along_axis(x.reshape(2, -1), indices.reshape(2, -1), 1), values.reshape(2, -1)
    )
    if g.size:
        np.testing.assert_allclose(NATIVE._adaptive_avg_unpool(g, sizes), shares, rtol=2e-5, atol=2e-5)


def test_sizes_that_are_kept() -> None:
    x = numbers(0, 2, 4, 5, dtype=np.float32)
    found = NATIVE.adaptive_avg_pool2d(x, (None, 1))
    np.testing.assert_allclose(found, x.mean(-1, keepdims=True), rtol=1e-5)


def test_strides_of_any_kind() -> None:
    x = numbers(0, 5, 4, 3, 2, dtype=np.float64).transpose(3, 2, 0, 1)[::-1]
    plain = np.ascontiguousarray(x)
    for op in ("max_pool2d_with_indices", "avg_pool2d"):
        how = (2, None, 0, 1, False, False) if op.startswith("max") else (2, None, 0, False, True, None)
        np.testing.assert_array_equal(getattr(NATIVE, op)(x, *how), getattr(NATIVE, op)(plain, *how))


@pytest.mark.parametrize("wrong", [(0, 1, 0), (2, 0, 0), (2, 1, 2), (7, 1, 0), ((2, 2), 1, 0), (2, 1, -1)])
def test_windows_that_do_not_fit_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        NATIVE.max_pool1d_with_indices(np.zeros((1, 5)), *wrong, 1, False, False)
    with pytest.raises(ValueError):
        NATIVE.avg_pool1d(np.zeros((1, 5)), *wrong, False, True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_the_largest_elements_alone_are_those_that_come_with_places(dims: int, dtype: Any) -> None:
    rng = np.random.default_rng(dims)
    x: Any = rng.integers(-3, 4, (2, 3, *(8, 9, 40)[-dims:])).astype(dtype)
    for special in (np.nan, -np.nan, np.inf, -np.inf, -0.0):
        x[rng.random(x.shape) < 0.02] = special
    for array in (x, x[..., ::-1], x.swapaxes(0, 1), x[:0], np.full_like(x, -np.inf)):
        for kernel, step, pad, gap in product((1, 2, 3, 4), (1, 2, 3), (0, 1), (1, 2)):
            if 2 * pad > gap * (kernel - 1) + 1:
                continue
            for ceil_mode in (False, True):
                window = ((kernel,) * dims, (step,) * dims, (pad,) * dims, (gap,) * dims, ceil_mode)
                expected = getattr(NATIVE, f"max_pool{dims}d_with_indices")(array, *window, False)[0]
                found = getattr(NATIVE, f"_max_pool{dims}d")(array, *window)
                np.testing.assert_array_equal(found, expected)
                numbers = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_windows_with_few_elements_inside_of_the_input_have_no_places() -> None:
    x = np.arange(6, dtype=np.float32).reshape(1, 6)
    found = NATIVE._max_pool1d(x, (80,), (1,), (40,), (1,), False)
    np.testing.assert_array_equal(
        found, NATIVE.max_pool1d_with_indices(x, (80,), (1,), (40,), (1,), False, False)[0]
    )


def test_wrong_windows_are_refused_by_the_name_of_the_public_operator() -> None:
    with pytest.raises(tt.errors.ShapeError, match=r"^max_pool1d\(\): padding=2 is more than half"):
        tt.nn.functional.max_pool1d(tt.ones(1, 1, 4), 2, 1, 2)


# --- channels last -------------------------------------------------------------------------------------------------


def channels_last(array: Any) -> Any:
    """Return a copy whose channels lie last in memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def lies_last(array: Any) -> bool:
    flags: Any = np.moveaxis(array, 1, -1).flags
    return bool(flags.c_contiguous)


@settings(max_examples=80, deadline=None)
@given(geometries(dilated=True), DTYPES, st.integers(2, 70))
def test_the_largest_element_of_channels_that_lie_last(geometry: Any, dtype: Any, channels: int) -> None:
    sizes, *window = geometry
    dims = len(sizes)
    assume(dims > 1)
    x = np.round(numbers(0, 2, channels, *sizes, dtype=dtype))
    x[x > 1] = np.nan
    x[x < -1] = -np.inf
    last = channels_last(x)
    expected, places = getattr(NATIVE, f"max_pool{dims}d_with_indices")(x, *window, False)
    found, where = getattr(NATIVE, f"max_pool{dims}d_with_indices")(last, *window, False)
    alone = getattr(NATIVE, f"_max_pool{dims}d")(last, *window)
    for array, wanted in ((found, expected), (where, places), (alone, expected)):
        np.testing.assert_array_equal(array, wanted)
        assert lies_last(array) or last.flags.c_contiguous  # one pixel is row-major, too


@settings(max_examples=80, deadline=None)
@given(geometries(dilated=False), DTYPES, st.integers(2, 70), st.booleans(), st.sampled_from([None, 3, -2]))
def test_the_mean_of_channels_that_lie_last(
    geometry: Any, dtype: Any, channels: int, padded: bool, divisor: int | None
) -> None:
    sizes, kernel, hops, pads, _, ceil_mode = geometry
    dims = len(sizes)
    assume(dims > 1)
    x = numbers(0, 2, channels, *sizes, dtype=dtype)
    op, how = getattr(NATIVE, f"avg_pool{dims}d"), (kernel, hops, pads, ceil_mode, padded, divisor)
    found = op(channels_last(x), *how)
    np.testing.assert_allclose(found, op(x, *how), rtol=1e-6, atol=1e-6)
    assert lies_last(found) or dims == 3 or x.size == 2 * channels


@pytest.mark.parametrize("sizes", [(7, 9), (3, 5, 6), (40, 40)])
@pytest.mark.parametrize("new", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_adaptive_windows_of_channels_that_lie_last(sizes: tuple[int, ...], new: int, dtype: Any) -> None:
    x, dims = numbers(0, 3, 20, *sizes, dtype=dtype), len(sizes)
    last = channels_last(x)
    mean = getattr(NATIVE, f"adaptive_avg_pool{dims}d")
    np.testing.assert_allclose(mean(last, new), mean(x, new), rtol=1e-5, atol=1e-6)
    largest = getattr(NATIVE, f"adaptive_max_pool{dims}d_with_indices")
    for found, expected in zip(largest(last, new, True), largest(x, new, True), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert lies_last(found) or dims == 3


@pytest.mark.parametrize("shape", [(1, 4, 6, 6), (2, 1, 6, 6), (2, 3, 1, 6), (2, 3, 1, 1), (0, 3, 4, 4)])
def test_dimensions_of_size_one_have_the_strides_that_meta_tensors_say(shape: tuple[int, ...]) -> None:
    for x in (tt.zeros(shape), tt.zeros(shape).contiguous(memory_format=tt.channels_last),
              tt.zeros(shape).transpose(1, 3).contiguous().transpose(1, 3)):  # fmt: skip
        for pool in (tt.nn.functional.max_pool2d, tt.nn.functional.avg_pool2d):
            assert pool(x, 1).stride() == pool(x.to("meta"), 1).stride()


def test_a_mean_of_many_elements_of_channels_that_lie_last_is_summed_by_columns() -> None:
    x = numbers(0, 1, 3, 300, 300, dtype=np.float32) + 1
    found = NATIVE.adaptive_avg_pool2d(channels_last(x), 1)
    np.testing.assert_allclose(found, x.mean((2, 3), dtype=np.float64, keepdims=True), rtol=2e-6)
