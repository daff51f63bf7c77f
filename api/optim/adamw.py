"""AdamW: Adam with weight decay apart from the gradient."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim.adam import Adam, adam
from tt.optim.optimizer import ParamsT

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    r"""Adam that shrinks the parameters instead of adding weight decay to the gradients.

    From `Decoupled Weight Decay Regularization <https://arxiv.org/abs/1711.05101>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr, betas, eps, amsgrad, maximize, foreach, capturable, differentiable, fused
        As of `Adam`.
    weight_decay : float
        The part of a parameter that a step with learning rate 1 takes off.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.AdamW([p], lr=0.5, weight_decay=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.2500, 1.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | tt.Tensor = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            # State dicts of an AdamW that did not derive from Adam lack it.
            group["decoupled_weight_decay"] = True


def adamw(
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
    *,
    amsgrad: bool,
    beta1: float | tt.Tensor,
    beta2: float | tt.Tensor,
    lr: float | tt.Tensor,
    weight_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Take a step of AdamW as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, capturable, differentiable, fused, grad_scale, found_inf, has_complex, amsgrad, beta1, beta2,
    lr, weight_decay, eps, maximize
        The form of the step, and what `AdamW` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.adamw import adamw
    >>> p, mean, square, step = tt.ones(1), tt.zeros(1), tt.zeros(1), tt.tensor(0.0)
    >>> adamw([p], [tt.ones(1)], [mean], [square], [], [step], amsgrad=False, beta1=0.9, beta2=0.99,
    ...     lr=0.5, weight_decay=0,
    ...     eps=0.0, maximize=False)
    >>> p, step
    (tensor([0.5000]), tensor(1.))
    """
    adam(
        params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach, capturable, differentiable,
        fused, grad_scale, found_inf, has_complex, True, amsgrad=amsgrad, beta1=beta1, beta2=beta2, lr=lr,
        weight_decay=weight_decay, eps=eps, maximize=maximize,
    )  # fmt: skip
