"""Copies, writing, comparing."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import tt
from tests.plugins.quantized.samples import SHAPE, assert_same, numbers, per_channel, per_tensor

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

WRITES: dict[str, Any] = {
    "copy_ of numbers": lambda lib, x: x.copy_(lib.tensor(numbers(3))),
    "copy_ of another quantizer": lambda lib, x: x.copy_(
        lib.quantize_per_tensor(lib.tensor(numbers(4)), 0.7, 5, x.dtype)
    ),
    "fill_": lambda lib, x: x.fill_(2.2),
    "masked_fill_": lambda lib, x: x.masked_fill_(lib.tensor(numbers(5)) > 0, 1.3),
    "masked_fill": lambda lib, x: x.masked_fill(lib.tensor(numbers(5)) > 0, 1.3),
    "row": lambda lib, x: (x.__setitem__(1, 1.7), x)[1],
    "element": lambda lib, x: (x.__setitem__((0, 1, 2, 3), lib.tensor(-4.0)), x)[1],
    "slice": lambda lib, x: (x.__setitem__((0, slice(1, 3)), lib.tensor(numbers(6)[1, :2])), x)[1],
    "places": lambda lib, x: (x.__setitem__(lib.tensor([1]), lib.tensor(numbers(6)[:1])), x)[1],
    "relu_": lambda lib, x: x.relu_(),
    "ones_like": lambda lib, x: lib.ones_like(x),
    "clone": lambda lib, x: x.transpose(1, 2).clone(),
    "contiguous": lambda lib, x: x.transpose(1, 2).contiguous(),
    "channels_last": lambda lib, x: x.contiguous(memory_format=lib.channels_last),
    "to": lambda lib, x: x.to(x.dtype, copy=True),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["quint8", "qint8", "qint32"])
@pytest.mark.parametrize("name", WRITES)
def test_writing_and_copying_as_pytorch(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    found = [WRITES[name](lib, per_tensor(lib, dtype)) for lib in (tt, torch)]
    assert_same(*found)
    assert found[0].stride() == found[1].stride()


def test_numbers_broadcast_to_the_target() -> None:
    q, row = per_tensor(tt, "quint8"), tt.tensor([0.0, 0.3, 0.6, 3.0, -3.3, 1e9, -1e9])
    assert q.copy_(row).int_repr()[1, 2, 3].tolist() == [11, 12, 13, 21, 0, 255, 0]


@pytest.mark.torch
def test_writing_numbers_into_channels() -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(per_channel(lib, "quint8").copy_(lib.tensor(numbers(3))) for lib in (tt, torch)))


COMPARED: dict[str, Any] = {
    "itself": lambda lib, x: x, "a number": lambda lib, x: 3.0, "numbers": lambda lib, x: lib.tensor(numbers(0)),
    "other scale": lambda lib, x: lib.quantize_per_tensor(x.dequantize(), 0.9, 4, lib.quint8),
    "other dtype": lambda lib, x: lib.quantize_per_tensor(x.dequantize(), 0.3, 4, lib.qint8),
    "channels": lambda lib, x: per_channel(lib, "quint8"),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("other", COMPARED)
def test_comparisons_are_of_the_numbers(op: str, other: str) -> None:
    torch = pytest.importorskip("torch")
    tensors = [(lib, per_tensor(lib, "quint8")) for lib in (tt, torch)]
    found = [getattr(x, op)(COMPARED[other](lib, x)) for lib, x in tensors]
    assert found[0].dtype is tt.bool and found[0].tolist() == found[1].tolist()


@pytest.mark.torch
def test_equal_compares_integers_and_quantizers() -> None:
    torch = pytest.importorskip("torch")
    for other in COMPARED:
        if other == "a number":
            continue
        pair = [
            lib.equal(per_tensor(lib, "quint8"), COMPARED[other](lib, per_tensor(lib, "quint8")))
            for lib in (tt, torch)
        ]
        assert pair[0] == pair[1] == (other == "itself")


def test_copies_of_python() -> None:
    for x in (
        per_tensor(tt, "qint32"),
        per_channel(tt, "qint8"),
        per_channel(tt, "qint8", 0, True),
        per_tensor(tt, "quint8")[1],
    ):
        for made in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x)):
            assert tt.equal(made, x) and made.is_quantized
        assert copy.deepcopy(x).data_ptr() != x.data_ptr() and copy.copy(x).data_ptr() == x.data_ptr()


def test_numbers_of_elements() -> None:
    q = per_tensor(tt, "quint8")
    assert q[0, 0, 0, 0].item() == q.dequantize()[0, 0, 0, 0].item() == float(q[0, 0, 0, 0])
    for call in (q.numpy, q.tolist, lambda: q.numpy(force=True)):
        with pytest.raises((TypeError, RuntimeError), match="dequantize"):
            call()


def test_lists_are_dequantized_each() -> None:
    q, c = per_tensor(tt, "quint8"), per_channel(tt, "quint8")
    found = tt.dequantize([q, c, tt.tensor([1, 2])])
    assert [x.dtype for x in found] == [tt.float32] * 3
    assert found[0].equal(q.dequantize()) and found[1].equal(c.dequantize())


REFUSED: dict[str, tuple[Any, str]] = {
    "dense target": (lambda q: tt.zeros(q.shape).copy_(q), "copy"),
    "float64": (lambda q: q.copy_(tt.zeros(q.shape, dtype=tt.float64)), "float32, not of tt.float64"),
    "dtype": (lambda q: q.copy_(per_tensor(tt, "qint8")), "share one dtype"),
    "qscheme": (lambda q: q.copy_(per_channel(tt, "quint8")), "share one qscheme"),
    "to float": (lambda q: q.to(tt.float32), "not implemented for float32"),
    "float()": (lambda q: q.float(), "not implemented for quint8"),
    "accumulate": (lambda q: q.index_put_([tt.tensor([0])], q[:1], accumulate=True), "accumulate"),
    "likes": (lambda q: tt.empty_like(q, dtype=tt.float32), "float32"),
    "zeros_like": (lambda q: tt.zeros_like(q), "not implemented for quint8"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_quantized_tensors_do_not_do(case: str) -> None:
    call, message = REFUSED[case]
    q = per_tensor(tt, "quint8")
    before = q.int_repr()
    with pytest.raises(RuntimeError, match=message):
        call(q)
    assert q.int_repr().equal(before)


SIZES: dict[str, Any] = {
    "fewer": lambda lib, x: (x.resize_(2, 2), x.resize_(4))[1],
    "more": lambda lib, x: x.resize_(7, 20)[:4],
    "like another": lambda lib, x: x.resize_as_(lib.zeros(3, 2)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", SIZES)
def test_sizes_change_in_place_as_in_torch(name):
    torch = pytest.importorskip("torch")
    x, expected = (per_tensor(lib, "quint8") for lib in (tt, torch))
    view = x[:]
    found = SIZES[name](tt, x)
    assert_same(found, SIZES[name](torch, expected))
    assert x.shape == tuple(expected.shape) and view.shape == SHAPE


def test_a_new_size_keeps_the_memory_and_the_scale():
    x = tt.quantize_per_tensor(tt.arange(6.0), 0.5, 3, tt.quint8)
    address = x.data_ptr()
    assert x.resize_(2, 2) is x
    assert x.data_ptr() == address and x.dequantize().tolist() == [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(tt.errors.LayoutError, match=r"resize_\(\): expected a tensor with one scale"):
        tt.quantize_per_channel(tt.ones(2, 2), tt.ones(2), tt.zeros(2), 0, tt.qint8).resize_(2, 1)
