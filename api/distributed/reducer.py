"""Reducer: averages gradients between ranks in buckets, while backward goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from time import monotonic, sleep
from typing import Any, Final

import tt
from tt import Tensor
from tt.autograd._passes import watch_passes, when_pass_ends
from tt.distributed import collectives, ranks
from tt.distributed.process_group import ProcessGroup
from tt.distributed.sparse_reduction import SparseGradients
from tt.distributed.work import Work

__all__ = ["BuiltinCommHookType", "GradBucket", "Reducer"]

Hook = Callable[[Any, "GradBucket"], Any]

_SETTLING: Final = 2.0
"""Seconds for which a failing backward waits for started sums, where gradients lie in their memory."""

_UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `tt.nn.parallel.DistributedDataParallel`, and by "
    "making sure all `forward` function outputs participate in calculating loss. Parameter indices which did not "
    "receive grad for rank {rank}: {missing}, by name: {names}"
)
_TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function, or reentrant backwards: use checkpoint with use_reentrant=False. "
    "2) Parameters that are used, but not found from the outputs of `forward`. Parameter at index {place} has been "
    "marked as ready twice."
)


class BuiltinCommHookType(Enum):
    """Hooks for `DistributedDataParallel._register_builtin_comm_hook`."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2


class GradBucket:
    """Gradients of some parameters, one after the other in one tensor; the argument of communication hooks."""

    __slots__ = ("_arrived", "_buffer", "_index", "_last", "_parameters", "_views", "places")

    def __init__(self, index: int, last: bool, places: Sequence[int], parameters: Sequence[Tensor]) -> None:
        self._index, self._last = index, last
        self.places = list(places)
        self._parameters = list(parameters)
        first = parameters[0]
        count = sum(parameter.numel() for parameter in parameters)
        self.set_buffer(tt.zeros(count, dtype=first.dtype, device=first.device))
        self._arrived = 0

    def index(self) -> int:
        """Return its number; buckets are reduced in the order of their numbers."""
        return self._index

    def is_last(self) -> bool:
        """Return whether it is the last of a pass."""
        return self._last

    def buffer(self) -> Tensor:
        """Return the tensor of one dimension that holds the gradients."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Replace the tensor, by one of the same size."""
        self._buffer = buffer
        pieces = buffer.split([parameter.numel() for parameter in self._parameters])
        self._views = [piece.view(p.shape) for piece, p in zip(pieces, self._parameters, strict=True)]

    def gradients(self) -> list[Tensor]:
        """Return the gradients, views of `buffer`."""
        return list(self._views)

    def parameters(self) -> list[Tensor]:
        """Return the parameters."""
        return list(self._parameters)


class Reducer:
    """Averages the gradients of parameters between the ranks of a group.

    Note [Overlap]
    --------------
    A bucket is started when its last gradient has arrived, and backward goes on.  Buckets are started in the order of
    their numbers, which is the same on all ranks; the first pass starts with the reversed order of the parameters, and
    the order in which gradients arrived on rank 0 makes the buckets of all later ones.  The last gradient's hook
    waits for the sums still under way.

    Note [A backward that fails]
    ----------------------------
    It leaves the reducer as it was before: the same graph may run again, or a forward begin the next pass.  What has
    been started ends by itself, in an abandoned bucket.  Gradients of leaves that it had reached stay, as
    without ranks; they are this rank's own, or averages where they lie in buckets that have been sent.

    Parameters
    ----------
    parameters : sequence of Parameter
        Those that require gradients.
    group : ProcessGroup
        The ranks.
    bucket_bytes, first_bucket_bytes : int
        How much is reduced at once; the first bucket is smaller, so that it starts early.
    find_unused : bool
        Whether each pass looks for parameters that the outputs do not depend on.
    static_graph : bool
        Whether only the first one does.
    as_view : bool
        Whether gradients become views of the buckets, which saves a copy and their memory.
    sparse : collection of int
        The numbers of the parameters whose gradients are sparse; they belong to no bucket.
    names : sequence of str
        The names of the parameters, for errors.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        group: ProcessGroup,
        bucket_bytes: int,
        first_bucket_bytes: int,
        *,
        find_unused: bool = False,
        static_graph: bool = False,
        as_view: bool = False,
        sparse: Collection[int] = (),
        names: Sequence[str] = (),
    ) -> None:
        self._parameters = list(parameters)
        self._names = list(names)
        self._sparse = SparseGradients({position: self._parameters[position] for position in sparse}, group)
        self._group = group
        self.size = ranks.get_world_size(group)
        self.divisor = self.size
        self._limits = first_bucket_bytes, bucket_bytes
        self.find_unused = find_unused
        self.static_graph = static_graph
        self._as_view = as_view
        self._hook: Hook | None = None
        self._hook_state: Any = None
        self._arrival: list[int] | None = []
        """In which order gradients arrived; None once the buckets follow it."""
        self._unreached: list[int] | None = None
        self._waiting: Sequence[int] = ()
        """Parameters that count as used with the first gradient that arrives: this pass does not reach them."""
        self._ready: set[int] = set()
        self._unused_everywhere: frozenset[int] = frozenset()
        self._added_up: set[int] = set()
        """Parameters that got gradients of this rank alone since the last average; the next one counts them as used."""
        self.iterations = 0
        # Backward reaches parameters roughly in the reverse order of their registration.
        self._make_buckets(range(len(self._parameters) - 1, -1, -1))
        self._running = self._failed = False
        self._expected: Sequence[int] = ()
        self._before: tuple[set[int], int, Tensor | None] | None = None
        """What had arrived, how many buckets were started, and what was used, before the backward that runs; None
        outside of one."""
        watch_passes()
        self._handles = [
            parameter.register_post_accumulate_grad_hook(self._hook_of(position))
            for position, parameter in enumerate(self._parameters)
        ]

    # --- buckets --------------------------------------------------------------------------------------------------

    def _make_buckets(self, order: Iterable[int]) -> None:
        groups: dict[Any, list[list[int]]] = {}
        filled: dict[Any, int] = {}
        first, others = self._limits
        chosen: list[list[int]] = []
        for position in order:
            if position in self._sparse.places:
                continue
            parameter = self._parameters[position]
            # A bucket is one tensor, so it has one dtype and one device.
            kind = (parameter.dtype, parameter.device)
            held = groups.get(kind)
            # Only the bucket that is made first gets the small limit: it is the first that can be sent.
            limit = first if chosen and held and held[-1] is chosen[0] else others
            if held is None or filled[kind] >= limit:
                groups.setdefault(kind, []).append([])
                held = groups[kind]
                chosen.append(held[-1])
                filled[kind] = 0
            held[-1].append(position)
            filled[kind] += parameter.numel() * parameter.element_size()
        self.buckets = [
            GradBucket(
                index,
                index == len(chosen) - 1,
                positions,
                [self._parameters[position] for position in positions],
            )
            for index, positions in enumerate(chosen)
        ]
        self._bucket_of = {position: (b, i) for b in self.buckets for i, position in enumerate(b.places)}

    def rebuild(self) -> None:
        """After the first pass, make the buckets follow the arrival of gradients on rank 0."""
        # Where passes look for unused parameters, the order of one pass says nothing about the next.
        if self._arrival is None or self.iterations == 0 or self.find_unused:
            return
        missing = sorted(self._bucket_of.keys() - set(self._arrival), reverse=True)
        # The list names all parameters of buckets, so it is equally long on all ranks, and can be
        # broadcast.
        order = tt.tensor([*self._arrival, *missing], dtype=tt.int64, device=self._parameters[0].device)
        collectives.broadcast(order, group_src=0, group=self._group)
        self._arrival = None
        self._make_buckets(order.tolist())

    def bucket_sizes(self) -> list[int]:
        """Return the bytes of each bucket."""
        return [bucket.buffer().numel() * bucket.buffer().element_size() for bucket in self.buckets]

    def set_hook(self, state: object, hook: Hook) -> None:
        """Let a hook communicate instead of an average by all_reduce."""
        self._hook_state, self._hook = state, hook

    # --- a pass ---------------------------------------------------------------------------------------------------

    def prepare(self, outputs: object) -> None:
        """Expect the gradients of a backward pass from these outputs.

        Raises
        ------
        RuntimeError
            Those of the pass before have not all come.
        """
        if self._running and self._ready:  # a forward without a backward, for validation say, is none of them
            missing = sorted(set(range(len(self._parameters))) - self._ready)
            names = ", ".join(self._names[position] for position in missing if self._names)
            rank = ranks.get_rank(self._group)
            raise RuntimeError(_UNFINISHED.format(rank=rank, missing=missing, names=names))
        self.rebuild()
        self._running, self._failed = True, False
        self._ready = set()
        # On the CPU, for the hooks write single elements; `_share_use` moves it to the device once.
        self._used = tt.zeros(len(self._parameters), dtype=tt.int32) if self._looks() else None
        self._next = 0
        self._works: list[tuple[GradBucket, Any]] = []
        for bucket in self.buckets:
            bucket._arrived = 0
        self._expected = self._waiting = list(self._unused(outputs))

    def skip(self) -> None:
        """Note a forward whose gradients are not averaged: it gives up a pass that has failed."""
        if self._failed:
            self._running = self._failed = False

    def _looks(self) -> bool:
        """Return whether this pass finds out which parameters are used."""
        return self.find_unused or (self.static_graph and self._unreached is None)

    def _unused(self, outputs: object) -> Iterable[int]:
        """Return the parameters that no gradient will come for."""
        if self._used is None:
            return self._unreached or ()
        reached = _leaves(outputs)
        unused = [
            position for position, parameter in enumerate(self._parameters) if id(parameter) not in reached
        ]
        if self.static_graph:
            self._unreached = unused
        return unused

    def _hook_of(self, place: int) -> Callable[[Tensor], None]:
        def arrived(parameter: Tensor) -> None:
            if self._running:
                self._take(place, parameter)
            elif parameter.grad is not None:
                self._added_up.add(place)

        return arrived

    def _take(self, place: int, parameter: Tensor) -> None:
        """Take up a gradient that has arrived, and at first those that will not come."""
        if self._before is None:
            self._enter()
        if self._waiting:
            # Now, not in `prepare`: in between gradients are set to zero, and those that added up without
            # communication are not.
            waiting, self._waiting = self._waiting, ()
            for other in waiting:
                gradient = self._parameters[other].grad
                if self._used is not None and gradient is not None and other in self._added_up:
                    self._used[other] = 1
                self._fill(other, gradient)
                self._arrived(other)
        if place in self._ready:
            raise RuntimeError(_TWICE.format(place=place))
        gradient = parameter.grad
        self._sparse.check(place, gradient)
        if self._used is not None and gradient is not None:  # a pass may reach a leaf without a gradient
            self._used[place] = 1
        view = self._fill(place, gradient)
        if view is not None:
            if self._as_view:
                # The sum arrives in this memory, so `hand_out` has nothing to copy.
                parameter.grad = view
            if self._arrival is not None and not self.find_unused:
                self._arrival.append(place)
        self._arrived(place)

    def _fill(self, place: int, gradient: Tensor | None) -> Tensor | None:
        """Copy a gradient, or zero, into its bucket, and return its place there; sparse ones have none."""
        location = self._bucket_of.get(place)
        if location is None:
            return None
        bucket, index = location
        view = bucket._views[index]
        if self._alone():
            return view
        with tt.no_grad():
            if gradient is None:
                view.zero_()
            # Divided before the sum, as PyTorch does: the sum itself could overflow in float16. A hook
            # divides for itself.
            elif self._hook is None and self.divisor > 1:
                tt.mul(gradient.detach(), 1.0 / self.divisor, out=view)
            # With `as_view` the gradient lies in the bucket already.
            elif gradient.data_ptr() != view.data_ptr():
                view.copy_(gradient)
        return view

    def _arrived(self, place: int) -> None:
        self._ready.add(place)
        location = self._bucket_of.get(place)
        if location is not None:
            location[0]._arrived += 1
        # A later bucket that is full waits for those before it: ranks whose gradients arrive in different
        # orders must still call the same collectives in the same order.
        while self._next < len(self.buckets):
            bucket = self.buckets[self._next]
            if bucket._arrived < len(bucket.places):
                return
            self._works.append((bucket, self._start(bucket)))
            self._next += 1
        if len(self._ready) == len(self._parameters):
            self._finish()

    def _alone(self) -> bool:
        """Return whether gradients are averages already."""
        return self.size == 1 and self._hook is None and not self._as_view

    def _start(self, bucket: GradBucket) -> Any:
        if self._alone():
            return None
        if self._hook is not None:
            return self._hook(self._hook_state, bucket)
        return collectives.all_reduce(bucket.buffer(), group=self._group, async_op=True)

    def _finish(self) -> None:
        """Wait for all buckets, and hand out the gradients."""
        self._running = False
        self._added_up.clear()
        if self._used is not None:
            # `answer`, on ranks without batches, calls the same collectives in the same order.
            self._share_use(self._used)
        if not self._alone():
            self._sparse.start(True, self.divisor)
            self._hand_out(self._works)
        self._works = []
        self.iterations += 1

    def _hand_out(self, works: list[tuple[GradBucket, Any]]) -> None:
        """Wait for all buckets, and give each parameter its average."""
        for bucket, work in works:
            self._receive(bucket, work.wait())
            for position, parameter, view in zip(
                bucket.places, bucket._parameters, bucket._views, strict=True
            ):
                if position in self._unused_everywhere:
                    continue  # its gradient stays as it is
                if self._as_view:
                    parameter.grad = view
                elif parameter.grad is None:
                    # The next pass overwrites the bucket.
                    parameter.grad = view.clone()
                else:
                    with tt.no_grad():
                        parameter.grad.copy_(view)
        self._sparse.hand_out(self._unused_everywhere)

    def _receive(self, bucket: GradBucket, reduced: Any) -> None:
        """Copy a hook's result into its bucket."""
        if self._hook is not None:
            average = reduced[0] if isinstance(reduced, list | tuple) else reduced
            if average is not bucket.buffer():
                bucket.buffer().copy_(average)

    # --- a backward that fails --------------------------------------------------------------------------------------

    def _enter(self) -> None:
        """Remember what there is at the first gradient of a backward, and see whether it fails."""
        if when_pass_ends(self._leave):
            used = None if self._used is None else self._used.clone()
            self._before = set(self._ready), self._next, used

    def _leave(self, failed: bool) -> None:
        before, self._before = self._before, None
        if failed and before is not None:
            self._undo(*before)
        elif self._running and self._ready and when_pass_ends(self._leave):  # it was part of another backward
            self._before = before

    def _undo(self, ready: set[int], started: int, used: Tensor | None) -> None:
        """Return to the state in which these had arrived, and so many buckets had been started."""
        arrived, works = self._ready - ready, self._works[started:]
        self._added_up |= arrived - set(self._expected)  # gradients that stay, and may not come a second time
        self._running = self._failed = True
        self._ready, self._next = ready, started
        self._works = self._works[:started]
        self._waiting = () if ready else self._expected
        if self._arrival is not None:
            del self._arrival[len(ready) :]
        self._used = used
        self._sparse.forget()
        # One limit for all buckets together: a rank that hangs delays the error only once.
        limit = monotonic() + _SETTLING
        for bucket, work in works:
            # Sums still under way may write into the old memory at any time, so the next attempt needs
            # its own. Where gradients lie in it, it is kept if the sums end in time.
            if not (self._as_view and self._settled(bucket, work, limit)):
                self._replace(bucket)
        sent = {position for bucket, _ in works for position in bucket.places}
        # `_fill` has divided these, and nobody has added them up: they become this rank's own gradients
        # again.
        scaled = arrived - sent if self._hook is None and not self._alone() else set()
        for position in self._bucket_of:
            bucket, index = self._bucket_of[position]
            view, gradient = bucket._views[index], self._parameters[position].grad
            # The bucket was replaced or averaged since this gradient was copied into it.
            if position in ready and position in sent:
                self._fill(position, gradient)
            elif position in scaled and gradient is not None and gradient.data_ptr() == view.data_ptr():
                gradient.detach().mul_(self.divisor)
        for bucket in self.buckets:
            bucket._arrived = sum(position in ready for position in bucket.places)

    def _settled(self, bucket: GradBucket, work: Any, limit: float) -> bool:
        """Wait for a bucket that gradients lie in; return whether their averages have come."""
        done = work.is_completed if isinstance(work, Work) else work.done
        while not done():
            if monotonic() > limit:
                return False
            # Futures of hooks have no wait with a timeout.
            sleep(1e-3)
        try:
            self._receive(bucket, work.wait())
        except Exception:  # whoever uses the group next hears of it
            return False
        return True

    def _replace(self, bucket: GradBucket) -> None:
        """Replace a bucket that is still being sent; gradients that lie in it are lost."""
        parameters = bucket.parameters()
        new = GradBucket(bucket.index(), bucket.is_last(), bucket.places, parameters)
        self.buckets[bucket.index()] = new
        for index, position in enumerate(bucket.places):
            self._bucket_of[position] = new, index
            if self._as_view:
                parameters[index].grad = None

    # --- ranks that have no batches left ----------------------------------------------------------------------------

    def answer(self) -> None:
        """Take part in a pass of the other ranks with gradients of zero; the averages arrive here as well."""
        self.rebuild()
        # Counted like the pass of the others, or `rebuild` would be called on some ranks only.
        self.iterations += 1
        self._added_up.clear()
        works = []
        for bucket in self.buckets:
            bucket.buffer().zero_()
            works.append((bucket, self._start(bucket)))
        # In the order of `_finish`: which parameters are used, then sparse gradients.
        if self._looks():
            self._unreached = [] if self.static_graph else None
            self._share_use(tt.zeros(len(self._parameters), dtype=tt.int32))
        self._sparse.start(False, self.divisor)
        self._hand_out(works)

    def _share_use(self, used: Tensor) -> None:
        """Find out which parameters no rank has used."""
        used = used.to(self._parameters[0].device)
        collectives.all_reduce(used, group=self._group)
        self._unused_everywhere = frozenset(
            position for position, count in enumerate(used.tolist()) if not count
        )


def _tensors(outputs: object) -> Iterator[Tensor]:
    """Return the tensors in outputs: in lists, tuples, dicts of any class and data classes, as PyTorch finds them."""
    if isinstance(outputs, Tensor):
        yield outputs
        return
    items: Iterable[object] = ()
    if isinstance(outputs, list | tuple):
        items = outputs
    elif isinstance(outputs, dict):
        items = outputs.values()
    elif is_dataclass(outputs) and not isinstance(outputs, type):
        items = [getattr(outputs, field.name) for field in fields(outputs)]
    for item in items:
        yield from _tensors(item)


def _leaves(outputs: object) -> set[int]:
    """Return the ids of the leaves that outputs depend on."""
    # A stack instead of recursion: graphs are deeper than Python's limit.
    tensors = list(_tensors(outputs))
    stack = [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]
    # An output may be a parameter itself, which no node leads to.
    leaves = {id(tensor) for tensor in tensors if tensor.grad_fn is None}
    seen = set(stack)
    while stack:
        node = stack.pop()
        variable = getattr(node, "variable", None)
        if variable is not None:
            leaves.add(id(variable))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                stack.append(following)
    return leaves
