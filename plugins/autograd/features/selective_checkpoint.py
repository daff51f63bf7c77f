"""Selective checkpointing: a policy decides which results a checkpoint keeps and which it computes again.

Note [What a policy saves]
--------------------------
A mode below autograd sees the operators of the forward pass and keeps the results that the policy saves, by operator
and by the number of its call.  A second mode sees the same calls when the function runs again, and returns what was
kept.
Three kinds of operators run in any case, whatever the policy says:

- views, which cost nothing: a kept view would be a view of the first run's tensor, not of the second's;
- operators that change their arguments, since the second run needs the change, too;
- operators that draw random numbers, since those after them must draw the same numbers again.  What the policy saves
  is returned all the same, so it need not be random in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Final

from tt.core.library import Operator, Tensor, TTDispatchMode, errors, ops

__all__ = ["CheckpointPolicy", "SelectiveCheckpointContext", "create_selective_checkpoint_contexts"]


class CheckpointPolicy(Enum):
    """How a selective checkpoint treats the result of an operator.

    `MUST_` and `PREFER_` mean the same here; in PyTorch a compiler may override the second.

    Attributes
    ----------
    MUST_SAVE, PREFER_SAVE
        Keep the result until the backward pass.
    MUST_RECOMPUTE, PREFER_RECOMPUTE
        Compute it again.
    MUST_CPU_OFFLOAD, PREFER_CPU_OFFLOAD
        Keep it in the host's memory, and bring it back for the backward pass.

    Examples
    --------
    >>> from tt.utils.checkpoint import CheckpointPolicy
    >>> CheckpointPolicy.MUST_SAVE
    <CheckpointPolicy.MUST_SAVE: 0>
    """

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVED: Final = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)
_OFFLOADED: Final = (CheckpointPolicy.MUST_CPU_OFFLOAD, CheckpointPolicy.PREFER_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """The first argument of a policy.

    Parameters
    ----------
    is_recompute : bool
        False: policies are called in the forward pass only.
    op_output : object
        The result of the operator.

    Examples
    --------
    >>> from tt.utils.checkpoint import SelectiveCheckpointContext
    >>> SelectiveCheckpointContext(is_recompute=False).op_output is None
    True
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Kept:
    """A tensor that is kept, without its history."""

    __slots__ = ("_device", "_tensor", "_version")

    def __init__(self, tensor: Tensor, offload: bool) -> None:
        self._device = tensor.device
        self._tensor = ops.detach(tensor)
        if offload and self._device.type != "cpu":
            self._tensor = self._tensor.to("cpu")
        self._version = self._tensor._version

    def tensor(self, may_have_changed: bool) -> Any:
        """Return the tensor, unless it was changed in place."""
        if self._tensor._version != self._version and not may_have_changed:
            raise errors.CheckpointError(
                f"a result of shape {list(self._tensor.shape)} that a selective checkpoint keeps was changed in place\n"
                "  try: a clone() before the change, or CheckpointPolicy.PREFER_RECOMPUTE for the operator"
            )
        return self._tensor.to(self._device)


_USED: Final = object()
_AGAIN: Final = object()
"""Stands for a result: returned in a backward pass already; to be computed again."""

_Storage = dict[Any, list[Any]]


def _each(result: Any, change: Callable[[Any], Any], kind: type[Any]) -> Any:
    """Return a result with a function applied to each object of a class."""
    if isinstance(result, kind):
        return change(result)
    if isinstance(result, list | tuple):
        kind_of_all: Any = type(result)
        return kind_of_all([_each(item, change, kind) for item in result])
    return result


def _must_run(function: Any) -> bool:
    """Return whether an operator is a view or changes its arguments."""
    operator = function.operator
    return bool(operator.definition.kind == "view" or function.form != "functional" or operator.mutates)


class _First(TTDispatchMode):
    """Keeps the values that the policy saves."""

    def __init__(self, policy: Callable[..., Any], storage: _Storage) -> None:
        self._policy, self._storage = policy, storage

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if (
            func.operator.name == "detach"
        ):  # autograd's own calls, of which the two runs make different numbers
            return result
        context = SelectiveCheckpointContext(is_recompute=False, op_output=result)
        policy = self._policy(context, func, *args, **kwargs)
        if isinstance(policy, bool):
            policy = CheckpointPolicy.MUST_SAVE if policy else CheckpointPolicy.PREFER_RECOMPUTE
        if not isinstance(policy, CheckpointPolicy):
            raise errors.ArgumentError(
                "create_selective_checkpoint_contexts",
                f"the policy returned {policy!r} for {func.name}, which is not a CheckpointPolicy",
            )
        offload = policy in _OFFLOADED
        if _must_run(func) or not (offload or policy in _SAVED):
            self._storage[func].append(_AGAIN)
        else:
            self._storage[func].append(_each(result, lambda tensor: _Kept(tensor, offload), Tensor))
        return result


class _Second(TTDispatchMode):
    """Returns what was kept, and has the rest computed."""

    def __init__(self, storage: _Storage, may_have_changed: bool) -> None:
        self._storage, self._may_have_changed = storage, may_have_changed
        self._calls: dict[Any, int] = defaultdict(int)

    def __enter__(self) -> Any:
        self._calls.clear()  # a graph that is kept runs again from the start
        return super().__enter__()

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func.operator.name == "detach":
            return func(*args, **kwargs)
        number = self._calls[func]
        self._calls[func] += 1
        kept = self._storage.get(func, [])
        if number >= len(kept):
            raise errors.CheckpointError(
                f"a selective checkpoint called {func.name} {len(kept)} times in the forward pass, and more often when "
                "it ran again: does it depend on something that has changed?"
            )
        entry = kept[number]
        if entry is _USED:
            raise errors.CheckpointError(
                "a second backward pass through a selective checkpoint needs results that the first has released\n"
                "  try: checkpoint() without a policy, or one backward pass of the sum of the losses"
            )
        if entry is _AGAIN:
            return func(*args, **kwargs)
        # For the state of the generator: operators that follow must draw what they drew in the first run.
        if "random" in func.operator.definition.tags:
            func(*args, **kwargs)
        result = _each(entry, lambda one: one.tensor(self._may_have_changed), _Kept)
        # The memory of a kept result is free as soon as the second run has it.
        kept[number] = _USED
        return result


def _checked(listed: Sequence[Any]) -> frozenset[Any]:
    for op in listed:
        operator = getattr(op, "operator", None)
        if not isinstance(operator, Operator):
            overloads = getattr(op, "op_overloads", None)
            choices = [f"tt.ops.{op.name}.{name or 'default'}" for name in overloads] if overloads else []
            raise errors.ValueRangeError(
                "create_selective_checkpoint_contexts(): a list of operators has overloads, such as tt.ops.mm, not "
                f"{op!r}" + (f"\n  try: {' or '.join(choices)}" if choices else "")
            )
        if operator.definition.kind == "composite":
            raise errors.ValueRangeError(
                f"create_selective_checkpoint_contexts(): {op.name} consists of other operators, which a checkpoint "
                "keeps one by one: list those\n  see: tt.trace_calls"
            )
    return frozenset(listed)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Return the contexts of a checkpoint that keeps the results of some operators; for `context_fn` of `checkpoint`.

    Views, operators that change their arguments, and operators that draw random numbers run again in any case.

    Parameters
    ----------
    policy_fn_or_list : callable or list of operators
        Called in the forward pass with a `SelectiveCheckpointContext`, the operator and its arguments, it returns a
        `CheckpointPolicy`, or True for `MUST_SAVE` and False for `PREFER_RECOMPUTE`.  Of the operators in a list the
        results are kept, of others not.  Operators are those that run below autograd: `tt.ops.mm`, or one overload,
        `tt.ops.sum.dim`.
    allow_cache_entry_mutation : bool
        Do not refuse results that were changed in place after they were kept.

    Returns
    -------
    tuple of two context managers
        For the first run, and for the second.

    Raises
    ------
    ValueError
        For something else in a list than the overload of an operator, and for a composite, which never runs as a whole.
    TypeError
        For something else than a function or a list, and for a policy that returns something else.
    CheckpointError
        In the backward pass: for a kept result that was changed in place, for a second backward pass, and when the
        second run calls other operators than the first.

    Examples
    --------
    >>> import tt
    >>> from functools import partial
    >>> from tt.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> x = tt.ones(2, 2, requires_grad=True)
    >>> y = checkpoint(
    ...     lambda t: t.mm(t).sin().exp(),
    ...     x,
    ...     use_reentrant=False,
    ...     context_fn=partial(create_selective_checkpoint_contexts, [tt.ops.mm]),
    ... )
    >>> y.sum().backward()  # computes sin again, and mm not
    >>> x.grad
    tensor([[-4.1325, -4.1325],
            [-4.1325, -4.1325]])
    """
    if isinstance(policy_fn_or_list, list):
        listed = _checked(policy_fn_or_list)

        def policy(
            context: SelectiveCheckpointContext, op: Any, *args: Any, **kwargs: Any
        ) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in listed else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise errors.ArgumentError(
            "create_selective_checkpoint_contexts",
            f"takes a policy function or a list of operators, not {type(policy_fn_or_list).__name__}",
        )
    storage: _Storage = defaultdict(list)
    return _First(policy, storage), _Second(storage, allow_cache_entry_mutation)
