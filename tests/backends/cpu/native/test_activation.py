"""The native gradient of glu, against its definition in double precision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from scipy.special import expit

from tt.backends.cpu.native.loading import load, status

NATIVE: Any = load("activation")

pytestmark = pytest.mark.skipif(NATIVE is None, reason=f"native kernels are not in use: {status().reason}")

EXACT = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14, np.dtype(np.float16): 1e-3,
         np.dtype(ml_dtypes.bfloat16): 8e-3}  # fmt: skip
SHAPES = [
    (2,), (70,), (9000,), (3, 2), (2, 3), (4, 66), (66, 4), (300, 6), (6, 300), (2, 6, 4), (4, 2, 70), (5, 8, 33),
    (0, 4), (4, 0), (1, 2, 1),
]  # fmt: skip


def gradient(grad: Any, x: Any, dim: int) -> Any:
    a, b = np.split(x.astype(np.float64), 2, dim)
    g = np.broadcast_to(grad.astype(np.float64), a.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        s, r = expit(b), expit(-b)
        return np.concatenate([g * s, g * a * r * s], dim)


def layouts(random: Any, shape: tuple[int, ...], dtype: Any) -> Iterator[Any]:
    """Yield arrays of a shape: contiguous, turned, in steps, backwards and repeated."""

    def numbers(*sizes: int) -> Any:
        return (random.standard_normal(sizes) * 4).astype(dtype)

    yield numbers(*shape)
    yield numbers(*shape[::-1]).T
    yield numbers(*(2 * size for size in shape))[tuple(slice(None, None, 2) for _ in shape)]
    yield numbers(*shape)[..., ::-1]
    yield np.broadcast_to(numbers(*shape[:-1], 1), shape)
    yield np.broadcast_to(numbers(1), shape)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", EXACT, ids=str)
def test_the_gradient_of_glu(dtype, shape):
    random = np.random.default_rng(0)
    for dim in (dim for dim in range(-len(shape), len(shape)) if shape[dim] % 2 == 0):
        half = list(shape)
        half[dim] //= 2
        for x in layouts(random, shape, dtype):
            for grad in layouts(random, tuple(half), dtype):
                found = NATIVE.glu_backward(grad, x, dim)
                assert found.dtype == dtype
                assert found.flags.c_contiguous
                np.testing.assert_allclose(
                    found.astype(np.float64), gradient(grad, x, dim), rtol=EXACT[dtype] * 2, atol=EXACT[dtype]
                )


@pytest.mark.parametrize("grad", [(), (1,), (6,), (3, 1), (1, 6), (1, 1, 6), (2, 1, 1)], ids=str)
def test_a_gradient_that_is_repeated(grad):
    random = np.random.default_rng(1)
    g, x = np.asarray(random.standard_normal(grad)), random.standard_normal((2, 3, 12))
    np.testing.assert_allclose(NATIVE.glu_backward(g, x, -1), gradient(g, x, -1), rtol=1e-13)


@pytest.mark.parametrize("dtype", EXACT, ids=str)
@pytest.mark.parametrize("turned", [False, True])
def test_special_numbers(dtype, turned):
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 100.0, -100.0, 1e-4])
    g, a, b = (each.ravel() for each in np.meshgrid(numbers, numbers, numbers))
    x, g = np.concatenate([a, b]).astype(dtype), g.astype(dtype)
    x, g = (np.repeat(each, 2)[::2] if turned else each for each in (x, g))
    found, expected = NATIVE.glu_backward(g, x, 0).astype(np.float64), gradient(g, x, 0)
    # The sigmoid of -100 is too small for single precision.
    clear = (np.abs(np.tile(b, 2)) < 100) | (dtype == np.float64)
    np.testing.assert_allclose(found[clear], expected[clear], rtol=EXACT[dtype] * 2, atol=EXACT[dtype])
    finite = np.tile(np.isfinite(g.astype(np.float64)) & np.isfinite(a), 2)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=EXACT[dtype] * 2, atol=EXACT[dtype])


def test_threads_do_not_change_the_bits():
    threads: Any = load("threads")
    random = np.random.default_rng(2)
    g, x = random.standard_normal((301, 257), np.float32), random.standard_normal((301, 514), np.float32)
    before = threads.get_num_threads()
    try:
        for grad, self in ((g, x), (g, np.asfortranarray(x)), (g.astype(np.float16), x.astype(np.float16))):
            found = []
            for count in (1, 3):
                threads.set_num_threads(count)
                found.append(NATIVE.glu_backward(grad, self, 1).tobytes())
            assert found[0] == found[1]
    finally:
        threads.set_num_threads(before)


@pytest.mark.parametrize(
    ("grad", "shape", "dim"),
    [((2,), (5,), 0), ((2,), (4,), 1), ((2,), (4,), -2), ((3,), (4,), 0), ((1, 2), (4,), 0)],
)
def test_what_the_shape_rule_refuses(grad, shape, dim):
    with pytest.raises(ValueError, match="refuses"):
        NATIVE.glu_backward(np.zeros(grad), np.zeros(shape), dim)


def test_dtypes_that_do_not_fit():
    with pytest.raises((TypeError, ValueError)):
        NATIVE.glu_backward(np.zeros(2, np.float32), np.zeros(4), 0)
    with pytest.raises((TypeError, ValueError)):
        NATIVE.glu_backward(np.zeros(2, np.int64), np.zeros(4, np.int64), 0)
