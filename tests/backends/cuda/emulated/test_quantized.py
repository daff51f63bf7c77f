"""Quantized tensors on an emulated device: their integers are there, and their scales are known to the host."""

from __future__ import annotations

import tt


def test_integers_on_the_device() -> None:
    x = tt.linspace(-3, 9, 24, device="cuda").reshape(1, 2, 3, 4)
    q = tt.quantize_per_tensor(x, 0.3, 11, tt.quint8)
    c = tt.quantize_per_channel(
        x, tt.tensor([0.1, 0.2], device="cuda"), tt.tensor([0, 3], device="cuda"), 1, tt.qint8
    )
    there, here = (q, c), (tt.quantize_per_tensor(x.cpu(), 0.3, 11, tt.quint8), c.cpu())
    for one, other in zip(there, here, strict=True):
        assert one.device.type == one.int_repr().device.type == "cuda" and one.cpu().equal(other)
        assert other.to("cuda").equal(one)
        tt.testing.assert_close(one.dequantize().cpu(), other.dequantize())
    found = [
        q.relu(),
        q.mean(-1),
        tt.nn.functional.max_pool2d(q, 2),
        q.transpose(1, 2),
        q.sigmoid(),
        q[:, 1].fill_(2.0),
    ]
    p = here[0].clone()
    wanted = [
        p.relu(),
        p.mean(-1),
        tt.nn.functional.max_pool2d(p, 2),
        p.transpose(1, 2),
        p.sigmoid(),
        p[:, 1].fill_(2.0),
    ]
    for one, other in zip(found, wanted, strict=True):
        assert one.cpu().equal(other)
    assert "device='cuda" in repr(q)
