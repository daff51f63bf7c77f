"""higher: inner loops of MAML through functional modules and differentiable optimizers."""

from __future__ import annotations

import higher
import torch
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("higher==0.2.1",)


def _net():
    return kit.fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))


def maml():
    net = _net()
    inner, outer = torch.optim.SGD(net.parameters(), 0.1), torch.optim.Adam(net.parameters(), 0.01)
    losses = []
    for _ in range(3):
        outer.zero_grad()
        with higher.innerloop_ctx(net, inner, copy_initial_weights=False) as (functional, differentiable):
            for _ in range(2):
                differentiable.step(functional(kit.tensor(5, 4)).square().mean())
            loss = (functional(kit.tensor(5, 4)) - 1).square().mean()
            loss.backward()
        outer.step()
        losses.append(loss.item())
    return losses, net[0].weight


def optimizers():
    results = {}
    for kind in (
        torch.optim.Adam,
        torch.optim.Adagrad,
        torch.optim.RMSprop,
        torch.optim.Adadelta,
        torch.optim.Adamax,
    ):
        net = _net()
        x = kit.tensor(5, 4)
        with higher.innerloop_ctx(net, kind(net.parameters(), lr=0.05), copy_initial_weights=False) as (
            functional,
            step,
        ):
            for _ in range(3):
                step.step((functional(x) - 1).square().mean())
            (functional(x)).square().mean().backward()
        results[kind.__name__] = net[0].weight.grad
    return results


def learned_rate():
    net = _net()
    rate = torch.tensor(0.1, requires_grad=True)
    x = kit.tensor(5, 4)
    override = {"lr": [rate]}
    with higher.innerloop_ctx(net, torch.optim.SGD(net.parameters(), 0.1), override=override) as (
        functional,
        step,
    ):
        step.step((functional(x) - 1).square().mean())
        functional(x).square().mean().backward()
    return rate.grad


def functional_modules():
    net = kit.fill(
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    )
    functional = higher.monkeypatch(net, copy_initial_weights=True)
    x = kit.tensor(2, 1, 6, 6)
    first = functional(x)
    scaled = functional(x, params=[2 * p for p in functional.parameters()])
    return first, scaled, len(list(functional.parameters(time=0))), functional.training


def recurrent():
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.last = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 1)

        def forward(self, x):
            return self.last(self.cell(x)[0][:, -1])

    net = kit.fill(Text())
    with higher.innerloop_ctx(net, torch.optim.SGD(net.parameters(), 0.1), copy_initial_weights=False) as (
        functional,
        step,
    ):
        step.step(functional(kit.tensor(2, 5, 3)).square().mean())
        functional(kit.tensor(2, 5, 3)).mean().backward()
    return net.cell.weight_hh_l0.grad
