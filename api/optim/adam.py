"""Adam: steps from running averages of gradients and of their squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_betas, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["Adam", "adam"]


class Adam(Elementwise):
    r"""Adam, with bias-corrected averages of the gradients and of their squares.

    From `Adam: A Method for Stochastic Optimization <https://arxiv.org/abs/1412.6980>`_; `amsgrad` from
    `On the Convergence of Adam and Beyond <https://openreview.net/forum?id=ryQu7f-RZ>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    betas : tuple of two floats or Tensors
        The parts of both averages that are kept at each step.
    eps : float
        Added to the divisor.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    amsgrad : bool
        Divide by the largest average of squares so far.
    foreach, fused : bool, optional
        Compute with operators of lists, or with one operator; by default fused where that is possible.
    maximize : bool
        Go uphill.
    capturable : bool
        Keep all numbers on the device of the parameters, so that a CUDA graph can hold the step.
    differentiable : bool
        Let autograd differentiate the step.
    decoupled_weight_decay : bool
        Shrink the parameters instead of changing the gradients, as `AdamW` does.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.Adam([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _has_fused = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | tt.Tensor = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        expect_rate(lr)
        if foreach and not capturable and tt.is_tensor(lr):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        expect_not_negative(epsilon=eps, weight_decay=weight_decay)
        expect_betas(betas)
        if tt.is_tensor(betas[0]) != tt.is_tensor(betas[1]):
            raise ValueError("betas must be either both floats or both Tensors")
        for index, beta in enumerate(betas):
            if tt.is_tensor(beta) and foreach and not capturable:
                raise ValueError(
                    f"betas[{index}] as a Tensor is not supported for capturable=False and foreach=True"
                )
            if tt.is_tensor(beta) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{index}] must be 1-element")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _dense_only_message(self) -> str:
        return "Adam does not support sparse gradients, please consider SparseAdam instead"

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        state = {"exp_avg": tt.zeros_like(param), "exp_avg_sq": tt.zeros_like(param)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = tt.zeros_like(param)
        return state

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        beta1, beta2 = options["betas"]
        # Both bias corrections are scalars, so they cost nothing for each element.
        return -options["lr"] / (1 - beta1**step), (1 - beta2**step) ** 0.5

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        (beta1, beta2), (rate, root) = options["betas"], scalars
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        m.lerp_(mean, grad, 1 - beta1)
        m.mul_(square, beta2)
        m.addcmul_(square, grad, grad, value=1 - beta2)
        # AMSGrad (Reddi et al., 2018): the divisor never shrinks, so steps do not grow again.
        if options["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            m.copy_(largest, m.maximum(largest, square))
            square = largest
        divisor = m.sqrt(square)
        m.div_(divisor, root)
        # After the bias correction, as in the paper: before it, the first steps would be damped.
        m.add_(divisor, options["eps"])
        m.addcdiv_(param, mean, divisor, value=rate)

    def _fused(
        self, params: list[Any], grads: list[Any], states: list[State], options: Options, group: Options
    ) -> bool:
        step = tt.ops._fused_adamw_ if options["decoupled_weight_decay"] else tt.ops._fused_adam_
        grad_scale, found_inf = self._scaling(params[0].device)
        step(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if options["amsgrad"] else [],
            self._steps_at(params, states),
            lr=options["lr"],
            beta1=options["betas"][0],
            beta2=options["betas"][1],
            weight_decay=options["weight_decay"],
            eps=options["eps"],
            amsgrad=options["amsgrad"],
            maximize=options["maximize"],
            grad_scale=grad_scale,
            found_inf=found_inf,
        )
        self._uncount(states, found_inf)
        return True


def adam(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    exp_avgs: list[tt.Tensor],
    exp_avg_sqs: list[tt.Tensor],
    max_exp_avg_sqs: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    differentiable: bool = False,
    fused: bool | None = None,
    grad_scale: tt.Tensor | None = None,
    found_inf: tt.Tensor | None = None,
    has_complex: bool = False,
    decoupled_weight_decay: bool = False,
    *,
    amsgrad: bool,
    beta1: float | tt.Tensor,
    beta2: float | tt.Tensor,
    lr: float | tt.Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Take a step of Adam as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, capturable, differentiable, fused, grad_scale, found_inf, has_complex, decoupled_weight_decay,
    amsgrad, beta1, beta2, lr, weight_decay, eps, maximize
        The form of the step, and what `Adam` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.adam import adam
    >>> p, mean, square, step = tt.ones(1), tt.zeros(1), tt.zeros(1), tt.tensor(0.0)
    >>> adam([p], [tt.ones(1)], [mean], [square], [], [step], amsgrad=False, beta1=0.9, beta2=0.99, lr=0.5,
    ...     weight_decay=0,
    ...     eps=0.0, maximize=False)
    >>> p, step
    (tensor([0.5000]), tensor(1.))
    """
    Adam._functional(
        params,
        grads,
        {"step": state_steps, "exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs}
        | ({"max_exp_avg_sq": max_exp_avg_sqs} if amsgrad else {}),
        {
            "amsgrad": amsgrad,
            "lr": lr,
            "weight_decay": weight_decay,
            "eps": eps,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "betas": (beta1, beta2),
            "decoupled_weight_decay": decoupled_weight_decay,
        },
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
