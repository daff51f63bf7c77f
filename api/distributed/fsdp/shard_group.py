"""ShardGroup: parameters that are gathered together, and whose gradients are reduced together."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import tt
from tt import Tensor
from tt.autograd import Function
from tt.autograd._passes import innermost_hooks, recompute_within
from tt.autograd.function import once_differentiable
from tt.autograd.graph import saved_tensors_hooks
from tt.distributed import gathering, ranks
from tt.distributed.fsdp.averages import Average
from tt.distributed.fsdp.passes import Pass
from tt.distributed.fsdp.policies import CPUOffloadPolicy, MixedPrecisionPolicy
from tt.distributed.fsdp.sharded_parameter import ShardedParameter, padded
from tt.distributed.process_group import ProcessGroup
from tt.errors import UnsupportedError
from tt.nn import Module

if TYPE_CHECKING:
    from tt.autograd.function import FunctionCtx

__all__ = ["ShardGroup"]


class _Place(NamedTuple):
    """Where a parameter is in its module."""

    module: Module
    name: str


class _View(NamedTuple):
    """The graph's placeholder for a gathered parameter, or for a view of it, perhaps of another dtype."""

    place: int
    dtype: Any
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

    Note [Sharded parameters and checkpoints]
    -----------------------------------------
    A checkpointed function runs again in backward, when the parts are in their places: it runs inside of `whole_again`,
    with parameters that are gathered once for the backward pass.  While the innermost hooks on saved tensors are others
    than ours, a checkpoint's say, ours are not set: they would hide the saved tensors from them.

    Parameters
    ----------
    modules : sequence of Module
        The modules.
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
        modules: Sequence[Module],
        group: ProcessGroup,
        policy: MixedPrecisionPolicy,
        reshard: bool,
        ignored: set[Tensor],
        replicas: ProcessGroup | None = None,
        offload: CPUOffloadPolicy | None = None,
    ) -> None:
        self.group, self.policy, self.reshard, self.replicas = group, policy, reshard, replicas
        self.size = ranks.get_world_size(group)
        self.divisor: float = self.size * (1 if replicas is None else ranks.get_world_size(replicas))
        self._device: Any = None  # where the whole parameters are, if not where the parts are
        self.syncs = True
        self.run = Pass()
        self._places: list[list[_Place]] = []
        self.parameters: list[ShardedParameter] = []
        numbers: dict[Tensor, int] = {}
        owned = _owned(modules, ignored)
        for location, parameter in owned:
            # Modules that are tied share one parameter: it is divided once, and put in all of its places.
            if parameter not in numbers:
                numbers[parameter] = len(self.parameters)
                self.parameters.append(ShardedParameter.of(parameter, group, replicas, offload))
                vars(parameter)["_sharded"] = True  # for modules that are tied with these
                if offload is not None:
                    self._device = parameter.device
                self._places.append([])
            self._places[numbers[parameter]].append(location)
            location.module._parameters[location.name] = self.parameters[numbers[parameter]]
        self._placed: list[
            Sequence[Tensor]
        ] = []  # whole parameters in their places, of calls within each other
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
        # One message for all parameters; padding makes the parts of all ranks equally long, as all_gather
        # needs.
        flat = tt.cat([padded(p.to_local(), p.placement).to(self._dtype(p)) for p in self.parameters])
        flat = flat if self._device is None else flat.to(self._device)
        gathered = flat.new_empty(self.size * flat.numel())
        work = gathering.all_gather_single(gathered, flat, group=self.group, async_op=True)
        self._under_way = gathered, work

    def _dtype(self, parameter: Tensor) -> Any:
        reduced = self.policy.param_dtype is not None and parameter.is_floating_point()
        return self.policy.param_dtype if reduced else parameter.dtype

    def gather(self) -> list[Tensor]:
        """Return all parameters whole, each in memory of its own."""
        self.start_gathering()
        if self._under_way is None:
            return []
        (gathered, work), self._under_way = self._under_way, None
        if work is not None:
            work.wait()
        rows = gathered.view(self.size, -1)
        wholes = []
        # The columns of one parameter, row after row, are its parts in the order of the ranks, then the
        # padding.
        for parameter, piece in zip(self.parameters, rows.split(self._lengths(), dim=1), strict=True):
            placement = parameter.placement
            flat = piece.reshape(-1)[: placement.rows * placement.row_size]
            whole = _as_dtype(flat.reshape(placement.shape), self._dtype(parameter))
            # The pieces of several ranks were copied when they were put together.
            shared = whole.untyped_storage().data_ptr() == gathered.untyped_storage().data_ptr()
            wholes.append(whole.clone() if shared else whole)
        return wholes

    def forget(self) -> None:
        """Let go of what was gathered ahead, which an optimizer's step has made old."""
        if self._under_way is not None and self._under_way[1] is not None:
            # The engine still writes into this memory.
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

    def filled(self, gradients: Sequence[Tensor | None]) -> list[Tensor]:
        """Return the gradients of whole parameters, with zeros for those that were not used."""
        device = next(gradient.device for gradient in gradients if gradient is not None)
        return [
            tt.zeros(parameter.placement.shape, dtype=self._dtype(parameter), device=device)
            if gradient is None
            else gradient
            for gradient, parameter in zip(gradients, self.parameters, strict=True)
        ]

    def reduce(self, gradients: Sequence[Tensor]) -> Average | None:
        """Start averaging; return None while gradients only add up."""
        self.run.touch(self)
        self._gathered = None
        kept = self.unreduced
        full = list(gradients) if kept is None else [a + b for a, b in zip(kept, gradients, strict=True)]
        if not self.syncs:
            # A copy, for the autograd engine may add to a gradient in place, or hand the same one to
            # others.
            self.unreduced = [gradient.clone() for gradient in full] if kept is None else full
            return None
        self.unreduced = None
        less = self.policy.reduce_dtype
        # Several parameters travel in one tensor, which has one dtype.
        dtype = reduce(tt.promote_types, (less if less and not g.is_complex() else g.dtype for g in full))
        rows = []
        for parameter, gradient in zip(self.parameters, full, strict=True):
            placement = parameter.placement
            flat = gradient.reshape(-1).to(dtype)
            missing = self.size * placement.chunk * placement.row_size - flat.numel()
            rows.append((tt.cat([flat, flat.new_zeros(missing)]) if missing else flat).view(self.size, -1))
        # Divided before the sum, which could overflow in a small dtype.
        joined = tt.cat(rows, dim=1).div_(self.divisor)
        return self.run.under_way.start(joined, self.group, self.replicas)

    def collect(self, averages: Sequence[Average]) -> list[Tensor]:
        """Wait for averages, one for each use of the module, and return the gradients of this rank's parts."""
        parts = [average.part() for average in averages]
        self.run.collected(self)
        part = parts[0]
        for other in parts[1:]:
            part = part + other
        pieces = [
            _as_dtype(piece[: parameter.numel()].reshape(parameter.shape), parameter.dtype).to(
                parameter.device
            )
            for parameter, piece in zip(self.parameters, part.split(self._lengths()), strict=True)
        ]
        # As parts, so that hooks and autograd.grad can count the rows of all ranks.
        return [p.like(piece, same_places=True) for p, piece in zip(self.parameters, pieces, strict=True)]

    def average_rest(self) -> None:
        """Average what has added up without communication, after a pass that did not reach the module."""
        if self.unreduced is None or not self.syncs:
            return
        with tt.no_grad():
            average = self.reduce([tt.zeros_like(gradient) for gradient in self.unreduced])
            assert average is not None  # gradients are averaged
            for parameter, part in zip(self.parameters, self.collect([average]), strict=True):
                if parameter.requires_grad:
                    parameter.grad = part if parameter.grad is None else parameter.grad + part

    def undo(self, unreduced: list[Tensor] | None) -> None:
        """Return to the state before a failed backward pass, with the gradients accumulated until then."""
        self.unreduced, self._gathered = unreduced, None

    # --- forward --------------------------------------------------------------------------------------------------

    @contextmanager
    def whole(self) -> Generator[list[Tensor]]:
        """Put gathered parameters in their places, as parts of the graph."""
        # The last backward has gathered it, and an optimizer may have changed the parts since.
        if self._gathered is not None:
            self.forget()
        wholes = []
        if self.parameters:
            if self._sources is None:
                self.prepare()
            wholes = list(_Gather.apply(self, self._averages, *(self._sources or self.parameters)))
        with self._in_place(wholes), recompute_within(self.whole_again), self._hooks(wholes):
            yield wholes

    @contextmanager
    def whole_again(self) -> Generator[None]:
        """Put gathered parameters in their places for the second run of a checkpointed function, in backward."""
        wholes = [
            tensor.detach().requires_grad_(parameter.requires_grad)
            for tensor, parameter in zip(self._gathered_again(), self.parameters, strict=True)
        ]
        with self._in_place(wholes), recompute_within(self.whole_again):
            yield

    @contextmanager
    def _in_place(self, wholes: Sequence[Tensor]) -> Generator[None]:
        before = [[module._parameters.get(name) for module, name in locations] for locations in self._places]
        self._expect_own(before)
        self._placed.append(wholes)
        for locations, tensor in zip(self._places, wholes, strict=True):
            for module, name in locations:
                module._parameters[name] = tensor  # type: ignore[assignment]  # for as long as forward runs
        try:
            yield
        finally:
            self._placed.pop()
            for locations, parameters in zip(self._places, before, strict=True):
                for (module, name), parameter in zip(locations, parameters, strict=True):
                    module._parameters[name] = parameter

    def _expect_own(self, found: Sequence[Sequence[Tensor | None]]) -> None:
        """Refuse to compute with our parameters where somebody has put others, as `functional_call` does."""
        for index, (locations, tensors) in enumerate(zip(self._places, found, strict=True)):
            ours = [self.parameters[index], *(wholes[index] for wholes in self._placed)]
            for (module, name), tensor in zip(locations, tensors, strict=True):
                if not any(tensor is own for own in ours):
                    raise UnsupportedError(
                        f"parameter {name} of {type(module).__name__} is not the one that is divided among ranks: it "
                        "was replaced after fully_shard, and forward would compute with the old one\n"
                        "  try: to change its values in place, or to replace it before fully_shard"
                    )

    def _hooks(self, wholes: Sequence[Tensor]) -> AbstractContextManager[None]:
        """Return the hooks that do not keep what is saved of these, where they are freed after forward."""
        if not (self.reshard and wholes and tt.is_grad_enabled()):
            return nullcontext()
        outer = innermost_hooks()
        # See Note [Sharded parameters and checkpoints].
        if outer is not None and not isinstance(getattr(outer[1], "__self__", None), ShardGroup):
            return nullcontext()
        # A view of a parameter has its memory, whatever operators it went through.
        indices = {_memory(tensor): index for index, tensor in enumerate(wholes) if tensor.numel()}
        return saved_tensors_hooks(lambda tensor: self._pack(tensor, indices), self._unpack)

    def _pack(self, tensor: Tensor, indices: dict[int, int]) -> Any:
        # Only geometry and memory are restored by `_unpack`, so nothing with more than that is packed.
        if type(tensor) is not Tensor or tensor.layout is not tt.strided or not tensor.numel():
            return tensor
        index = indices.get(_memory(tensor))
        if index is None:
            return tensor
        geometry = tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset()
        return _View(index, tensor.dtype, *geometry)

    def _unpack(self, kept: Any) -> Any:
        if not isinstance(kept, _View):
            return kept
        tensor = self._gathered_again()[kept.place]
        # A view in another dtype counts strides and offset in its own elements.
        if tensor.dtype is kept.dtype:
            return tensor.as_strided(kept.shape, kept.strides, kept.offset)
        view = tt.empty(0, dtype=kept.dtype, device=tensor.device)
        return view.set_(tensor.untyped_storage(), kept.offset, kept.shape, kept.strides)

    def _gathered_again(self) -> list[Tensor]:
        """Return the parameters whole, gathered once for a backward pass."""
        if self._gathered is None:
            self.run.touch(self)
            with tt.no_grad():
                self._gathered = self.gather()
            # The group that ran before this one in forward is the next that backward needs.
            earlier = self.run.before(self)
            if earlier is not None and earlier.reshard:
                earlier.start_gathering()
        return self._gathered


def _as_dtype(tensor: Tensor, dtype: tt.dtype) -> Tensor:
    """Return a tensor in its own dtype after it travelled in one for all; real ones in the company of complex ones."""
    return (tensor.real if tensor.is_complex() and not dtype.is_complex else tensor).to(dtype)


def _memory(tensor: Tensor) -> int:
    """Return what is the same number for views of one tensor; memory without an address is known by its object."""
    storage = tensor.untyped_storage()
    return storage.data_ptr() or id(storage)


def _owned(modules: Sequence[Module], ignored: set[Tensor]) -> list[tuple[_Place, Tensor]]:
    """Return the parameters that no inner group has, with their places; refuse those that another group has whole."""
    owned: dict[_Place, Tensor] = {}
    for module in modules:
        for prefix, inner in module.named_modules():
            for name, parameter in inner._parameters.items():
                if parameter is None or isinstance(parameter, ShardedParameter) or parameter in ignored:
                    continue
                if getattr(parameter, "_sharded", False):
                    full = f"{prefix}.{name}" if prefix else name
                    raise ValueError(
                        f"Parameter '{full}' is shared with a parameter already managed by another FSDP group. For "
                        "shared/tied parameters, use fully_shard([module_a, module_b]) to place them in the same FSDP "
                        "group."
                    )
                owned[_Place(inner, name)] = parameter
    return list(owned.items())


class _Gather(Function):
    """Gathers the parameters of a group; the gradient starts to average them."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, group: ShardGroup, averages: list[Average] | None, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.averages = group, averages
        ctx.set_materialize_grads(False)
        return tuple(group.gather())

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, *gradients: Tensor | None) -> tuple[Any, ...]:
        parameters = ctx.group.parameters
        average = None
        if any(gradient is not None for gradient in gradients):  # else nothing has used the module's results
            average = ctx.group.reduce(ctx.group.filled(gradients))
        if average is None:
            return None, None, *(None for _ in parameters)
        ctx.group.run.started(ctx.averages, average)
        # Placeholders of the right shape without memory: `_Collect` returns the averages instead.
        return None, None, *(parameter.new_zeros(()).expand(parameter.shape) for parameter in parameters)


class _Collect(Function):
    """Passes parameters on; the gradient waits for their averages."""

    @staticmethod
    def forward(
        ctx: FunctionCtx, group: ShardGroup, averages: list[Average], *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.group, ctx.averages = group, averages
        ctx.set_materialize_grads(False)
        return parameters

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, *gradients: Tensor | None) -> tuple[Any, ...]:
        # The list is shared with `_Gather`, and the same graph may run backward again.
        averages = ctx.averages[:]
        ctx.averages.clear()
        if not averages:  # gradients add up until they are averaged
            return None, None, *(None for _ in gradients)
        return None, None, *ctx.group.collect(averages)
