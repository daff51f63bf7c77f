"""laplace: posteriors of networks by Laplace's approximation, marginal likelihoods, predictions."""

from __future__ import annotations

import torch
from laplace import Laplace
from laplace.curvature import BackPackEF, BackPackGGN
from torch.utils.data import DataLoader, TensorDataset

from tests.ecosystem import kit

REQUIRES = ("laplace-torch==0.3", "backpack-for-pytorch", "torchmetrics")


def _fit(likelihood, subset, structure, backend=BackPackGGN):
    net = kit.fill(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)))
    x = kit.tensor(12, 3)
    y = torch.arange(12) % 2 if likelihood == "classification" else kit.tensor(12, 2)
    la = Laplace(net, likelihood, subset_of_weights=subset, hessian_structure=structure, backend=backend)
    la.fit(DataLoader(TensorDataset(x, y), batch_size=4))
    return la


def full_of_the_last_layer():
    la = _fit("classification", "last_layer", "full")
    return la.H, la.log_marginal_likelihood(), la(kit.tensor(4, 3), link_approx="probit")


def kronecker():
    la = _fit("regression", "all", "kron")
    mean, variance = la(kit.tensor(4, 3))
    return la.log_marginal_likelihood(), mean, variance


def diagonal():
    la = _fit("classification", "all", "diag", BackPackEF)
    return la.H, la.log_marginal_likelihood(), la(kit.tensor(4, 3), link_approx="bridge")


def full():
    la = _fit("regression", "all", "full")
    return la.posterior_covariance.diagonal(), la(kit.tensor(2, 3))


def prior():
    la = _fit("regression", "all", "diag")
    log_prior, log_noise = torch.zeros(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([log_prior, log_noise], lr=0.1)
    values = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = -la.log_marginal_likelihood(log_prior.exp(), log_noise.exp())
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values, log_prior, log_noise
