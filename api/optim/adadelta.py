"""Adadelta: steps in the units of the parameters."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Elementwise):
    r"""Steps as large as earlier ones, in relation to the gradients.

    From `ADADELTA: An Adaptive Learning Rate Method <https://arxiv.org/abs/1212.5701>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The factor of the steps.
    rho : float
        The part of both averages of squares that is kept at each step.
    eps : float
        Added to both averages.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    foreach, capturable, maximize, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.Adadelta([p], lr=100.0)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.6838, 1.6838], requires_grad=True)
    """

    _rule = "adadelta"
    _arrays = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        expect_rate(lr)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        expect_not_negative(epsilon=eps, weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "maximize": maximize,
                "capturable": capturable,
                "foreach": foreach,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {"square_avg": tt.zeros_like(param), "acc_delta": tt.zeros_like(param)}

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        rho, eps = options["rho"], options["eps"]
        square, moved = state["square_avg"], state["acc_delta"]
        m.mul_(square, rho)
        m.addcmul_(square, grad, grad, value=1 - rho)
        # The epsilon lets the first step be more than 0: nothing has moved before it.
        delta = m.sqrt(m.add(moved, eps))
        m.div_(delta, m.sqrt(m.add(square, eps)))
        m.mul_(delta, grad)
        m.mul_(moved, rho)
        m.addcmul_(moved, delta, delta, value=1 - rho)
        m.add_(param, delta, alpha=-options["lr"])

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (options["rho"], options["eps"], -options["lr"])


def adadelta(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    square_avgs: list[tt.Tensor],
    acc_deltas: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    capturable: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | tt.Tensor,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Take a step of Adadelta as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    square_avgs, acc_deltas, state_steps : list of Tensor
        The states, one for each parameter.
    capturable, foreach, differentiable, has_complex, lr, rho, eps, weight_decay, maximize
        The form of the step, and what `Adadelta` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.adadelta import adadelta
    >>> p = tt.ones(1)
    >>> adadelta([p], [tt.ones(1)], [tt.zeros(1)], [tt.ones(1)], [tt.tensor(0.0)], lr=0.5, rho=0.0,
    ...     eps=0.0, weight_decay=0, maximize=False)
    >>> p
    tensor([0.5000])
    """
    Adadelta._functional(
        params,
        grads,
        {"step": state_steps, "square_avg": square_avgs, "acc_delta": acc_deltas},
        {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        },
    )
