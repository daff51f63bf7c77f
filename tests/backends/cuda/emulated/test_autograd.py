"""Gradients on the emulated device."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F


def leaf(*shape, seed=0, dtype=tt.float64):
    tt.manual_seed(seed)
    return tt.randn(*shape, dtype=dtype).cuda().requires_grad_()


PROGRAMS = {
    "arithmetic": lambda x, w: ((x @ w).tanh() * x.sum(1, keepdim=True)).mean(),
    "softmax": lambda x, w: F.cross_entropy(x @ w, tt.tensor([0, 2, 1, 0], device="cuda")),
    "norm": lambda x, w: (F.layer_norm(x @ w, (3,)) ** 3).sum(),
    "indexing": lambda x, w: (x[[0, 2, 0]] @ w).gather(1, tt.tensor([[0], [1], [2]], device="cuda")).sum(),
    "views": lambda x, w: (x.t().unfold(0, 2, 1).flatten() * 2).exp().sum() + w.diagonal().prod(),
    "linalg": lambda x, w: (
        tt.linalg.inv(w[:3] @ w[:3].t() + 3 * tt.eye(3, device="cuda", dtype=w.dtype)).sum() + x.sum()
    ),
    "fft": lambda x, w: tt.fft.fft(x).abs().sum() + w.sum(),
    "sorting": lambda x, w: x.sort(1)[0][:, 0].sum() + w.cumsum(0).max(),
    "in place": lambda x, w: x.clone().mul_(2).add_(1).sigmoid_().sum() + w.sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree_with_finite_differences_and_with_the_cpu(name):
    program = PROGRAMS[name]
    x, w = leaf(4, 5), leaf(5, 3, seed=1)
    assert tt.autograd.gradcheck(program, (x, w))
    program(x, w).backward()
    assert x.grad.device == x.device == w.grad.device
    if name not in ("softmax", "indexing", "linalg"):  # they make tensors on the device
        here = [t.detach().cpu().requires_grad_() for t in (x, w)]
        program(*here).backward()
        for there, on_cpu in zip((x, w), here, strict=True):
            assert tt.allclose(there.grad.cpu(), on_cpu.grad)


def test_second_derivatives():
    x = leaf(3)
    assert tt.autograd.gradgradcheck(lambda x: (x.exp() * x).sum(), (x,))


def test_gradients_cross_devices():
    x = tt.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert x.grad.device == tt.device("cpu")


def test_a_network_learns():
    tt.manual_seed(0)
    x = tt.rand(64, 2, device="cuda")
    y = (x[:, 0] > x[:, 1]).to(tt.int64)
    w = (tt.randn(2, 2) * 0.1).cuda().requires_grad_()
    b = tt.zeros(2, device="cuda", requires_grad=True)
    losses = []
    for _ in range(60):
        loss = F.cross_entropy(x @ w + b, y)
        loss.backward()
        with tt.no_grad():
            for p in (w, b):
                p -= 2.0 * p.grad
                p.grad = None
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_saved_tensors_that_changed_are_refused():
    x = leaf(3)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.sum().backward()


def test_transforms_of_functions():
    x = leaf(3).detach()
    grad = tt.func.grad(lambda x: (x**3).sum())(x)
    assert tt.allclose(grad, 3 * x**2)
    assert grad.device == x.device
    jacobian = tt.func.jacrev(lambda x: x.sin())(x)
    assert tt.allclose(jacobian, tt.diag(x.cos()))
    assert tt.allclose(tt.func.jacfwd(lambda x: x.sin())(x), jacobian)
    rows = tt.func.vmap(lambda row: row @ row)(leaf(4, 3).detach())
    assert rows.device == x.device
    assert rows.shape == (4,)
    _, tangent = tt.func.jvp(lambda x: x.exp(), (x,), (tt.ones_like(x),))
    assert tt.allclose(tangent, x.exp())


def test_half_precision_backwards():
    for dtype in (tt.float16, tt.bfloat16):
        x = leaf(8, dtype=tt.float32).detach().to(dtype).requires_grad_()
        (x * x).sum().backward()
        assert x.grad.dtype == dtype
        assert tt.allclose(x.grad, 2 * x)
