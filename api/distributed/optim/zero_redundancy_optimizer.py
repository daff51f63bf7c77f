"""ZeroRedundancyOptimizer: each rank keeps the optimizer's state of some parameters, and sends them to the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tt
from tt import Tensor
from tt.distributed import collectives, objects, ranks, world
from tt.distributed.algorithms.join import Join, Joinable, JoinHook
from tt.distributed.process_group import ProcessGroup
from tt.optim import LBFGS
from tt.optim.optimizer import Optimizer
from tt.utils._pytree import tree_map

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Divides the state of an optimizer among the ranks of a group.

    Each parameter belongs to one rank, which keeps its state and updates it; after a step all ranks get all parameters
    ("ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", Rajbhandari et al., 2020, stage 1).

    Parameters
    ----------
    params : iterable of Parameter or of dict
        All parameters, the same on each rank, or their groups.
    optimizer_class : type
        The optimizer of each rank's part.
    process_group : ProcessGroup, optional
        The ranks; by default all.
    parameters_as_bucket_view : bool
        Whether parameters become views of the sent buffers, which saves a copy and needs them to be dense.
    overlap_with_ddp : bool
        Not served.
    **defaults
        Options of the optimizer.

    Raises
    ------
    TypeError
        ``params`` are not tensors or groups of them.
    ValueError
        There are no parameters, or the default group has not been initialized.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.engines.threads import run_threads
    >>> from tt.distributed.optim import ZeroRedundancyOptimizer
    >>> def train():
    ...     model = tt.nn.Linear(2, 1)
    ...     optimizer = ZeroRedundancyOptimizer(model.parameters(), tt.optim.Adam, lr=0.1)
    ...     model(tt.ones(1, 2)).sum().backward()
    ...     optimizer.step()
    ...     return len(optimizer.optim.state)
    >>> run_threads(train, 2)
    [1, 1]
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[Optimizer],
        process_group: ProcessGroup | None = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer(): overlap_with_ddp is not served")
        if issubclass(optimizer_class, LBFGS):
            raise NotImplementedError(
                f"ZeroRedundancyOptimizer(): a step of {optimizer_class.__name__} looks at all parameters together, "
                "and each rank would see its own only"
            )
        groups = _checked(params)
        self.process_group = world.default_group() if process_group is None else process_group
        self.rank = ranks.get_rank(self.process_group)
        self.world_size = ranks.get_world_size(self.process_group)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optimizer_class = optimizer_class
        self._options = defaults
        self._owner: dict[Tensor, int] = {}
        self._loads = [0] * self.world_size
        self._buckets: dict[Any, Tensor] = {}
        self._collected: list[dict[str, Any]] | None = None
        self.optim: Optimizer | None = None
        """The optimizer of this rank's part."""
        Joinable.__init__(self)
        Optimizer.__init__(self, groups, dict(defaults))
        # Groups stay, even those without parameters of this rank: `_copy_options` pairs them.
        self.optim = optimizer_class([self._own(group) for group in self.param_groups], **defaults)
        self.defaults = self.optim.defaults
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            for name, value in own.items():
                group.setdefault(name, value)
        self._make_buckets()

    # --- the parts ------------------------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; all ranks add the same."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        # The largest first, each to the rank with least (longest-processing-time scheduling): all ranks
        # come to the same.
        for parameter in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
            owner = min(range(self.world_size), key=self._loads.__getitem__)
            self._owner[parameter] = owner
            self._loads[owner] += parameter.numel()
        if self.optim is not None:
            self.optim.add_param_group(self._own(group))
            for name, value in self.optim.param_groups[-1].items():
                group.setdefault(name, value)
            self._make_buckets()

    def _own(self, group: dict[str, Any]) -> dict[str, Any]:
        """Return a group with the parameters of this rank."""
        return {**group, "params": [p for p in group["params"] if self._owner[p] == self.rank]}

    def _sent_together(self) -> dict[Any, list[Tensor]]:
        """Return the parameters by who sends them, their dtype and device."""
        result: dict[Any, list[Tensor]] = {}
        for parameter, owner in self._owner.items():
            result.setdefault((owner, str(parameter.dtype), str(parameter.device)), []).append(parameter)
        # One order on all ranks, in which they call `broadcast`.
        return dict(sorted(result.items(), key=lambda entry: entry[0]))

    def _make_buckets(self) -> None:
        """Make parameters views of the sent buffers."""
        if not self.parameters_as_bucket_view:
            return
        for key, parameters in self._sent_together().items():
            flat = tt.cat([parameter.detach().reshape(-1) for parameter in parameters])
            for parameter, piece in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
                parameter.data = piece.view(parameter.shape)
            self._buckets[key] = flat

    def _send(self) -> None:
        """Give each parameter to all ranks."""
        if self.world_size == 1:
            return
        started = []
        for key, parameters in self._sent_together().items():
            flat = self._buckets.get(key)
            if flat is None:
                flat = tt.cat([parameter.detach().reshape(-1) for parameter in parameters])
            # All are started before the first is awaited, so that the owners send at the same time.
            work = collectives.broadcast(flat, group_src=key[0], group=self.process_group, async_op=True)
            started.append((key, parameters, flat, work))
        for key, parameters, flat, work in started:
            if work is not None:
                work.wait()
            if key[0] == self.rank or key in self._buckets:
                continue
            for parameter, piece in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
                parameter.detach().copy_(piece.view(parameter.shape))

    # --- a step ---------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, and exchange all of them.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss and its gradients.
        **kwargs
            Passed to the optimizer's `step`.
        """
        Join.notify_join_context(self)
        local = self._local()
        # Schedulers change the options of this optimizer, some optimizers those of their own.
        _copy_options(self.param_groups, local.param_groups)
        loss = local.step(**kwargs) if closure is None else local.step(closure=closure, **kwargs)
        _copy_options(local.param_groups, self.param_groups)
        self._send()
        return loss

    def _local(self) -> Optimizer:
        if self.optim is None:
            raise RuntimeError("ZeroRedundancyOptimizer: its __init__ has not ended")
        return self.optim

    # --- state dicts ----------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks on one, for `state_dict` there; all ranks call it.

        Parameters
        ----------
        to : int
            The rank in the group.
        """
        local = self._local()
        _copy_options(self.param_groups, local.param_groups)
        own = tree_map(lambda leaf: leaf.cpu() if isinstance(leaf, Tensor) else leaf, local.state_dict())
        collected: list[Any] | None = [None] * self.world_size if self.rank == to else None
        objects.gather_object(own, collected, group_dst=to, group=self.process_group)
        self._collected = collected

    def state_dict(self) -> dict[str, Any]:
        """Return the state of all ranks, as the optimizer alone would.

        Raises
        ------
        RuntimeError
            `consolidate_state_dict` was not called for this rank.
        """
        if self._collected is None:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self.rank})` on all ranks beforehand if you meant to save the global "
                "state."
            )
        positions: dict[Tensor, int] = {}
        count = 0
        groups = []
        for group in self.param_groups:
            numbers = list(range(count, count + len(group["params"])))
            positions.update(zip(group["params"], numbers, strict=True))
            count += len(numbers)
            groups.append(
                {**{name: value for name, value in group.items() if name != "params"}, "params": numbers}
            )
        state: dict[int, Any] = {}
        for rank, collected in enumerate(self._collected):
            # The local optimizer numbers its parameters alone, in the order of the groups.
            order = [p for group in self.param_groups for p in group["params"] if self._owner[p] == rank]
            for number, value in collected["state"].items():
                state[positions[order[number]]] = value
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of all ranks, and keep this one's part; all ranks call it with the same.

        Raises
        ------
        ValueError
            It is of other groups or numbers of parameters.
        """
        local = self._local()
        saved = state_dict["param_groups"]
        lengths = [len(group["params"]) for group in self.param_groups]
        if [len(group["params"]) for group in saved] != lengths:
            raise ValueError(
                f"loaded state dict has groups of {[len(group['params']) for group in saved]} parameters, the "
                f"optimizer has {lengths}"
            )
        state, groups, count = {}, [], 0
        for group, own in zip(saved, self.param_groups, strict=True):
            numbers = []
            for number, parameter in zip(group["params"], own["params"], strict=True):
                if self._owner[parameter] != self.rank:
                    continue
                if number in state_dict["state"]:
                    state[count] = state_dict["state"][number]
                numbers.append(count)
                count += 1
            groups.append({**group, "params": numbers})
        local.load_state_dict({"state": state, "param_groups": groups})
        _copy_options(local.param_groups, self.param_groups)
        self._collected = None

    # --- uneven inputs --------------------------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of a rank that has no batches left: it steps along, so that its parameters are updated."""
        return _StepAlong(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return next(iter(self._owner)).device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group


class _StepAlong(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        """Update this rank's parameters."""
        self._optimizer.step()


def _copy_options(given: list[dict[str, Any]], to: list[dict[str, Any]]) -> None:
    """Copy what schedulers change, such as the learning rate."""
    for source, target in zip(given, to, strict=True):
        target.update((name, value) for name, value in source.items() if name != "params")


def _checked(params: Iterable[Any]) -> list[Any]:
    if isinstance(params, Tensor):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors, but got {type(params).__name__}"
        )
    try:
        groups = list(params)
    except TypeError:
        raise TypeError(
            f"`params` argument should be an iterable of Tensors or dicts, but got {type(params).__name__}"
        ) from None
    if not groups:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not (all(isinstance(g, Tensor) for g in groups) or all(isinstance(g, dict) for g in groups)):
        raise TypeError(
            f"`params` argument should be an iterable of Tensors or dicts, but got {type(groups[0]).__name__}"
        )
    return groups
