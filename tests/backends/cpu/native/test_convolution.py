"""Native convolutions: their values against sums in float64, on every layout of windows, and in several threads."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tt
from tt.backends.cpu import convolution as numpy_kernels
from tt.backends.cpu.native.loading import load, status

NATIVE = load("convolution")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-13}


# --- references: one product after the other ---------------------------------------------------------------------


def reference(x: Any, w: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    """Return the convolution in float64, tap by tap."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    outputs, per_group = w.shape[:2]
    out = [
        (size - gap * (width - 1) - 1) // hop + 1
        for size, gap, width, hop in zip(x.shape[2:], dilation, w.shape[2:], stride, strict=True)
    ]
    y = np.zeros((x.shape[0], outputs, *out))
    for o, c in product(range(outputs), range(per_group)):
        channel = x[:, o // (outputs // groups) * per_group + c]
        for tap in np.ndindex(w.shape[2:]):
            at = tuple(
                slice(k * gap, k * gap + (n - 1) * hop + 1, hop)
                for k, gap, n, hop in zip(tap, dilation, out, stride, strict=True)
            )
            y[:, o] += w[(o, c, *tap)] * channel[(slice(None), *at)]
    return y


def close(found: Any, expected: Any, dtype: Any, terms: int) -> None:
    """Compare, with an error for each of the summed terms."""
    assert found.dtype == dtype
    assert found.shape == expected.shape
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[dtype] * scale * max(terms, 4) ** 0.5)


def numbers(seed: int, *shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@st.composite
def cases(draw: Any) -> Any:
    """Draw shapes and geometry of a convolution that fits."""
    dims = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, outputs = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 3, 5, 8, 9, 17]))

    def each(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(dims))

    kernel, stride, padding, dilation = each(1, 4), each(1, 3), each(0, 3), each(1, 2)
    sizes = tuple(
        draw(st.integers(max(1, gap * (width - 1) + 1 - 2 * pad), 20 if dims < 3 else 9))
        for gap, width, pad in zip(dilation, kernel, padding, strict=True)
    )
    shape = (draw(st.integers(1, 4)), groups * inputs, *sizes)
    return shape, (groups * outputs, inputs, *kernel), stride, padding, dilation, groups


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_values(case: Any, dtype: Any, with_bias: bool) -> None:
    shape, filters, stride, padding, dilation, groups = case
    x, w = numbers(0, *shape, dtype=dtype), numbers(1, *filters, dtype=dtype)
    bias = numbers(2, filters[0], dtype=dtype) if with_bias else None
    expected = reference(x, w, stride, padding, dilation, groups)
    if bias is not None:
        expected += bias.astype(np.float64).reshape(-1, *(1,) * len(stride))
    op = getattr(NATIVE, f"conv{len(stride)}d")
    close(op(x, w, bias, stride, padding, dilation, groups), expected, dtype, np.prod(filters[1:]))


@settings(max_examples=60, deadline=None)
@given(cases(), st.sampled_from([np.float32, np.float64]))
def test_gradients_are_the_adjoints(case: Any, dtype: Any) -> None:
    """Both are linear, so that <g, conv(x, w)> tells all: its coefficients are the gradients."""
    shape, filters, stride, padding, dilation, groups = case
    x, w = numbers(0, *shape, dtype=dtype), numbers(1, *filters, dtype=dtype)
    y = reference(x, w, stride, padding, dilation, groups)
    g = numbers(3, *y.shape, dtype=dtype)
    wide = [a.astype(np.float64) for a in (x, w, g)]
    geometry = stride, padding, dilation
    found = NATIVE._conv_weight(x, g, filters, *geometry, groups)
    expected = numpy_kernels.weights(wide[0], wide[2], filters[2:], *geometry, groups)
    close(found, expected, dtype, g.size // g.shape[1])
    assert np.isclose(np.vdot(expected, wide[1]), np.vdot(wide[2], y))
    more = [
        size - ((n - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, n, hop, pad, gap, width in zip(
            shape[2:], y.shape[2:], stride, padding, dilation, filters[2:], strict=True
        )
    ]
    op = getattr(NATIVE, f"conv_transpose{len(stride)}d")
    found = op(g, w, None, stride, padding, more, groups, dilation)
    expected = numpy_kernels.transposed(wide[2], wide[1], shape[2:], *geometry, groups)
    close(found, expected, dtype, filters[0] * np.prod(filters[2:]))
    assert np.isclose(np.vdot(expected, wide[0]), np.vdot(wide[2], y))


# --- sizes that take each of the ways ----------------------------------------------------------------------------

LARGE = {
    "few filters, read in place": ((3, 2, 28, 28), (6, 2, 5, 5), 1, 2, 1, 1),
    "windows are copied": ((2, 20, 19, 23), (40, 20, 3, 3), 1, 1, 1, 1),
    "filters beyond the cache": ((3, 160, 9, 9), (140, 160, 3, 3), 1, 1, 1, 1),
    "one product for each place": ((2, 70, 13, 11), (130, 70, 1, 1), 1, 0, 1, 1),
    "one filter for each channel": ((2, 37, 15, 31), (37, 1, 3, 3), 2, 1, 1, 37),
    "a volume": ((2, 6, 9, 12, 10), (24, 6, 3, 2, 3), (2, 1, 1), (1, 0, 2), 1, 1),
    "a signal": ((3, 33, 300), (65, 33, 4), 3, 2, 2, 1),
    "a volume whose slices are read apart": ((2, 4, 6, 28, 28), (16, 4, 3, 3, 3), 1, 1, 1, 1),
    "an input that is read as it is": ((2, 32, 16, 17), (2, 32, 1, 1), 1, 0, 1, 1),
    "strips of rows": ((3, 3, 17, 32), (32, 3, 3, 3), 1, 1, 1, 1),
    "strips of rows, in groups, with gaps": ((2, 6, 12, 34), (28, 3, 3, 3), 1, (2, 0), (2, 1), 2),
    "strips of rows, with steps": ((2, 4, 9, 31), (17, 4, 3, 3), (1, 2), 1, 1, 1),
    "strips of rows, read as they are": ((2, 20, 5, 16), (31, 20, 1, 1), 1, 0, 1, 1),
    "strips of rows in a volume": ((2, 2, 4, 7, 16), (5, 2, 3, 3, 3), 1, 1, 1, 1),
    "several short rows in a block": ((3, 6, 30, 10), (12, 6, 5, 5), 1, 0, 1, 1),
    "one filter for each channel, long rows": ((2, 3, 5000), (3, 1, 9), 1, 4, 1, 3),
    "one filter for each channel, results in turn": ((2, 5, 14, 13), (5, 1, 4, 3), 2, 1, 1, 5),
    "a window as large as the input": ((5, 12, 4, 4), (48, 6, 4, 4), 1, 0, 1, 2),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ways(name: str, dtype: Any) -> None:
    shape, filters, *how, groups = LARGE[name]
    dims = len(shape) - 2
    stride, padding, dilation = (numpy_kernels.each(value, dims) for value in how)
    x, w = numbers(0, *shape, dtype=dtype), numbers(1, *filters, dtype=dtype)
    wide = x.astype(np.float64), w.astype(np.float64)
    y = numpy_kernels.forward(*wide, stride, padding, dilation, groups)
    found = getattr(NATIVE, f"conv{dims}d")(x, w, None, *how, groups)
    close(found, y, dtype, int(np.prod(filters[1:])))
    g = numbers(2, *y.shape, dtype=dtype)
    found = NATIVE._conv_weight(x, g, filters, stride, padding, dilation, groups)
    expected = numpy_kernels.weights(
        wide[0], g.astype(np.float64), filters[2:], stride, padding, dilation, groups
    )
    close(found, expected, dtype, g.size // g.shape[1])
    found = getattr(NATIVE, f"conv_transpose{dims}d")(y.astype(dtype), w, None, *how[:2], 0, groups, how[2])
    expected = numpy_kernels.transposed(
        y.astype(dtype).astype(np.float64), wide[1], found.shape[2:], stride, padding, dilation, groups
    )
    close(found, expected, dtype, filters[0] * int(np.prod(filters[2:])))


# --- channels that lie last in memory ----------------------------------------------------------------------------


def with_channels_last(x: Any) -> Any:
    """Return a copy of x (N, C, ...) whose channels lie side by side."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def has_channels_last(x: Any) -> bool:
    return bool(np.moveaxis(x, 1, -1).flags.c_contiguous)


@settings(max_examples=60, deadline=None)
@given(
    cases().filter(lambda case: len(case[2]) > 1),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.booleans(),
)
def test_channels_last_values(case: Any, dtype: Any, with_bias: bool, turned_filters: bool) -> None:
    shape, filters, stride, padding, dilation, groups = case
    x, w = numbers(0, *shape, dtype=dtype), numbers(1, *filters, dtype=dtype)
    bias = numbers(2, filters[0], dtype=dtype) if with_bias else None
    expected = reference(x, w, stride, padding, dilation, groups)
    if bias is not None:
        expected += bias.astype(np.float64).reshape(-1, *(1,) * len(stride))
    op = getattr(NATIVE, f"conv{len(stride)}d")
    given_filters = with_channels_last(w) if turned_filters else w
    close(
        op(with_channels_last(x), given_filters, bias, stride, padding, dilation, groups),
        expected,
        dtype,
        np.prod(filters[1:]),
    )


@settings(max_examples=60, deadline=None)
@given(
    cases().filter(lambda case: len(case[2]) > 1),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.booleans(),
)
def test_channels_last_gradients(case: Any, dtype: Any, with_bias: bool, turned_filters: bool) -> None:
    shape, filters, stride, padding, dilation, groups = case
    x, w = numbers(0, *shape, dtype=dtype), numbers(1, *filters, dtype=dtype)
    y = reference(x, w, stride, padding, dilation, groups)
    g = numbers(3, *y.shape, dtype=dtype)
    geometry = stride, padding, dilation
    found = NATIVE._conv_weight(with_channels_last(x), with_channels_last(g), filters, *geometry, groups)
    wide = [a.astype(np.float64) for a in (x, w, g)]
    expected = numpy_kernels.weights(wide[0], wide[2], filters[2:], *geometry, groups)
    close(found, expected, dtype, g.size // g.shape[1])
    more = [
        size - ((n - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, n, hop, pad, gap, width in zip(
            shape[2:], y.shape[2:], stride, padding, dilation, filters[2:], strict=True
        )
    ]
    bias = numbers(2, shape[1], dtype=dtype) if with_bias else None
    op = getattr(NATIVE, f"conv_transpose{len(stride)}d")
    given_filters = with_channels_last(w) if turned_filters else w
    found = op(with_channels_last(g), given_filters, bias, stride, padding, more, groups, dilation)
    expected = numpy_kernels.transposed(wide[2], wide[1], shape[2:], *geometry, groups)
    if bias is not None:
        expected += bias.astype(np.float64).reshape(-1, *(1,) * len(stride))
    close(found, expected, dtype, filters[0] * np.prod(filters[2:]))


LAST = {
    "bands of rows": ((2, 16, 40, 41), (32, 16, 3, 3), 1, 1, 1, 1),
    "several images in a band": ((19, 24, 5, 6), (40, 24, 3, 3), 1, 1, 1, 1),
    "an input that is read as it is": ((2, 20, 30, 31), (48, 20, 3, 3), 2, 0, 1, 1),
    "windows that are multiplied part by part": ((2, 150, 9, 9), (70, 150, 3, 3), 1, 1, 1, 1),
    "a filter that ends within a vector": ((3, 7, 13, 12), (29, 7, 2, 3), 1, (0, 2), 1, 1),
    "gaps in windows": ((2, 12, 25, 25), (17, 12, 3, 3), 1, 2, 2, 1),
    "channels in groups": ((2, 60, 11, 11), (75, 20, 3, 3), (2, 1), 1, 1, 3),
    "rows that are longer than a block": ((1, 3, 4, 900), (20, 3, 3, 5), 1, 1, 1, 1),
    "filters of one element": ((3, 50, 17, 9), (64, 50, 1, 1), 1, 0, 1, 1),
    "a volume": ((2, 8, 7, 12, 13), (24, 8, 3, 3, 3), 1, 1, 1, 1),
    "a volume in bands, with steps": ((1, 9, 9, 30, 31), (33, 9, 2, 3, 3), (2, 1, 2), (1, 1, 0), 1, 1),
    "one filter for each channel": ((2, 37, 15, 31), (37, 1, 3, 3), (2, 1), 1, 1, 37),
    "one filter for each of channels that fill vectors": ((3, 32, 40, 41), (32, 1, 3, 3), 1, 1, 1, 32),
    "one filter for each channel, read as it is": ((2, 18, 13, 9), (18, 1, 5, 2), 1, 0, (1, 2), 18),
    "one filter for each channel of a volume": ((2, 20, 7, 9, 8), (20, 1, 3, 3, 3), 2, 1, 1, 20),
    "many filters and few places": ((1, 130, 4, 4), (200, 130, 3, 3), 1, 1, 1, 1),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_channels_last_ways(name: str, dtype: Any) -> None:
    shape, filters, *how, groups = LAST[name]
    dims = len(shape) - 2
    geometry = tuple(numpy_kernels.each(value, dims) for value in how)
    x, w, bias = (numbers(i, *size, dtype=dtype) for i, size in enumerate((shape, filters, filters[:1])))
    wide = x.astype(np.float64), w.astype(np.float64)
    y = numpy_kernels.forward(*wide, *geometry, groups)
    g = numbers(3, *y.shape, dtype=dtype)
    more = [
        size - ((n - 1) * hop - 2 * pad + gap * (width - 1) + 1)
        for size, n, hop, pad, gap, width in zip(shape[2:], y.shape[2:], *geometry, filters[2:], strict=True)
    ]
    turned = with_channels_last(x), with_channels_last(g)
    threads = load("threads")
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            forward = getattr(NATIVE, f"conv{dims}d")(turned[0], w, bias, *how, groups)
            op = getattr(NATIVE, f"conv_transpose{dims}d")
            back = op(turned[1], w, None, *how[:2], more, groups, how[2])
            found.append((forward, back, NATIVE._conv_weight(*turned, filters, *geometry, groups)))
    finally:
        threads.set_num_threads(before)
    y += bias.astype(np.float64).reshape(-1, *(1,) * dims)
    close(found[0][0], y, dtype, int(np.prod(filters[1:])))
    expected = numpy_kernels.transposed(g.astype(np.float64), wide[1], shape[2:], *geometry, groups)
    close(found[0][1], expected, dtype, filters[0] * int(np.prod(filters[2:])))
    expected = numpy_kernels.weights(wide[0], g.astype(np.float64), filters[2:], *geometry, groups)
    close(found[0][2], expected, dtype, g.size // g.shape[1])
    assert has_channels_last(found[0][0])
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name in LAST if "volume" not in name])
def test_channels_last_gradients_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    shape, filters, stride, padding, dilation, groups = LAST[name]
    arrays = [numbers(i, *size, dtype=np.float32) for i, size in enumerate((shape, filters, filters[:1]))]
    results = []
    for lib in (tt, torch):
        x, w, b = (lib.from_numpy(array).requires_grad_() for array in arrays)
        turned = x.contiguous(memory_format=lib.channels_last)
        y = lib.nn.functional.conv2d(turned, w, b, stride, padding, dilation, groups)
        y.backward(lib.cos(y.detach()))
        results.append([y.detach(), x.grad, w.grad, b.grad])
    assert results[0][0].stride() == tuple(results[1][0].stride())
    for found, expected in zip(*results, strict=True):
        terms = int(np.prod(filters[1:])) + int(np.prod(results[0][0].shape))
        close(found.numpy(), expected.numpy(), np.float32, terms)


def test_channels_last_of_empty_batches_and_without_channels() -> None:
    x, w = with_channels_last(np.zeros((0, 3, 6, 6))), numbers(1, 16, 3, 3, 3)
    assert NATIVE.conv2d(x, w, None, 1, 0, 1, 1).shape == (0, 16, 4, 4)
    bias = numbers(2, 16)
    found = NATIVE.conv2d(
        with_channels_last(np.zeros((2, 0, 6, 6))), np.zeros((16, 0, 3, 3)), bias, 1, 0, 1, 1
    )
    np.testing.assert_array_equal(found, np.broadcast_to(bias[:, None, None], (2, 16, 4, 4)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("padding", [0, 1])
def test_channels_last_special_values_stay_where_they_belong(value: float, padding: int) -> None:
    x, w = numbers(0, 2, 3, 6, 6), numbers(1, 20, 3, 3, 3)
    x[0, 1, 0, 5] = value
    bad = ~np.isfinite(NATIVE.conv2d(with_channels_last(x), w, None, 1, padding, 1, 1))
    expected = ~np.isfinite(NATIVE.conv2d(x, w, None, 1, padding, 1, 1))
    np.testing.assert_array_equal(bad, expected)
    w[4, 2, 1, 1] = value
    bad = ~np.isfinite(NATIVE.conv2d(with_channels_last(x), w, None, 1, padding, 1, 1))
    assert bad[:, 4].all()
    np.testing.assert_array_equal(np.delete(bad, 4, 1), np.delete(expected, 4, 1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_channels_last_special_values_of_gradients_stay_where_they_belong(value: float) -> None:
    x, w, g = numbers(0, 2, 6, 7, 6), numbers(1, 24, 6, 3, 3), numbers(2, 2, 24, 7, 6)
    x[1, 2, 4, 3] = value
    g[0, 5, 0, 0] = value
    turned = with_channels_last(x), with_channels_last(g)
    geometry = (1, 1), (1, 1), (1, 1)
    found, expected = (NATIVE._conv_weight(*pair, w.shape, *geometry, 1) for pair in (turned, (x, g)))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    assert np.isfinite(found[:5, 3]).all()
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-12, atol=1e-12)
    found, expected = (NATIVE.conv_transpose2d(one, w, None, 2, 1, 1, 1, 1) for one in (turned[1], g))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    assert np.isfinite(found[1]).all()


def test_channels_last_results_that_meet_no_tap_are_the_bias() -> None:
    g, bias = with_channels_last(numbers(0, 2, 3, 4, 4)), numbers(1, 20)
    found = NATIVE.conv_transpose2d(g, numbers(2, 3, 20, 1, 1), bias, 2, 0, 1, 1, 1)
    np.testing.assert_array_equal(found[:, :, 1::2], np.broadcast_to(bias[:, None, None], (2, 20, 4, 8)))


def test_channels_last_with_more_padding_than_memory_are_refused() -> None:
    x, w = with_channels_last(np.zeros((2, 3, 6, 6))), np.zeros((16, 3, 3, 3))
    for padding in (2**40, 2**62):
        with pytest.raises((MemoryError, ValueError)):
            NATIVE.conv2d(x, w, None, 1, padding, 1, 1)
    # Few windows, far apart, over an input that no memory holds with its padding.
    with pytest.raises(MemoryError):
        NATIVE.conv2d(x, w, None, 2**44, 2**45, 1, 1)


@pytest.mark.parametrize("size", [1, 6])
def test_transposes_add_the_bias(size: int) -> None:
    y, w, bias = numbers(0, 3, 8, size, size), numbers(1, 8, 5, 4, 4), numbers(2, 10)
    for padding in (0, 1):
        plain = NATIVE.conv_transpose2d(y, w, None, 2, padding, 0, 2, 1)
        found = NATIVE.conv_transpose2d(y, w, bias, 2, padding, 0, 2, 1)
        np.testing.assert_allclose(found, plain + bias.reshape(-1, 1, 1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(
    ("channels", "filters", "size"), [(5, 2, (7, 9)), (40, 3, (40, 53)), (70, 8, (3, 11)), (1, 2, (5, 5))]
)
def test_filters_of_one_element(channels: int, filters: int, size: Any, groups: int, dtype: Any) -> None:
    x, w, bias = (
        numbers(0, 2, groups * channels, *size),
        numbers(1, groups * filters, channels, 1, 1),
        numbers(2, groups * filters),
    )
    x, w, bias = (t.astype(dtype) for t in (x, w, bias))
    parts = (
        x.reshape(2, groups, channels, -1).astype(np.float64),
        w.reshape(groups, filters, channels).astype(np.float64),
    )
    expected = np.einsum("bgcp,gfc->bgfp", *parts).reshape(2, groups * filters, *size)
    close(NATIVE.conv2d(x, w, None, 1, 0, 1, groups), expected, dtype, channels)
    found = NATIVE.conv2d(x, w, bias, 1, 0, 1, groups)
    close(found, expected + bias[:, None, None], dtype, channels)
    turned = np.ascontiguousarray(
        w.reshape(groups, filters, channels).swapaxes(1, 2).reshape(-1, filters, 1, 1)
    )
    close(
        NATIVE.conv_transpose2d(x, turned, bias, 1, 0, 0, groups, 1),
        expected + bias[:, None, None],
        dtype,
        channels,
    )


def test_strides_of_any_kind() -> None:
    x, w = numbers(0, 6, 3, 9, 8), numbers(1, 3, 3, 4, 2)
    expected = reference(
        x[::-2, :, ::-1].transpose(0, 1, 3, 2), w.transpose(0, 1, 3, 2), (1, 1), (1, 0), (1, 1), 1
    )
    found = NATIVE.conv2d(
        x[::-2, :, ::-1].transpose(0, 1, 3, 2), w.transpose(0, 1, 3, 2), None, 1, (1, 0), 1, 1
    )
    close(found, expected, np.float64, 24)
    same = np.broadcast_to(numbers(2, 1, 3, 1, 8), (2, 3, 9, 8))
    close(
        NATIVE.conv2d(same, w, None, 1, 0, 1, 1),
        reference(same, w, (1, 1), (0, 0), (1, 1), 1),
        np.float64,
        24,
    )


def test_without_a_batch_and_empty_batches() -> None:
    x, w = numbers(0, 3, 9), numbers(1, 2, 3, 4)
    found = NATIVE.conv1d(x, w, None, 1, 0, 1, 1)
    np.testing.assert_array_equal(found, NATIVE.conv1d(x[None], w, None, 1, 0, 1, 1)[0])
    assert NATIVE.conv1d(x[None][:0], w, None, 1, 0, 1, 1).shape == (0, 2, 6)
    assert not NATIVE._conv_weight(
        np.zeros((0, 3, 9)), np.zeros((0, 2, 6)), (2, 3, 4), (1,), (0,), (1,), 1
    ).any()
    bias = np.array([1.0, 2.0])
    no_channels = NATIVE.conv1d(np.zeros((1, 0, 5)), np.zeros((2, 0, 3)), bias, 1, 0, 1, 1)
    np.testing.assert_array_equal(no_channels, np.broadcast_to(bias[:, None], (1, 2, 3)))


@pytest.mark.parametrize("filters", [(3, 1, 3, 3), (40, 3, 3, 3)])
def test_infinities_of_a_channel_stay_there(filters: tuple[int, ...]) -> None:
    groups = 3 if filters[1] == 1 else 1
    x, g = numbers(0, 2, 3, 9, 7), numbers(2, 2, filters[0], 9, 7)
    x[1, 2, 4, 3] = np.inf
    gradient = NATIVE._conv_weight(x, g, filters, (1, 1), (1, 1), (1, 1), groups)
    finite = np.isfinite(gradient)
    assert not (finite[2, 0] if groups == 3 else finite[:, 2]).any()
    assert (finite[:2] if groups == 3 else finite[:, :2]).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_special_values_stay_where_they_belong(value: float) -> None:
    """A row's last places and the next row's first ones lie side by side in memory, but share no window."""
    x, w = numbers(0, 2, 3, 6, 6), numbers(1, 4, 3, 3, 3)
    x[0, 1, 0, 0] = value
    y = NATIVE.conv2d(x, w, None, 1, 0, 1, 1)
    bad = ~np.isfinite(y)
    assert bad[0, :, 0, 0].all()
    assert bad.sum() == 4
    g = numbers(2, 2, 4, 4, 4)
    gradient = NATIVE._conv_weight(x, g, w.shape, (1, 1), (0, 0), (1, 1), 1)
    bad = ~np.isfinite(gradient)
    assert bad[:, 1, 0, 0].all()
    assert bad.sum() == 4
    expected = numpy_kernels.weights(np.where(np.isfinite(x), x, 0), g, (3, 3), (1, 1), (0, 0), (1, 1), 1)
    np.testing.assert_allclose(gradient[~bad], expected[~bad], rtol=1e-12, atol=1e-12)


def test_one_result_may_see_any_tap_of_a_transposed_filter() -> None:
    """Padding hides the first tap, so that the only one left is not where the filter begins."""
    g, w = numbers(0, 2, 3, 1), numbers(1, 3, 2, 2)
    found = NATIVE.conv_transpose1d(g, w, None, 2, 1, 1, 1, 1)
    np.testing.assert_allclose(found, np.einsum("ncx,cm->nmx", g, w[:, :, 1]), rtol=1e-13)


@pytest.mark.parametrize(("channels", "filters", "size"), [(20, 34, 5), (6, 50, 9), (33, 20, 4)])
@pytest.mark.parametrize("groups", [1, 2])
def test_few_places_read_filters_where_they_lie(channels: int, filters: int, size: int, groups: int) -> None:
    x, w = numbers(0, 3, groups * channels, size, size), numbers(1, groups * filters, channels, 3, 3)
    bias = numbers(2, groups * filters)
    found = NATIVE.conv2d(x, w, bias, 1, 1, 1, groups)
    expected = reference(x, w, (1, 1), (1, 1), (1, 1), groups) + bias[:, None, None]
    close(found, expected, np.float64, channels * 9)
    g = numbers(3, *found.shape)
    back = NATIVE.conv_transpose2d(g, w, None, 1, 1, 0, groups, 1)
    close(
        back,
        numpy_kernels.transposed(g, w, (size, size), (1, 1), (1, 1), (1, 1), groups),
        np.float64,
        filters * 9,
    )


@pytest.mark.parametrize("size", [7, 14])
def test_threads_that_share_filters_do_not_change_results(size: int) -> None:
    """Few places and many filters: threads take parts of the filters, of which each one is read once."""
    threads = load("threads")
    x, w = numbers(0, 2, 96, size, size, dtype=np.float32), numbers(1, 131, 96, 3, 3, dtype=np.float32)
    bias = numbers(2, 131, dtype=np.float32)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            y = NATIVE.conv2d(x, w, bias, 1, 1, 1, 1)
            found.append((y, NATIVE.conv_transpose2d(y, w, None, 1, 1, 0, 1, 1)))
    finally:
        threads.set_num_threads(before)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.moveaxis(np.tensordot(windows, w, [(1, 4, 5), (1, 2, 3)]), 3, 1) + bias[:, None, None]
    close(found[0][0], expected, np.float32, 96 * 9)
    for other in found[1:]:
        for one, another in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, another)


def test_threads_do_not_change_results() -> None:
    threads = load("threads")
    x, w = numbers(0, 4, 16, 40, 40, dtype=np.float32), numbers(1, 24, 16, 3, 3, dtype=np.float32)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 3):
            threads.set_num_threads(count)
            y = NATIVE.conv2d(x, w, None, 1, 1, 1, 1)
            found.append((y, NATIVE._conv_weight(x, y, w.shape, (1, 1), (1, 1), (1, 1), 1)))
    finally:
        threads.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "wrong",
    [
        (np.zeros((1, 2, 5)), np.zeros((2, 3, 3)), None, 1, 0, 1, 1),  # channels
        (np.zeros((1, 2, 5)), np.zeros((2, 2, 7)), None, 1, 0, 1, 1),  # a window that does not fit
        (np.zeros((1, 2, 5)), np.zeros((2, 2, 3)), np.zeros(3), 1, 0, 1, 1),  # bias
        (np.zeros((1, 2, 5)), np.zeros((2, 2, 3)), None, 0, 0, 1, 1),  # stride
        (np.zeros((1, 2, 5)), np.zeros((2, 2, 3)), None, 1, 0, 1, 3),  # groups
        (np.zeros((1, 2, 5)), np.zeros((2, 2, 3)), None, (1, 1), 0, 1, 1),  # too many strides
        (np.zeros((5,)), np.zeros((2, 2, 3)), None, 1, 0, 1, 1),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        NATIVE.conv1d(*wrong)


def test_other_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        NATIVE.conv1d(np.ones((1, 1, 3), int), np.ones((1, 1, 3), int), None, 1, 0, 1, 1)
