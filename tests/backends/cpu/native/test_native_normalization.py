"""Native normalization and its gradients against the composites in double precision."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tt
from tt.backends.cpu.native.loading import load

NATIVE = load("normalization")

pytestmark = pytest.mark.skipif(NATIVE is None, reason="the native kernels are not compiled")

FLOATING = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12, np.dtype(np.float16): 1e-2,
            np.dtype(ml_dtypes.bfloat16): 8e-2}  # fmt: skip


def make(random, dtype, *shape):
    return np.asarray(random.standard_normal(shape).astype(dtype))


def tensor(value):
    return tt.from_numpy(value.astype(np.float64)) if isinstance(value, np.ndarray) else value


def assert_as_composite(op, found, arguments, tolerance):
    with tt.mask_kernels(op):
        expected = getattr(tt.ops, op)(*map(tensor, arguments))
    for mine, theirs in zip(
        found if isinstance(found, tuple) else [found],
        expected if isinstance(expected, tuple) else [expected],
        strict=True,
    ):
        theirs = theirs.numpy()
        assert mine.shape == theirs.shape
        scale = max(1.0, float(np.abs(theirs).max(initial=0)))
        np.testing.assert_allclose(mine.astype(np.float64), theirs, rtol=tolerance, atol=tolerance * scale)


def layouts(x):
    yield x
    yield np.asfortranarray(x)
    yield np.concatenate([x, x])[::2] if len(x) % 2 == 0 else x[::-1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ((2, 3), 1),
        ((70, 130), 1),
        ((5, 2500), 1),
        ((2, 3, 4), 2),
        ((3000, 7), 1),
        ((3, 16), 1),
        ((2001, 64), 1),
        ((37, 4, 12), 2),
        ((101, 256), 1),
        ((101, 272), 1),
        ((40, 1024), 1),
        ((0, 3), 1),
    ],
)
def test_over_the_last_dimensions(shape, count, dtype, affine):
    random, tolerance = np.random.default_rng(0), FLOATING[dtype]
    normalized = shape[-count:]
    weight, bias = (make(random, dtype, *normalized) if affine else None for _ in range(2))
    for x in layouts(make(random, dtype, *shape)):
        g = make(random, dtype, *x.shape)
        arguments = (x, normalized, weight, bias, 1e-3)
        assert_as_composite("layer_norm", NATIVE.layer_norm(*arguments), arguments, tolerance)
        arguments = (g, x, normalized, weight, 1e-3)
        found = NATIVE.layer_norm_backward(*arguments)
        assert_as_composite("_layer_norm_backward", found, arguments, tolerance * 4)
        found = NATIVE.rms_norm_backward(*arguments)
        assert_as_composite("_rms_norm_backward", found, arguments, tolerance * 4)
        arguments = (x, normalized, weight, 1e-3)
        assert_as_composite("rms_norm", NATIVE.rms_norm(*arguments), arguments, tolerance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(
    "shape",
    [(2, 8), (300, 16), (2, 4, 3), (3, 8, 70), (2, 8, 5, 70), (20, 16, 30, 3), (2, 4, 3000), (0, 4, 3)],
)
def test_in_groups_of_channels(shape, groups, dtype, affine):
    random, tolerance = np.random.default_rng(0), FLOATING[dtype]
    weight, bias = (make(random, dtype, shape[1]) if affine else None for _ in range(2))
    for x in layouts(make(random, dtype, *shape)):
        g = make(random, dtype, *x.shape)
        arguments = (x, groups, weight, bias, 1e-1)
        assert_as_composite("group_norm", NATIVE.group_norm(*arguments), arguments, tolerance)
        arguments = (g, x, groups, weight, 1e-1)
        found = NATIVE.group_norm_backward(*arguments)
        assert_as_composite("_group_norm_backward", found, arguments, tolerance * 4)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(2, 4), (300, 8), (2, 4, 3), (3, 8, 70), (2, 8, 5, 70), (20, 16, 30, 3), (2, 2, 40, 3000)]
)
def test_by_channel(shape, dtype, training):
    random, tolerance = np.random.default_rng(0), FLOATING[np.dtype(dtype)]
    channels = shape[1]
    running = (make(random, dtype, channels), np.abs(make(random, dtype, channels)) + dtype(0.1))
    last = np.moveaxis(np.ascontiguousarray(np.moveaxis(make(random, dtype, *shape), 1, -1)), -1, 1)
    for affine in (False, True):
        weight, bias = (make(random, dtype, channels) if affine else None for _ in range(2))
        for x in (last, *layouts(make(random, dtype, *shape))):
            arguments = (x, weight, bias, *((None, None) if training else running), training, 1e-2)
            found = NATIVE.batch_norm(*arguments)
            assert_as_composite("_batch_norm", found, arguments, tolerance)
            for g in (make(random, dtype, *x.shape), last.reshape(-1)[: x.size].reshape(x.shape)):
                arguments = (g, x, weight, *found[1:], training, 1e-2)
                backward = NATIVE.batch_norm_backward(*arguments)
                assert_as_composite("_batch_norm_backward", backward, arguments, tolerance * 4)
    assert NATIVE.batch_norm(last, None, None, None, None, True, 1e-2)[0].strides == last.strides


def test_a_large_mean_loses_no_digits():
    x = np.random.default_rng(0).standard_normal((4, 3000)) + 1e5
    narrow = x.astype(np.float32)
    centred = narrow.astype(np.float64) - narrow.mean(1, keepdims=True, dtype=np.float64)
    expected = centred / centred.std(1, keepdims=True)
    np.testing.assert_allclose(NATIVE.layer_norm(narrow, (3000,), None, None, 0.0), expected, atol=1e-2)


def test_results_do_not_depend_on_the_number_of_threads():
    threads = load("threads")
    before = threads.get_num_threads()
    random = np.random.default_rng(0)
    x, g = (make(random, np.float32, 700, 8, 40) for _ in range(2))
    try:
        found = []
        for count in (1, 2, 5):
            threads.set_num_threads(count)
            results = (
                NATIVE.layer_norm(x, (8, 40), None, None, 1e-5),
                *NATIVE.layer_norm_backward(g, x, (8, 40), None, 1e-5),
                *NATIVE.group_norm_backward(g, x, 4, None, 1e-5),
                *NATIVE.batch_norm(x, None, None, None, None, True, 1e-5),
                *NATIVE.batch_norm_backward(g, x, None, x[0, :, 0], x[1, :, 1] ** 2, True, 1e-5),
            )
            found.append([result.tobytes() for result in results])
        assert found[0] == found[1] == found[2]
    finally:
        threads.set_num_threads(before)


def test_what_is_wrong_is_refused():
    x = np.zeros((2, 4), np.float32)
    with pytest.raises(ValueError, match="sizes"):
        NATIVE.layer_norm(x, (3,), None, None, 1e-5)
    with pytest.raises(ValueError, match="parameter"):
        NATIVE.layer_norm(x, (4,), np.zeros(4), None, 1e-5)
    with pytest.raises(ValueError, match="parameter"):
        NATIVE.group_norm(x, 2, np.zeros(3, np.float32), None, 1e-5)
    with pytest.raises(ValueError, match="sizes"):
        NATIVE.group_norm(x, 3, None, None, 1e-5)
    with pytest.raises(ValueError, match="gradient"):
        NATIVE.layer_norm_backward(x.T, x, (4,), None, 1e-5)
    with pytest.raises(ValueError, match="running"):
        NATIVE.batch_norm(x, None, None, None, None, False, 1e-5)
    with pytest.raises(TypeError, match="int64"):
        NATIVE.layer_norm(x.astype(np.int64), (4,), None, None, 1e-5)
