"""nflows: normalizing flows of Durkan and others: transforms, flows, training."""

from __future__ import annotations

import torch
from nflows import distributions, flows, transforms

from tests.ecosystem import kit

REQUIRES = ("nflows==0.14",)


def _apply(transform):
    x = kit.tensor(5, 4)
    kit.fill(transform).eval()
    y, logabsdet = transform(x)
    back, _ = transform.inverse(y)
    return y, logabsdet, back


def autoregressive():
    return _apply(transforms.MaskedAffineAutoregressiveTransform(4, hidden_features=8, num_blocks=1))


def spline_autoregressive():
    return _apply(
        transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            features=4, hidden_features=8, num_bins=4, tails="linear", tail_bound=3.0, num_blocks=1
        )
    )


def coupling():
    from nflows.nn.nets import ResidualNet

    return _apply(
        transforms.AffineCouplingTransform(
            torch.tensor([1, 0, 1, 0]), lambda i, o: ResidualNet(i, o, hidden_features=8, num_blocks=1)
        )
    )


def linear():
    return [
        _apply(t)
        for t in (
            transforms.LULinear(4),
            transforms.QRLinear(4, 2),
            transforms.SVDLinear(4, 2),
            transforms.ReversePermutation(4),
        )
    ]


def nonlinear():
    x = kit.tensor(5, 4)
    return [
        t(x)
        for t in (
            transforms.Sigmoid(),
            transforms.LeakyReLU(),
            transforms.PointwiseAffineTransform(1.0, 2.0),
            transforms.LogTanh(),
        )
    ]


def training():
    flow = flows.MaskedAutoregressiveFlow(2, 8, 2, 1)
    kit.fill(flow)
    optimizer = torch.optim.Adam(flow.parameters(), 1e-2)
    losses = []
    for _ in range(5):
        loss = -flow.log_prob(kit.tensor(16, 2)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def bases():
    x = kit.tensor(3, 2)
    conditional = distributions.ConditionalDiagonalNormal(
        [2], context_encoder=kit.fill(torch.nn.Linear(3, 4))
    )
    return (
        distributions.StandardNormal([2]).log_prob(x),
        conditional.log_prob(x, context=kit.tensor(3, 3)),
        list(distributions.StandardNormal([2]).sample(5).shape),
    )
