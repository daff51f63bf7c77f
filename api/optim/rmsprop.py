"""RMSprop: steps divided by the root of the mean square."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Elementwise):
    r"""Gradients divided by the root of the average of their squares.

    From `lecture 6 of Hinton's course <https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf>`_;
    `centered` from `Generating Sequences With Recurrent Neural Networks <https://arxiv.org/abs/1308.0850>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    alpha : float
        The part of the average that is kept at each step.
    eps : float
        Added to the divisor.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    momentum : float
        The part of the velocity that is kept.
    centered : bool
        Divide by the deviation from the mean gradient instead.
    capturable, foreach, maximize, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.RMSprop([p], lr=0.05)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _rule = "rmsprop"
    _arrays = ("square_avg", "momentum_buffer", "grad_avg")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "alpha": alpha,
                "eps": eps,
                "centered": centered,
                "weight_decay": weight_decay,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        state = {"square_avg": tt.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = tt.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = tt.zeros_like(param)
        return state

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        alpha, rate = options["alpha"], options["lr"]
        square = state["square_avg"]
        m.mul_(square, alpha)
        m.addcmul_(square, grad, grad, value=1 - alpha)
        if options["centered"]:
            mean = state["grad_avg"]
            m.lerp_(mean, grad, 1 - alpha)
            # The variance of the gradients instead of their mean square.
            square = m.sub(square, m.mul(mean, mean))
        divisor = m.sqrt(square)
        m.add_(divisor, options["eps"])
        if options["momentum"] > 0:
            velocity = state["momentum_buffer"]
            m.mul_(velocity, options["momentum"])
            m.addcdiv_(velocity, grad, divisor, value=1)
            m.add_(param, velocity, alpha=-rate)
        else:
            m.addcdiv_(param, grad, divisor, value=-rate)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (options["alpha"], options["eps"], -options["lr"], options["momentum"])


def rmsprop(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    square_avgs: list[tt.Tensor],
    grad_avgs: list[tt.Tensor],
    momentum_buffer_list: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    maximize: bool = False,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | tt.Tensor,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
) -> None:
    """Take a step of RMSprop as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    square_avgs, grad_avgs, momentum_buffer_list, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, maximize, differentiable, capturable, has_complex, lr, alpha, eps, weight_decay, momentum,
    centered
        The form of the step, and what `RMSprop` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.rmsprop import rmsprop
    >>> p = tt.ones(1)
    >>> rmsprop([p], [tt.ones(1)], [tt.zeros(1)], [], [], [tt.tensor(0.0)], lr=0.5, alpha=0.0, eps=0.0,
    ...     weight_decay=0, momentum=0, centered=False)
    >>> p
    tensor([0.5000])
    """
    RMSprop._functional(
        params,
        grads,
        {"step": state_steps, "square_avg": square_avgs}
        | ({"momentum_buffer": momentum_buffer_list} if momentum > 0 else {})
        | ({"grad_avg": grad_avgs} if centered else {}),
        {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        },
    )
