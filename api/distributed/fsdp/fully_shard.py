"""fully_shard: divide the parameters of a module among ranks, each as a part of its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import tt
from tt import Tensor
from tt.distributed import world
from tt.distributed.fsdp.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from tt.distributed.fsdp.shard_group import ShardGroup
from tt.errors import AssertedError
from tt.nn import Module
from tt.utils._pytree import tree_map

if TYPE_CHECKING:
    from tt.distributed.device_mesh import DeviceMesh

__all__ = ["FSDPModule", "clip_grad_norm_", "fully_shard"]


class FSDPModule:
    """The methods that `fully_shard` adds: it makes a module a subclass of its class and of this one."""

    _shards: ShardGroup
    _own_forward: Any
    """A forward that the module had as an attribute, as patches set it; else None."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Gather the parameters, and call the module's own forward."""
        shards = self._shards
        run = shards.run
        if run.depth == 0:
            self._begin()
        run.depth += 1
        try:
            policy = shards.policy
            if policy.cast_forward_inputs and policy.param_dtype is not None:
                # Parameters are gathered in `param_dtype`; operators want inputs of the same one.
                args, kwargs = _cast((args, kwargs), policy.param_dtype)
            run.begin(shards)
            with shards.whole():
                forward = self._own_forward or super().forward  # type: ignore[misc]  # the module's class comes next
                outputs = forward(*args, **kwargs)
        finally:
            run.depth -= 1
            # The graph belongs to the outputs: groups that backward never reaches would keep it alive.
            if run.depth == 0:
                for group in _groups(self):
                    group.release()
        return outputs if policy.output_dtype is None else _cast(outputs, policy.output_dtype)

    def _begin(self) -> None:
        """Start a forward pass as its outermost module: all inner ones are of it."""
        run = self._shards.run
        run.groups = _groups(self)
        for group in run.groups:
            group.run = run
            # An optimizer may have changed the parts since they were gathered.
            group.forget()
        for group in run.groups:  # backward collects in the reverse order, in which averages end
            group.prepare()
        run.last, run.order = run.order or run.last, []

    def unshard(self, async_op: bool = False) -> None:
        """Gather the parameters before forward does, in the background."""
        self._shards.start_gathering()

    def reshard(self) -> None:
        """Let go of gathered parameters."""
        self._shards.forget()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether backward averages gradients, or adds them up until it does."""
        for inner in _sharded(self) if recurse else [self]:
            inner._shards.syncs = requires_gradient_sync

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether parameters are freed after forward and gathered again in backward."""
        for inner in _sharded(self) if recurse else [self]:
            inner._shards.reshard = reshard_after_forward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set what sums of gradients are divided by; the number of ranks by default."""
        self._shards.divisor = factor

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Refuse: the copy would belong to the same ranks, whose calls it would disturb."""
        raise AssertedError(
            "FSDP does not support deepcopy. Please use state dict for serialization.\n"
            "  try: copy.deepcopy(module) before fully_shard"
        )

    @contextmanager
    def summon(self) -> Generator[None]:
        """Return a context in which all parameters are whole; changes to them are lost."""
        with tt.no_grad():
            contexts = [group.whole() for group in _groups(self)]
            for context in contexts:
                context.__enter__()
            try:
                yield
            finally:
                for context in reversed(contexts):
                    context.__exit__(None, None, None)


def fully_shard(
    module: Module | Sequence[Module],
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | None = None,
    shard_placement_fn: Callable[..., Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Tensor] | None = None,
) -> Any:
    """Divide the parameters of a module, less those of inner modules that are sharded already, among ranks.

    Call it on inner modules first (each block of a Transformer), then on the whole.  All ranks must have the same
    parameters before.  Make the optimizer afterwards: it sees `ShardedParameter` objects, this rank's parts.

    Parameters
    ----------
    module : Module or list of Module
        The module; its class becomes a subclass of itself and `FSDPModule`.  Several modules share a group, for
        parameters that are tied between them.
    mesh : DeviceMesh, optional
        A mesh of one dimension; by default all ranks.  With two, parameters are divided along the second, and the
        ranks along the first have the same parts.
    reshard_after_forward : bool, optional
        Whether parameters are freed after forward and gathered again in backward; by default so.
    shard_placement_fn : optional
        Not served.
    mp_policy : MixedPrecisionPolicy, optional
        The dtypes.
    offload_policy : OffloadPolicy, optional
        `CPUOffloadPolicy` keeps the parts in the memory of the CPU; whole parameters, and results, stay on the
        module's device, for which and for the CPU the group has engines.
    ignored_params : set of Parameter, optional
        Those that stay whole; nothing averages their gradients.

    Returns
    -------
    Module
        The same module, or list.

    Raises
    ------
    ValueError
        It is sharded already or a container without `forward`, a parameter is tied with one of another group, or there
        is no default group.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.fsdp import fully_shard
    >>> def train():
    ...     model = fully_shard(tt.nn.Linear(3, 4))
    ...     model(tt.ones(2, 3)).sum().backward()
    ...     return tuple(model.weight.shape), tuple(model.weight.grad.shape)
    >>> tt.distributed.run_threads(train, 2)
    [((2, 3), (2, 3)), ((2, 3), (2, 3))]

    References
    ----------
    Y. Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", 2023.
    """
    if shard_placement_fn is not None:
        raise NotImplementedError("fully_shard(): shard_placement_fn is not served")
    if offload_policy is not None and not isinstance(offload_policy, OffloadPolicy):
        raise TypeError(f"fully_shard(): expected an OffloadPolicy, got {type(offload_policy).__name__}")
    modules = [module] if isinstance(module, Module) else module
    if (
        not isinstance(modules, list | tuple)
        or not modules
        or not all(isinstance(m, Module) for m in modules)
    ):
        raise ValueError(
            f"fully_shard(): expected a Module or a list of modules, got {type(module).__name__}"
        )
    for each in modules:
        if isinstance(each, FSDPModule):
            raise ValueError("fully_shard(): the module has been sharded already")
        if isinstance(each, tt.nn.ModuleList | tt.nn.ModuleDict):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
    if mesh is not None and mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    replicas = None
    if mesh is None:
        group = world.default_group()
    elif mesh.ndim == 1:
        group = mesh.get_group()
    else:
        replicas, group = mesh.get_group(0), mesh.get_group(1)
    shards = ShardGroup(
        modules,
        group,
        mp_policy or MixedPrecisionPolicy(),
        True if reshard_after_forward is None else bool(reshard_after_forward),
        set(ignored_params or ()),
        replicas,
        offload_policy if isinstance(offload_policy, CPUOffloadPolicy) else None,
    )
    for each in modules:
        kind = type(each)
        # The module stays the same object, which optimizers and other modules refer to.
        each.__class__ = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
        # A forward in the instance would hide the one of the new class.
        each._shards, each._own_forward = shards, each.__dict__.pop("forward", None)
    return module


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scale the gradients of sharded and other parameters to a total norm, counted over all ranks.

    Parameters
    ----------
    parameters : iterable of Parameter
        `ShardedParameter` objects count as wholes; others must have the same gradients on all ranks.
    max_norm : float
        The largest norm.
    norm_type : float
        The kind of norm; ``inf`` for the largest absolute value.

    Returns
    -------
    Tensor
        The total norm before.
    """
    return tt.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)


def _sharded(module: Any) -> list[Any]:
    return [inner for inner in module.modules() if isinstance(inner, FSDPModule)]


def _groups(module: Any) -> list[ShardGroup]:
    """Return the groups of a module and those in it; several modules may share one."""
    return list(dict.fromkeys(inner._shards for inner in _sharded(module)))


def _cast(values: object, dtype: tt.dtype) -> Any:
    return tree_map(
        lambda leaf: leaf.to(dtype) if isinstance(leaf, Tensor) and leaf.is_floating_point() else leaf, values
    )
