"""What quantized tensors tell of themselves, and what others say."""

from __future__ import annotations

import pytest

import tt
from tests.plugins.quantized.samples import LIMITS, parameters, per_channel, per_tensor
from tt.plugins.quantized.plugin import MEMBERS

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

CHANNELS = ("q_per_channel_axis", "q_per_channel_scales", "q_per_channel_zero_points")
ONE = ("q_scale", "q_zero_point")


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
def test_the_parameters_are_pytorchs(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    assert parameters(per_tensor(tt, dtype)) == parameters(per_tensor(torch, dtype))
    for fractional in (False, True) if dtype != "qint32" else (False,):
        one, other = (per_channel(lib, dtype, 2, fractional) for lib in (tt, torch))
        assert parameters(one) == parameters(other)
        for name in CHANNELS[1:]:
            kinds = [str(getattr(x, name)().dtype).rpartition(".")[2] for x in (one, other)]
            assert kinds[0] == kinds[1]


def test_functions_and_methods_agree() -> None:
    q, c = per_tensor(tt, "quint8"), per_channel(tt, "quint8")
    assert (tt.q_scale(q), tt.q_zero_point(q), tt.q_per_channel_axis(c)) == (0.3, 11, 1)
    assert tt.int_repr(q).equal(q.int_repr()) and tt.q_per_channel_scales(c).equal(c.q_per_channel_scales())
    assert tt.q_per_channel_zero_points(c).equal(c.q_per_channel_zero_points())
    assert q.qscheme() is tt.per_tensor_affine and c.qscheme() is tt.per_channel_affine


def test_integers_and_parameters_are_copies() -> None:
    q, c = per_tensor(tt, "quint8"), per_channel(tt, "quint8")
    q.int_repr().zero_()
    c.q_per_channel_scales().zero_()
    assert q.int_repr().any() and c.q_per_channel_scales().all()


@pytest.mark.parametrize("name", MEMBERS)
def test_tensors_that_are_not_quantized_say_so(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{name}.*float32 is not quantized"):
        getattr(tt.ones(2), name)()


@pytest.mark.parametrize("name", [*ONE, *CHANNELS])
def test_the_other_kind_of_scale_is_refused(name: str) -> None:
    x = per_channel(tt, "qint8") if name in ONE else per_tensor(tt, "qint8")
    with pytest.raises(RuntimeError, match=f"{name}.*expected a tensor with"):
        getattr(x, name)()


def test_is_quantized() -> None:
    q = per_tensor(tt, "qint8")
    assert q.is_quantized and not q.dequantize().is_quantized and not q.int_repr().is_quantized
    assert q.layout is tt.quantized and not q.is_floating_point() and not q.is_complex()
    assert q.type() == "tt.quantized.QInt8Tensor" and q.element_size() == 1


def test_something_that_is_no_tensor_is_named() -> None:
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        tt.int_repr(3)
