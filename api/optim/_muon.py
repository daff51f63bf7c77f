"""Muon: momentum whose matrices are made orthogonal."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any, Final

import tt
from tt.errors import ValueRangeError
from tt.optim._steps.options import expect_not_negative, expect_rate, expect_whole
from tt.optim.optimizer import Closure, Optimizer, ParamsT

__all__ = ["Muon", "muon"]

MOST_ITERATIONS: Final = 100


def orthogonal(matrix: tt.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Return about the nearest orthogonal matrix, by Newton-Schulz iterations in bfloat16.

    Parameters
    ----------
    matrix : Tensor
        Of shape (rows, columns).
    coefficients : tuple of three floats
        Of the odd polynomial that is applied to the singular values.
    steps : int
        How often it is applied.
    eps : float
        The smallest norm by which the matrix is divided.
    """
    a, b, c = coefficients
    # X X^T is then the smaller of the two Gram matrices.
    tall = matrix.shape[0] > matrix.shape[1]
    # Singular values need only come near 1, so half precision is enough.
    x = matrix.to(tt.bfloat16)
    x = x.T if tall else x
    # The Frobenius norm bounds the spectral norm: all singular values are at most 1, where the iteration
    # converges.
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        # a X + (b G + c G^2) X: a polynomial of fifth degree in the singular values.
        x = tt.addmm(x, tt.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


class Muon(Optimizer):
    r"""Gradient descent on matrices, with momentum that is made orthogonal.

    From `Muon: An optimizer for hidden layers in neural networks <https://kellerjordan.github.io/posts/muon/>`_;
    other parameters than matrices, and embeddings and last layers, are for another optimizer, such as `AdamW`.

    Parameters
    ----------
    params : iterable
        Matrices, pairs of a name and a matrix, or dicts of groups.
    lr : float
        The learning rate.
    weight_decay : float
        The part of a parameter that a step with learning rate 1 takes off.
    momentum : float
        The part of the average of gradients that is kept at each step.
    nesterov : bool
        Use Nesterov's momentum.
    ns_coefficients : tuple of three floats
        The polynomial of the Newton-Schulz iterations.
    eps : float
        The smallest norm by which a matrix is divided.
    ns_steps : int
        The number of iterations.
    adjust_lr_fn : {'original', 'match_rms_adamw'}, optional
        How the learning rate depends on the shape.

    Examples
    --------
    >>> import tt
    >>> p = tt.eye(2).requires_grad_()
    >>> optimizer = tt.optim.Muon([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> bool((p.diagonal() < 0.7).all())
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if tt.is_tensor(lr) or not lr < 0:
            expect_rate(lr)
        else:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        expect_not_negative(momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(
                f"Adjust learning rate function {adjust_lr_fn} is not supported\n  try: 'original', 'match_rms_adamw'"
            )
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )
        for group in self.param_groups:
            expect_whole("Muon", group["params"])
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}"
                    )

    def step(self, closure: Closure | None = None) -> Any:
        """Change the parameters by one step.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss again and returns it.
        """
        loss = None
        if closure is not None:
            with tt.enable_grad():
                loss = closure()
        with tt.no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._take(param, param.grad, group)
        return loss

    def _take(self, param: tt.Tensor, grad: tt.Tensor, group: dict[str, Any]) -> None:
        """Take the step of one matrix."""
        _expect_matrix(param, grad, group)
        state = self.state[param]
        if not state:
            state["momentum_buffer"] = tt.zeros_like(grad)
        _take_step(param, grad, state["momentum_buffer"], group)


def _expect_matrix(param: tt.Tensor, grad: tt.Tensor, group: Mapping[str, Any]) -> None:
    """Raise unless a step can be taken."""
    expect_whole("Muon", (param, grad))
    if param.ndim != 2:
        raise ValueError(
            f"Muon only supports 2D parameters whereas we found a parameter with size: {param.shape}"
        )
    if param.is_complex():
        raise RuntimeError("Muon does not support complex parameters")
    if grad.is_sparse:
        raise RuntimeError("Muon does not support sparse gradients")
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    if group["ns_steps"] >= MOST_ITERATIONS:
        raise ValueError(
            f"Number of steps must be less than 100 for computational efficiency, got {group['ns_steps']}"
        )


def _take_step(param: tt.Tensor, grad: tt.Tensor, mean: tt.Tensor, group: Mapping[str, Any]) -> None:
    """Change a matrix and the average of its gradients."""
    momentum = group["momentum"]
    mean.lerp_(grad, 1 - momentum)
    # Nesterov: the mean as it would be after another gradient like this one.
    update = grad.lerp(mean, momentum) if group["nesterov"] else mean
    update = orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
    rows, columns = param.shape
    lr = float(group["lr"])
    if group["adjust_lr_fn"] == "match_rms_adamw":
        # The root mean square of AdamW's updates is about 0.2, that of an orthogonal matrix
        # 1/sqrt(max(rows, columns)).
        rate = lr * 0.2 * sqrt(max(rows, columns))
    else:
        rate = lr * sqrt(max(1, rows / columns))
    param.mul_(1 - lr * group["weight_decay"])
    param.add_(update.to(param.dtype), alpha=-rate)


def muon(
    params: list[tt.Tensor],
    grads: list[tt.Tensor],
    muon_momentum_bufs: list[tt.Tensor],
    *,
    foreach: bool | None = None,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    ns_steps: int,
    eps: float,
    adjust_lr_fn: str | None,
    has_complex: bool,
) -> None:
    """Take a step of Muon as a function of lists: parameters and averages are changed in place.

    Parameters
    ----------
    params, grads, muon_momentum_bufs : list of Tensor
        The matrices, their gradients and the averages of these.
    foreach : bool, optional
        True is refused, as in PyTorch.
    lr, weight_decay, momentum, nesterov, ns_coefficients, ns_steps, eps, adjust_lr_fn
        What `Muon` takes.
    has_complex : bool
        Whether there are complex parameters, which are refused.

    Raises
    ------
    ValueRangeError
        If `foreach` or `has_complex` is True.

    Examples
    --------
    >>> import tt
    >>> from tt.optim._muon import muon
    >>> p = tt.eye(2)
    >>> muon([p], [tt.eye(2)], [tt.zeros(2, 2)], lr=0.5, weight_decay=0.0, momentum=0.9, nesterov=False,
    ...     ns_coefficients=(1.5, -0.5, 0.0), ns_steps=9, eps=1e-7, adjust_lr_fn=None, has_complex=False)
    >>> p
    tensor([[0.5000, 0.0000],
            [0.0000, 0.5000]])
    """
    if foreach:
        raise ValueRangeError("muon(): Foreach is not supported for Muon yet")
    if has_complex:
        raise ValueRangeError("muon(): complex parameters are not supported")
    options = {
        "lr": lr,
        "weight_decay": weight_decay,
        "momentum": momentum,
        "nesterov": nesterov,
        "ns_coefficients": ns_coefficients,
        "ns_steps": ns_steps,
        "eps": eps,
        "adjust_lr_fn": adjust_lr_fn,
    }
    with tt.no_grad():
        for param, grad, mean in zip(params, grads, muon_momentum_bufs, strict=True):
            _expect_matrix(param, grad, options)
            _take_step(param, grad, mean, options)
