"""torch-optimizer: each of its optimizers on one regression, wrappers, schedules, state."""

from __future__ import annotations

import torch
import torch_optimizer as optim
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("torch-optimizer==0.3.0", "pytorch-ranger")


def _trained(make, steps=4):
    net = kit.fill(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 1)))
    optimizer = make(net.parameters())
    x = kit.tensor(8, 5)
    for _ in range(steps):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return net[0].weight


def adaptive():
    return {
        name: _trained(lambda p, name=name: optim.get(name)(p, lr=0.01))
        for name in (
            "adabound",
            "adabelief",
            "adamp",
            "diffgrad",
            "lamb",
            "novograd",
            "radam",
            "swats",
            "yogi",
            "qhadam",
        )
    }


def descent():
    return {
        name: _trained(lambda p, name=name: optim.get(name)(p, lr=0.01))
        for name in ("accsgd", "aggmo", "pid", "qhm", "sgdp", "sgdw", "adamod", "madgrad")
    }


def rangers():
    return [
        _trained(lambda p, kind=kind: kind(p, lr=0.01), 7)
        for kind in (optim.Ranger, optim.RangerQH, optim.RangerVA)
    ]


def without_rate():
    return (
        _trained(lambda p: optim.A2GradExp(p)),
        _trained(lambda p: optim.A2GradUni(p)),
        _trained(lambda p: optim.Adafactor(p)),
    )


def lookahead():
    return _trained(lambda p: optim.Lookahead(optim.Yogi(p, lr=0.01), k=2, alpha=0.5), 6)


def second_order():
    net = kit.fill(nn.Linear(5, 1))
    optimizer = optim.Shampoo(net.parameters(), lr=0.1, update_freq=1)
    x = kit.tensor(8, 5)
    for _ in range(3):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
    return net.weight


def schedules_and_state():
    net = kit.fill(nn.Linear(5, 1))
    optimizer = optim.RAdam(net.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
    x = kit.tensor(8, 5)
    rates = []
    for _ in range(3):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        scheduler.step()
        rates.append(scheduler.get_last_lr())
    other = optim.RAdam(net.parameters(), lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    other.step()
    return (
        rates,
        net.weight,
        sorted(other.state_dict()["state"][0]),
        repr(optim.Yogi([nn.Parameter(torch.zeros(1))])).split()[0],
    )
