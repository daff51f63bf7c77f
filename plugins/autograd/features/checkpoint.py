"""Checkpointing: the backward pass recomputes values that the forward pass did not keep.

Note [Checkpoints]
------------------
Inside a checkpoint, the hooks on saved tensors replace each tensor by an empty `Holder`.  The first holder that a
backward pass unpacks runs the function again, under hooks that fill the holders in the order in which they were made;
values without a live holder are dropped.  A separate node saves the arguments, so that the holders of an outer
checkpoint apply to them, too: nested checkpoints keep only the arguments of the outermost.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from tt.core.library import STATE as DISPATCH
from tt.core.library import (
    Block,
    Carried,
    Generator,
    Tensor,
    TensorBase,
    alias,
    ambient_of,
    default_states,
    errors,
    fork_safe_lock,
    get_default_device,
    ops,
    set_default_states,
    warn_user,
)
from tt.plugins.autograd.custom.function import Function
from tt.plugins.autograd.features.checkpoint_log import OperatorLog, both_runs
from tt.plugins.autograd.features.saved_hooks import saved_tensors_hooks
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.modes import recording
from tt.plugins.autograd.record.saved import same_kind
from tt.plugins.autograd.transforms.levels import BIT as WRAPPED

__all__ = [
    "CheckpointFunction",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "recompute_within",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class _Settings(Carried):
    stop: bool | None = None
    debug: bool | None = None
    within: Callable[[], AbstractContextManager[Any]] = nullcontext


_SETTINGS = _Settings()


class set_checkpoint_early_stop(Block):  # noqa: N801 - PyTorch's name
    """Sets for a `with` block whether a recomputation stops as soon as all saved tensors exist.

    Parameters
    ----------
    enable : bool
        Applies to checkpoints made in the block and overrides their own `early_stop`.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> x = tt.ones(2, requires_grad=True)
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(tt.sin, x, use_reentrant=False)
    """

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def _look(self) -> bool | None:
        return _SETTINGS.stop

    def _begin(self) -> None:
        _SETTINGS.stop = self.enable

    def _end(self, before: bool | None) -> None:
        _SETTINGS.stop = before


class set_checkpoint_debug_enabled(Block):  # noqa: N801 - PyTorch's name
    """Sets for a `with` block whether checkpoints log their operators, for the errors of the second run.

    Parameters
    ----------
    enabled : bool, optional
        Applies to checkpoints made in the block and overrides their own `debug`; None leaves it to them.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.checkpoint import checkpoint, set_checkpoint_debug_enabled
    >>> x = tt.ones(2, requires_grad=True)
    >>> with set_checkpoint_debug_enabled(True):
    ...     y = checkpoint(tt.sin, x, use_reentrant=False)
    """

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def _look(self) -> bool | None:
        return _SETTINGS.debug

    def _begin(self) -> None:
        _SETTINGS.debug = self.enabled

    def _end(self, before: bool | None) -> None:
        _SETTINGS.debug = before


class recompute_within(Block):  # noqa: N801 - reads as a statement: with recompute_within(context)
    """Lets checkpoints in a `with` block run their functions again inside of a context.

    For libraries that change modules for as long as forward runs: the second run of a function needs the same change.
    Of blocks in each other the innermost counts.

    Parameters
    ----------
    context : callable
        Returns the context manager of a second run.
    """

    def __init__(self, context: Callable[[], AbstractContextManager[Any]]) -> None:
        self.context = context

    def _look(self) -> Callable[[], AbstractContextManager[Any]]:
        return _SETTINGS.within

    def _begin(self) -> None:
        _SETTINGS.within = self.context

    def _end(self, before: Callable[[], AbstractContextManager[Any]]) -> None:
        _SETTINGS.within = before


class _AllThere(Exception):  # noqa: N818 - not an error: it ends the second run of a function
    """Every saved tensor has been computed again."""


class Holder:
    """Represents a saved tensor that is not kept."""

    __slots__ = ("__weakref__", "facts", "tensor")

    def __init__(self, facts: tuple[Any, ...]) -> None:
        self.facts = facts
        self.tensor: Any = None


class _Arguments(Function):
    """Saves tensors in the graph and returns nothing of use."""

    @staticmethod
    def forward(dummy: Any, *tensors: Any) -> Any:
        """Return an empty tensor."""
        return ops.empty((0,))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the tensors."""
        ctx.save_for_backward(*inputs[1:])


def _kept(tensors: Sequence[Any]) -> Callable[[], Sequence[Any]]:
    """Return a function that returns tensors, which are kept as autograd saves them: with their versions, and hooks.

    Tensors that a transform wraps are kept as they are: what autograd saves lies below the transform, and the second
    run needs what the first one got.
    """
    if any(tensor._keys & WRAPPED for tensor in tensors):
        kept = list(tensors)
        return lambda: kept
    # A node is made only if an argument requires a gradient, and none of the function's may.
    anchor = ops.empty((0,))
    anchor.requires_grad = True
    node = _Arguments.apply(anchor, *tensors).grad_fn
    return lambda: node.saved_tensors


def _facts(tensor: Tensor) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.dtype, tensor.device


def _without_history(tensor: Tensor) -> Any:
    """Return a tensor, or an alias if it has a history, which would keep it alive; modes do not see it."""
    return same_kind(alias(tensor, STATE.bit), tensor) if tensor._keys & STATE.bit else tensor


class Frame:
    """One call of a function under a checkpoint.

    Parameters
    ----------
    again : callable
        Runs the function once more.
    check : bool
        Whether the tensors must have the same shape, dtype and device then.
    early_stop : bool
        Whether to stop the second run when all tensors are there.
    logs : tuple of OperatorLog, optional
        The operators of the two runs, which an error shows.

    Attributes
    ----------
    completed : bool
        Whether the first run has ended.  Before, a function that takes gradients in itself needs what it has saved.
    """

    def __init__(
        self,
        again: Callable[[], object],
        check: bool,
        early_stop: bool,
        logs: tuple[OperatorLog, OperatorLog] | None = None,
    ) -> None:
        self._again, self._check, self._early_stop, self._logs = again, check, early_stop, logs
        self.completed = False
        self._holders: list[weakref.ref[Holder]] = []
        self._lock = fork_safe_lock()

    def pack(self, tensor: Tensor) -> Holder:
        """Return a holder that replaces a tensor."""
        holder = Holder(_facts(tensor))
        # Weak: a holder whose part of the graph is gone needs no value in the second run.
        self._holders.append(weakref.ref(holder))
        return holder

    def unpack(self, holder: Holder) -> Any:
        """Return the tensor of a holder, computing all of them again if it is not there."""
        # Two backward passes in two threads may ask for the first value at once.
        with self._lock:
            if holder.tensor is None:
                try:
                    self._fill()
                except errors.CheckpointError as error:
                    if self._logs is None:
                        raise
                    raise errors.CheckpointError(f"{error}\n{both_runs(*self._logs)}") from error
            # Each value is handed out once, so that its memory is free when its node has run; a kept graph
            # computes again.
            tensor, holder.tensor = holder.tensor, None
        return tensor

    def _fill(self) -> None:
        count = 0

        def keep(tensor: Tensor) -> Any:
            nonlocal count
            if count == len(self._holders):
                if not self.completed:
                    return _without_history(tensor)  # the first run will save it, too
                raise errors.CheckpointError(
                    f"a checkpointed function saved {count} tensors in the forward pass, and more when it ran again"
                )
            holder = self._holders[count]()
            count += 1
            if holder is not None:
                if self._check and holder.facts != _facts(tensor):
                    raise errors.CheckpointError(
                        f"a checkpointed function saved other tensors when it ran again: tensor {count - 1} was "
                        f"{_words(holder.facts)} and is {_words(_facts(tensor))}"
                    )
                holder.tensor = tensor
            if self._early_stop and count == len(self._holders):
                # An exception is the only way out of a function that is not ours.
                raise _AllThere
            return _without_history(tensor)  # for a backward pass that the function runs in itself

        try:
            # Backward passes run with recording off, and without a graph nothing would be saved.
            with recording(True), saved_tensors_hooks(keep, lambda kept: kept):
                self._again()
        except _AllThere:
            pass
        if count != len(self._holders):
            raise errors.CheckpointError(
                f"a checkpointed function saved {len(self._holders)} tensors in the forward pass, and {count} when it "
                "ran again: does it depend on something that has changed?"
            )


def _words(facts: tuple[Any, ...]) -> str:
    shape, dtype, device = facts
    return f"{dtype} {list(shape)} on {device}"


class _RandomState:
    """The states of the default generators, and of generators among the arguments of a call."""

    def __init__(self, args: Sequence[Any]) -> None:
        self._generators = [value for value in args if isinstance(value, Generator)]
        self._defaults, self._states = default_states(), [g.get_state() for g in self._generators]

    def _restore(self) -> None:
        set_default_states(self._defaults)
        for generator, state in zip(self._generators, self._states, strict=True):
            generator.set_state(state)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw the same random numbers again, and restore the generators afterwards."""
        # The second run must not move on the generators that the program draws from.
        before = _RandomState(self._generators)
        self._restore()
        try:
            yield
        finally:
            before._restore()


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return two contexts that do nothing: the default of `context_fn`.

    Examples
    --------
    >>> from tt.utils.checkpoint import noop_context_fn
    >>> first, second = noop_context_fn()
    """
    return nullcontext(), nullcontext()


def _warn_of_default(function: str) -> None:
    warn_user(
        f"{function}(): the use_reentrant parameter should be passed explicitly\n  try: use_reentrant=False"
    )


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[
        [], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]
    ] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Call a function without keeping what its gradient needs: the backward pass runs it again.

    Parameters
    ----------
    function : callable
        Takes and returns anything.
    *args, **kwargs
        Its arguments.
    use_reentrant : bool
        Whether keyword arguments of the function, `context_fn` and `debug` are refused, as by PyTorch's older way, a
        backward pass inside another. Gradients are always computed by the newer one, which gives the same. Leaving it
        out is deprecated.
    context_fn : callable
        Returns two context managers: for the first run, and for the second.  Those of
        `create_selective_checkpoint_contexts` keep the results of some operators.
    determinism_check : str
        "default": the tensors of the second run must have the shapes, dtypes and devices of the first; "none".
    debug : bool
        Log the operators of both runs, and show them when the second run differs from the first.
    early_stop : bool
        Stop the second run as soon as everything that is needed is there.
    preserve_rng_state : bool
        Draw the same random numbers in the second run, also from generators among the arguments.

    Raises
    ------
    CheckpointError
        In the backward pass, when the second run differs from the first; at once, when the first context suppresses
        an exception of the function.
    ValueError
        For `debug` together with `context_fn`, an unknown `determinism_check`, and what `use_reentrant` refuses.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.checkpoint import checkpoint
    >>> x = tt.ones(2, requires_grad=True)
    >>> y = checkpoint(lambda t: t.sin().cos(), x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad
    tensor([-0.4029, -0.4029])
    """
    if use_reentrant is None:
        _warn_of_default("checkpoint")
    if use_reentrant and (kwargs or debug or context_fn is not noop_context_fn):
        refused = next(iter(kwargs), "debug" if debug else "context_fn")
        raise errors.ValueRangeError(f"checkpoint(): {refused} needs use_reentrant=False")
    if determinism_check not in ("default", "none"):
        raise errors.ValueRangeError(f"determinism_check is 'default' or 'none', not {determinism_check!r}")
    # Nothing is saved then, so there is nothing to replace.
    if not STATE.enabled():
        return function(*args, **kwargs)
    logs = None
    if debug if _SETTINGS.debug is None else _SETTINGS.debug:
        if context_fn is not noop_context_fn:
            raise errors.ValueRangeError("checkpoint(): debug=True does not go together with context_fn")
        logs = OperatorLog(), OperatorLog()
    first, second = context_fn() if logs is None else logs
    # The backward pass may run elsewhere: under another default device, other modes, or in another thread.
    device, ambient = get_default_device(), ambient_of(DISPATCH.ambient_here())
    state = _RandomState([*args, *kwargs.values()]) if preserve_rng_state else None
    names = list(kwargs)
    inputs, positions = [*args, *kwargs.values()], []
    tensors = []
    for position, value in enumerate(inputs):
        if isinstance(value, TensorBase):
            positions.append(position)
            tensors.append(value)
            # Only `_kept` holds the tensors: with their versions, and through hooks of outer checkpoints.
            inputs[position] = None
    within = _SETTINGS.within
    arguments = _kept(tensors)
    del tensors

    def again() -> None:
        values = list(inputs)
        for position, value in zip(positions, arguments(), strict=True):
            values[position] = value
        count = len(values) - len(names)
        with within(), device, ambient, second, nullcontext() if state is None else state.again():
            function(*values[:count], **dict(zip(names, values[count:], strict=True)))

    stop = early_stop if _SETTINGS.stop is None else _SETTINGS.stop
    frame = Frame(again, determinism_check == "default", stop, logs)
    with first, saved_tensors_hooks(frame.pack, frame.unpack):
        result = function(*args, **kwargs)
        frame.completed = True
        return result
    raise errors.CheckpointError(
        "the first context of a checkpoint's context_fn suppressed an exception of the function, so it returned nothing"
    )


class CheckpointFunction(Function):
    """`checkpoint` with `use_reentrant=True` in the form of a function with a gradient, as programs call it.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.checkpoint import CheckpointFunction
    >>> x = tt.tensor([3.0], requires_grad=True)
    >>> CheckpointFunction.apply(lambda t: t * t, True, x).backward()
    >>> x.grad
    tensor([6.])
    """

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call a function, whose tensors are computed again when the backward pass needs them.

        Parameters
        ----------
        *args
            The function, whether the second run draws the same random numbers, and the arguments of the function.
        """
        run_function, preserve_rng_state, *rest = args
        return checkpoint(run_function, *rest, use_reentrant=True, preserve_rng_state=preserve_rng_state)


def checkpoint_sequential(
    functions: Sequence[Callable[..., Any]] | Any,
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Call functions one after the other in segments, of which all but the last are checkpoints.

    Parameters
    ----------
    functions : sequence of callable
        Each takes the result of the one before.
    segments : int
        How many segments to make.
    input : Tensor
        The arguments of the first function.
    use_reentrant : bool
        As of `checkpoint`.
    **kwargs
        preserve_rng_state.

    Examples
    --------
    >>> import tt
    >>> from tt.utils.checkpoint import checkpoint_sequential
    >>> x = tt.ones(2, requires_grad=True)
    >>> checkpoint_sequential([tt.sin, tt.cos, tt.exp], 2, x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-0.7844, -0.7844])
    """
    if use_reentrant is None:
        _warn_of_default("checkpoint_sequential")
        use_reentrant = False
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise errors.ArgumentError(
            "checkpoint_sequential", f"got an unexpected argument {next(iter(kwargs))!r}"
        )
    listed = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= max(len(listed), 1):
        raise errors.ValueRangeError(
            f"checkpoint_sequential: {len(listed)} functions are split into 1 to {len(listed)} segments, not {segments}"
        )
    size = len(listed) // segments

    def chain(part: Sequence[Callable[..., Any]]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for function in part:
                value = function(value)
            return value

        return run

    for number in range(segments - 1):
        part = listed[number * size : (number + 1) * size]
        input = checkpoint(chain(part), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return chain(listed[(segments - 1) * size :])(input)
