"""FullyShardedDataParallel: `fully_shard` as a wrapper, with whole state dicts."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import tt
from tt import Tensor
from tt.distributed import collectives, new_groups, world
from tt.distributed.fsdp.fully_shard import FSDPModule, clip_grad_norm_, fully_shard
from tt.distributed.fsdp.policies import (
    CPUOffload,
    CPUOffloadPolicy,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
)
from tt.distributed.process_group import ProcessGroup
from tt.nn import Module
from tt.types import Device

if TYPE_CHECKING:
    from tt.distributed.device_mesh import DeviceMesh
    from tt.optim import Optimizer

__all__ = ["FullyShardedDataParallel"]

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)


class FullyShardedDataParallel(Module):
    """Divides the parameters of a module, and of those in it that a policy chooses, among ranks.

    It does what `fully_shard` does, and its `state_dict` is whole: names and shapes are those of the module alone.

    Parameters
    ----------
    module : Module
        The module.
    process_group : ProcessGroup or tuple of two, optional
        The ranks; by default all.  For hybrid strategies the ranks among which parameters are divided, and those that
        have the same parts; by default the ranks of a machine (``LOCAL_WORLD_SIZE``) and those with one local rank.
    sharding_strategy : ShardingStrategy, optional
        By default ``FULL_SHARD``; ``NO_SHARD`` is not served.
    cpu_offload : CPUOffload, optional
        Whether parts are kept in the memory of the CPU.
    backward_prefetch : optional
        Accepted: parameters are always gathered ahead.
    param_init_fn : callable, optional
        Gives memory and values to a module whose own parameters or buffers are on the meta device.  By default
        ``module.to_empty(device=..., recurse=False)`` and ``module.reset_parameters()``.  Units are divided as soon as
        they have values, so no rank needs memory for the whole model.
    auto_wrap_policy : callable or iterable of type, optional
        ``policy(module=, recurse=, nonwrapped_numel=)`` says whether an inner module is sharded by itself; or their
        classes.
    mixed_precision : MixedPrecision, optional
        The dtypes.
    ignored_modules : iterable of Module, optional
        Modules that stay whole.
    device_id : int or Device, optional
        Where the module goes first.
    sync_module_states : bool
        Whether all ranks take rank 0's parameters and buffers.
    forward_prefetch, limit_all_gathers, use_orig_params : bool
        Accepted: gathering ahead follows the order of the last pass, and parameters are always the original ones.
    ignored_states : iterable of Parameter or Module, optional
        What stays whole.
    device_mesh : DeviceMesh, optional
        A mesh of one dimension, or of two for hybrid strategies, instead of `process_group`.

    Raises
    ------
    ValueError
        There is no default group, or both group and mesh are given.
    NotImplementedError
        An option is not served.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.fsdp import FullyShardedDataParallel
    >>> def train():
    ...     model = FullyShardedDataParallel(tt.nn.Linear(3, 4))
    ...     model(tt.ones(2, 3)).sum().backward()
    ...     return tuple(model.weight.shape), tuple(model.state_dict()["weight"].shape)
    >>> tt.distributed.run_threads(train, 2)
    [((2, 3), (4, 3)), ((2, 3), (4, 3))]
    """

    def __init__(
        self,
        module: Module,
        process_group: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: object = None,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Callable[[Module], None] | None = None,
        device_id: int | tt.device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = True,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        if cpu_offload is not None and not isinstance(cpu_offload, CPUOffload):
            raise TypeError(
                f"FullyShardedDataParallel(): cpu_offload must be a CPUOffload, got {type(cpu_offload).__name__}"
            )
        offload = CPUOffloadPolicy() if cpu_offload is not None and cpu_offload.offload_params else None
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        if strategy is ShardingStrategy.NO_SHARD:
            raise NotImplementedError(f"FullyShardedDataParallel(): {strategy} is not served")
        if process_group is not None and device_mesh is not None:
            raise ValueError("Cannot pass both process_group and device_mesh at the same time.")
        mesh = _mesh(strategy in _HYBRID, process_group, device_mesh)
        self.process_group = mesh.get_group(mesh.ndim - 1)
        if isinstance(device_id, int):
            device_id = tt.device("cuda", device_id)
        if device_id is not None and not _on_meta(module):
            module = module.to(device_id)

        def sync(tensors: Iterable[Tensor]) -> None:
            for tensor in tensors:
                # Along each dimension from its first rank, which is together from rank 0 to all.
                for dim in reversed(range(mesh.ndim)):
                    collectives.broadcast(tensor.detach(), group_src=0, group=mesh.get_group(dim))

        if sync_module_states and not _on_meta(module):
            sync(module.state_dict().values())
        precision = mixed_precision or MixedPrecision()
        if precision.buffer_dtype is not None:
            for inner in module.modules():
                for name, buffer in inner._buffers.items():
                    if buffer is not None and buffer.is_floating_point():
                        inner._buffers[name] = buffer.to(precision.buffer_dtype)
        whole = _ignored(ignored_modules, ignored_states)
        reshard = strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD)

        def shard(chosen: Module, root: bool) -> None:
            # One unit after the other gets memory and is divided, so the whole model never has to fit.
            if _on_meta(chosen):
                _materialize(chosen, param_init_fn, device_id)
                if sync_module_states:
                    # Inner units are divided already: their first rank has other rows.
                    own = (p for p in chosen.parameters() if not hasattr(type(p), "to_local"))
                    sync((*own, *chosen.buffers()))
            casts = precision.cast_root_forward_inputs if root else precision.cast_forward_inputs
            fully_shard(
                chosen,
                mesh=mesh,
                reshard_after_forward=reshard,
                mp_policy=MixedPrecisionPolicy(
                    precision.param_dtype, precision.reduce_dtype, cast_forward_inputs=casts
                ),
                offload_policy=offload,
                ignored_params=whole,
            )

        if auto_wrap_policy is not None:
            _wrap(module, auto_wrap_policy, shard)
        if not isinstance(module, FSDPModule):
            shard(module, True)
        self._fsdp_wrapped_module = module

    @property
    def module(self) -> Module:
        """The module."""
        return self._fsdp_wrapped_module

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            # By the dict: the attribute would come back here without end while it is not set.
            return getattr(self._modules["_fsdp_wrapped_module"], name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._fsdp_wrapped_module(*args, **kwargs)

    # --- training -------------------------------------------------------------------------------------------------

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> Tensor:
        """Scale the gradients to a total norm over all ranks; return the norm before."""
        return clip_grad_norm_(self.parameters(), max_norm, norm_type)

    @contextmanager
    def no_sync(self) -> Generator[None]:
        """Return a context in which gradients add up on each rank, and are not averaged."""
        inner = self._sharded()
        before = [module._shards.syncs for module in inner]
        for module in inner:
            module._shards.syncs = False
        try:
            yield
        finally:
            for module, syncs in zip(inner, before, strict=True):
                module._shards.syncs = syncs

    @staticmethod
    @contextmanager
    def summon_full_params(
        module: Module, recurse: bool = True, writeback: bool = True, rank0_only: bool = False, **_: Any
    ) -> Generator[None]:
        """Return a context in which parameters are whole.

        Parameters
        ----------
        module : Module
            It and, with ``recurse``, the modules in it.
        writeback : bool
            Whether each rank keeps its rows of what was changed.
        rank0_only : bool
            Accepted; all ranks have them.
        """
        chosen = [m for m in module.modules() if isinstance(m, FSDPModule)]
        if not recurse:
            chosen = chosen[:1]
        with tt.no_grad(), ExitStack() as stack:
            groups = dict.fromkeys(inner._shards for inner in chosen)
            wholes = [(group.parameters, stack.enter_context(group.whole())) for group in groups]
            yield
            # Ranks may have written different values; each keeps its own rows of them.
            if writeback:
                for parameters, tensors in wholes:
                    for parameter, tensor in zip(parameters, tensors, strict=True):
                        parameter.detach().copy_(parameter.placement.part(tensor))

    @classmethod
    def fsdp_modules(cls, module: Module, root_only: bool = False) -> list[Any]:
        """Return the wrappers in a module, itself included."""
        modules = [inner for inner in module.modules() if isinstance(inner, cls)]
        return modules[:1] if root_only else modules

    def _sharded(self) -> list[Any]:
        return [module for module in self.modules() if isinstance(module, FSDPModule)]

    # --- state dicts ----------------------------------------------------------------------------------------------

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the whole state by the names of the module alone; all ranks call it."""
        from tt.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

        return get_model_state_dict(self.module, options=StateDictOptions(full_state_dict=True))

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Load a whole state; all ranks call it."""
        from tt.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

        return set_model_state_dict(self.module, state_dict, options=StateDictOptions(strict=strict))

    @staticmethod
    def optim_state_dict(
        model: Module,
        optim: Optimizer,
        optim_state_dict: dict[str, Any] | None = None,
        group: ProcessGroup | None = None,
    ) -> dict[str, Any]:
        """Return the whole state of an optimizer by names; all ranks call it."""
        from tt.distributed.checkpoint.state_dict import StateDictOptions, get_optimizer_state_dict

        return get_optimizer_state_dict(_inner(model), optim, options=StateDictOptions(full_state_dict=True))

    @staticmethod
    def load_optim_state_dict(model: Module, optim: Optimizer, optim_state_dict: dict[str, Any]) -> None:
        """Load the whole state of an optimizer by names; all ranks call it."""
        from tt.distributed.checkpoint.state_dict import set_optimizer_state_dict

        set_optimizer_state_dict(_inner(model), optim, optim_state_dict)


class _Groups:
    """A mesh over groups that are there already."""

    def __init__(self, *groups: Any) -> None:
        self._groups = groups
        self.ndim = len(groups)

    def get_group(self, dim: int = 0) -> Any:
        return self._groups[dim]


def _mesh(
    hybrid: bool, group: ProcessGroup | tuple[ProcessGroup, ProcessGroup] | None, mesh: DeviceMesh | None
) -> Any:
    """Return the groups among whose ranks parameters are divided, for hybrid strategies after the one of the copies."""
    if mesh is not None:
        if hybrid and mesh.ndim != 2:
            raise ValueError(f"Expected device_mesh to have ndim=2 but got {mesh.ndim}")
        return mesh
    if not hybrid:
        if isinstance(group, tuple):
            raise ValueError("FullyShardedDataParallel(): a tuple of groups is for hybrid strategies")
        return _Groups(world.default_group() if group is None else group)
    if isinstance(group, tuple) and len(group) == 2:
        return _Groups(group[1], group[0])
    if group is not None:
        raise ValueError(
            "FullyShardedDataParallel(): hybrid strategies take a tuple of two groups, (sharded, replicated)"
        )
    count = world.default_group().size()
    local = int(os.environ.get("LOCAL_WORLD_SIZE", count))
    if local < 1 or count % local:
        raise ValueError(
            f"FullyShardedDataParallel(): LOCAL_WORLD_SIZE={local} does not divide {count} ranks"
        )
    # Ranks of a machine share a copy, so the gathering of parameters stays within the machine.
    rows = [list(range(first, first + local)) for first in range(0, count, local)]
    sharded, _ = new_groups.new_subgroups_by_enumeration(rows)
    copies, _ = new_groups.new_subgroups_by_enumeration([list(row) for row in zip(*rows, strict=True)])
    return _Groups(copies, sharded)


def _inner(model: Module) -> Any:
    return model.module if isinstance(model, FullyShardedDataParallel) else model


def _ignored(modules: Iterable[Module] | None, states: Iterable[Any] | None) -> set[Tensor]:
    ignored: set[Tensor] = set()
    for state in [*(modules or ()), *(states or ())]:
        if isinstance(state, Module):
            ignored.update(state.parameters())
        elif isinstance(state, Tensor):
            ignored.add(state)
        else:
            raise TypeError(f"ignored_states expects parameters or modules, got {type(state).__name__}")
    return ignored


def _on_meta(module: Module, recurse: bool = True) -> bool:
    return any(
        tensor.is_meta for tensor in (*module.parameters(recurse), *module.buffers(recurse))
    )  # what inner units have is divided, and not on meta any more


def _materialize(module: Module, init: Callable[[Module], None] | None, device: Device) -> None:
    """Give memory and values to a unit that was made on the meta device."""
    for inner in list(module.modules()):
        if not _on_meta(inner, recurse=False):
            continue
        if init is not None:
            init(inner)
            continue
        reset: Any = getattr(inner, "reset_parameters", None)
        if reset is None:
            raise TypeError(
                f"FullyShardedDataParallel(): {type(inner).__name__} is on the meta device and has no "
                "reset_parameters()\n"
                "  try: param_init_fn, which gives its parameters memory and values"
            )
        inner.to_empty(device="cpu" if device is None else device, recurse=False)
        with tt.no_grad():
            reset()


def _wrap(module: Module, policy: Any, shard: Callable[[Module, bool], None]) -> int:
    """Shard the modules that a policy chooses, innermost first; return how many elements are left to the outer one."""
    left = sum(p.numel() for p in module.parameters(recurse=False))
    for child in module.children():
        if isinstance(child, FSDPModule):
            continue
        # PyTorch's protocol: a policy is first asked whether to look into a module, then whether to shard
        # it.
        if callable(policy) and not policy(module=child, recurse=True, nonwrapped_numel=_numel(child)):
            left += _numel(child)
            continue
        rest = _wrap(child, policy, shard)
        if (
            policy(module=child, recurse=False, nonwrapped_numel=rest)
            if callable(policy)
            else type(child) in policy
        ):
            shard(child, False)
        else:
            left += rest
    return left


def _numel(module: Module) -> int:
    return sum(p.numel() for p in module.parameters())
