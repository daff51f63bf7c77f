"""lion_pytorch: steps of Lion with and without decoupled decay, groups, its state saved and loaded."""

from __future__ import annotations

import torch
from lion_pytorch import Lion
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("lion-pytorch==0.2.5",)


def _train(steps=5, again=False, **options):
    net = kit.fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    groups = [{"params": net[0].parameters(), "lr": 3e-3}, {"params": net[2].parameters()}]
    optimizer = Lion(groups, lr=1e-2, **options)
    losses = []
    for step in range(steps):
        if again and step == 2:
            state = optimizer.state_dict()
            optimizer = Lion(groups, lr=1e-2, **options)
            optimizer.load_state_dict(state)

        def closure(optimizer=optimizer):
            optimizer.zero_grad()
            loss = (net(kit.tensor(6, 4)) - 1).square().mean()
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).detach())
    return losses, net.state_dict(), [s["exp_avg"] for s in optimizer.state.values()]


def steps():
    return _train()


def decay():
    return _train(weight_decay=0.1), _train(weight_decay=0.1, decoupled_weight_decay=True)


def saved_state():
    return _train(again=True)


def schedule():
    weight = nn.Parameter(torch.ones(2))
    optimizer = Lion([weight], lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=6)
    rates = []
    for _ in range(5):
        weight.grad = weight.detach().clone()
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return rates, weight
