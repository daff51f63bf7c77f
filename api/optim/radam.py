"""RAdam: Adam whose first steps do not divide by uncertain averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_betas, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["RAdam", "radam"]


class RAdam(Elementwise):
    r"""Adam with rectified steps: it divides by the average of squares once enough gradients are in it.

    From `On the Variance of the Adaptive Learning Rate and Beyond <https://arxiv.org/abs/1908.03265>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    betas : tuple of two floats
        The parts of both averages that are kept at each step.
    eps : float
        Added to the divisor.
    weight_decay : float
        The weight decay.
    decoupled_weight_decay : bool
        Shrink the parameters instead of changing the gradients.
    foreach, maximize, capturable, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.RAdam([p], lr=0.25)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _rule = "radam"
    _arrays = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay,
                "differentiable": differentiable,
            },
        )

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {"exp_avg": tt.zeros_like(param), "exp_avg_sq": tt.zeros_like(param)}

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        """Return the factor of the average, and the factor of the quotient; None where nothing is divided."""
        beta1, beta2 = options["betas"]
        rate = -options["lr"] / (1 - beta1**step)
        bias = 1 - beta2**step
        # The length of the simple moving average that the exponential one resembles (Liu et al., 2020).
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / bias
        ahead = (length - 4) * (length - 2) * longest
        whole = (longest - 4) * (longest - 2) * length
        if tt.is_tensor(length):
            # Without reading the length: both steps, one of them with a factor of zero.
            enough = (length > 5).to(length.dtype)
            rectified = (ahead / whole).clamp(min=0).sqrt() * bias.sqrt()
            return rate * (1 - enough), rate * rectified * enough
        # As PyTorch does; in the paper the limit is 4.
        if length > 5:
            return None, rate * (ahead / whole) ** 0.5 * bias**0.5
        return rate, None

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        (beta1, beta2), (plain, divided) = options["betas"], scalars
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(mean, grad, 1 - beta1)
        m.mul_(square, beta2)
        m.addcmul_(square, grad, grad, value=1 - beta2)
        if plain is not None:
            m.add_(param, mean, alpha=plain)
        if divided is not None:
            m.addcdiv_(param, mean, m.add(m.sqrt(square), options["eps"]), value=divided)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (*options["betas"], options["eps"], scalars[0] or 0.0, scalars[1] or 0.0)


def radam(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    exp_avgs: list[tt.Tensor],
    exp_avg_sqs: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    capturable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | tt.Tensor,
    weight_decay: float,
    eps: float,
) -> None:
    """Take a step of RAdam as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    exp_avgs, exp_avg_sqs, state_steps : list of Tensor
        The states, one for each parameter.
    decoupled_weight_decay, foreach, differentiable, capturable, has_complex, maximize, beta1, beta2, lr,
    weight_decay, eps
        The form of the step, and what `RAdam` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.radam import radam
    >>> p = tt.ones(1)
    >>> radam([p], [tt.ones(1)], [tt.zeros(1)], [tt.zeros(1)], [tt.tensor(0.0)], beta1=0.9, beta2=0.99,
    ...     lr=0.5, weight_decay=0, eps=0.0)
    >>> p
    tensor([0.5000])
    """
    RAdam._functional(
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        {
            "lr": lr,
            "weight_decay": weight_decay,
            "eps": eps,
            "decoupled_weight_decay": decoupled_weight_decay,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "maximize": maximize,
            "betas": (beta1, beta2),
        },
    )
