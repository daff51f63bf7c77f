"""Adafactor: Adam with row and column averages instead of a full average of squares."""

from __future__ import annotations

from typing import Any

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.optim._steps.arithmetic import Arithmetic
from tt.optim._steps.elementwise import Elementwise
from tt.optim._steps.options import Options, State, expect_not_negative, expect_rate, expect_whole
from tt.optim.optimizer import ParamsT

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Elementwise):
    r"""Steps in relation to the parameters, divided by factored averages of squares.

    From `Adafactor: Adaptive Learning Rates with Sublinear Memory Cost <https://arxiv.org/abs/1804.04235>`_.
    Of a matrix, only the averages of its rows and columns are stored.

    Parameters
    ----------
    params : iterable
        Tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The largest relative step.
    beta2_decay : float
        The power of the step with which new squares enter the averages.
    eps : tuple of two floats
        The smallest root of an average, by default that of the dtype, and the smallest size of a parameter.
    d : float
        The largest root mean square of an update.
    weight_decay : float
        The part of a parameter that a step with learning rate 1 takes off.
    foreach : bool, optional
        Accepted; the computation is the same.
    maximize : bool
        Go uphill.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 1.0], requires_grad=True)
    >>> optimizer = tt.optim.Adafactor([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        expect_rate(lr)
        if beta2_decay > 0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        for number, least in enumerate(eps, 1):
            if least is not None and not least >= 0:
                raise ValueError(f"epsilon{number} should be >= 0 but is: {least}")
        if not d >= 1:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        expect_not_negative(weight_decay=weight_decay)
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )
        for group in self.param_groups:
            expect_whole("Adafactor", group["params"])

    def _new_state(self, group: Options, param: tt.Tensor) -> State:
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        shape = tuple(param.shape)
        if len(shape) < 2:
            return {"variance": tt.zeros_like(param)}
        return {
            "row_var": param.new_zeros((*shape[:-1], 1)),
            "col_var": param.new_zeros((*shape[:-2], 1, shape[-1])),
        }

    def _form(self, group: Options, param: tt.Tensor) -> tuple[bool, bool]:
        return False, False

    def _take(
        self, m: Arithmetic, param: Any, grad: Any, state: State, options: Options, scalars: Any
    ) -> None:
        expect_whole("Adafactor", (param, grad))
        step = state["step"].item()
        # The average begins as nearly a plain mean and remembers ever longer; PyTorch's rate is at most
        # 1/sqrt(step).
        new, rate = step ** options["beta2_decay"], min(options["lr"], 1 / step**0.5)
        least, smallest = options["eps"]
        least = tt.finfo(param.dtype).eps if least is None else least
        # Steps are relative to the root mean square of the parameter, so large ones take larger steps.
        size = max(smallest, param.norm(2).item() / param.numel() ** 0.5) if param.numel() else smallest
        if options["maximize"]:
            grad = -grad
        if options["weight_decay"]:
            param.mul_(1 - options["lr"] * options["weight_decay"])
        if state.get("variance") is not None:
            state["variance"].lerp_(grad * grad, new)
            variance = state["variance"]
        else:
            rows, columns = state["row_var"], state["col_var"]
            # The squared norm over the length is the mean of the squares, without a tensor of all
            # squares.
            rows.lerp_(grad.norm(2, dim=-1, keepdim=True).square() / grad.shape[-1], new)
            columns.lerp_(grad.norm(2, dim=-2, keepdim=True).square() / grad.shape[-2], new)
            # R C / mean(R) is the matrix of rank one with these row and column means (Shazeer and Stern,
            # 2018).
            variance = rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=least)
        update = variance.clamp(min=least * least).rsqrt() * grad
        # Clips the root mean square of the update to d, for the averages lag behind sudden large
        # gradients.
        norm = update.norm(2).item() / (update.numel() ** 0.5 * options["d"]) if update.numel() else 1.0
        param.add_(update, alpha=-size * rate / max(1.0, norm))


def adafactor(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    row_vars: list[tt.Tensor | None],
    col_vars: list[tt.Tensor | None],
    variances: list[tt.Tensor | None],
    state_steps: list[tt.Tensor],
    foreach: bool | None = None,
    grad_scale: tt.Tensor | None = None,
    found_inf: tt.Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | tt.Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """Take a step of Adafactor as a function of lists: parameters and states are changed in place.

    Parameters
    ----------
    params, grads : list of Tensor
        The parameters and their gradients.
    row_vars, col_vars, variances : list of Tensor or None
        The states: averages of rows and columns of a parameter with two dimensions or more, which has no `variance`;
        others have nothing else.
    state_steps : list of Tensor
        The numbers of steps that were taken.
    grad_scale, found_inf : optional
        Refused, as in PyTorch.
    foreach, has_complex, d, lr, beta2_decay, weight_decay, eps1, eps2, maximize
        The form of the step, and what `Adafactor` takes; its `eps` is (eps1, eps2).

    Raises
    ------
    AssertedError
        If a parameter lacks its states, or a scale of the gradients is given: they are unscaled before the step.
    ValueRangeError
        If `state_steps` are not tensors, or a parameter is complex.

    Examples
    --------
    >>> import tt
    >>> from tt.optim._adafactor import adafactor
    >>> p = tt.ones(2)
    >>> adafactor([p], [2 * p], [None], [None], [tt.zeros(2)], [tt.tensor(0.0)], d=1.0, lr=0.5, beta2_decay=-0.8,
    ...     weight_decay=0.0, eps1=None, eps2=1e-3, maximize=False)
    >>> p
    tensor([0.5000, 0.5000])
    """
    if grad_scale is not None or found_inf is not None:
        raise AssertedError("adafactor(): gradients are unscaled before the step, not in it")
    if not all(tt.is_tensor(step) for step in state_steps):
        raise ValueRangeError("adafactor(): `state_steps` argument must contain a list of singleton tensors")
    for param, rows, columns, variance in zip(params, row_vars, col_vars, variances, strict=True):
        if param.is_complex():
            raise ValueRangeError("adafactor(): complex parameters are not supported")
        if (param.ndim > 1 and (rows is None or columns is None)) or (param.ndim < 2 and variance is None):
            needed = "row_vars and col_vars" if param.ndim > 1 else "variances"
            raise AssertedError(
                f"adafactor(): a parameter of {param.ndim} dimensions needs its states in {needed}"
            )
    Adafactor._functional(
        params,
        grads,
        {"step": state_steps, "row_var": row_vars, "col_var": col_vars, "variance": variances},
        {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": (eps1, eps2),
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        },
    )
