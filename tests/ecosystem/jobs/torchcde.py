"""torchcde: controlled differential equations: splines of data, neural CDEs, log-signatures."""

from __future__ import annotations

import torch
import torchcde

from tests.ecosystem import kit

REQUIRES = ("torchcde==0.2.5",)


def _path():
    t = torch.linspace(0, 1, 6)
    return torch.cat([t.expand(3, 6).unsqueeze(-1), kit.tensor(3, 6, 2)], -1)


def natural_cubic():
    x = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(_path()))
    return x.evaluate(torch.tensor(2.5)), x.derivative(torch.tensor(1.2)), x.interval, x.grid_points


def hermite():
    x = torchcde.CubicSpline(torchcde.hermite_cubic_coefficients_with_backward_differences(_path()))
    return x.evaluate(torch.tensor(2.5)), x.derivative(torch.tensor(1.2))


def missing_values():
    path = _path()
    path[0, 2, 1] = float("nan")
    path[1, 0, 2] = float("nan")
    x = torchcde.LinearInterpolation(torchcde.linear_interpolation_coeffs(path))
    return x.evaluate(torch.tensor(1.5)), torchcde.natural_cubic_coeffs(path)


class _Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 12)

    def forward(self, t, z):
        return self.linear(z).tanh().view(*z.shape[:-1], 4, 3)


def _train(adjoint):
    field = kit.fill(_Field())
    readout = kit.fill(torch.nn.Linear(4, 1))
    x = torchcde.CubicSpline(torchcde.natural_cubic_coeffs(_path()))
    z = torchcde.cdeint(
        X=x,
        func=field,
        z0=kit.tensor(3, 4),
        t=x.interval,
        adjoint=adjoint,
        method="rk4",
        options={"step_size": 0.5},
    )
    loss = readout(z[:, -1]).square().mean()
    loss.backward()
    return z, loss, [p.grad for p in field.parameters()]


def neural():
    return _train(False)


def neural_adjoint():
    return _train(True)


def rectilinear():
    return torchcde.linear_interpolation_coeffs(_path(), rectilinear=0)
