"""Making quantized tensors, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tests.plugins.quantized.samples import assert_same, per_channel, per_tensor
from tt.plugins.quantized.construct import over_integers

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

X = tt.arange(-3.0, 9).reshape(3, 4)
SCALES, POINTS = tt.tensor([0.1, 0.2, 0.3]), tt.tensor([0, 1, 2])


@pytest.mark.torch
def test_lists_and_tensors_of_scales() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        x = lib.tensor(X.tolist())
        scales, points = lib.tensor([0.1, 0.2]), lib.tensor([0, 1])
        found.append(
            [
                *lib.quantize_per_tensor([x, x * 2], scales, points, lib.quint8),
                lib.quantize_per_tensor(x, lib.tensor(0.5), lib.tensor(1), lib.qint8),
                lib.quantize_per_tensor(x, scale=0.5, zero_point=1, dtype=lib.qint32),
                lib.quantize_per_tensor(lib.tensor(1.3), 0.5, 1, lib.qint8),
                lib.quantize_per_tensor(lib.zeros(0, 2), 0.5, 1, lib.qint8),
            ]
        )
    assert_same(*found)


@pytest.mark.torch
def test_the_order_in_memory_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    for make in (
        lambda lib: lib.tensor(X.tolist()).T,
        lambda lib: lib.zeros(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
    ):
        one, other = (lib.quantize_per_tensor(make(lib), 0.5, 1, lib.quint8) for lib in (tt, torch))
        assert one.stride() == other.stride() and one.is_contiguous() == other.is_contiguous()


def test_the_result_has_no_history_and_no_part_in_the_argument() -> None:
    x = tt.ones(2, requires_grad=True)
    q = tt.quantize_per_tensor(x, 0.5, 0, tt.qint8)
    assert not q.requires_grad and q.is_leaf
    with pytest.raises(RuntimeError, match="floating point"):
        q.requires_grad_()


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "float64": (lambda: tt.quantize_per_tensor(X.double(), 0.5, 1, tt.quint8), RuntimeError, "float32, got float64"),
    "a plain dtype": (lambda: tt.quantize_per_tensor(X, 0.5, 1, tt.int8), RuntimeError, "dtype must be one of"),
    "quantized twice": (
        lambda: tt.quantize_per_tensor(per_tensor(tt, "qint8"), 0.5, 1, tt.qint8), NotImplementedError, "already",
    ),
    "sparse": (lambda: tt.quantize_per_tensor(X.to_sparse(), 0.5, 1, tt.qint8), RuntimeError, "strided"),
    "no tensor": (lambda: tt.quantize_per_tensor(3.0, 0.5, 1, tt.qint8), TypeError, "must be Tensor, not float"),
    "point above": (lambda: tt.quantize_per_tensor(X, 0.5, 300, tt.quint8), RuntimeError, "300 is above upper bound"),
    "point below": (lambda: tt.quantize_per_tensor(X, 0.5, -1, tt.quint8), RuntimeError, "-1 is below lower bound"),
    "broken point": (lambda: tt.quantize_per_tensor(X, 0.5, 1.5, tt.quint8), TypeError, "whole number"),
    "no point": (lambda: tt.quantize_per_tensor(X, 0.5, float("nan"), tt.quint8), TypeError, "whole number"),
    "infinite point": (lambda: tt.quantize_per_tensor(X, 0.5, float("inf"), tt.quint8), TypeError, "whole number"),
    "huge point": (lambda: tt.quantize_per_tensor(X, 0.5, 10**400, tt.quint8), RuntimeError, "above upper bound"),
    "huge scale": (lambda: tt.quantize_per_tensor(X, 10**400, 1, tt.quint8), RuntimeError, "beyond the range"),
    "text": (lambda: tt.quantize_per_tensor(X, "a", 1, tt.quint8), TypeError, "'scale' must be a number"),
    "two scales": (lambda: tt.quantize_per_tensor(X, SCALES, 1, tt.quint8), RuntimeError, "3 elements is no number"),
    "list": (lambda: tt.quantize_per_tensor([X], SCALES, POINTS, tt.quint8), RuntimeError, "1 tensors need as many"),
    "list, number": (lambda: tt.quantize_per_tensor([X], 0.5, POINTS, tt.quint8), TypeError, "must be Tensor"),
    "channels": (
        lambda: tt.quantize_per_channel(X, SCALES, POINTS, 1, tt.qint8), RuntimeError, "expected 4, got 3",
    ),
    "unequal": (
        lambda: tt.quantize_per_channel(X, SCALES, POINTS[:2], 0, tt.qint8), RuntimeError, "must match, got 3 and 2",
    ),
    "axis": (lambda: tt.quantize_per_channel(X, SCALES, POINTS, 2, tt.qint8), RuntimeError, "axis must be from 0 to 1"),
    "negative axis": (lambda: tt.quantize_per_channel(X, SCALES, POINTS, -2, tt.qint8), RuntimeError, "got -2"),
    "channel's point": (
        lambda: tt.quantize_per_channel(X, SCALES, POINTS * 100, 0, tt.qint8), RuntimeError, "200 is above",
    ),
    "matrix": (lambda: tt.quantize_per_channel(X, X, X, 0, tt.qint8), RuntimeError, "one dimension"),
    "empty": (lambda: tt.empty_quantized([2], X), TypeError, "quantized tensor"),
    "empty, dtype": (
        lambda: tt.empty_quantized([2], per_tensor(tt, "qint8"), dtype=tt.quint8), RuntimeError, "that of qtensor",
    ),
    "empty, channels": (lambda: tt.empty_quantized([2, 2], per_channel(tt, "qint8")), RuntimeError, "3 channels"),
    "integers' point": (
        lambda: over_integers(tt.ones(2, dtype=tt.int8), 0.5, 128), RuntimeError, "128 is above upper bound",
    ),
    "integers": (lambda: over_integers(X, 0.5, 0), RuntimeError, "int8, uint8 or int32"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_named(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


FACTORIES: dict[str, Any] = {
    "zeros": lambda: tt.zeros(2, dtype=tt.qint8), "empty": lambda: tt.empty(2, dtype=tt.qint8),
    "full": lambda: tt.full((2,), 1.0, dtype=tt.qint8), "arange": lambda: tt.arange(2, dtype=tt.qint8),
    "rand": lambda: tt.rand(2, dtype=tt.qint8), "tensor": lambda: tt.tensor([1], dtype=tt.qint8),
    "as_tensor": lambda: tt.as_tensor([1], dtype=tt.quint8), "to": lambda: X.to(tt.qint8),
    "view": lambda: tt.ones(2, dtype=tt.int8).view(tt.qint8), "sum": lambda: X.sum(dtype=tt.qint32),
    "frombuffer": lambda: tt.frombuffer(bytearray(4), dtype=tt.qint8),
    "new_zeros": lambda: X.new_zeros(2, dtype=tt.qint8),
    "asarray": lambda: tt.asarray([1], dtype=tt.qint8),
}  # fmt: skip


@pytest.mark.parametrize("name", FACTORIES)
def test_strided_tensors_never_have_a_quantized_dtype(name: str) -> None:
    with pytest.raises((RuntimeError, TypeError), match=r"qu?int"):
        FACTORIES[name]()


def test_empty_tensors_take_over_the_quantizer() -> None:
    q, c = per_tensor(tt, "qint8"), per_channel(tt, "qint8")
    assert tt.empty_quantized([5], q).q_zero_point() == q.q_zero_point()
    assert tt.empty_quantized([4, 3], c, device="cpu").q_per_channel_axis() == 1
    assert tt.empty_quantized([2, 3], q, dtype=tt.qint8).shape == (2, 3)


def test_integers_keep_their_memory() -> None:
    ints = tt.tensor([1, 2], dtype=tt.uint8)
    q = over_integers(ints, 0.5, 0)
    ints[0] = 8
    assert q.dequantize().tolist() == [4.0, 1.0] and q.data_ptr() == ints.data_ptr()
