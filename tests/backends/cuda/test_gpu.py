"""What only a GPU can show: the same calls there and on the CPU, the libraries among them."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _same_numbers():
    tt.manual_seed(0)


def same(function, *inputs, tolerance=2e-3):
    """Compare a result and the gradients of what has one, on both devices."""

    def run(device):
        leaves = [x.to(device).detach().requires_grad_(x.is_floating_point()) for x in inputs]
        result = function(*leaves)
        result.float().pow(2).sum().backward()
        return [result, *(leaf.grad for leaf in leaves if leaf.requires_grad)]

    for found, expected in zip(run("cuda"), run("cpu"), strict=True):
        expected = expected.float()
        scale = max(1.0, float(expected.abs().max()))
        assert tt.allclose(found.cpu().float() / scale, expected / scale, atol=tolerance, rtol=0)


@pytest.mark.parametrize("dtype", [tt.float32, tt.bfloat16, tt.float16])
def test_products(dtype):
    x, w, b = (tt.randn(*size).to(dtype) for size in ((4, 33, 64), (48, 64), (48,)))
    tolerance = 1e-5 if dtype is tt.float32 else 2e-2
    same(lambda x, w, b: F.linear(x, w, b), x, w, b, tolerance=tolerance)
    same(lambda x, w: x @ w.T, x, w, tolerance=tolerance)


@pytest.mark.parametrize("dtype", [tt.float32, tt.bfloat16, tt.float16])
@pytest.mark.parametrize(("groups", "stride", "dilation"), [(1, 1, 1), (4, 2, 1), (8, 1, 2)])
def test_convolutions(dtype, groups, stride, dilation):
    x, w, b = (
        tt.randn(2, 8, 15, 14).to(dtype),
        tt.randn(16, 8 // groups, 3, 3).to(dtype),
        tt.randn(16).to(dtype),
    )
    tolerance = 5e-3 if dtype is tt.float32 else 3e-2
    same(lambda x, w, b: F.conv2d(x, w, b, stride, 1, dilation, groups), x, w, b, tolerance=tolerance)


@pytest.mark.parametrize("dtype", [tt.float32, tt.bfloat16, tt.float16])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype, causal):
    q, k, v = (tt.randn(2, 4, n, 64).to(dtype) for n in (100, 130, 130))
    tolerance = 1e-4 if dtype is tt.float32 else 3e-2
    same(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
        q,
        k,
        v,
        tolerance=tolerance,
    )


def test_pooling():
    x = tt.randn(2, 3, 17, 16)
    same(lambda x: F.max_pool2d(x, 3, 2, 1), x)
    same(lambda x: F.avg_pool2d(x, 3, 2, 1), x)
    same(lambda x: F.adaptive_avg_pool2d(x, (5, 7)), x)


def test_a_product_can_be_captured_and_replayed():
    x, w = tt.randn(64, 64, device="cuda"), tt.randn(64, 64, device="cuda")
    x @ w
    graph = tt.cuda.CUDAGraph()
    with tt.cuda.graph(graph):
        y = x @ w
    x.copy_(tt.randn(64, 64))
    graph.replay()
    assert tt.allclose(y.cpu(), x.cpu() @ w.cpu(), atol=1e-4)
