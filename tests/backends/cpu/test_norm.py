"""Norms and distances, against PyTorch and at the ends of the dtypes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tt

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

ORDERS = [2, 1, 0, 3, 0.5, -1, math.inf, -math.inf]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "bfloat16", "int64"])
def test_norms_of_vectors(same, order, dtype):
    x = torch.arange(-11, 13).reshape(2, 3, 4).to(getattr(torch, dtype))
    for dim in (None, 1, (0, 2), ()):
        same(lambda m, x, d=dim: m.linalg.vector_norm(x, order, d), x)
        same(lambda m, x, d=dim: m.norm(x, order, d, True), x)
    same(lambda m, x: x.norm(order), x.transpose(0, 2))
    same(lambda m, x: m.linalg.vector_norm(x, order), x[:0])
    same(lambda m, x: m.linalg.vector_norm(x, order, 1), x[:0])


@pytest.mark.parametrize("p", ["fro", "nuc", "max", None, 1j, True])
def test_norms_by_name(same, p):
    x = torch.arange(24.0).reshape(2, 3, 4)
    for dim in (None, 0, (0, 1), (2, 0), (0, 1, 2), (0, 0), 3):
        for keepdim in (False, True):
            same(lambda m, x, d=dim, k=keepdim: m.norm(x, p, d, k), x, tolerance=1e-5)
    same(lambda m, x: m.norm(x[0], p), x, tolerance=1e-5)
    same(lambda m, x: m.norm(x[0, 0], p), x)


def test_the_dtype_of_a_norm_holds_all_values(same):
    x, z = torch.ones(3), torch.ones(3, dtype=torch.complex64)
    for dtype in ("float64", "float32", "float16", "complex128", "int64"):
        same(lambda m, x, d=dtype: m.linalg.vector_norm(x, dtype=getattr(m, d)), x)
        same(lambda m, x, d=dtype: m.linalg.vector_norm(x, dtype=getattr(m, d)), z)
        same(lambda m, x, d=dtype: m.norm(x, dtype=getattr(m, d)), x)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("order", [2, 3, 0.5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_neither_overflow_nor_underflow(dtype, order, masked):
    limits = np.finfo(dtype)
    with tt.mask_kernels("@non-core") if masked else tt.mask_kernels("nothing"):
        for scale in (float(limits.max) / 64, float(limits.tiny) * 64):
            x = tt.tensor([3.0, -4.0, 0.0], dtype=tt.float64).mul(scale).to(getattr(tt, dtype))
            expected = (3.0**order + 4.0**order) ** (1 / order) * scale
            assert tt.linalg.vector_norm(x, order).item() == pytest.approx(expected, rel=1e-5)


def test_a_short_vector_beside_a_long_one_keeps_its_digits():
    x = tt.tensor([[3e-30, 4e-30], [3.0, 4.0], [0.0, 0.0]])
    assert tt.linalg.vector_norm(x, dim=1).tolist() == pytest.approx([5e-30, 5.0, 0.0], rel=1e-6)


@pytest.mark.parametrize("order", [2, 1, 3, 1.5, 0.5, math.inf, 0])
def test_the_gradient_of_a_norm_at_zero_is_zero(order):
    x = tt.zeros(3, dtype=tt.float64, requires_grad=True)
    (g,) = tt.autograd.grad(tt.linalg.vector_norm(x, order), x, create_graph=True)
    assert g.tolist() == [0.0, 0.0, 0.0]
    y = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    assert order == 0 or torch.autograd.grad(torch.linalg.vector_norm(y, order), y)[0].tolist() == [0.0] * 3


def test_distances(same):
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(3.0)
    for p in (2, 1, 0, math.inf):
        same(lambda m, x, y, p=p: m.dist(x, y, p), x, y)
        same(lambda m, x, y, p=p: m.dist(x, y, p), x, y.double())
    same(lambda m, x, y: m.dist(x, y), x.long(), y.long())
    same(lambda m, x, y: x.dist(y), x, y[:2])
