"""PostLocalSGDOptimizer: an optimizer after whose steps parameters are averaged from time to time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt.distributed.algorithms.model_averaging.averagers import ModelAverager
from tt.library import warn_user
from tt.optim.optimizer import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Runs an optimizer, and lets an averager average the parameters after each step.

    For models whose gradients are averaged over all ranks at first and over fewer later, by
    `tt.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook`; ``warmup_steps`` of the averager is then
    ``start_localSGD_iter`` of the hook.

    Parameters
    ----------
    optim : Optimizer
        The optimizer of this rank.
    averager : ModelAverager
        When parameters are averaged.

    Examples
    --------
    >>> import tt, tt.distributed as dist
    >>> from tt.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> from tt.distributed.optim import PostLocalSGDOptimizer
    >>> def train():
    ...     x = tt.nn.Parameter(tt.zeros(1))
    ...     optimizer = PostLocalSGDOptimizer(tt.optim.SGD([x], lr=1.0), PeriodicModelAverager(period=2))
    ...     found = []
    ...     for _ in range(3):
    ...         x.grad = tt.full((1,), -float(dist.get_rank()))
    ...         optimizer.step()
    ...         found.append(x.item())
    ...     return found
    >>> dist.run_threads(train, 2)       # after the first and the third step
    [[0.5, 0.5, 1.5], [0.5, 1.5, 1.5]]
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        # The base's constructor is not called: groups and state are those of the optimizer.
        self._set_hooks()
        self.optim = optim
        self.param_groups = optim.param_groups
        self.averager = averager

    def __getstate__(self) -> dict[str, Any]:
        """Return the optimizer and the averager, whose members the others are."""
        return {"optim": self.optim, "averager": self.averager}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take them up again."""
        self.__init__(state["optim"], state["averager"])  # type: ignore[misc]  # as if made new

    @property
    def state(self) -> Any:  # type: ignore[override]  # the optimizer's, which loading replaces
        """The optimizer's state."""
        return self.optim.state

    @property
    def defaults(self) -> Any:  # type: ignore[override]  # the optimizer's
        """The optimizer's options."""
        return self.optim.defaults

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state and the averager's step.

        Returns
        -------
        dict
            That of the optimizer, with ``step``.
        """
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the optimizer's state and the averager's step; without one, warn and count from 0.

        Parameters
        ----------
        state_dict : dict
            What `state_dict` returned.
        """
        self.optim.load_state_dict(state_dict)
        self.param_groups = self.optim.param_groups
        if "step" not in state_dict:
            warn_user(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0."
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters, and average them if it is time for that.

        Parameters
        ----------
        closure : callable, optional
            As of the optimizer.
        """
        loss = self.optim.step() if closure is None else self.optim.step(closure)
        self.averager.average_parameters(params=self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters to the optimizer."""
        self.optim.add_param_group(param_group)
