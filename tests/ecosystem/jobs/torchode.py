"""torchode: ordinary differential equations solved in parallel over a batch."""

from __future__ import annotations

import torch
import torchode as to

from tests.ecosystem import kit

REQUIRES = ("torchode==1.0.1",)


def _solve(method, jit=False, f=None):
    # In float32 estimates of errors are rounding, by which the numbers of steps vary.
    y = kit.tensor(4, 2, dtype=torch.float64)
    term = to.ODETerm(f or (lambda t, y: -y * (1 + t[:, None])))
    step = method(term=term)
    solver = to.AutoDiffAdjoint(step, to.IntegralController(atol=1e-6, rtol=1e-4, term=term))
    solution = solver.solve(
        to.InitialValueProblem(
            y0=y, t_eval=torch.linspace(0, 1, 5, dtype=torch.float64).expand(4, 5).contiguous()
        )
    )
    return solution.ys, solution.ts, solution.status, solution.stats["n_steps"]


def dopri5():
    return _solve(to.Dopri5)


def tsit5():
    return _solve(to.Tsit5)


def heun():
    return _solve(to.Heun)


def gradients():
    net = kit.fill(torch.nn.Linear(2, 2, dtype=torch.float64))
    ys = _solve(to.Dopri5, f=lambda t, y: net(y).tanh())[0]
    ys.square().sum().backward()
    return ys, [p.grad for p in net.parameters()]


def fixed_steps():
    term = to.ODETerm(lambda t, y: -y)
    solver = to.AutoDiffAdjoint(to.Euler(term=term), to.FixedStepController())
    return solver.solve(
        to.InitialValueProblem(y0=kit.tensor(2, 2), t_start=torch.zeros(2), t_end=torch.ones(2)),
        dt0=torch.tensor([0.1, 0.1]),
    ).ys


def scripted():
    term = to.ODETerm(lambda t, y: -y)
    solver = to.AutoDiffAdjoint(to.Dopri5(term=term), to.PIDController(1e-6, 1e-4, 0.2, 0.3, 0.0, term=term))
    return (
        torch.compile(solver)
        .solve(to.InitialValueProblem(y0=kit.tensor(2, 2), t_start=torch.zeros(2), t_end=torch.ones(2)))
        .ys
    )
