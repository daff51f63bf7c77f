"""Composites without a formula of their own are differentiated through their parts."""

from __future__ import annotations

import pytest

import tt
import tt.nn.functional as F
from tt.testing.gradcheck import gradcheck


def sample(*shape: int, seed: int = 0) -> tt.Tensor:
    generator = tt.Generator().manual_seed(seed + len(shape))
    return tt.randn(shape, generator=generator, dtype=tt.float64).requires_grad_()


INDEX = tt.tensor([2, 0, 2])
TARGET = tt.tensor([0, 2, -100])
PROBABILITIES = tt.softmax(tt.arange(12.0, dtype=tt.float64).reshape(3, 4) % 5, 1)

PROGRAMS = {
    "rsub": lambda x: tt.rsub(x, 2.0, alpha=3),
    "reshape of a view": lambda x: x.t().reshape(-1),
    "flatten": lambda x: x.t().flatten(),
    "narrow": lambda x: x.narrow(1, 1, 2) * 2,
    "stack": lambda x: tt.stack([x, x * x], 1),
    "broadcast_to": lambda x: tt.broadcast_to(x, (2, 3, 4)),
    "contiguous": lambda x: x.t().contiguous() * 2,
    "linear": lambda x: F.linear(x, x, x[0, :3]),
    "linear of a batch": lambda x: F.linear(x.reshape(1, 3, 4), x),
    "outer": lambda x: tt.outer(x[0], x[1]),
    "embedding": lambda x: F.embedding(INDEX, x),
    "layer_norm": lambda x: F.layer_norm(x, (4,), x[0], x[1]),
    "mse_loss": lambda x: F.mse_loss(x, x.flip([0])),
    "cross_entropy": lambda x: F.cross_entropy(x, TARGET),
    "cross_entropy, smoothed": lambda x: F.cross_entropy(x, TARGET, label_smoothing=0.2),
    "cross_entropy of probabilities": lambda x: F.cross_entropy(x, PROBABILITIES, reduction="sum"),
    "max of two": lambda x: tt.max(x, x.flip([1]) * 0.5),
    "new_full": lambda x: x * x.new_full((3, 4), 2.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_finite_differences(name):
    assert gradcheck(PROGRAMS[name], (sample(3, 4),))


def test_the_row_of_padding_gets_no_gradient():
    weight = sample(4, 2)
    F.embedding(tt.tensor([0, 2, 2]), weight, padding_idx=2).sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


def test_dropout_passes_the_gradient_of_what_it_keeps():
    x = tt.ones(1000).requires_grad_()
    tt.manual_seed(0)
    kept = F.dropout(x, 0.25)
    kept.sum().backward()
    assert tt.equal(x.grad, kept.detach())
