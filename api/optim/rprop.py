"""Rprop: steps whose size depends on the signs of gradients."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["Rprop", "rprop"]


class Rprop(Elementwise):
    r"""Steps that grow while the sign of the gradient stays, and shrink when it changes.

    From `A direct adaptive method for faster backpropagation learning: the RPROP algorithm
    <https://doi.org/10.1109/ICNN.1993.298623>`_.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The size of the first step.
    etas : tuple of two floats
        The factors by which steps shrink and grow.
    step_sizes : tuple of two floats
        The smallest and the largest step.
    capturable, foreach, maximize, differentiable
        As of `Adam`.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.Rprop([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _rule = "rprop"
    _arrays = ("prev", "step_size")

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        expect_rate(lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        rate = float(group["lr"])
        size = tt.full_like(param, complex(rate, rate) if param.is_complex() else rate)
        return {"prev": tt.zeros_like(param), "step_size": size}

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        (shrink, grow), (least, most) = options["etas"], options["step_sizes"]
        before, size = state["prev"], state["step_size"]
        agreement = m.mul(grad, before)
        # A gradient that has changed its sign says that the last step went over a minimum.
        turned = m.lt(agreement, 0)
        same = m.where(m.gt(agreement, 0), m.mul(size, grow), size)
        m.copy_(size, m.where(turned, m.mul(size, shrink), same))
        m.clamp_(size, least, most)
        # After a turn no step is taken, and 0 is remembered, so that the next step is no second turn.
        grad = m.where(turned, m.zeros_like(grad), grad)
        m.addcmul_(param, m.sign(grad), size, value=-1)
        m.copy_(before, grad)

    def _rule_numbers(self, options: Options, scalars: Any) -> tuple[float, ...]:
        return (*options["etas"], *options["step_sizes"])


def rprop(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    prevs: list[tt.Tensor],
    step_sizes: list[tt.Tensor],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    capturable: bool = False,
    maximize: bool = False,
    differentiable: bool = False,
    has_complex: bool = False,
    *,
    step_size_min: float,
    step_size_max: float,
    etaminus: float,
    etaplus: float,
) -> None:
    """Take a step of Rprop as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    prevs, step_sizes, state_steps : list of Tensor
        The states, one for each parameter.
    foreach, capturable, maximize, differentiable, has_complex, step_size_min, step_size_max, etaminus,
    etaplus
        The form of the step, and what `Rprop` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.rprop import rprop
    >>> p = tt.ones(1)
    >>> rprop([p], [tt.ones(1)], [tt.zeros(1)], [tt.full((1,), 0.5)], [tt.tensor(0.0)], step_size_min=0.0,
    ...     step_size_max=1.0, etaminus=0.5, etaplus=1.2)
    >>> p
    tensor([0.5000])
    """
    Rprop._functional(
        params,
        grads,
        {"step": state_steps, "prev": prevs, "step_size": step_sizes},
        {
            "foreach": foreach,
            "capturable": capturable,
            "maximize": maximize,
            "differentiable": differentiable,
            "lr": 0.0,
            "etas": (etaminus, etaplus),
            "step_sizes": (step_size_min, step_size_max),
        },
    )
