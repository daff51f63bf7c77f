"""Native attention and its gradients: against the formula in float64, with masks, gaps and several threads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt.backends.cpu.native.loading import load, status

NATIVE = load("products")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")


def reference(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float, g: Any) -> tuple[Any, ...]:
    """Return the result, the logarithms of its sums, and the gradients of q, k and v."""
    q, k, v, g = (t.astype(np.float64) for t in (q, k, v, g))
    scores = q @ k.swapaxes(-1, -2) * scale
    seen = np.ones(scores.shape, bool)
    if mask is not None and mask.dtype == bool:
        seen &= mask
    elif mask is not None:
        scores = scores + mask.astype(np.float64)
    if causal:
        seen &= np.tril(np.ones(scores.shape[-2:], bool))
    scores = np.where(seen, scores, -np.inf)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = weights.sum(-1, keepdims=True)
    weights /= np.where(total == 0, 1, total)
    with np.errstate(divide="ignore"):
        sums = (np.where(np.isfinite(most), most, 0) + np.log(total))[..., 0]
    slopes = g @ v.swapaxes(-1, -2)
    slopes = weights * (slopes - (weights * slopes).sum(-1, keepdims=True)) * scale
    return weights @ v, sums, slopes @ k, slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g


def close(found: Any, expected: Any, dtype: Any) -> None:
    assert found.dtype == dtype
    assert found.shape == expected.shape
    scale = np.abs(np.where(np.isfinite(expected), expected, 0)).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=0, atol=scale * (2e-5 if dtype is np.float32 else 1e-12))


def mask_of(masked: str, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a mask of bools or numbers, or None."""
    rng = np.random.default_rng(1)
    selected = rng.random(shape) < 0.7
    if masked in ("rows without any", "infinite numbers"):
        selected[..., 0, :] = False
    if masked == "numbers":
        return rng.standard_normal(shape).astype(dtype)
    if masked == "infinite numbers":
        return np.where(selected, rng.standard_normal(shape), -np.inf).astype(dtype)
    return None if masked == "none" else selected


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([(), (1,), (3,), (2, 3)]),
    st.tuples(*(st.sampled_from([1, 2, 5, 17, 65, 130]),) * 2, *(st.sampled_from([1, 3, 16, 20]),) * 2),
    st.sampled_from([np.float32, np.float64]),
    st.booleans(),
    st.sampled_from(["none", "some", "rows without any", "numbers", "infinite numbers"]),
    st.booleans(),
)
def test_values_and_gradients(
    batch: Any, sizes: Any, dtype: Any, causal: bool, masked: str, transposed: bool
) -> None:
    rng = np.random.default_rng(0)
    queries, keys, width, out = sizes
    shapes = (queries, width), (keys, width), (keys, out), (queries, out)
    q, k, v, g = (rng.standard_normal((*batch, *shape)).astype(dtype) for shape in shapes)
    if transposed:
        q, k, v, g = (np.ascontiguousarray(t.swapaxes(-1, -2)).swapaxes(-1, -2) for t in (q, k, v, g))
    mask = mask_of(masked, (*batch, queries, keys), dtype)
    expected = reference(q, k, v, mask, causal, 0.3, g)
    result = NATIVE._attention(q, k, v, mask, causal, 0.3)
    gradients = NATIVE._attention_backward(g, q, k, v, mask, *result, causal, 0.3)
    for found, right in zip((*result, *gradients), expected, strict=True):
        close(found, right, dtype)


@pytest.mark.parametrize("masked", ["none", "some", "rows without any", "numbers", "infinite numbers"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_queries_and_keys_than_a_tile_has(dtype: Any, causal: bool, masked: str) -> None:
    q, k, v, g = (
        np.random.default_rng(i).standard_normal((9, n, 8)).astype(dtype)
        for i, n in enumerate((300, 500, 500, 300))
    )
    q[0, :, 0], k[:, :300, 0] = 8, np.linspace(-8, 0, 300)  # the greatest score grows from tile to tile
    mask = mask_of(masked, (9, 300, 500), dtype)
    if mask is not None and masked != "numbers":
        mask[1, 7, :300] = 0 if mask.dtype == bool else -np.inf  # a first tile without any key
    expected = reference(q, k, v, mask, causal, 0.3, g)
    result = NATIVE._attention(q, k, v, mask, causal, 0.3)
    for found, right in zip(
        (*result, *NATIVE._attention_backward(g, q, k, v, mask, *result, causal, 0.3)), expected, strict=True
    ):
        close(found, right, dtype)


@pytest.mark.parametrize("half", [np.float16, ml_dtypes.bfloat16])
def test_masks_of_half_precision(half: Any) -> None:
    q, g = np.random.default_rng(0).standard_normal((2, 2, 30, 8)).astype(np.float32)
    mask = np.random.default_rng(1).standard_normal((2, 30, 30)).astype(half)
    expected = reference(q, q, q, mask, False, 0.3, g)
    result = NATIVE._attention(q, q, q, mask, False, 0.3)
    for found, right in zip(
        (*result, *NATIVE._attention_backward(g, q, q, q, mask, *result, False, 0.3)), expected, strict=True
    ):
        close(found, right, np.float32)


def test_rows_of_infinite_scores() -> None:
    q, k = np.ones((1, 2, 1)), np.ones((1, 300, 1))
    k[:, :250] = -np.inf
    found, sums = NATIVE._attention(q, k, np.abs(np.nan_to_num(k, neginf=5.0)), None, False, 1.0)
    np.testing.assert_allclose(found, 1)  # the first tile counts for nothing
    np.testing.assert_allclose(sums, 1 + np.log(50))
    found, sums = NATIVE._attention(q, k[:, :2], np.ones((1, 2, 1)), None, False, 1.0)
    assert np.isnan(found).all()
    k[:, 3] = np.nan
    assert np.isnan(NATIVE._attention(q, k, np.ones((1, 300, 1)), None, False, 1.0)[0]).all()


def test_what_the_forward_pass_returned_may_have_gaps() -> None:
    q, k, v, g = np.random.default_rng(0).standard_normal((4, 2, 3, 7, 5))
    result = NATIVE._attention(q, k, v, None, True, 0.3)
    wide = [np.repeat(t, 2, -1)[..., ::2] for t in (*result, g)]
    expected = reference(q, k, v, None, True, 0.3, g)
    found = NATIVE._attention_backward(wide[2], q, k, v, None, wide[0], wide[1], True, 0.3)
    for one, right in zip(found, expected[2:], strict=True):
        close(one, right, np.float64)


def test_masks_that_are_repeated() -> None:
    q = np.random.default_rng(0).standard_normal((2, 4, 3))
    mask = np.broadcast_to(np.array([True, False, True, True]), (2, 4, 4))
    expected = reference(q, q, q, mask, False, 1.0, q)[0]
    close(NATIVE._attention(q, q, q, mask, False, 1.0)[0], expected, np.float64)


def test_no_keys_and_special_values() -> None:
    q = np.ones((2, 3, 4), np.float32)
    none = np.ones((2, 0, 4), np.float32)
    result, sums = NATIVE._attention(q, none, none, None, False, 1.0)
    assert not result.any()
    assert (sums == -np.inf).all()
    assert NATIVE._attention(none, q, q, None, False, 1.0)[0].shape == (2, 0, 4)
    empty, sums = NATIVE._attention(q, q, q[..., :0], None, False, 1.0)
    assert empty.shape == (2, 3, 0)
    np.testing.assert_allclose(sums, 4 + np.log(3), rtol=1e-6)
    q[0, 1, 0] = np.nan
    found, sums = NATIVE._attention(q, np.ones_like(q), np.ones_like(q), None, False, 1.0)
    np.testing.assert_array_equal(np.isnan(sums), [[False, True, False], [False] * 3])
    np.testing.assert_array_equal(np.isnan(found).any(-1), [[False, True, False], [False] * 3])
    huge = np.full((1, 2, 4), 1e4)  # exp of the scores overflows
    np.testing.assert_allclose(NATIVE._attention(huge, huge, np.ones((1, 2, 4)), None, False, 1.0)[0], 1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "length"), [(4, 100), (4, 300), (1, 700)])
def test_threads_do_not_change_results(batch: int, length: int, causal: bool) -> None:
    threads = load("threads")
    q = np.random.default_rng(0).standard_normal((batch, length, 32)).astype(np.float32)
    before, found = threads.get_num_threads(), []
    try:
        for count in (1, 3):
            threads.set_num_threads(count)
            result = NATIVE._attention(q, q, q, None, causal, 0.2)
            found.append((*result, *NATIVE._attention_backward(q, q, q, q, None, *result, causal, 0.2)))
    finally:
        threads.set_num_threads(before)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("number", [1, 9])
def test_gradients_of_long_sequences(number: int, causal: bool) -> None:
    q, k, v, g = np.random.default_rng(0).standard_normal((4, number, 530, 24)).astype(np.float32)
    expected = reference(q, k, v, None, causal, 0.3, g)
    result = NATIVE._attention(q, k, v, None, causal, 0.3)
    found = *result, *NATIVE._attention_backward(g, q, k, v, None, *result, causal, 0.3)
    for one, other in zip(found, expected, strict=True):
        close(one, other, np.float32)


@pytest.mark.parametrize("scale", [0.0, -0.7])
def test_scales_that_are_not_positive(scale: float) -> None:
    q, k, v, g = np.random.default_rng(0).standard_normal((4, 2, 21, 5)).astype(np.float32)
    expected = reference(q, k, v, None, True, scale, g)
    result = NATIVE._attention(q, k, v, None, True, scale)
    found = *result, *NATIVE._attention_backward(g, q, k, v, None, *result, True, scale)
    for one, other in zip(found, expected, strict=True):
        close(one, other, np.float32)


def test_gradients_without_queries_are_zeros() -> None:
    q, k = np.ones((1, 0, 4), np.float32), np.ones((1, 3, 4), np.float32)
    found = NATIVE._attention_backward(
        q, q, k, k, None, *NATIVE._attention(q, k, k, None, False, 1.0), False, 1.0
    )
    assert [t.shape for t in found] == [(1, 0, 4), (1, 3, 4), (1, 3, 4)]
    assert not any(t.any() for t in found)


def test_what_does_not_fit_is_refused() -> None:
    q = np.ones((2, 3, 4))
    wrong: list[tuple[Any, ...]] = [
        (q, q[:1], q, None),
        (q, q[..., :2], q, None),
        (q, q, q[:, :2], None),
        (q, q, q, np.ones((2, 3, 2), bool)),
        (q, q.astype(np.float32), q, None),
        (q, q, q, np.ones((2, 3, 3), np.float32)),
        (q, q, q, np.ones((2, 3, 3), np.int64)),
    ]
    for arrays in wrong:
        with pytest.raises(ValueError):
            NATIVE._attention(*arrays, False, 1.0)
    rows = q[..., 0]
    for wrong_one in (
        (q[:, :2], q, rows),
        (q, q[..., :2], rows),
        (q, q, rows[:1]),
        (q, q, rows.astype(np.float32)),
    ):
        with pytest.raises(ValueError):
            NATIVE._attention_backward(wrong_one[0], q, q, q, None, *wrong_one[1:], False, 1.0)
