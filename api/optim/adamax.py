"""Adamax: Adam with the largest gradient instead of the mean square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_betas, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["Adamax", "adamax"]


class Adamax(Elementwise):
    r"""Adam with a decaying maximum of the gradients instead of an average of their squares.

    From `Adam: A Method for Stochastic Optimization <https://arxiv.org/abs/1412.6980>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    betas : tuple of two floats
        The parts of the average and of the maximum that are kept at each step.
    eps : float
        Added to the size of the gradient.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    foreach, maximize, differentiable, capturable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.Adamax([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _rule = "adamax"
    _arrays = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(epsilon=eps, weight_decay=weight_decay)
        expect_betas(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {"exp_avg": tt.zeros_like(param), "exp_inf": tt.zeros_like(param)}

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        return -options["lr"] / (1 - options["betas"][0] ** step)

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        beta1, beta2 = options["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        m.lerp_(mean, grad, 1 - beta1)
        m.mul_(largest, beta2)
        # The epsilon within the maximum keeps the divisor from 0.
        m.copy_(largest, m.maximum(largest, m.add(m.abs(grad), options["eps"])))
        m.addcdiv_(param, mean, largest, value=scalars)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (*options["betas"], options["eps"], scalars)


def adamax(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    exp_avgs: list[tt.Tensor],
    exp_infs: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    eps: float,
    beta1: float,
    beta2: float,
    lr: float | tt.Tensor,
    weight_decay: float,
) -> None:
    """Take a step of Adamax as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    exp_avgs, exp_infs, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, maximize, differentiable, capturable, has_complex, eps, beta1, beta2, lr, weight_decay
        The form of the step, and what `Adamax` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.adamax import adamax
    >>> p = tt.ones(1)
    >>> adamax([p], [tt.ones(1)], [tt.zeros(1)], [tt.zeros(1)], [tt.tensor(0.0)], eps=0.0, beta1=0.9,
    ...     beta2=0.99, lr=0.5, weight_decay=0)
    >>> p
    tensor([0.5000])
    """
    Adamax._functional(
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_inf": exp_infs},
        {
            "eps": eps,
            "lr": lr,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
            "betas": (beta1, beta2),
        },
    )
