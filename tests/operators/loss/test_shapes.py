"""Shapes of losses."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.mark.parametrize("reduction", ["none", "mean", "sum", "max"])
def test_losses(agree, reduction):
    for shape, target in (
        ((3,), ()),
        ((2, 3), (2,)),
        ((2, 3, 4), (2, 4)),
        ((2, 3), (3,)),
        ((), ()),
        ((2, 3, 4), (2, 3)),
    ):
        x, y = torch.zeros(shape), torch.zeros(target, dtype=torch.int64)
        for weight in (None, torch.ones(3), torch.ones(2)):
            how = {"input": x, "target": y, "weight": weight, "reduction": reduction}
            agree("nll_loss", lambda x, y, w, r: F.nll_loss(x, y, w, reduction=r), strides=False, **how)
    x, y = torch.zeros(2, 3), torch.zeros(2, 3)
    how = {"input": x, "target": y, "reduction": reduction}
    agree("same_shape_loss", lambda x, y, r: F.binary_cross_entropy(x, y, reduction=r), strides=False, **how)
    how["target"] = torch.zeros(3)
    agree("same_shape_loss", lambda x, y, r: F.binary_cross_entropy(x, y, reduction=r), strides=False, **how)
