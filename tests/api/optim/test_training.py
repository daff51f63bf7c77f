"""Whole programs: a module, an optimizer and a schedule."""

from __future__ import annotations

import numpy as np
import pytest

import tt


def train(lib, weights, kind, **options):
    model = lib.nn.Sequential(lib.nn.Linear(3, 8), lib.nn.Linear(8, 1))
    with lib.no_grad():
        for param, value in zip(model.parameters(), weights, strict=True):
            param.copy_(lib.tensor(value))
    optimizer = getattr(lib.optim, kind)(model.named_parameters(), **options)
    scheduler = lib.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    averaged = lib.optim.swa_utils.AveragedModel(model)
    rng = np.random.default_rng(5)
    losses = []
    for _ in range(20):
        x = lib.tensor(rng.standard_normal((16, 3)).astype("f4"))
        y = x.sum(1, keepdim=True)
        optimizer.zero_grad()
        loss = ((model(x).tanh() - y.tanh()) ** 2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        averaged.update_parameters(model)
        losses.append(float(loss.detach()))
    return losses, [p.detach().numpy() for p in averaged.parameters()]


def weights():
    rng = np.random.default_rng(4)
    return [0.3 * rng.standard_normal(shape).astype("f4") for shape in ((8, 3), (8,), (1, 8), (1,))]


@pytest.mark.parametrize(("kind", "options"), [
    ("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"lr": 0.05}), ("RMSprop", {"lr": 0.01}), ("Adagrad", {"lr": 0.1}),
])  # fmt: skip
def test_a_program_trains(kind, options):
    losses, _ = train(tt, weights(), kind, **options)
    assert losses[-1] < losses[0] / 4


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["SGD", "Adam", "NAdam", "Rprop"])
def test_a_program_has_the_numbers_of_pytorch(kind):
    torch = pytest.importorskip("torch")
    (mine, averages), (theirs, others) = (train(lib, weights(), kind, lr=0.01) for lib in (tt, torch))
    np.testing.assert_allclose(mine, theirs, rtol=1e-4)
    for one, other in zip(averages, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.filterwarnings("ignore:optimizer contains a parameter group with duplicate")
@pytest.mark.parametrize("fused", [None, True])
def test_a_parameter_that_is_there_twice_takes_two_steps(fused):
    p = tt.ones(3, requires_grad=True)
    p.grad = tt.ones(3)
    tt.optim.SGD([p, p], lr=0.25, fused=fused).step()
    assert p.tolist() == [0.5, 0.5, 0.5]


def test_parameters_may_share_memory():
    for kind in ("SGD", "Adamax"):
        memory = tt.ones(3)
        params = [memory[:2].requires_grad_(), memory[1:].requires_grad_()]
        for p in params:
            p.grad = tt.ones(2)
        getattr(tt.optim, kind)(params, lr=0.25).step()
        assert memory.tolist() == pytest.approx([0.75, 0.5, 0.75])


def test_parameters_without_elements_or_on_meta_take_steps():
    for form in ({}, {"foreach": True}, {"foreach": False}):
        empty, meta = tt.ones(0, 3, requires_grad=True), tt.ones(2, 3, device="meta").requires_grad_()
        empty.grad, meta.grad = tt.ones(0, 3), tt.ones(2, 3, device="meta")
        for kind in ("SGD", "Adam", "Adamax", "RMSprop"):
            getattr(tt.optim, kind)([empty, meta], **form).step()
        assert empty.shape == (0, 3)
