"""Operators that compute, against PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tt
from tests.plugins.quantized.samples import EIGHT_BITS, LIMITS, assert_same, per_channel, per_tensor

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

SAME: dict[str, Any] = {
    "relu": lambda lib, x: x.relu(), "functional relu": lambda lib, x: lib.nn.functional.relu(x),
    "relu6": lambda lib, x: lib.nn.functional.relu6(x),
    "hardtanh": lambda lib, x: lib.nn.functional.hardtanh(x, -2.2, 3.3),
    "clamp": lambda lib, x: x.clamp(-1.7, 4.1),
    "clamp min": lambda lib, x: x.clamp(min=1.1),
    "clamp max": lambda lib, x: x.clamp(max=1),
    "threshold": lambda lib, x: lib.nn.functional.threshold(x, 0.5, 0.0),
    "max": lambda lib, x: x.max(), "min": lambda lib, x: x.min(), "max.dim": lambda lib, x: x.max(1)[0],
    "min.dim": lambda lib, x: x.min(-1, keepdim=True)[0], "topk": lambda lib, x: x.topk(3)[0],
    "sort": lambda lib, x: x.sort(2, True)[0], "argsort": lambda lib, x: lib.argsort(x, stable=True),
    "cat": lambda lib, x: lib.cat([x, x], 1), "stack": lambda lib, x: lib.stack([x, x]),
    "repeat": lambda lib, x: x.repeat(2, 1, 1, 1), "flip": lambda lib, x: x.flip(1),
    "index_select": lambda lib, x: x.index_select(2, lib.tensor([3, 0])), "index": lambda lib, x: x[lib.tensor([1, 0])],
    "mask": lambda lib, x: x[x > 0], "pad": lambda lib, x: lib.nn.functional.pad(x, (1, 2), value=1.3),
    "reflect": lambda lib, x: lib.nn.functional.pad(x, (1, 2, 2, 1), mode="reflect"),
    "mean": lambda lib, x: x.mean(),
    "mean.dim": lambda lib, x: x.mean(-1),
    "means": lambda lib, x: x.mean((2, 3), keepdim=True),
    "mean first": lambda lib, x: x.mean(0),
    "std": lambda lib, x: x.std(),
    "std.dim": lambda lib, x: x.std(1, keepdim=True),
}  # fmt: skip
ONTO: dict[str, Any] = {
    "sigmoid": lambda lib, x: x.sigmoid(), "tanh": lambda lib, x: x.tanh(),
    "hardsigmoid": lambda lib, x: lib.nn.functional.hardsigmoid(x),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", SAME)
def test_operators_give_pytorchs_integers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    for seed in range(2):
        assert_same(*(SAME[name](lib, per_tensor(lib, dtype, seed)) for lib in (tt, torch)))


@pytest.mark.torch
@pytest.mark.parametrize("dtype", EIGHT_BITS)
@pytest.mark.parametrize("name", ONTO)
def test_functions_with_values_of_a_range_are_spread_over_all_integers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(ONTO[name](lib, per_tensor(lib, dtype)) for lib in (tt, torch)))


@pytest.mark.parametrize("name", ONTO)
def test_these_functions_are_exact_to_single_precision_with_32_bits(name: str) -> None:
    x = per_tensor(tt, "qint32")
    found, expected = ONTO[name](tt, x).dequantize(), ONTO[name](tt, x.dequantize())
    if name != "tanh":
        expected = expected.clamp(max=0.5)  # PyTorch's scale and zero point leave out the rest
    assert found.sub(expected).abs().max().item() < 1e-6


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
def test_joining_rounds_to_the_scale_of_the_first(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        x = per_tensor(lib, dtype)
        other = lib.quantize_per_tensor(x.dequantize(), 0.77, 5, x.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(lib.cat([x, other]))
    assert_same(*found)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_leaky_relu_differs_by_one_integer_at_most(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = [lib.nn.functional.leaky_relu(per_tensor(lib, dtype), 0.1) for lib in (tt, torch)]
    assert_same(*found, off_by=1)


def test_gelu_is_rounded_to_the_scale_of_its_argument() -> None:
    x = per_tensor(tt, "quint8")
    found = tt.nn.functional.gelu(x)
    assert (found.q_scale(), found.q_zero_point()) == (0.3, 11)
    expected = tt.quantize_per_tensor(tt.nn.functional.gelu(x.dequantize()), 0.3, 11, tt.quint8)
    assert found.equal(expected)


def test_places_belong_to_the_values() -> None:
    x = per_tensor(tt, "qint8")
    for values, indices in (x.max(1), x.min(2), x.sort(-1), x.topk(2)):
        dim = 1 if values.shape == (2, 6, 7) else 2 if values.shape == (2, 3, 7) else 3
        taken = x.int_repr().gather(dim, indices if indices.ndim == 4 else indices.unsqueeze(dim))
        assert taken.reshape(values.shape).equal(values.int_repr())


REFUSED: dict[str, Any] = {
    "add": lambda x: x + x, "number": lambda x: x * 2.0, "sum": lambda x: x.sum(), "matmul": lambda x: x @ x.mT,
    "mixed": lambda x: x @ x.dequantize().mT, "exp": lambda x: x.exp(), "where": lambda x: tt.where(x > 0, x, x),
    "linear": lambda x: tt.nn.functional.linear(x, x), "isnan": lambda x: x.isnan(), "in place": lambda x: x.add_(1),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_other_operators_are_refused_with_a_way_out(name: str) -> None:
    with pytest.raises(NotImplementedError, match=r"try: \w+\.dequantize\(\)"):
        REFUSED[name](per_tensor(tt, "quint8"))


@pytest.mark.parametrize("name", ["relu", "max", "sort", "mean", "sigmoid", "std", "flip"])
def test_a_scale_for_each_channel_is_refused(name: str) -> None:
    arguments = (0,) if name == "flip" else ()
    with pytest.raises(RuntimeError, match="expected a tensor with one scale"):
        getattr(per_channel(tt, "qint8"), name)(*arguments)


def test_joined_tensors_must_all_be_quantized_in_one_dtype() -> None:
    x = per_tensor(tt, "quint8")
    for others in ([x, per_tensor(tt, "qint8")], [x, x.dequantize()], [x, per_channel(tt, "quint8")]):
        with pytest.raises(RuntimeError, match=r"dtype|quantized|scale"):
            tt.cat(others)


def test_clamp_needs_numbers() -> None:
    x = per_tensor(tt, "quint8")
    with pytest.raises(RuntimeError, match="bounds of a quantized tensor are numbers"):
        x.clamp(tt.tensor(1.0))
    with pytest.raises(RuntimeError, match=r"(?i)at least one"):
        x.clamp()
