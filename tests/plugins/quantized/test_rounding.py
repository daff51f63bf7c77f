"""Rounding to integers and back gives PyTorch's integers and numbers, down to halves."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tests.plugins.quantized.samples import EIGHT_BITS, LIMITS, assert_same, per_channel, per_tensor
from tt.plugins.quantized.quantizer import PerTensor
from tt.plugins.quantized.rounding import centred, real, rounded

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("seed", range(5))
def test_one_scale(dtype: str, seed: int) -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(per_tensor(lib, dtype, seed, (40, 50), seed * 7) for lib in (tt, torch)))


@pytest.mark.torch
# PyTorch crashes on integers of 32 bits with zero points that are fractions.
@pytest.mark.parametrize(
    ("dtype", "fractional"), [*((d, False) for d in LIMITS), *((d, True) for d in EIGHT_BITS)]
)
@pytest.mark.parametrize("axis", range(4))
def test_a_scale_for_each_channel(dtype: str, axis: int, fractional: bool) -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(per_channel(lib, dtype, axis, fractional) for lib in (tt, torch)))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("even", [True, False], ids=["exact", "rounded"])
def test_numbers_between_two_multiples_of_the_scales_of_channels(dtype: str, even: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    scales = np.array([0.5, 0.25, 2.0]) if even else rng.uniform(0.01, 2, 3)
    x = (rng.integers(-80, 80, (3, 400)) * 0.5 * scales.astype(np.float32)[:, None]).astype(np.float32)
    arguments = (x, scales, np.array([3, 8, 21]))
    pair = [
        lib.quantize_per_channel(*map(lib.tensor, arguments), 0, getattr(lib, dtype)) for lib in (tt, torch)
    ]
    assert_same(*pair)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
def test_what_the_dtype_does_not_hold(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    values = [float("nan"), float("inf"), -float("inf"), 1e30, -1e30, 1e9, 0.0]
    pair = [lib.quantize_per_tensor(lib.tensor(values), 0.5, 0, getattr(lib, dtype)) for lib in (tt, torch)]
    assert_same(*pair)


@pytest.mark.torch
@pytest.mark.parametrize("scale", [0.0, -0.5, 1e-30, 1e30])
def test_unusual_scales(scale: float) -> None:
    torch = pytest.importorskip("torch")
    pair = [
        lib.quantize_per_tensor(lib.tensor([-3.0, 0.0, 2.5]), scale, 3, lib.quint8) for lib in (tt, torch)
    ]
    assert pair[0].int_repr().tolist() == pair[1].int_repr().tolist()


def test_halves_go_to_the_even_integer_and_numbers_stay_within_the_range() -> None:
    x = tt.tensor([0.25, 0.75, 1.25, -0.25, 1e6, -1e6])
    assert rounded(x, PerTensor(0.5, 0), tt.qint8).tolist() == [0, 2, 2, 0, 127, -128]
    assert rounded(x, PerTensor(0.5, 1), tt.quint8).tolist() == [2, 2, 4, 0, 255, 0]


def test_integers_of_32_bits_lose_nothing_next_to_their_zero_point() -> None:
    ints = tt.tensor([2**31 - 1, 2**31 - 5, -(2**31)], dtype=tt.int32)
    assert centred(ints, 2**31 - 5).tolist() == [4.0, 0.0, np.float32(-(2**32) + 5)]
    assert real(ints[:2], PerTensor(0.5, 2**31 - 5)).tolist() == [2.0, 0.0]
