"""Views of the same bytes as other elements."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

DTYPES = [torch.float32, torch.float16, torch.float64, torch.int64, torch.uint8, torch.complex64]
TENSORS = [
    torch.zeros(4, 8),
    torch.zeros(4, 8).t(),
    torch.zeros(4, 8)[1:, 2:],
    torch.zeros(4, 8)[1:, 1:],
    torch.zeros(()),
    torch.zeros(3, 5),
    torch.zeros(0, 4),
    torch.zeros(2, 4, dtype=torch.complex64)[1:],
    torch.zeros(2, 2, 2),
]


@pytest.mark.parametrize("x", TENSORS, ids=lambda x: f"{x.dtype}{list(x.shape)}{x.stride()}")
def test_views_as_other_elements(agree, x):
    for dtype in DTYPES:
        agree("view_dtype", torch.Tensor.view, self=x, dtype=dtype)
    agree("view_as_real", torch.view_as_real, self=x)
    agree("view_as_complex", torch.view_as_complex, self=x)
    agree("real", torch.real, self=x)
    agree("imag", torch.imag, self=x)
