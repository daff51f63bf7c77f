"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["ASGD", "asgd"]


class ASGD(Elementwise):
    r"""Stochastic gradient descent that also averages the parameters, in the state ``ax``.

    From `Acceleration of stochastic approximation by averaging <https://doi.org/10.1137/0330046>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The first learning rate.
    lambd : float
        How fast parameters and learning rate fall.
    alpha : float
        The power of the learning rate's fall.
    t0 : float
        The step at which averaging begins.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    foreach, maximize, differentiable, capturable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.ASGD([p], lr=0.25)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _numbers = ("eta", "mu")
    _rule = "asgd"
    _arrays = ("ax",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            # Numbers in state dicts of old versions of PyTorch.
            for name in ("eta", "mu"):
                if isinstance(values, dict) and isinstance(values.get(name), int | float):
                    values[name] = tt.tensor(float(values[name]), dtype=tt.float32)

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {
            "eta": self._number(group, param, float(group["lr"])),
            "mu": self._number(group, param, 1.0),
            "ax": tt.zeros_like(param),
        }

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        now = states[0]["eta"], states[0]["mu"]
        # Copies: those of the states change after the step.
        return tuple(number.clone() if read(number) is number else read(number) for number in now)

    def _next_numbers(self, options: Options, step: float | tt.Tensor, state: State) -> dict[str, Any]:
        rate, late = options["lr"], step - options["t0"]
        return {
            # Polyak and Juditsky (1992): rates that fall slowly, and the mean of the parameters on the
            # way.
            "eta": rate / (1 + options["lambd"] * rate * step) ** options["alpha"],
            "mu": 1 / (late.clamp(min=1) if tt.is_tensor(late) else max(1, late)),
        }

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        eta, mu = scalars
        m.mul_(param, 1 - options["lambd"] * eta)
        m.add_(param, grad, alpha=-eta)
        mean = state["ax"]
        # Up to step t0 the average is the parameter itself.
        if tt.is_tensor(mu) or mu != 1:
            m.add_(mean, m.mul(m.sub(param, mean), mu))
        else:
            m.copy_(mean, param)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (options["lambd"], *scalars)


def asgd(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    axs: list[tt.Tensor],
    mus: list[tt.Tensor],
    etas: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lambd: float,
    lr: float | tt.Tensor,
    t0: float,
    alpha: float,
    weight_decay: float,
) -> None:
    """Take a step of ASGD as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    axs, mus, etas, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, maximize, differentiable, capturable, has_complex, lambd, lr, t0, alpha, weight_decay
        The form of the step, and what `ASGD` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.asgd import asgd
    >>> p = tt.ones(1)
    >>> asgd([p], [tt.ones(1)], [tt.zeros(1)], [tt.tensor(1.0)], [tt.tensor(0.5)], [tt.tensor(0.0)],
    ...     lambd=0.0, lr=0.5, t0=0.0,
    ...     alpha=0.75, weight_decay=0)
    >>> p
    tensor([0.5000])
    """
    ASGD._functional(
        params,
        grads,
        {"step": state_steps, "eta": etas, "mu": mus, "ax": axs},
        {
            "lambd": lambd,
            "lr": lr,
            "t0": t0,
            "alpha": alpha,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        },
    )
