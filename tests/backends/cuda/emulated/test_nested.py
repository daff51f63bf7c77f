"""Jagged tensors on an emulated device: their values are there, and their rows are known to the host."""

from __future__ import annotations

import tt
import tt.nn.functional as F


def test_rows_on_the_device():
    x = tt.nested.nested_tensor([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], device="cuda", requires_grad=True)
    assert (x.device.type, x.offsets().device.type, x.shape == x.cpu().shape) == ("cuda", "cuda", True)
    found = [
        x * tt.ones(2, device="cuda"), x.sum(1), x.mean(1), x.amax(1), x.softmax(1), x.softmax(-1), x.cumsum(1),
        F.linear(x, tt.ones(3, 2, device="cuda")), F.layer_norm(x, (2,)), x.to_padded_tensor(0.0), x.transpose(1, 2),
        x[tt.tensor([1, 0], device="cuda")], tt.cat([x, x]), x + tt.ones(2, 1, 2, device="cuda"),
    ]  # fmt: skip
    y = x.detach().cpu()
    wanted = [
        y * tt.ones(2), y.sum(1), y.mean(1), y.amax(1), y.softmax(1), y.softmax(-1), y.cumsum(1),
        F.linear(y, tt.ones(3, 2)), F.layer_norm(y, (2,)), y.to_padded_tensor(0.0), y.transpose(1, 2),
        y[tt.tensor([1, 0])], tt.cat([y, y]), y + tt.ones(2, 1, 2),
    ]  # fmt: skip
    for one, other in zip(found, wanted, strict=True):
        tt.testing.assert_close(one.detach().cpu(), other)
    (x * x).sum().backward()
    tt.testing.assert_close(x.grad.cpu(), y * 2)
    assert "device='cuda" in repr(x) and "offsets=[0, 2, 3]" in repr(x)


def test_rows_move_between_devices():
    x = tt.nested.nested_tensor([[1.0], [2.0, 3.0]])
    there = x.to("cuda").double()
    assert (there.device.type, there.dtype) == ("cuda", tt.float64)
    tt.testing.assert_close(there.cpu(), x.double())
    heads = [tt.nested.nested_tensor([tt.ones(n, 2, 4) for n in (2, 3)], device="cuda").transpose(1, 2)] * 3
    assert F.scaled_dot_product_attention(*heads).device.type == "cuda"
