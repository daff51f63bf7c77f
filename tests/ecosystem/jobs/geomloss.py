"""GeomLoss: Sinkhorn divergences, kernel norms, their gradients, potentials, batches."""

from __future__ import annotations

import torch
from geomloss import SamplesLoss

from tests.ecosystem import kit

REQUIRES = ("geomloss==0.3.1", "numpy")


def _clouds(*batch):
    return kit.tensor(*batch, 12, 2, grad=True), kit.tensor(*batch, 9, 2) + 0.5


def sinkhorn():
    x, y = _clouds()
    loss = SamplesLoss("sinkhorn", p=2, blur=0.1, backend="tensorized")(x, y)
    return loss, torch.autograd.grad(loss, x)[0]


def kernels():
    x, y = _clouds()
    results = {}
    for kind in ("energy", "gaussian", "laplacian"):
        loss = SamplesLoss(kind, blur=0.5, backend="tensorized")(x, y)
        results[kind] = [loss, torch.autograd.grad(loss, x)[0]]
    return results


def weights_and_batches():
    x, y = _clouds(3)
    a, b = kit.tensor(3, 12).softmax(-1), kit.tensor(3, 9).softmax(-1)
    loss = SamplesLoss("sinkhorn", p=1, blur=0.2, scaling=0.7, backend="tensorized")(a, x, b, y)
    return loss, torch.autograd.grad(loss.sum(), x)[0]


def potentials():
    x, y = _clouds()
    return SamplesLoss("sinkhorn", blur=0.2, potentials=True, backend="tensorized")(x.detach(), y)


def unbalanced_and_cost():
    x, y = _clouds()
    reach = SamplesLoss("sinkhorn", blur=0.1, reach=0.5, debias=False, backend="tensorized")(x, y)

    def cost(a, b):
        return (a[..., :, None, :] - b[..., None, :, :]).abs().sum(-1)

    return reach, SamplesLoss("sinkhorn", cost=cost, blur=0.1, backend="tensorized")(x, y)


def gradient_flow():
    x, y = _clouds()
    loss_function = SamplesLoss("sinkhorn", blur=0.1, backend="tensorized")
    values = []
    for _ in range(3):
        loss = loss_function(x, y)
        (grad,) = torch.autograd.grad(loss, x)
        with torch.no_grad():
            x -= 2.0 * grad * len(x)
        values.append(loss.item())
    return values, x
