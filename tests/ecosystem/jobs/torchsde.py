"""torchsde: stochastic differential equations: solvers with fixed noise, adjoint gradients, Brownian motion."""

from __future__ import annotations

import torch
import torchsde

REQUIRES = ("torchsde==0.2.6",)


class _SDE(torch.nn.Module):
    noise_type = "diagonal"

    def __init__(self, sde_type="ito"):
        super().__init__()
        self.sde_type = sde_type
        self.mu = torch.nn.Parameter(torch.tensor([0.3, -0.2]))
        self.sigma = torch.nn.Parameter(torch.tensor([0.1, 0.2]))

    def f(self, t, y):
        return self.mu * y

    def g(self, t, y):
        return self.sigma * y


class _Noise(torchsde.BaseBrownian):
    """A path that is a sine: the same numbers everywhere."""

    def __init__(self, shape):
        super().__init__()
        self._shape = shape

    def _w(self, t):
        return torch.sin(3 * torch.as_tensor(t)) * torch.ones(self._shape)

    def __call__(self, ta, tb=None, return_U=False, return_A=False):  # noqa: N803
        w = self._w(tb) - self._w(ta) if tb is not None else self._w(ta)
        u = 0.5 * w * (torch.as_tensor(tb) - torch.as_tensor(ta)) if tb is not None else w
        if return_U:
            return (w, u, None) if return_A else (w, u)
        return (w, None) if return_A else w

    def __repr__(self):
        return "Noise"

    dtype = property(lambda self: torch.float32)
    device = property(lambda self: torch.device("cpu"))
    shape = property(lambda self: self._shape)
    levy_area_approximation = property(lambda self: "space-time")


def _solve(method, sde_type="ito", solve=torchsde.sdeint):
    sde = _SDE(sde_type)
    y = torch.ones(3, 2, requires_grad=True)
    ys = solve(sde, y, torch.linspace(0, 1, 4), bm=_Noise((3, 2)), method=method, dt=0.05)
    ys[-1].sum().backward()
    return ys, y.grad, sde.mu.grad, sde.sigma.grad


def euler():
    return _solve("euler")


def milstein():
    return _solve("milstein")


def srk():
    return _solve("srk")


def stratonovich():
    return (
        _solve("midpoint", "stratonovich"),
        _solve("euler_heun", "stratonovich"),
        _solve("heun", "stratonovich"),
    )


def adjoint():
    return _solve("midpoint", "stratonovich", torchsde.sdeint_adjoint)


def reversible():
    return _solve("reversible_heun", "stratonovich")


def brownian():
    bm = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 1), entropy=3)
    w, u = torchsde.BrownianInterval(
        t0=0.0, t1=1.0, size=(4, 1), levy_area_approximation="space-time", entropy=3
    )(0.0, 0.5, return_U=True)
    return [(bm(0.0, 0.5) + bm(0.5, 1.0) - bm(0.0, 1.0)).abs().max() < 1e-5, list(w.shape), list(u.shape)]


def seeds():
    paths = [
        torchsde.sdeint(
            _SDE(),
            torch.ones(3, 2),
            torch.tensor([0.0, 1.0]),
            bm=torchsde.BrownianInterval(0.0, 1.0, size=(3, 2), entropy=7),
            method="euler",
            dt=0.1,
        )
        for _ in range(2)
    ]
    return torch.equal(*paths), bool(torch.isfinite(paths[0]).all())
