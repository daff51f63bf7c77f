"""Shapes of copies in another arrangement."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

SHAPES = [(), (3,), (2, 3), (0, 3), (2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies(agree, shape):
    x = torch.zeros(shape)
    for dims in ([], [0], [1, 0], [0, 0], [-1], [5]):
        agree("flip", torch.flip, self=x, dims=dims)
        if x.numel() or 5 not in dims:  # PyTorch does not check the dimension of an empty tensor here
            agree("roll", torch.roll, self=x, shifts=[1] * len(dims), dims=dims)
    agree("roll", torch.roll, self=x, shifts=3)
    agree("roll", torch.roll, self=x, shifts=[1, 2], dims=[0])
    agree("triangle", torch.tril, self=x)
    for k in (1, 2, -1):
        for dims in ([0, 1], [1, 0], [0, 0], [0, 7], [0]):
            agree("rot90", torch.rot90, strides=False, self=x, k=k, dims=dims)
    for offset in (0, 2, -1):
        for first, second in ((-2, -1), (0, 1), (0, -1), (0, 0), (9, 1)):
            agree("diag_embed", torch.diag_embed, self=x, offset=offset, dim1=first, dim2=second)
    for pad in ([1, 2], [0, 0, 1, 1], [-1, 0], [-9, 1], [1], [1, 1, 1, 1, 1, 1], []):
        agree("constant_pad_nd", torch.constant_pad_nd, strides=False, self=x, pad=pad)
