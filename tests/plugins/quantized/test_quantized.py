"""The layout as a whole: printing, files, dtypes, other devices."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any

import pytest

import tt
from tests.plugins.quantized.samples import LIMITS, assert_same, per_channel, per_tensor

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")


def every(lib: Any) -> dict[str, Any]:
    """Return quantized tensors of all kinds, two of which share their memory."""
    q = per_tensor(lib, "quint8")
    return {
        "one": q, "row": q[1], "turned": q.transpose(1, 3), "signed": per_tensor(lib, "qint8"),
        "long": per_tensor(lib, "qint32"), "channels": per_channel(lib, "qint8", 2),
        "fractional": per_channel(lib, "quint8", 0, True), "scalar": q[0, 0, 0, 0], "empty": q[:0],
    }  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("pair", ["tt to tt", "tt to torch", "torch to tt"])
def test_files_are_pytorchs(pair: str, weights_only: bool) -> None:
    torch = pytest.importorskip("torch")
    source, target = ({"tt": tt, "torch": torch}[name] for name in pair.split(" to "))
    file = io.BytesIO()
    source.save(every(source), file)
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = target.load(file, weights_only=weights_only)
    for name, expected in every(torch).items():
        one = loaded[name]
        if target is tt:
            assert_same(one, expected)
        else:
            assert_same(every(tt)[name], one)
        assert one.stride() == expected.stride()
    assert loaded["row"].data_ptr() == loaded["one"].data_ptr() + 126, "memory is shared again"


@pytest.mark.torch
def test_tensors_print_as_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    for (name, one), other in zip(every(tt).items(), every(torch).values(), strict=True):
        found, expected = repr(one), repr(other).replace("torch.", "tt.")
        assert re.sub(r"\s+", " ", found) == re.sub(r"\s+", " ", expected), name


def test_damaged_files_are_refused() -> None:
    file = io.BytesIO()
    tt.save(per_tensor(tt, "quint8"), file)
    damaged = file.getvalue().replace(b"per_tensor_affine", b"per_tensor_affino")
    with pytest.raises((tt.errors.CorruptFileError, tt.errors.UnsafeGlobalError)):
        tt.load(io.BytesIO(damaged))


@pytest.mark.parametrize("name", LIMITS)
def test_quantized_dtypes_are_apart_from_others(name: str) -> None:
    dtype = getattr(tt, name)
    assert not dtype.is_floating_point and not dtype.is_complex and dtype.itemsize in (1, 4)
    assert tt.promote_types(dtype, dtype) is dtype and tt.can_cast(dtype, dtype)
    assert not tt.can_cast(dtype, tt.float32) and not tt.can_cast(tt.int8, dtype)
    with pytest.raises(RuntimeError, match=r"(?s)no common dtype.*dequantize"):
        tt.promote_types(dtype, tt.float32)
    for numbers in ((1.0,), (1,), (tt.ones(2),)):
        with pytest.raises(RuntimeError, match="no common dtype"):
            tt.result_type(per_tensor(tt, name), *numbers)
    assert tt.result_type(per_tensor(tt, name), per_tensor(tt, name)[0, 0, 0, 0]) is dtype
    for limits in (tt.iinfo, tt.finfo):
        with pytest.raises(TypeError):
            limits(dtype)
    with pytest.raises(TypeError, match="complex"):
        dtype.to_complex()


def test_a_tensor_without_data_keeps_its_quantizer() -> None:
    q = per_tensor(tt, "quint8").to("meta")
    assert (q.device.type, q.shape, q.q_scale(), q.dtype) == ("meta", (2, 3, 6, 7), 0.3, tt.quint8)
    assert (
        q.dequantize().shape
        == q.flatten(1).unflatten(1, (3, 42)).flatten(1)[:, :126].unflatten(1, (3, 6, 7)).shape
    )
    assert "int_repr=tensor(...)" in repr(q) or "..." in repr(q)


def test_storages_hold_integers() -> None:
    q = per_tensor(tt, "qint8", shape=(3,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        memory = q.storage()
        assert isinstance(memory, tt.QInt8Storage) and not isinstance(memory, tt.QUInt8Storage)
        assert memory.tolist() == q.int_repr().tolist() and memory.dtype is tt.qint8
        assert tt.QInt32Storage([1, 2]).tolist() == [1, 2] and len(tt.QUInt8Storage(3)) == 3
        over = tt.QInt8Storage(wrap_storage=q.untyped_storage())
        assert over.tolist() == memory.tolist() and over.data_ptr() == q.data_ptr()


def test_explaining_a_call_shows_the_kernels_of_the_plugin() -> None:
    text = tt.explain("relu", ["cpu/quantized:quint8"]).text()
    assert "quantized" in text and "serves the dtype" in text


def test_assert_close_compares_the_numbers() -> None:
    q, c = per_tensor(tt, "quint8"), per_channel(tt, "quint8")
    tt.testing.assert_close(q, q.clone())
    tt.testing.assert_close(c, c.clone())
    with pytest.raises(AssertionError, match="not close"):
        tt.testing.assert_close(q, q.clone().fill_(3.0))
    with pytest.raises(AssertionError, match="dtypes differ"):
        tt.testing.assert_close(q, q.dequantize())


def test_vmap_refuses_them_in_words() -> None:
    q, c = per_tensor(tt, "qint8"), per_channel(tt, "quint8")
    for x in (q, c):
        with pytest.raises(
            RuntimeError, match=r"(?s)vmap\(\): quantized tensors cannot be mapped over.*dequantize"
        ):
            tt.vmap(lambda part: part.dequantize())(x)
    with pytest.raises(RuntimeError, match=r"(?s)vmap\(\): no quantized tensors are made of the examples"):
        tt.vmap(lambda part: tt.quantize_per_tensor(part, 0.5, 0, tt.qint8))(tt.ones(2, 3))
    whole = tt.vmap(lambda part: part + q.dequantize().sum())(tt.ones(2))
    assert whole.tolist() == [1 + q.dequantize().sum().item()] * 2, (
        "tensors of the surroundings are not mapped over"
    )


def test_pinning_says_what_it_takes() -> None:
    with pytest.raises(
        RuntimeError, match=r"only dense CPU tensors can be pinned, not one on cpu \(tt.quantized\)"
    ):
        per_tensor(tt, "qint8").pin_memory()
    assert not per_tensor(tt, "qint8").is_pinned()
