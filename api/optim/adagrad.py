"""Adagrad: steps divided by the root of the sum of all squares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Elementwise):
    r"""Gradient descent whose steps shrink with the sum of the squares of the gradients.

    From `Adaptive Subgradient Methods for Online Learning and Stochastic Optimization
    <https://jmlr.org/papers/v12/duchi11a.html>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    lr_decay : float
        How fast the learning rate falls with the number of steps.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    initial_accumulator_value : float
        Where the sums begin.
    eps : float
        Added to the divisor.
    foreach, fused : bool, optional
        Compute with operators of lists, or with one operator; by default fused where that is possible.
    maximize, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.Adagrad([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _has_fused = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "eps": eps,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )
        # PyTorch has the sums before the first step, so that `share_memory` can be called.
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(group, param, self.state[param])

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        # A complex parameter counts as pairs of real numbers.
        start: complex = group["initial_accumulator_value"]
        return {"sum": tt.full_like(param, complex(start.real, start.real) if param.is_complex() else start)}

    def share_memory(self) -> None:
        """Move the sums into shared memory."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        return -options["lr"] / (1 + (step - 1) * options["lr_decay"])

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        total = state["sum"]
        m.addcmul_(total, grad, grad, value=1)
        m.addcdiv_(param, grad, m.add(m.sqrt(total), options["eps"]), value=scalars)

    def _fused(
        self, params: list[Any], grads: list[Any], states: list[State], options: Options, group: Options
    ) -> bool:
        grad_scale, found_inf = self._scaling(params[0].device)
        tt.ops._fused_adagrad_(
            params,
            grads,
            [state["sum"] for state in states],
            self._steps_at(params, states),
            lr=options["lr"],
            lr_decay=options["lr_decay"],
            weight_decay=options["weight_decay"],
            eps=options["eps"],
            maximize=options["maximize"],
            grad_scale=grad_scale,
            found_inf=found_inf,
        )
        self._uncount(states, found_inf)
        return True

    def _sparse_step(self, param: tt.Tensor, grad: tt.Tensor, state: State, options: Options) -> None:
        if options["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if options["maximize"]:
            grad = -grad
        rate = self._scalars(options, state["step"].item(), [state], float)
        # The values of one index must be added up before they are squared.
        grad = grad.coalesce()
        indices, values = tuple(grad.indices()), grad.values()
        total = state["sum"]
        summed = total[indices] + values * values
        total[indices] = summed
        param[indices] = param[indices] + rate * values / (summed.sqrt() + options["eps"])


def adagrad(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    state_sums: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    fused: bool | None = None,
    grad_scale: tt.Tensor | None = None,
    found_inf: tt.Tensor | None = None,
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    lr: float | tt.Tensor,
    weight_decay: float,
    lr_decay: float,
    eps: float,
    maximize: bool,
) -> None:
    """Take a step of Adagrad as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    state_sums, state_steps : list of Tensor
        The states, one for each parameter.
    fused, grad_scale, found_inf, has_sparse_grad, foreach, differentiable, has_complex, lr, weight_decay,
    lr_decay, eps, maximize
        The form of the step, and what `Adagrad` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.adagrad import adagrad
    >>> p = tt.ones(1)
    >>> adagrad([p], [tt.ones(1)], [tt.zeros(1)], [tt.tensor(0.0)], lr=0.5, weight_decay=0, lr_decay=0,
    ...     eps=0.0, maximize=False)
    >>> p
    tensor([0.5000])
    """
    Adagrad._functional(
        params,
        grads,
        {"step": state_steps, "sum": state_sums},
        {
            "lr": lr,
            "weight_decay": weight_decay,
            "lr_decay": lr_decay,
            "eps": eps,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
            "differentiable": differentiable,
        },
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
