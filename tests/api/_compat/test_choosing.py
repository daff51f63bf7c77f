"""Scales and zero points that are chosen by the range of numbers, by a search, and in training, against torch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tt
from tt._compat.choosing import choose_parameters


def arrays(count: int) -> list[np.ndarray[Any, Any]]:
    """Return numbers of all sizes: of one sign, around 0, tiny, constant."""
    rng = np.random.default_rng(2)
    found = [rng.normal(size=24) * 10.0 ** rng.uniform(-7, 4) for _ in range(count)]
    found += [
        np.abs(found[0]),
        -np.abs(found[1]),
        np.zeros(24),
        np.full(24, 3.0),
        found[2] + 100,
        found[3].round(1),
    ]
    found += [np.linspace(-1, 1, 24) * 10.0**e for e in (-9, -5, -3, 0, 5)]
    return [x.astype(np.float32) for x in found]


@pytest.mark.torch
@pytest.mark.parametrize("reduce_range", [False, True])
@pytest.mark.parametrize("dtype", ["quint8", "qint8"])
def test_dynamic_quantization_is_pytorchs(dtype: str, reduce_range: bool) -> None:
    torch = pytest.importorskip("torch")
    for x in arrays(30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one, other = (
                lib.quantize_per_tensor_dynamic(lib.tensor(x), getattr(lib, dtype), reduce_range)
                for lib in (tt, torch)
            )
        assert (one.q_scale(), one.q_zero_point()) == (other.q_scale(), other.q_zero_point())
        assert one.int_repr().tolist() == other.int_repr().tolist()


def test_half_precision_and_what_dynamic_quantization_refuses() -> None:
    assert tt.quantize_per_tensor_dynamic(tt.ones(2), tt.float16, True).dtype is tt.float16
    for dtype in (tt.qint32, tt.float32):
        with pytest.raises(RuntimeError, match="is not supported"):
            tt.quantize_per_tensor_dynamic(tt.ones(2), dtype, False)
    with pytest.raises(RuntimeError, match="without elements"):
        tt.quantize_per_tensor_dynamic(tt.ones(0), tt.quint8, False)
    with pytest.raises(TypeError, match="must be Tensor"):
        tt.quantize_per_tensor_dynamic(1.0, tt.quint8, False)
    with pytest.raises(ValueError, match="finite"):
        tt.quantize_per_tensor_dynamic(tt.tensor([tt.inf]), tt.quint8, False)


@pytest.mark.parametrize(("low", "high"), [(-1.0, 2.0), (0.0, 5.0), (-3.0, 0.0), (1.0, 2.0), (-1e-9, 1e-9)])
@pytest.mark.parametrize(("first", "last"), [(0, 255), (-128, 127), (0, 15)])
def test_the_range_has_0_and_covers_the_numbers(low: float, high: float, first: int, last: int) -> None:
    scale, point = choose_parameters(low, high, first, last)
    assert first <= point <= last and scale > 0
    assert (first - point) * scale <= low + scale and high - scale <= (last - point) * scale


def test_a_symmetric_range_has_0_in_the_middle() -> None:
    assert choose_parameters(-1.0, 0.5, -128, 127, symmetric=True) == (pytest.approx(2 / 255, rel=1e-2), 0)
    assert choose_parameters(0.0, 5.0, 0, 5, symmetric=True) == (1.0, 0)


@pytest.mark.torch
@pytest.mark.parametrize("bit_width", [2, 4, 8])
def test_the_search_finds_pytorchs_range(bit_width: int) -> None:
    torch = pytest.importorskip("torch")
    for number, x in enumerate(arrays(6)):
        ratio, count = 0.1 + 0.05 * number, 24 - number % 3
        found, expected = (
            [
                float(limit)
                for limit in lib.choose_qparams_optimized(lib.tensor(x), count, 50, ratio, bit_width)
            ]
            for lib in (tt, torch)
        )
        assert found == expected, number


def test_the_search_refuses_other_numbers_of_elements_and_dtypes() -> None:
    for numel in (0, 3):
        with pytest.raises(RuntimeError, match="numel must be from 1 to 2"):
            tt.choose_qparams_optimized(tt.ones(2), numel, 10, 0.1, 8)
    with pytest.raises(RuntimeError, match="float32"):
        tt.choose_qparams_optimized(tt.ones(2, dtype=tt.float64), 2, 10, 0.1, 8)
    with pytest.raises(RuntimeError, match="n_bins"):
        tt.choose_qparams_optimized(tt.ones(2), 2, 0, 0.1, 8)


def state(lib: Any, count: int, observe: int = 1, rounds: int = 1) -> list[Any]:
    """Return the tensors that training keeps: both switches, averages, scale, zero point."""
    return [
        lib.tensor([observe]), lib.tensor([rounds]), lib.full((count,), float("inf")),
        lib.full((count,), -float("inf")), lib.ones(count),
        lib.zeros(count, dtype=lib.int32),
    ]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("limits", [(0, 255), (-128, 127), (0, 15)])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
def test_training_keeps_pytorchs_averages_and_passes_its_gradient(
    per_row: bool, symmetric: bool, limits: tuple[int, int]
) -> None:
    torch = pytest.importorskip("torch")
    for x in arrays(8):
        kept = {lib: state(lib, 4 if per_row else 1) for lib in (tt, torch)}
        for factor in (1.0, 2.0, 0.1):
            found = []
            for lib in (tt, torch):
                given = lib.tensor((x * np.float32(factor)).reshape(4, 6), requires_grad=True)
                y = lib.fused_moving_avg_obs_fake_quant(
                    given, *kept[lib], 0.1, *limits, 0, per_row, symmetric
                )
                y.sum().backward()
                found.append([t.detach().numpy() for t in (y, given.grad, *kept[lib])])
            for one, other in zip(*found, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_switches_of_training() -> None:
    x = tt.tensor([0.1, 0.26])
    off = state(tt, 1, observe=0, rounds=0)
    assert tt.fused_moving_avg_obs_fake_quant(x, *off, 0.1, 0, 255, 0) is x and off[2].item() == tt.inf
    rounds = state(tt, 1, observe=0)
    assert tt.fused_moving_avg_obs_fake_quant(x, *rounds, 0.1, 0, 255, 0).tolist() == [0.0, 0.0]


def test_channels_may_be_any_dimension() -> None:
    x, kept = tt.arange(12.0).reshape(3, 4), state(tt, 1)
    tt.fused_moving_avg_obs_fake_quant(x, *kept, 0.1, 0, 255, -1, True)
    assert kept[3].tolist() == [8.0, 9.0, 10.0, 11.0] and kept[4].shape == (4,)
    with pytest.raises(IndexError):
        tt.fused_moving_avg_obs_fake_quant(x, *kept, 0.1, 0, 255, 2, True)
