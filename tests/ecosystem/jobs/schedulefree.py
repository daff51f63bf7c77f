"""schedulefree: SGD, AdamW and RAdam without a schedule, by foreach and in loops, closures, and a wrapper."""

from __future__ import annotations

import schedulefree
import torch
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("schedulefree==1.4.1",)


def _train(make, steps=6):
    net = kit.fill(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)))
    optimizer = make(net.parameters())
    optimizer.train()
    losses = []
    for _ in range(steps):
        loss = (net(kit.tensor(6, 4)) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach())
    trained = [p.detach().clone() for p in net.parameters()]
    optimizer.eval()
    return losses, trained, list(net.parameters())


def _with_closure(make):
    net = kit.fill(nn.Linear(4, 1))
    optimizer = make(net.parameters())
    for _ in range(4):

        def closure():
            optimizer.zero_grad()
            loss = (net(kit.tensor(6, 4)) - 1).square().mean()
            loss.backward()
            return loss

        optimizer.step(closure)
    return net.state_dict()


def sgd():
    return _train(lambda p: schedulefree.SGDScheduleFree(p, lr=0.1, warmup_steps=2, weight_decay=1e-2))


def adamw():
    return _train(lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, warmup_steps=2, weight_decay=1e-2))


def adamw_in_loops():
    return _train(lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, foreach=False))


def radam():
    return _train(lambda p: schedulefree.RAdamScheduleFree(p, lr=1e-2), 8)


def closures():
    return [
        _with_closure(lambda p: schedulefree.SGDScheduleFreeClosure(p, lr=0.1)),
        _with_closure(lambda p: schedulefree.AdamWScheduleFreeClosure(p, lr=1e-2)),
    ]


def wrapper():
    return _train(
        lambda p: schedulefree.ScheduleFreeWrapper(
            torch.optim.SGD(p, lr=1e-1), momentum=0.9, weight_decay_at_y=0.1
        )
    )
