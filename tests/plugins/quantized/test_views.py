"""Views share the integers, and channels stay with their dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.quantized.samples import assert_same, per_channel, per_tensor

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

VIEWS: dict[str, Any] = {
    "view": lambda x: x.view(6, 42), "reshape": lambda x: x.reshape(2, -1), "flatten": lambda x: x.flatten(1),
    "permute": lambda x: x.permute(3, 1, 0, 2), "transpose": lambda x: x.transpose(0, -1), "T": lambda x: x[0, 0].T,
    "t": lambda x: x[1, 1].t(), "movedim": lambda x: x.movedim(1, -1), "swapaxes": lambda x: x.swapaxes(1, 2),
    "select": lambda x: x.select(1, -1), "slice": lambda x: x[:, 1:, ::2], "index": lambda x: x[1, ..., 2],
    "None": lambda x: x[:, None], "split": lambda x: x.split(2, 2), "split_sizes": lambda x: x.split([1, 5], -2),
    "chunk": lambda x: x.chunk(2, 1), "unbind": lambda x: x.unbind(2), "narrow": lambda x: x.narrow(1, 1, 2),
    "unsqueeze": lambda x: x.unsqueeze(-1), "squeeze": lambda x: x[:, :1].squeeze(),
    "squeeze_dim": lambda x: x[:1, :1].squeeze(0), "expand": lambda x: x[:, :1].expand(2, 3, 6, 7),
    "unflatten": lambda x: x.unflatten(2, (2, 3)), "as_strided": lambda x: x.as_strided((3, 2), (4, 1), 5),
    "unfold": lambda x: x.unfold(2, 3, 2), "diagonal": lambda x: x.diagonal(0, 2, 3), "detach": lambda x: x.detach(),
    "view_as": lambda x: x.view_as(x.dequantize()), "iterate": lambda x: list(x),
}  # fmt: skip
# Kept by all dimensions but the one of the channels, 1, or moving it.
OF_CHANNELS: dict[str, Any] = {
    "select": lambda x: x.select(0, 1), "last": lambda x: x.select(-1, 2), "slice": lambda x: x[:, :, 1:4],
    "channels": lambda x: x[:, 1:], "steps": lambda x: x[:, ::2], "split": lambda x: x.split(2, 1),
    "unbind": lambda x: x.unbind(1),
    "transpose": lambda x: x.transpose(1, 3),
    "permute": lambda x: x.permute(3, 2, 1, 0),
    "unsqueeze": lambda x: x.unsqueeze(0), "unsqueeze_last": lambda x: x.unsqueeze(-1),
    "squeeze": lambda x: x[:1].squeeze(0),
    "view": lambda x: x.view(2, 3, 42),
    "reshape": lambda x: x.reshape(2, 3, 3, 14),
    "expand": lambda x: x.expand(4, 2, 3, 6, 7), "one": lambda x: x[:, 1], "t": lambda x: x[0, :, 0].t(),
    "sizes": lambda x: x.split([1, 2], 1),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("name", VIEWS)
def test_views_of_a_tensor_with_one_scale_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(VIEWS[name](per_tensor(lib, "quint8")) for lib in (tt, torch)))


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("name", OF_CHANNELS)
def test_channels_keep_their_scales(name: str, fractional: bool) -> None:
    x = per_channel(tt, "qint8", 1, fractional)
    if fractional and name in ("unbind", "one"):
        with pytest.raises(RuntimeError, match="not a whole number"):
            OF_CHANNELS[name](x)
        return
    found, expected = OF_CHANNELS[name](x), OF_CHANNELS[name](x.dequantize())
    if isinstance(found, tt.Tensor):
        found, expected = [found], [expected]
    for one, other in zip(found, expected, strict=True):
        assert one.is_quantized
        tt.testing.assert_close(one.dequantize(), other, rtol=1e-6, atol=0)


@pytest.mark.parametrize(
    "call", [lambda x: x.view(-1), lambda x: x.as_strided((2,), (1,)), lambda x: x.flip(1),
             lambda x: x[:, :1].squeeze(), lambda x: x[:, :1].expand(2, 3, 6, 7), lambda x: x.unfold(1, 2, 1)]
)  # fmt: skip
def test_views_without_a_dimension_for_the_channels_are_refused(call: Any) -> None:
    with pytest.raises(RuntimeError, match=r"channel|one scale"):
        call(per_channel(tt, "qint8"))


def test_a_view_shares_the_memory() -> None:
    q = per_tensor(tt, "quint8")
    row = q[1, 2]
    row.fill_(3.0)
    assert np.allclose(q.dequantize()[1, 2].numpy(), 3.0)
    assert row._is_view() and row._base is q and q._version == row._version == 1
    assert row.untyped_storage().data_ptr() == q.untyped_storage().data_ptr()
    assert (row.storage_offset(), row.stride()) == (5 * 42, (7, 1))


def test_bad_dimensions_are_index_errors() -> None:
    q = per_tensor(tt, "quint8")
    for call in (lambda: q.select(4, 0), lambda: q.select(0, 2), lambda: q.unsqueeze(6), lambda: q.unbind(5)):
        with pytest.raises(IndexError):
            call()
