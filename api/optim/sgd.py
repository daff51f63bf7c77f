"""SGD: stochastic gradient descent, with momentum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tt
from tt.optim._steps.arithmetic import Arithmetic, Operand
from tt.optim._steps.elementwise import Elementwise, picked
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate
from tt.optim.optimizer import ParamsT

__all__ = ["SGD", "sgd"]


class SGD(Elementwise):
    r"""Stochastic gradient descent, optionally with momentum.

    The momentum is that of `On the importance of initialization and momentum in deep learning
    <http://www.cs.toronto.edu/%7Ehinton/absps/momentum.pdf>`_, with the learning rate outside the velocity:
    :math:`b \leftarrow \mu b + (1 - \tau) g`, :math:`p \leftarrow p - \gamma b`.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    momentum : float
        The part of the velocity that is kept.
    dampening : float
        The part of the gradient that does not enter the velocity.
    weight_decay : float
        The factor of the parameter that is added to the gradient.
    nesterov : bool
        Use Nesterov's momentum.
    maximize : bool
        Go uphill.
    foreach, fused : bool, optional
        Compute with operators of lists, or with one operator; by default fused where that is possible.
    differentiable : bool
        Let autograd differentiate the step.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.SGD([p], lr=0.25, momentum=0.9)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 1.0000], requires_grad=True)
    """

    _has_step = False
    _has_fused = True

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | tt.Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        expect_rate(lr)
        expect_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        self._fresh: set[int] = set()
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _has_state(self, group: Options) -> bool:
        return bool(group["momentum"] != 0)

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        return {"momentum_buffer": None}

    def _collect(self, group: Options) -> Any:
        params, grads, states, sparse = super()._collect(group)
        return (*self._prepared(group, params, grads, states), sparse)

    def _prepared(
        self, options: Options, params: list[Any], grads: list[Any], states: list[State]
    ) -> tuple[list[Any], list[Any], list[State]]:
        fresh: set[int] = set()
        self._fresh = fresh
        if self._has_state(options) and any([state.get("momentum_buffer") is None for state in states]):  # noqa: C419
            for param, state in zip(params, states, strict=True):
                if state.get("momentum_buffer") is None:
                    # Unfilled: the first step copies the gradient into it.
                    state["momentum_buffer"] = tt.empty_like(param.detach())
                    fresh.add(id(state))
        return params, grads, states

    def _agreeing(
        self, params: list[Any], states: list[State], apart: bool = False
    ) -> Iterator[Sequence[int]]:
        # The first velocity is the gradient itself, without dampening, so new parameters take a step of
        # their own.
        fresh = self._fresh
        for positions in super()._agreeing(params, states, apart):
            for first in (True, False) if fresh else (False,):
                some = [i for i in positions if (id(states[i]) in fresh) is first]
                if some:
                    yield some

    def _scalars(self, options: Options, step: Any, states: list[State], read: Callable[[Any], Any]) -> Any:
        return id(states[0]) in self._fresh

    def _formula(
        self, m: Arithmetic, param: Operand, grad: Operand, state: State, options: Options, scalars: Any
    ) -> None:
        momentum = options["momentum"]
        if momentum != 0:
            velocity = state["momentum_buffer"]
            if scalars:
                m.copy_(velocity, grad)
            else:
                m.mul_(velocity, momentum)
                m.add_(velocity, grad, alpha=1 - options["dampening"])
            grad = m.add(grad, velocity, alpha=momentum) if options["nesterov"] else velocity
        m.add_(param, grad, alpha=-options["lr"])

    def _fused(
        self, params: list[Any], grads: list[Any], states: list[State], options: Options, group: Options
    ) -> bool:
        momentum = options["momentum"]
        grad_scale, found_inf = self._scaling(params[0].device)
        for positions in self._agreeing(params, states) if self._fresh else [None]:
            at = range(len(params)) if positions is None else positions
            try:
                tt.ops._fused_sgd_(
                    params if positions is None else [params[i] for i in at],
                    grads if positions is None else [grads[i] for i in at],
                    [states[i]["momentum_buffer"] for i in at] if momentum else [],
                    weight_decay=options["weight_decay"],
                    momentum=momentum,
                    lr=options["lr"],
                    dampening=options["dampening"],
                    nesterov=options["nesterov"],
                    maximize=options["maximize"],
                    is_first_step=positions is not None and id(states[at[0]]) in self._fresh,
                    grad_scale=grad_scale,
                    found_inf=found_inf,
                )
            except tt.errors.InplaceError:  # they share memory; nothing has been written
                if self._is_scaled():
                    raise
                self._one_by_one(options, *picked(at, params, grads, states))
        if self._fresh and found_inf is not None and found_inf.item():
            for state in states:  # a velocity that the step left out has not begun
                if id(state) in self._fresh:
                    state["momentum_buffer"] = None
        return True

    def _sparse_step(self, param: tt.Tensor, grad: tt.Tensor, state: State, options: Options) -> None:
        if options["weight_decay"]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if options["maximize"]:
            grad = -grad
        if options["momentum"]:
            velocity = state.get("momentum_buffer")
            if velocity is None:
                velocity = grad.clone()
            else:
                velocity = velocity * options["momentum"] + grad * (1 - options["dampening"])
            state["momentum_buffer"] = velocity
            grad = grad + velocity * options["momentum"] if options["nesterov"] else velocity
        param.add_(grad, alpha=-options["lr"])


def sgd(
    params: list[tt.Tensor],
    d_p_list: list[tt.Tensor],
    momentum_buffer_list: list[tt.Tensor | None],
    has_sparse_grad: bool = False,
    foreach: bool | None = None,
    fused: bool | None = None,
    grad_scale: tt.Tensor | None = None,
    found_inf: tt.Tensor | None = None,
    *,
    weight_decay: float,
    momentum: float,
    lr: float | tt.Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Take a step of SGD as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, d_p_list : list of Tensor
        The parameters and their gradients.
    momentum_buffer_list : list of Tensor
        The states, one for each parameter, None before the first step.
    has_sparse_grad, foreach, fused, grad_scale, found_inf, weight_decay, momentum, lr, dampening,
    nesterov, maximize
        The form of the step, and what `SGD` takes.

    Examples
    --------
    >>> import tt
    >>> from tt.optim.sgd import sgd
    >>> p, buffers = tt.ones(2), [None]
    >>> sgd([p], [tt.ones(2)], buffers, weight_decay=0, momentum=0.9, lr=0.5, dampening=0, nesterov=False,
    ...     maximize=False)
    >>> p, buffers
    (tensor([0.5000, 0.5000]), [tensor([1., 1.])])
    """
    SGD._functional(
        params,
        d_p_list,
        {"momentum_buffer": momentum_buffer_list} if momentum else {},
        {
            "weight_decay": weight_decay,
            "momentum": momentum,
            "lr": lr,
            "dampening": dampening,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "fused": fused,
        },
        grad_scale=grad_scale,
        found_inf=found_inf,
    )
