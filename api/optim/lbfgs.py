"""LBFGS: a quasi-Newton method with limited memory."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim._steps.line_search import strong_wolfe
from tt.optim._steps.options import expect_rate, expect_whole
from tt.optim.optimizer import Closure, Optimizer, ParamsT

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    r"""The L-BFGS method: Newton's, with curvature from the last steps.

    From `On the limited memory BFGS method for large scale optimization <https://doi.org/10.1007/BF01589116>`_,
    optionally with a line search for the strong Wolfe conditions. It has one group of parameters, and `step` needs
    a closure.

    Parameters
    ----------
    params : iterable
        Tensors, or pairs of a name and a tensor.
    lr : float or Tensor
        The length of a step, in relation to Newton's.
    max_iter : int
        The largest number of iterations of a step.
    max_eval : int, optional
        The largest number of calls of the closure in a step; by default 1.25 `max_iter`.
    tolerance_grad, tolerance_change : float
        Iterations end below this gradient, or below this change of parameters or loss.
    history_size : int
        The number of steps that are remembered.
    line_search_fn : {'strong_wolfe'}, optional
        The line search.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = tt.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(5., grad_fn=<SumBackward0>)
    >>> p
    tensor([3.0000, 3.0000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        expect_rate(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        expect_whole("LBFGS", self._params)

    # --- all parameters as one vector ----------------------------------------------------------------------------

    def _gradient(self) -> Any:
        """Return the gradients of all parameters in one vector."""
        pieces = []
        for param in self._params:
            grad = tt.zeros_like(param) if param.grad is None else param.grad
            grad = grad.to_dense() if grad.is_sparse else grad
            pieces.append((tt.view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return tt.cat(pieces, 0)

    def _move(self, length: float | tt.Tensor, direction: tt.Tensor) -> None:
        """Move all parameters along a vector."""
        at = 0
        for param in self._params:
            flat = param.detach()
            flat = tt.view_as_real(flat) if flat.is_complex() else flat
            size = flat.numel()
            flat.add_(direction[at : at + size].view_as(flat) * length)
            if param.is_complex() and not flat._is_view():  # of arrays that have no views of another dtype
                param.detach().copy_(tt.view_as_complex(flat))
            at += size

    def _saved(self) -> list[Any]:
        return [param.detach().clone() for param in self._params]

    def _restore(self, saved: list[Any]) -> None:
        for param, value in zip(self._params, saved, strict=True):
            param.detach().copy_(value)

    # --- the step ------------------------------------------------------------------------------------------------

    def step(self, closure: Closure) -> Any:  # type: ignore[override]  # it cannot do without
        """Take up to `max_iter` iterations.

        Parameters
        ----------
        closure : callable
            Computes loss and gradients again and returns the loss.

        Returns
        -------
        Any
            The loss before the step.
        """

        def evaluate() -> Any:
            with tt.enable_grad():
                return closure()

        with tt.no_grad():
            return self._iterate(evaluate)

    def _direction(self, grad: tt.Tensor, state: dict[str, Any], history_size: int) -> Any:
        """Return the quasi-Newton direction, and remember the last step."""
        change, moved = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(moved)
        changes, moves, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        # Only positive curvature keeps the approximation positive definite, so that directions lead down.
        if curvature.item() > 1e-10:
            if len(changes) == history_size:
                for remembered in (changes, moves, inverses):
                    remembered.pop(0)
            changes.append(change)
            moves.append(moved)
            inverses.append(1.0 / curvature)
            # The inverse Hessian is first guessed as this multiple of the identity, the scale of the last
            # curvature.
            state["H_diag"] = curvature / change.dot(change)
        # The product of the inverse Hessian and the gradient, by the recursion of two loops.
        direction = -grad
        weights = []
        for change, moved, inverse in zip(changes[::-1], moves[::-1], inverses[::-1], strict=True):
            weight = moved.dot(direction) * inverse
            weights.append(weight)
            direction = direction - change * weight
        direction = direction * state["H_diag"]
        for change, moved, inverse, weight in zip(changes, moves, inverses, weights[::-1], strict=True):
            direction = direction + moved * (weight - change.dot(direction) * inverse)
        state["al"] = [*weights[::-1], *[None] * (history_size - len(weights))]
        return direction

    def _iterate(self, evaluate: Closure) -> Any:
        (group,) = self.param_groups
        lr, tolerance = group["lr"], group["tolerance_change"]
        line_search = group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._gradient()
        converged = grad.abs().max().item() <= group["tolerance_grad"]
        if converged:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                state.update(d=-grad, t=None, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                state["d"] = self._direction(grad, state, group["history_size"])
            direction, previous = state["d"], loss
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            # The first direction is the plain gradient, whose scale says nothing about the length of a
            # step.
            length = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction).item()
            state["t"] = length
            # The direction hardly leads down.
            if slope > -tolerance:
                break
            more = 0
            if line_search is not None:
                if line_search != "strong_wolfe":
                    raise RuntimeError(f"only 'strong_wolfe' is supported, got {line_search!r}")
                start = self._saved()

                def at(
                    t: float | tt.Tensor, start: list[Any] = start, direction: tt.Tensor = direction
                ) -> tuple[float, Any]:
                    self._move(t, direction)
                    trial = float(evaluate())
                    gradient = self._gradient()
                    self._restore(start)
                    return trial, gradient

                left = group["max_eval"] - evaluations
                trial, more = strong_wolfe(at, length, direction, loss, grad, slope, tolerance, left)
                loss, grad, length = trial.value, trial.grad, trial.at
                self._move(length, direction)
                converged = grad.abs().max().item() <= group["tolerance_grad"]
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:  # the last gradient is not used
                    loss = float(evaluate())
                    grad = self._gradient()
                    converged = grad.abs().max().item() <= group["tolerance_grad"]
                    more = 1
            state["t"] = length
            evaluations += more
            state["func_evals"] += more
            if (
                evaluations >= group["max_eval"]
                or converged
                or (direction * length).abs().max().item() <= tolerance
                or abs(loss - previous) < tolerance
            ):
                break
        return first_loss
