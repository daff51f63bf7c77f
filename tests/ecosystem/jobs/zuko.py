"""zuko: normalizing flows: autoregressive, coupling, spline and continuous flows."""

from __future__ import annotations

import torch
import zuko

from tests.ecosystem import kit

REQUIRES = ("zuko==1.6.0",)


def _check(flow, context=None, dtype=torch.float32):
    x = kit.tensor(4, 3, dtype=dtype)
    kit.fill(flow)
    c = kit.tensor(4, 2) if context else None
    d = flow(c)
    log_prob = d.log_prob(x)
    (-log_prob.mean()).backward()
    z = d.transform(x)
    return (
        log_prob,
        z,
        d.transform.inv(z),
        sum(p.grad.abs().sum() for p in flow.parameters() if p.grad is not None),
    )


def masked_autoregressive():
    return _check(zuko.flows.MAF(3, 2, transforms=2, hidden_features=(8, 8)), True)


def neural_spline():
    return _check(zuko.flows.NSF(3, transforms=2, hidden_features=(8, 8), bins=4))


def coupling():
    return _check(zuko.flows.RealNVP(3, 2, transforms=2, hidden_features=(8,)), True)


def polynomial():
    return _check(zuko.flows.SOSPF(3, transforms=1, hidden_features=(8,), degree=2))


def neural_autoregressive():
    return _check(zuko.flows.NAF(3, transforms=1, hidden_features=(8,), signal=4))


def continuous():
    # In float32 the steps of the solver depend on the rounding of its estimates of errors.
    return _check(zuko.flows.CNF(3, hidden_features=(8,), exact=True).double(), dtype=torch.float64)


def training():
    flow = kit.fill(zuko.flows.NICE(2, transforms=2, hidden_features=(8,)))
    optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
    x = kit.tensor(32, 2)
    losses = []
    for _ in range(8):
        loss = -flow().log_prob(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mixtures():
    gmm = kit.fill(zuko.flows.GMM(3, components=2))
    return (
        gmm().log_prob(kit.tensor(4, 3)),
        zuko.distributions.BoxUniform(torch.zeros(2), torch.ones(2)).log_prob(torch.rand(3, 2)),
        zuko.distributions.DiagNormal(torch.zeros(2), torch.ones(2)).log_prob(torch.zeros(2)),
        zuko.utils.bisection(torch.cos, 0.5 * torch.ones(1), torch.zeros(1), 3 * torch.ones(1)),
        zuko.utils.odeint(lambda t, x: -x, torch.ones(2), 0.0, 1.0),
    )
