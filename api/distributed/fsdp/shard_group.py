"""ShardGroup: parameters that are gathered together, and whose gradients are reduced together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import tt
from tt import Tensor
from tt.autograd import Function
from tt.autograd.function import once_differentiable
from tt.autograd.graph import saved_tensors_hooks
from tt.distributed import gathering, ranks
from tt.distributed.fsdp.averages import Average
from tt.distributed.fsdp.passes import Pass
from tt.distributed.fsdp.policies import CPUOffloadPolicy, MixedPrecisionPolicy
from tt.distributed.fsdp.sharded_parameter import ShardedParameter, padded
from tt.nn import Module

__all__ = ["ShardGroup"]


class _Place(NamedTuple):
    """Where a parameter is in its module."""

    module: Module
    name: str


class _View(NamedTuple):
    """The graph's placeholder for a gathered parameter, or for a view of it."""

    place: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


class ShardGroup:
    """The parameters of a module that no inner group has.

    Note [Sharded parameters in the graph]
    --------------------------------------
    Forward gathers the parameters by one differentiable function, puts the results in the modules' places for as long
    as forward runs, and takes them out again.  Its backward averages the gradients of all of them and gives each rank
    its part: nothing else is needed for parameters that are used several times, frozen, or not at all.  What operators
    save of a gathered parameter is packed as a place in the group, and gathered again when backward unpacks it, so the
    memory is free in between.  (PyTorch frees the memory under the tensors and fills it again; that needs storages that
    change their size behind saved tensors, which array libraries do not have.)

    Note [Averages while backward goes on]
    --------------------------------------
    The backward of a gathering starts `reduce_scatter` and returns placeholders.  They lead to a second function,
    `_Collect`, through which the parameters pass at the start of the outermost forward, before anything else is
    recorded.  The engine runs nodes in the reverse order of their making, so its backward comes last, waits for the
    averages, and returns them as the gradients of the parameters: hooks, `autograd.grad` and gradients that add up see
    nothing else.  (Setting `.grad` from outside the graph, at the end of backward, was rejected: all of these would
    have to be done again by hand.)

    Parameters
    ----------
    module : Module
        The module.
    group : ProcessGroup
        The ranks.
    policy : MixedPrecisionPolicy
        The dtypes.
    reshard : bool
        Whether parameters are freed after forward.
    ignored : set of Parameter
        Those that stay whole.
    replicas : ProcessGroup, optional
        Ranks with the same parts, one from each group that shares a copy of the parameters.
    offload : CPUOffloadPolicy, optional
        Whether parts are kept in the memory of the CPU.
    """

    def __init__(
        self,
        module: Module,
        group: Any,
        policy: MixedPrecisionPolicy,
        reshard: bool,
        ignored: set[Tensor],
        replicas: Any = None,
        offload: CPUOffloadPolicy | None = None,
    ) -> None:
        self.group, self.policy, self.reshard, self.replicas = group, policy, reshard, replicas
        self.size = ranks.get_world_size(group)
        self.divisor: float = self.size * (1 if replicas is None else ranks.get_world_size(replicas))
        self._device: Any = None  # where the whole parameters are
        self.syncs = True
        self.run = Pass()
        self._places: list[list[_Place]] = []
        self.parameters: list[ShardedParameter] = []
        made: dict[Tensor, int] = {}
        for inner in module.modules():
            for name, parameter in list(inner._parameters.items()):
                if parameter is None or isinstance(parameter, ShardedParameter) or parameter in ignored:
                    continue
                if parameter not in made:
                    made[parameter] = len(self.parameters)
                    self.parameters.append(ShardedParameter.of(parameter, group, replicas, offload))
                    self._device = parameter.device
                    self._places.append([])
                self._places[made[parameter]].append(_Place(inner, name))
                inner._parameters[name] = self.parameters[made[parameter]]
        self._under_way: tuple[Tensor, Any] | None = None
        self._gathered: list[Tensor] | None = None
        self.unreduced: list[Tensor] | None = None
        self._sources: list[Tensor] | None = None
        self._averages: list[Average] | None = None

    # --- gathering ------------------------------------------------------------------------------------------------

    def _lengths(self) -> list[int]:
        return [p.placement.chunk * p.placement.row_size for p in self.parameters]

    def start_gathering(self) -> None:
        """Gather in the background, for the next `gather`."""
        if self._under_way is not None or self._gathered is not None or not self.parameters:
            return
        flat = tt.cat([padded(p.to_local(), p.placement).to(self._dtype(p)) for p in self.parameters])
        flat = flat.to(self._device)
        found = flat.new_empty(self.size * flat.numel())
        work = gathering.all_gather_into_tensor(found, flat, group=self.group, async_op=True)
        self._under_way = found, work

    def _dtype(self, parameter: Tensor) -> Any:
        return (
            self.policy.param_dtype or self.parameters[0].dtype
            if parameter.is_floating_point()
            else parameter.dtype
        )

    def gather(self) -> list[Tensor]:
        """Return all parameters whole, each in memory of its own."""
        self.start_gathering()
        if self._under_way is None:
            return []
        (found, work), self._under_way = self._under_way, None
        if work is not None:
            work.wait()
        rows = found.view(self.size, -1)
        wholes = []
        for parameter, piece in zip(self.parameters, rows.split(self._lengths(), dim=1), strict=True):
            placement = parameter.placement
            flat = piece.reshape(-1)[: placement.rows * placement.row_size]
            whole = flat.reshape(placement.shape).to(self.policy.param_dtype or parameter.dtype)
            # The pieces of several ranks were copied when they were put together.
            shared = whole.untyped_storage().data_ptr() == found.untyped_storage().data_ptr()
            wholes.append(whole.clone() if shared else whole)
        return wholes

    def forget(self) -> None:
        """Let go of what was gathered ahead, which an optimizer's step has made old."""
        if self._under_way is not None and self._under_way[1] is not None:
            self._under_way[1].wait()
        self._under_way = self._gathered = None

    # --- gradients ------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Let the parameters pass through the function that collects their averages."""
        if self.parameters and tt.is_grad_enabled():
            self._averages = []
            self._sources = list(_Collect.apply(self, self._averages, *self.parameters))

    def release(self) -> None:
        """Let go of the graph, which belongs to the outputs."""
        self._sources = self._averages = None

    def reduce(self, gradients: Sequence[Tensor]) -> Average | None:
        """Start averaging; return None while gradients only add up."""
        self.run.touch(self)
        self._gathered = None
        kept = self.unreduced
        full = list(gradients) if kept is None else [a + b for a, b in zip(kept, gradients, strict=True)]
        if not self.syncs:
            self.unreduced = [gradient.clone() for gradient in full] if kept is None else full
            return None
        self.unreduced = None
        dtype = self.policy.reduce_dtype or full[0].dtype
        rows = []
        for parameter, gradient in zip(self.parameters, full, strict=True):
            placement = parameter.placement
            flat = gradient.reshape(-1).to(dtype)
            missing = self.size * placement.chunk * placement.row_size - flat.numel()
            rows.append((tt.cat([flat, flat.new_zeros(missing)]) if missing else flat).view(self.size, -1))
        given = tt.cat(rows, dim=1).div_(self.divisor)
        return self.run.under_way.start(given, self.group, self.replicas)

    def collect(self, averages: Sequence[Average]) -> list[Tensor]:
        """Wait for averages, one for each use of the module, and return the gradients of this rank's parts."""
        parts = [average.part() for average in averages]
        self.run.collected(self)
        part = parts[0]
        for other in parts[1:]:
            part = part + other
        return [
            piece[: parameter.numel()].reshape(parameter.shape).to(parameter.device, parameter.dtype)
            for parameter, piece in zip(self.parameters, part.split(self._lengths()), strict=True)
        ]

    def undo(self, unreduced: list[Tensor] | None) -> None:
        """Return to the state before a failed backward pass, with the gradients accumulated until then."""
        self.unreduced, self._gathered = unreduced, None

    # --- forward --------------------------------------------------------------------------------------------------

    @contextmanager
    def whole(self) -> Generator[list[Tensor]]:
        """Put gathered parameters in their places, as parts of the graph."""
        if self._gathered is not None:
            self.forget()
        wholes = []
        if self.parameters:
            if self._sources is None:
                self.prepare()
            wholes = list(_Gather.apply(self, self._averages, *(self._sources or self.parameters)))
        with self._in_place(wholes):
            if self.reshard and wholes and tt.is_grad_enabled():
                indices = {
                    tensor.untyped_storage().data_ptr(): i
                    for i, tensor in enumerate(wholes)
                    if tensor.numel()
                }
                with saved_tensors_hooks(lambda tensor: self._pack(tensor, indices), self._unpack):
                    yield wholes
            else:
                yield wholes

    @contextmanager
    def _in_place(self, wholes: Sequence[Tensor]) -> Generator[None]:
        for places, tensor in zip(self._places, wholes, strict=True):
            for module, name in places:
                module._parameters[name] = tensor  # type: ignore[assignment]  # for as long as forward runs
        try:
            yield
        finally:
            for places, parameter in zip(self._places, self.parameters, strict=True):
                for module, name in places:
                    module._parameters[name] = parameter

    def _pack(self, tensor: Tensor, indices: dict[int, int]) -> Any:
        if type(tensor) is not Tensor or tensor.layout is not tt.strided or not tensor.numel():
            return tensor
        index = indices.get(tensor.untyped_storage().data_ptr())
        if index is None:
            return tensor
        return _View(index, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())

    def _unpack(self, kept: Any) -> Any:
        if not isinstance(kept, _View):
            return kept
        if self._gathered is None:
            self.run.touch(self)
            with tt.no_grad():
                self._gathered = self.gather()
            earlier = self.run.before(self)
            if earlier is not None and earlier.reshard:
                earlier.start_gathering()
        return self._gathered[kept.place].as_strided(kept.shape, kept.strides, kept.offset)


class _Gather(Function):
    """Gathers the parameters of a group; the gradient starts to average them."""

    @staticmethod
    def forward(
        ctx: Any, group: ShardGroup, averages: list[Average] | None, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.averages = group, averages
        return tuple(group.gather())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        average = ctx.group.reduce(gradients)
        parameters = ctx.group.parameters
        if average is None:
            return None, None, *(None for _ in parameters)
        ctx.group.run.started(ctx.averages, average)
        return None, None, *(parameter.new_zeros(()).expand(parameter.shape) for parameter in parameters)


class _Collect(Function):
    """Passes parameters on; the gradient waits for their averages."""

    @staticmethod
    def forward(
        ctx: Any, group: ShardGroup, averages: list[Average], *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.averages = group, averages
        return parameters

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        averages = ctx.averages[:]
        ctx.averages.clear()
        return None, None, *ctx.group.collect(averages)
