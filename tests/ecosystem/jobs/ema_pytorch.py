"""ema_pytorch: averages of a model's weights, switching, copies, post-hoc profiles, averages of trees."""

from __future__ import annotations

import tempfile

import torch
from ema_pytorch import EMA, KarrasEMA, PostHocEMA
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("ema-pytorch==0.8.3", "einops", "torch-einops-utils")


def _net():
    return kit.fill(nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)))


def _train(net, average, steps=6):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        net(kit.tensor(5, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        average.update()


def average():
    net = _net()
    ema = EMA(net, beta=0.9, update_after_step=1, update_every=2)
    _train(net, ema)
    return ema.ema_model.state_dict(), ema(kit.tensor(2, 4)), ema.get_current_decay()


def average_by_foreach():
    net = _net()
    ema = EMA(net, beta=0.9, update_after_step=0, update_every=1, use_foreach=True)
    _train(net, ema)
    return ema.ema_model.state_dict()


def switching():
    net = _net()
    ema = EMA(net, beta=0.9, update_after_step=0, update_every=1, update_model_with_ema_every=3)
    _train(net, ema)
    return net.state_dict()


def karras():
    net = _net()
    ema = KarrasEMA(net, sigma_rel=0.1, update_every=1)
    _train(net, ema)
    return ema.ema_model.state_dict()


def saved_state():
    net = _net()
    ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
    _train(net, ema, 3)
    again = EMA(_net(), beta=0.9, update_after_step=0, update_every=1)
    again.load_state_dict(ema.state_dict())
    return again.state_dict()


def profiles_after_training():
    net = _net()
    with tempfile.TemporaryDirectory() as folder:
        ema = PostHocEMA(
            net,
            sigma_rels=(0.05, 0.28),
            update_every=1,
            checkpoint_every_num_steps=2,
            checkpoint_folder=folder,
        )
        _train(net, ema, 8)
        synthesized = ema.synthesize_ema_model(sigma_rel=0.15)
    return synthesized.ema_model.state_dict()
