"""torchdiffeq: ordinary differential equations: solvers, adjoint gradients, events."""

from __future__ import annotations

import torch
from torchdiffeq import odeint, odeint_adjoint, odeint_event

from tests.ecosystem import kit

REQUIRES = ("torchdiffeq==0.2.5",)


def solvers():
    t = torch.linspace(0, 1, 5)
    # Estimates of errors are differences of nearly equal numbers, by which steps in float32 vary.
    y = torch.tensor([1.0, 0.5], dtype=torch.float64)

    def f(t, y):
        return torch.stack([y[1], -y[0]]) * (1 + t)

    return {
        m: odeint(
            f,
            y,
            t,
            method=m,
            **(
                {"rtol": 1e-5, "atol": 1e-6}
                if m in ("dopri5", "dopri8", "bosh3", "fehlberg2", "adaptive_heun", "scipy_solver")
                else {}
            ),
        )
        for m in (
            "dopri5",
            "dopri8",
            "bosh3",
            "adaptive_heun",
            "euler",
            "midpoint",
            "rk4",
            "heun3",
            "explicit_adams",
            "implicit_adams",
            "scipy_solver",
        )
    }


class _Field(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))

    def forward(self, t, y):
        return self.net(y)


def _gradients(solve):
    f = kit.fill(_Field())
    y = kit.tensor(3, 2).requires_grad_()
    out = solve(f, y, torch.tensor([0.0, 0.5, 1.0]), rtol=1e-5, atol=1e-6)
    out[-1].square().sum().backward()
    return out, y.grad, [p.grad for p in f.parameters()]


def gradients():
    return _gradients(odeint)


def adjoint():
    return _gradients(odeint_adjoint)


def tuples():
    out = odeint(lambda t, s: (s[1], -s[0]), (torch.ones(2), torch.zeros(2)), torch.tensor([0.0, 1.0]))
    return out


def events():
    t, y = odeint_event(
        lambda t, s: (s[1], torch.full_like(s[1], -9.8)),
        (torch.tensor([10.0]), torch.tensor([0.0])),
        torch.tensor(0.0),
        event_fn=lambda t, s: s[0],
        method="dopri5",
    )
    return t, y[1][-1]


def neural_training():
    f = kit.fill(_Field())
    optimizer = torch.optim.RMSprop(f.parameters(), lr=1e-2)
    t = torch.linspace(0, 1, 4)
    target = kit.tensor(4, 3, 2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (odeint(f, target[0], t, method="rk4") - target).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
