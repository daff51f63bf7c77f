"""SparseAdam: Adam for sparse gradients, which changes only the rows that have one."""

from __future__ import annotations

from typing import Any

import tt
from tt.optim._steps.options import expect_betas, expect_rate
from tt.optim.optimizer import Closure, Optimizer, ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    r"""Adam for parameters whose gradients are sparse, such as embeddings.

    Averages change only where the gradient has entries, so this is not Adam with zeros in between.

    Parameters
    ----------
    params : iterable
        Dense tensors, pairs of a name and a tensor, or dicts of groups.
    lr : float or Tensor
        The learning rate.
    betas : tuple of two floats
        The parts of both averages that are kept at each step.
    eps : float
        Added to the divisor.
    maximize : bool
        Go uphill.

    Examples
    --------
    >>> import tt
    >>> p = tt.tensor([1.0, 2.0], requires_grad=True)
    >>> p.grad = tt.sparse_coo_tensor([[1]], [4.0], (2,))
    >>> tt.optim.SparseAdam([p], lr=0.5).step()
    >>> p
    tensor([1.0000, 1.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | tt.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        expect_rate(lr)
        if lr == 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        expect_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        sparse = [
            [number, index]
            for number, group in enumerate(self.param_groups)
            for index, param in enumerate(group["params"])
            if param.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
        for number, group in enumerate(self.param_groups):
            if any(param.is_complex() for param in group["params"]):
                raise ValueError(
                    f"Complex params in group {number}: SparseAdam does not support complex parameters"
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
                    grad = param.grad
                    if grad is None:
                        continue
                    if not grad.is_sparse:
                        raise RuntimeError(
                            "SparseAdam does not support dense gradients, please consider Adam instead"
                        )
                    state = self.state[param]
                    if not state:
                        state["step"] = 0
                        state["exp_avg"] = tt.zeros_like(param)
                        state["exp_avg_sq"] = tt.zeros_like(param)
                    state["step"] += 1
                    self._take(param.detach(), grad.coalesce(), state, group)
        return loss

    def __setstate__(self, state: dict[str, Any]) -> None:
        steps = {key: values["step"] for key, values in state["state"].items() if "step" in values}
        super().__setstate__(state)
        for key, step in steps.items():  # here a number, unlike in the other optimizers
            self.state[key]["step"] = step

    def _take(self, param: tt.Tensor, grad: tt.Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Take the step of one parameter."""
        if grad.values().numel() == 0:
            return
        (beta1, beta2), step = group["betas"], state["step"]
        indices, values = tuple(grad.indices()), grad.values()
        if group["maximize"]:
            values = -values
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        # Averages of rows without a gradient do not decay: their step is left out, unlike in Adam.
        first = mean[indices]
        first = first + (values - first) * (1 - beta1)
        second = square[indices]
        second = second + (values * values - second) * (1 - beta2)
        mean[indices] = first
        square[indices] = second
        rate = float(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        param[indices] = param[indices] - rate * first / (second.sqrt() + group["eps"])
