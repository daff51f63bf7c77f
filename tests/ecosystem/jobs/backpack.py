"""BackPACK: gradients of samples, second moments, and curvature of a backward pass."""

from __future__ import annotations

import torch
from backpack import backpack, extend
from backpack import extensions as E
from backpack.hessianfree.ggnvp import ggn_vector_product
from backpack.hessianfree.hvp import hessian_vector_product
from backpack.utils.examples import load_one_batch_mnist  # noqa: F401 -- what the examples import
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("backpack-for-pytorch==1.7.1", "torchvision", "einops", "unfoldnd")


def _dense():
    net = extend(kit.fill(nn.Sequential(nn.Linear(5, 6), nn.Sigmoid(), nn.Linear(6, 3))))
    return net, extend(nn.CrossEntropyLoss()), kit.tensor(4, 5), kit.integers(0, 3, (4,))


def _convolutional():
    net = extend(
        kit.fill(
            nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 3))
        )
    )
    return net, extend(nn.CrossEntropyLoss()), kit.tensor(4, 1, 8, 8), kit.integers(0, 3, (4,))


def _quantities(problem, *extensions):
    net, loss_function, x, y = problem
    with backpack(*extensions):
        loss_function(net(x), y).backward()
    return {
        extension.savefield: [getattr(p, extension.savefield) for p in net.parameters()]
        for extension in extensions
    }


def first_order():
    return _quantities(_dense(), E.BatchGrad(), E.BatchL2Grad(), E.SumGradSquared(), E.Variance())


def first_order_of_convolutions():
    return _quantities(_convolutional(), E.BatchGrad(), E.Variance())


def second_order():
    return _quantities(_dense(), E.DiagGGNExact(), E.KFLR(), E.DiagHessian(), E.BatchDiagGGNExact())


def second_order_of_convolutions():
    return _quantities(_convolutional(), E.DiagGGNExact(), E.KFLR())


def curvature_products():
    net, loss_function, x, y = _dense()
    parameters = list(net.parameters())
    vectors = [torch.ones_like(p) for p in parameters]
    output = net(x)
    loss = loss_function(output, y)
    return ggn_vector_product(loss, output, net, vectors), hessian_vector_product(loss, parameters, vectors)


def recurrent():
    class Last(nn.Module):
        def forward(self, pair):
            return pair[0][:, -1]

    from backpack.custom_module.permute import Permute
    from backpack.custom_module.reduce_tuple import ReduceTuple

    net = nn.Sequential(
        nn.RNN(3, 4, batch_first=True), ReduceTuple(0), Permute(0, 2, 1), nn.Flatten(), nn.Linear(20, 3)
    )
    net = extend(kit.fill(net))
    return _quantities(
        (net, extend(nn.CrossEntropyLoss()), kit.tensor(2, 5, 3), kit.integers(0, 3, (2,))), E.BatchGrad()
    )
