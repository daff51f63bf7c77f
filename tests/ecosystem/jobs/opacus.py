"""Opacus: gradients of samples, private training, its accountants, its layers and validation."""

from __future__ import annotations

import torch
from opacus import GradSampleModule, PrivacyEngine
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.accountants.utils import get_noise_multiplier
from opacus.grad_sample import GradSampleModuleExpandedWeights  # noqa: F401
from opacus.layers import DPGRU, DPLSTM, DPMultiheadAttention
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.ecosystem import kit

REQUIRES = ("opacus==1.6.0", "scipy", "opt-einsum", "numpy")


def _net():
    return kit.fill(
        nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3))
    )


def sample_gradients():
    net = GradSampleModule(_net())
    x, y = kit.tensor(4, 1, 8, 8), kit.integers(0, 3, (4,))
    nn.functional.cross_entropy(net(x), y).backward()
    return {name: parameter.grad_sample for name, parameter in net.named_parameters()}


def layers_of_samples():
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(9, 6)
            self.norm = nn.LayerNorm(6)
            self.lstm = DPLSTM(6, 5, batch_first=True)
            self.gru = DPGRU(5, 4, batch_first=True)
            self.last = nn.Linear(4, 2)

        def forward(self, tokens):
            h, _ = self.lstm(self.norm(self.embedding(tokens)))
            h, _ = self.gru(h)
            return self.last(h[:, -1])

    net = GradSampleModule(kit.fill(Text()))
    net(kit.integers(0, 9, (3, 5))).square().sum().backward()
    return {name: parameter.grad_sample for name, parameter in net.named_parameters()}


def attention():
    net = GradSampleModule(kit.fill(DPMultiheadAttention(8, 2)))
    x = kit.tensor(5, 3, 8)
    result, weights = net(x, x, x)
    result.square().sum().backward()
    return result, weights, [parameter.grad_sample.norm() for parameter in net.parameters()]


def private_training():
    net = _net()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    loader = DataLoader(TensorDataset(kit.tensor(12, 1, 8, 8), kit.integers(0, 3, (12,))), batch_size=4)
    engine = PrivacyEngine(accountant="rdp")
    net, optimizer, loader = engine.make_private(
        module=net,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=0.0,
        max_grad_norm=0.5,
        poisson_sampling=False,
    )
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, net._module[4].bias, type(optimizer).__name__


def poisson_sampling():
    net = _net()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    loader = DataLoader(TensorDataset(kit.tensor(20, 1, 8, 8), kit.integers(0, 3, (20,))), batch_size=5)
    engine = PrivacyEngine()
    net, optimizer, loader = engine.make_private(
        module=net, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
    )
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    return engine.get_epsilon(1e-5), optimizer.expected_batch_size, len(loader)


def functional_sample_gradients():
    net = GradSampleModule(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)), force_functorch=True)
    kit.fill(net)
    net(kit.tensor(3, 4)).square().sum().backward()
    return [parameter.grad_sample for parameter in net.parameters()]


def accountants():
    rdp, prv = RDPAccountant(), PRVAccountant()
    for _ in range(20):
        for accountant in (rdp, prv):
            accountant.step(noise_multiplier=1.1, sample_rate=0.05)
    multiplier = get_noise_multiplier(
        target_epsilon=3.0, target_delta=1e-5, sample_rate=0.05, epochs=2, accountant="rdp"
    )
    return rdp.get_epsilon(1e-5), prv.get_epsilon(1e-5), multiplier


def validation():
    net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.LSTM(2, 2))
    errors = ModuleValidator.validate(net, strict=False)
    fixed = ModuleValidator.fix(net)
    return (
        [type(error).__name__ for error in errors],
        [type(module).__name__ for module in fixed],
        ModuleValidator.is_valid(fixed),
    )
