"""curvlinops: Hessians, generalised Gauss-Newton and Fisher matrices as linear operators, KFAC, traces."""

from __future__ import annotations

import curvlinops
import numpy as np
import torch

from tests.ecosystem import kit

REQUIRES = ("curvlinops-for-pytorch==3.0.1",)


def _problem(loss=None):
    net = kit.fill(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)))
    data = [(kit.tensor(5, 3), kit.tensor(5, 2)), (kit.tensor(3, 3), kit.tensor(3, 2))]
    return net, loss or torch.nn.MSELoss(), list(net.parameters()), data


def _apply(kind, **kwargs):
    operator = kind(*_problem(), check_deterministic=False, **kwargs)
    return operator @ kit.tensor(operator.shape[1]), operator.shape


def hessian():
    return _apply(curvlinops.HessianLinearOperator)


def gauss_newton():
    return _apply(curvlinops.GGNLinearOperator)


def empirical_fisher():
    return _apply(curvlinops.EFLinearOperator)


def factors():
    operator = curvlinops.KFACLinearOperator(*_problem(), check_deterministic=False, fisher_type="type-2")
    return operator @ kit.tensor(operator.shape[1])


def estimates():
    operator = curvlinops.GGNLinearOperator(*_problem(), check_deterministic=False)
    as_scipy = operator.to_scipy()
    dense = as_scipy @ np.eye(operator.shape[1], dtype=np.float32)
    return (
        dense.trace(),
        np.linalg.eigvalsh(dense)[-3:],
        bool(torch.isfinite(torch.as_tensor(float(curvlinops.hutchinson_trace(operator, 8))))),
    )
