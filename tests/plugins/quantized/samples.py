"""The same quantized tensors in tt and in torch, and the comparison of what they give."""

from __future__ import annotations

from typing import Any

import numpy as np

import tt

LIMITS = {"quint8": (0, 255), "qint8": (-128, 127), "qint32": (-(2**31), 2**31 - 1)}
EIGHT_BITS = ("quint8", "qint8")
SHAPE = (2, 3, 6, 7)


def numbers(seed: int = 0, shape: tuple[int, ...] = SHAPE, scale: float = 0.3) -> np.ndarray[Any, Any]:
    """Return numbers of which some lie exactly between two multiples of a scale, and some beyond the range."""
    rng = np.random.default_rng(seed)
    whole = np.round(rng.normal(size=shape) * 2 * 60) / 2 * scale
    return np.where(rng.random(shape) < 0.5, whole, whole + rng.normal(size=shape)).astype(np.float32)


def per_tensor(lib: Any, dtype: str, seed: int = 0, shape: tuple[int, ...] = SHAPE, point: int = 11) -> Any:
    """Return a tensor of a library with one scale."""
    return lib.quantize_per_tensor(lib.tensor(numbers(seed, shape)), 0.3, point, getattr(lib, dtype))


def per_channel(lib: Any, dtype: str, axis: int = 1, fractional: bool = False) -> Any:
    """Return a tensor of a library with a scale for each channel."""
    rng = np.random.default_rng(axis)
    scales, points = rng.uniform(0.1, 2, SHAPE[axis]), rng.integers(0, 20, SHAPE[axis])
    if fractional:
        scales, points = scales.astype(np.float32), (points + rng.random(SHAPE[axis])).astype(np.float32)
    return lib.quantize_per_channel(
        lib.tensor(numbers(axis)), lib.tensor(scales), lib.tensor(points), axis, getattr(lib, dtype)
    )


def parameters(x: Any) -> list[Any]:
    """Return what describes a quantized tensor besides its integers."""
    kind = [str(part).rpartition(".")[2] for part in (x.dtype, x.qscheme())]
    if kind[1] == "per_tensor_affine":
        return [*kind, tuple(x.shape), x.q_scale(), x.q_zero_point()]
    points = (x.q_per_channel_scales(), x.q_per_channel_zero_points())
    return [*kind, tuple(x.shape), *(p.tolist() for p in points), x.q_per_channel_axis()]


def assert_same(found: Any, expected: Any, off_by: int = 0) -> None:
    """Check that a result of tt has the integers, the quantizer and the numbers of one of torch."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, off_by)
        return
    if not getattr(expected, "is_quantized", False):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
        return
    assert isinstance(found, tt.Tensor) and found.is_quantized
    assert parameters(found) == parameters(expected)
    one, other = (x.int_repr().numpy().astype(np.int64) for x in (found, expected))
    assert np.abs(one - other).max(initial=0) <= off_by
    if not off_by:
        np.testing.assert_array_equal(found.dequantize().numpy(), expected.dequantize().numpy())
