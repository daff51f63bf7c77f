"""DistributedDataParallel: one copy of a module on each rank, and gradients that are averages over all of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import tt
from tt import Tensor
from tt.distributed import collectives, objects, ranks, world
from tt.distributed.algorithms.join import Join, Joinable, JoinHook
from tt.distributed.debug_level import DebugLevel, get_debug_level
from tt.distributed.process_group import ProcessGroup
from tt.distributed.reducer import BuiltinCommHookType, Reducer
from tt.library import warn_user
from tt.nn.modules.module import Module
from tt.nn.utils.rnn import PackedSequence
from tt.types import Device
from tt.utils.data.collate import rebuild_mapping

if TYPE_CHECKING:
    from tt.distributed.device_mesh import DeviceMesh
    from tt.distributed.work import Work

__all__ = ["DistributedDataParallel"]

_log: Final = logging.getLogger(__name__)
_MEGABYTE = 1 << 20
_COALESCED = 250 * _MEGABYTE
"""How much of a module's state is sent at once."""


class DistributedDataParallel(Module, Joinable):
    """Trains copies of a module, one on each rank, whose gradients are averages over all ranks.

    All ranks start with rank 0's parameters and buffers.  While `backward` goes on, gradients are averaged in buckets;
    see Note [Overlap] in `tt.distributed.reducer`.

    Parameters
    ----------
    module : Module
        The module; the same on each rank.
    device_ids : list of (int or Device), optional
        The one GPU of this rank; None for the CPU, and for modules that are on their devices already.
    output_device : int or Device, optional
        The device of outputs.
    dim : int
        Deprecated, without effect.
    broadcast_buffers : bool
        Whether each forward starts with rank 0's buffers.
    init_sync : bool
        Whether parameters are compared between ranks and those of rank 0 are sent.
    process_group : ProcessGroup, optional
        The ranks; by default all.
    bucket_cap_mb : float, optional
        The megabytes of a bucket; 25 by default, and 1 for the first.
    find_unused_parameters : bool
        Whether each forward looks for parameters that its outputs do not depend on; others do not wait for them.
    check_reduction : bool
        Unused, as in PyTorch.
    gradient_as_bucket_view : bool
        Whether gradients are views of the buckets, which saves a copy and their memory.
    static_graph : bool
        Whether the same parameters are used in all passes: only the first forward looks.
    delay_all_reduce_named_params, param_to_hook_all_reduce : optional
        Not served.
    mixed_precision : optional
        Not served; see `tt.distributed.algorithms.ddp_comm_hooks` for compressed communication.
    device_mesh : DeviceMesh, optional
        A mesh of one dimension, instead of `process_group`.
    skip_all_reduce_unused_params : bool
        Unused.

    Raises
    ------
    RuntimeError
        No parameter requires a gradient, or parameters differ between ranks.
    ValueError
        Arguments do not go together, or the default group has not been initialized.

    Examples
    --------
    >>> import tt
    >>> from tt.distributed.engines.threads import run_threads
    >>> def train():
    ...     model = tt.nn.Linear(1, 1)
    ...     parallel = tt.nn.parallel.DistributedDataParallel(model)
    ...     parallel(tt.full((1, 1), float(tt.distributed.get_rank()))).sum().backward()
    ...     return model.weight.grad.item()
    >>> run_threads(train, 3)
    [1.0, 1.0, 1.0]
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: int | tt.device | None = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: object = None,
        param_to_hook_all_reduce: object = None,
        mixed_precision: object = None,
        device_mesh: DeviceMesh | None = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if check_reduction:
            warn_user(
                "DistributedDataParallel(): check_reduction is deprecated and has no effect", FutureWarning
            )
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"Only 1D device mesh is supported, but got {device_mesh}.")
            process_group = device_mesh.get_group(mesh_dim=0)
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("mixed_precision", mixed_precision),
        ):
            if value is not None:
                raise NotImplementedError(f"DistributedDataParallel(): {name} is not served")
        self.process_group = world.default_group() if process_group is None else process_group
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.parameters_to_ignore = ignored
        named = {name: p for name, p in module.named_parameters() if p.requires_grad and name not in ignored}
        parameters = list(named.values())
        if not parameters:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a "
                "gradient."
            )
        if device_ids is not None and len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        types = {parameter.device.type for parameter in parameters}
        if len(types) != 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but input module "
                f"parameters locate in {sorted(types)}."
            )
        self.module = module
        self.device = parameters[0].device
        self.device_type = self.device.type
        self.device_ids = (
            None if not device_ids or self.device_type == "cpu" else [tt.device(d) for d in device_ids]
        )
        self.output_device = output_device
        self.dim = dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.static_graph = static_graph
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * _MEGABYTE)
        # A small first bucket is full early in backward, so that communication starts early.
        first = min(_MEGABYTE, self.bucket_bytes_cap) if bucket_cap_mb is None else self.bucket_bytes_cap
        if init_sync:
            # Compared first: sending tensors of other shapes would hang or mix them up.
            self._verify_parameters()
            self._send_state(0)
        self.reducer = Reducer(
            parameters,
            self.process_group,
            self.bucket_bytes_cap,
            first,
            find_unused=find_unused_parameters and not static_graph,
            static_graph=static_graph,
            as_view=gradient_as_bucket_view,
            sparse=_sparse_places(module, parameters),
            names=list(named),
        )
        self._divide_by_initial_world_size = True
        if get_debug_level() is not DebugLevel.OFF:
            facts = (f"{name}: {value}" for name, value in self._get_ddp_logging_data().items())
            _log.info("DistributedDataParallel: %s", ", ".join(facts))

    # --- the state of the module ----------------------------------------------------------------------------------

    def _state(self, buffers_only: bool = False) -> list[Tensor]:
        named: list[tuple[str, Tensor]] = [] if buffers_only else list(self.module.named_parameters())
        named += list(self.module.named_buffers())
        return [tensor.detach() for name, tensor in named if name not in self.parameters_to_ignore]

    def _verify_parameters(self) -> None:
        """Raise unless all ranks have parameters of the same shapes and dtypes."""
        own = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        collected: list[Any] = [None] * ranks.get_world_size(self.process_group)
        objects.all_gather_object(collected, own, group=self.process_group)
        for rank, others in enumerate(collected):
            if len(others) != len(own):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {ranks.get_rank(self.process_group)} has "
                    f"{len(own)} params, while rank {rank} has inconsistent {len(others)} params."
                )
            for (name, shape, dtype), (_, other_shape, other_dtype) in zip(own, others, strict=True):
                if (shape, dtype) != (other_shape, other_dtype):
                    raise RuntimeError(
                        f"[{name}]: params[{name}] in this process with {dtype}{list(shape)} appears not to match "
                        f"{other_dtype}{list(other_shape)} of the same param in process {rank}."
                    )

    def _send_state(self, root: int, buffers_only: bool = False) -> None:
        """Give all ranks the state of one; tensors of one dtype and device go together."""
        together: dict[Any, list[Tensor]] = {}
        for tensor in self._state(buffers_only):
            together.setdefault((tensor.dtype, tensor.device), []).append(tensor)
        for tensors in together.values():
            for some in _portions(tensors):
                flat = tt.cat([tensor.reshape(-1) for tensor in some])
                collectives.broadcast(flat, group_src=root, group=self.process_group)
                for tensor, piece in zip(some, flat.split([t.numel() for t in some]), strict=True):
                    tensor.copy_(piece.view(tensor.shape))

    def _send_buffers(self) -> None:
        """Give all ranks the buffers of rank 0, if a forward does so."""
        if self.require_forward_param_sync and self.broadcast_buffers and self.reducer.size > 1:
            self._send_state(0, buffers_only=True)

    # --- a pass ---------------------------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module; afterwards `backward` averages gradients."""
        syncs = tt.is_grad_enabled() and self.require_backward_grad_sync
        work = Join.notify_join_context(self)
        self._set_divisor(work)
        self._send_buffers()
        if self._join_config.enable:
            # Ranks whose batches are used up answer each collective, so all must call the same ones in the
            # same order.
            self._all_require_sync(syncs)
        if self.device_ids:
            inputs, kwargs = _moved((inputs, kwargs), self.device_ids[0])
        outputs = self.module(*inputs, **kwargs)
        if syncs:
            # As in PyTorch, buffers are not sent in the forward that follows a pass without reduction.
            self.require_forward_param_sync = True
            self.reducer.prepare(outputs)
        else:
            self.require_forward_param_sync = False
            if tt.is_grad_enabled():
                self.reducer.skip()
        return outputs

    def _set_divisor(self, work: Work | None) -> None:
        """Divide by the number of ranks, or of those that have a batch if asked for."""
        self.reducer.divisor = self.reducer.size
        if work is not None and not self._divide_by_initial_world_size:
            work.wait()
            self.reducer.divisor = int(work.result()[0].item())

    def _all_require_sync(self, requires: bool) -> bool:
        """Tell ranks that are done whether this batch is reduced."""
        flag = tt.tensor([1.0 if requires else 0.0], device=self.device)
        collectives.all_reduce(flag, group=self.process_group)
        return bool(flag.item())

    @contextmanager
    def no_sync(self) -> Generator[None]:
        """Return a context in which gradients add up on each rank, and are not averaged.

        Forward and backward both lie within; the first pass after it averages the sum.
        """
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[[Any, Any], Any]) -> None:
        """Let ``hook(state, bucket)`` communicate; it returns a Future of the averaged tensor.

        Raises
        ------
        TypeError
            The hook is not callable.
        RuntimeError
            There is one already.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.reducer._hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.set_hook(state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        """Let a hook communicate that is chosen by name."""
        from tt.distributed.algorithms.ddp_comm_hooks import default_hooks  # seldom used

        hooks = {
            BuiltinCommHookType.ALLREDUCE: default_hooks.allreduce_hook,
            BuiltinCommHookType.FP16_COMPRESS: default_hooks.fp16_compress_hook,
        }
        if comm_hook_type not in hooks:
            raise TypeError(f"expected a BuiltinCommHookType, got {type(comm_hook_type).__name__}")
        self.register_comm_hook(self.process_group, hooks[comm_hook_type])

    # --- uneven inputs --------------------------------------------------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Return a context in which ranks may have different numbers of batches.

        See `tt.distributed.algorithms.Join`.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of a rank that has no batches left."""
        self._divide_by_initial_world_size = bool(kwargs.get("divide_by_initial_world_size", True))
        return _DDPJoinHook(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group."""
        return self.process_group

    # --- the rest -------------------------------------------------------------------------------------------------

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        """Return facts about this module and its buckets."""
        parameters = self.reducer._parameters
        return {
            "world_size": ranks.get_world_size(self.process_group),
            "rank": ranks.get_rank(self.process_group),
            "module_name": type(self.module).__name__,
            "backend_name": ranks.get_backend(self.process_group),
            "iteration": self.reducer.iterations,
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(p.numel() * p.element_size() for p in parameters),
            "dtypes": ", ".join(sorted({p.dtype.name for p in parameters})),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "bucket_sizes": ", ".join(map(str, self.reducer.bucket_sizes())),
            "has_rebuilt_buckets": int(self.reducer._arrival is None),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "broadcast_buffers": int(self.broadcast_buffers),
            "static_graph": int(self.static_graph),
            "comm_hook": getattr(self.reducer._hook, "__name__", ""),
        }

    def _set_params_and_buffers_to_ignore_for_model(self, names: Iterable[str]) -> None:
        self.module._ddp_params_and_buffers_to_ignore = list(names)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without what belongs to this process."""
        state = dict(self.__dict__)
        for name in ("process_group", "reducer"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Join the default group."""
        super().__setstate__(state)
        self.__init__(  # type: ignore[misc]  # initialised again, over the module that was read
            self.module,
            broadcast_buffers=self.broadcast_buffers,
            find_unused_parameters=self.find_unused_parameters,
            gradient_as_bucket_view=self.gradient_as_bucket_view,
            static_graph=self.static_graph,
        )


class _DDPJoinHook(JoinHook):
    """Answers the collectives of a forward and a backward."""

    def __init__(self, parallel: DistributedDataParallel) -> None:
        self._parallel = parallel

    def main_hook(self) -> None:
        """Take part with gradients of zero."""
        parallel = self._parallel
        # The collectives of `forward`, in its order.
        parallel._send_buffers()
        if parallel._all_require_sync(False):
            parallel.reducer.answer()

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the state of a rank that was among the last."""
        parallel = self._parallel
        rank = ranks.get_rank(parallel.process_group)
        # Several ranks may be last; the maximum makes all agree on one.
        candidate = tt.tensor([rank if is_last_joiner else -1], dtype=tt.int64, device=parallel.device)
        collectives.all_reduce(candidate, op=tt.distributed.ReduceOp.MAX, group=parallel.process_group)
        parallel._send_state(int(candidate.item()))


def _sparse_places(module: Module, parameters: Sequence[Tensor]) -> list[int]:
    """Return the numbers of the parameters that get sparse gradients."""
    kinds = (tt.nn.Embedding, tt.nn.EmbeddingBag)
    weights = {inner.weight for inner in module.modules() if isinstance(inner, kinds) and inner.sparse}
    return [index for index, parameter in enumerate(parameters) if parameter in weights]


def _portions(tensors: list[Tensor]) -> Generator[list[Tensor]]:
    some: list[Tensor] = []
    size = 0
    for tensor in tensors:
        if some and size > _COALESCED:
            yield some
            some, size = [], 0
        some.append(tensor)
        size += tensor.numel() * tensor.element_size()
    if some:
        yield some


def _moved(value: object, device: Device) -> Any:
    """Return arguments with their tensors on a device, those in lists, tuples and dicts, too."""
    # A packed sequence is a tuple whose batch sizes stay on the CPU.
    if isinstance(value, Tensor | PackedSequence):
        return value.to(device)
    if isinstance(value, dict):
        return rebuild_mapping(value, {key: _moved(item, device) for key, item in value.items()})
    if not isinstance(value, list | tuple):
        return value
    items = [_moved(item, device) for item in value]
    return items if isinstance(value, list) else getattr(type(value), "_make", tuple)(items)
