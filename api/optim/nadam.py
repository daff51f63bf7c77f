"""NAdam: Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_betas, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["NAdam", "nadam"]


class NAdam(Elementwise):
    r"""Adam with Nesterov's momentum, whose weight grows with the steps.

    From `Incorporating Nesterov Momentum into Adam <https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ>`_.

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
    momentum_decay : float
        How fast the momentum grows to its full size.
    decoupled_weight_decay : bool
        Shrink the parameters instead of changing the gradients.
    foreach, maximize, capturable, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.NAdam([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.4718, 1.4718], requires_grad=True)
    """

    _numbers = ("mu_product",)
    _rule = "nadam"
    _arrays = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(epsilon=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        expect_betas(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for values in self.state.values():
            if isinstance(values, dict) and isinstance(values.get("mu_product"), int | float):
                # A number in state dicts of old versions of PyTorch.
                values["mu_product"] = tt.tensor(float(values["mu_product"]), dtype=tt.float32)

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {
            "mu_product": self._number(group, param, 1.0),
            "exp_avg": tt.zeros_like(param),
            "exp_avg_sq": tt.zeros_like(param),
        }

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        beta1, beta2 = options["betas"]
        rate, decay = options["lr"], options["momentum_decay"]
        mu = _weight(step, beta1, decay)
        following = _weight(step + 1, beta1, decay)
        product = read(states[0]["mu_product"] * mu)  # rounded as the state is
        # Dozat (2016): the update looks ahead with the weight of the next step, so the product has one
        # factor more.
        of_grad, of_mean = -rate * (1 - mu) / (1 - product), -rate * following / (1 - product * following)
        return 1 - beta2**step, of_grad, of_mean

    def _next_numbers(self, options: Options, step: float | tt.Tensor, state: State) -> dict[str, Any]:
        return {
            "mu_product": state["mu_product"] * _weight(step, options["betas"][0], options["momentum_decay"])
        }

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        (beta1, beta2), (bias, of_grad, of_mean) = options["betas"], scalars
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(mean, grad, 1 - beta1)
        m.mul_(square, beta2)
        m.addcmul_(square, grad, grad, value=1 - beta2)
        divisor = m.div(square, bias)
        divisor = m.add(m.sqrt(divisor), options["eps"])
        m.addcdiv_(param, grad, divisor, value=of_grad)
        m.addcdiv_(param, mean, divisor, value=of_mean)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (*options["betas"], options["eps"], *scalars)


def _weight(step: float | tt.Tensor, beta: float | tt.Tensor, decay: float) -> Any:
    """Return the weight of the momentum at a step."""
    # Dozat's schedule: the weight grows from half of beta towards beta.
    return beta * (1 - 0.5 * 0.96 ** (step * decay))


def nadam(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    exp_avgs: list[tt.Tensor],
    exp_avg_sqs: list[tt.Tensor],
    mu_products: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    decoupled_weight_decay: bool = False,
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    maximize: bool = False,
    *,
    beta1: float,
    beta2: float,
    lr: float | tt.Tensor,
    weight_decay: float,
    momentum_decay: float,
    eps: float,
) -> None:
    """Take a step of NAdam as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    exp_avgs, exp_avg_sqs, mu_products, state_steps : list of Tensor
        The states, one for each parameter.
    decoupled_weight_decay, foreach, capturable, differentiable, has_complex, maximize, beta1, beta2, lr,
    weight_decay, momentum_decay, eps
        The form of the step, and what `NAdam` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.nadam import nadam
    >>> p, product = tt.ones(1), tt.tensor(1.0)
    >>> nadam([p], [tt.ones(1)], [tt.zeros(1)], [tt.zeros(1)], [product], [tt.tensor(0.0)], beta1=0.5,
    ...     beta2=0.5, lr=0.1,
    ...     weight_decay=0, momentum_decay=0.0, eps=0.0)
    >>> product
    tensor(0.2500)
    """
    NAdam._functional(
        params,
        grads,
        {"step": state_steps, "mu_product": mu_products, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs},
        {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "eps": eps,
            "decoupled_weight_decay": decoupled_weight_decay,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "maximize": maximize,
            "betas": (beta1, beta2),
        },
    )
