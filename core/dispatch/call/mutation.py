"""Operators that change arguments: refusals, writing the new values, and results.

The schema declares the arguments that an operator changes: `Tensor(a!) x`.  A kernel of such an operator has the form
"inplace" and changes the arrays that it gets, or the form "functional" and returns the new values, in the order of the
arguments, before the results.  The first needs a backend whose arrays can change, the second serves every backend.

Note [Changing arguments without memory]
----------------------------------------
On a backend whose arrays cannot change or share memory, the functionalising layer hands down bare tensors without
other holders.  A kernel of the form "inplace" then gets clones, and the layer writes the new values back to the
arguments and their views.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call.kernel_errors import method_escaped
from tt.core.dispatch.call.results import verify_one
from tt.core.dispatch.mutate.overlap import (
    refuse_held,
    refuse_overlap,
    refuse_self_overlap,
    shared_place,
    shares_memory,
)
from tt.core.errors import InplaceError, KernelContractError
from tt.core.tensor.base import TensorBase
from tt.core.tensor.read_only import refuse_read_only
from tt.core.tensor.storage import memory_of

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import BoundKernel, CachedCall
    from tt.core.dispatch.call.operator import Operator

__all__ = [
    "give_own",
    "hand_back",
    "refuse_written",
    "targets_of",
    "with_targets",
    "with_targets_of",
    "write_new",
]


def targets_of(operator: Operator, args: Sequence[Any]) -> list[Any]:
    """Return the tensors that a call changes, those in lists one by one."""
    targets: list[Any] = []
    for position in operator.mutates:
        value = args[position]
        targets += value if isinstance(value, list | tuple) else [value]
    return [value for value in targets if value is not None]


def refuse_written(cached: CachedCall, targets: Sequence[TensorBase], args: Sequence[Any]) -> None:
    """Refuse a call whose targets are read-only, or overlap with themselves, each other, or partly with an operand.

    Raises
    ------
    InplaceError
        As for in-place operators; and when two arguments that are changed lie in one place.
    """
    name = cached.operator.name
    refuse_read_only(name, *targets)
    refuse_held(cached.operator.registry, *targets)
    # By their memory and in its order, so that the cost does not grow with the square of the lengths of lists.
    together: dict[int, list[TensorBase]] = {}
    for target in targets:
        refuse_self_overlap(name, target)
        together.setdefault(_memory(target), []).append(target)
    for others in together.values():
        if len(others) == 1:
            continue
        # An object that occurs twice is found without looking at memory.
        if len({id(target) for target in others}) < len(others) or shared_place(name, others):
            raise InplaceError(
                f"{name}(): two of the arguments that it changes are the same memory\n  try: clone() one first"
            )
    for position, argument in enumerate(args):
        if position in cached.operator.mutates:
            continue
        for value in argument if isinstance(argument, list | tuple) else (argument,):
            if isinstance(value, TensorBase):
                for target in together.get(_memory(value), ()):
                    if value is not target and shares_memory(value, target):
                        refuse_overlap(name, target, value)


def _memory(tensor: TensorBase) -> int:
    """Return a number that is equal for tensors that may share memory."""
    storage: Any = tensor._storage
    if storage is None:
        return id(tensor)
    return id(memory_of(storage))


def give_own(cached: CachedCall, targets: Sequence[Any], args: Sequence[Any]) -> None:
    """Give the targets arrays without other holders; see Note [Changing arguments without memory]."""
    # RETURNS is zero: a kernel that returns the new values changes none of its arguments.
    if cached.writes_target:
        for target in targets:
            backend = target._spec.backend
            if not backend.functionalised:
                continue
            try:
                target._handle = backend.clone(target._handle)
            except Exception as error:
                method_escaped(cached, error, args)


def write_new(cached: CachedCall, targets: Sequence[Any], handles: Any, args: Sequence[Any]) -> Any:
    """Write the new values that a kernel returned, and return its results.

    Raises
    ------
    KernelContractError
        If there are too few values, or one has another shape or dtype than its argument.
    """
    operator = cached.operator
    values = list(handles) if isinstance(handles, tuple | list) else [handles]
    names = ", ".join(operator.arguments[position].name for position in operator.mutates)
    if len(values) < len(targets) or (handles is None and targets):
        raise KernelContractError(
            f"the kernel of {operator.name} by {cached.choices[0].registration} must return the new values of {names} "
            f"and then the results; it returned {'nothing' if handles is None else f'{len(values)} values'}\n"
            "  try: form='inplace', if it changes the arrays that it gets"
        )
    try:
        _write_values(cached, targets, values)
    except Exception as error:
        method_escaped(cached, error, args)
    # What is left are the results that are no argument.
    rest = values[len(targets) :]
    fresh = sum(position < 0 for position in operator.returned)
    return None if not fresh else rest[0] if fresh == 1 and rest else tuple(rest)


def _write_values(cached: CachedCall, targets: Sequence[Any], values: Sequence[Any]) -> None:
    operator, backend = cached.operator, cached.backend
    for target, value in zip(targets, values, strict=False):
        if type(value) is not backend.handle_type:
            value = backend.normalise(value)
        actual, expected = tuple(value.shape), tuple(target._handle.shape)
        promised = backend.native_dtype(target.dtype)
        if actual != expected or backend.dtype_of(value) != promised:
            raise KernelContractError(
                f"the kernel of {operator.name} by {cached.choices[0].registration} returned a new value of shape "
                f"{list(actual)} and dtype {backend.dtype_of(value)} for an argument of shape {list(expected)} and "
                f"{promised}"
            )
        if backend.functionalised:
            target._handle = value
        else:
            backend.copy_into(target._handle, value)


# --- results that are arguments --------------------------------------------------------------------------------


def with_targets(cached: CachedCall, choice: BoundKernel, args: tuple[Any, ...], handles: Any) -> Any:
    """Return the results of an operator some of which are arguments: `-> Tensor(a!)`.

    A kernel returns the others, or all; a value returned for a changed argument is ignored.
    """
    operator = cached.operator
    fresh = [number for number, position in enumerate(operator.returned) if position < 0]
    returned = list(handles) if isinstance(handles, tuple | list) else [handles]
    if not fresh:
        returned = []
    # The kernel returned the changed arguments, too, which are known already.
    elif len(returned) == len(operator.returned) != len(fresh):
        returned = [returned[number] for number in fresh]
    if len(returned) != len(fresh):
        raise KernelContractError(
            f"the kernel of {operator.name} by {choice.registration} returned "
            f"{'nothing' if handles is None else f'{len(returned)} results'} instead of {len(fresh)}, besides the "
            f"arguments that it changes\n  schema: {operator.definition.signature}"
        )
    waiting, results = iter(returned), []
    for number, position in enumerate(operator.returned):
        if position >= 0:
            results.append(_returned(args[position]))
            continue
        handle = next(waiting)
        if not cached.verified:
            verify_one(cached, choice, handle, cached.specs[number])
        results.append(cached.wrap_one(handle, number, args))
    cached.verified = True
    return results[0] if len(results) == 1 else operator.return_type(results)


def with_targets_of(operator: Operator, args: Sequence[Any], result: Any) -> Any:
    """Return the result of a composite or of the call below a layer, with the arguments instead of their aliases."""
    if not operator.returns_targets:
        return result
    if len(operator.returned) == 1:
        return _returned(args[operator.returned[0]])
    values = list(result) if isinstance(result, tuple | list) else []
    # A composite may return the fresh results only; the arguments are put between them.
    if len(values) != len(operator.returned):
        fresh = iter(values if isinstance(result, tuple | list) else [result])
        values = [None if position >= 0 else next(fresh) for position in operator.returned]
    for number, position in enumerate(operator.returned):
        if position >= 0:
            values[number] = _returned(args[position])
    return operator.return_type(values)


def hand_back(cached: CachedCall, args: Sequence[Any], aliases: Sequence[Any], result: Any) -> Any:
    """Return the result of a call that was made with aliases of the arguments, after changing the arguments likewise.

    An alias shares the memory, but not the array: a backend whose arrays cannot change replaces that, and `t_` and its
    kin give the tensor another shape.
    """
    if cached.form == "inplace":
        _follow(args[0], aliases[0])
        return args[0]
    if cached.form == "out":  # one of another shape was resized
        count = cached.operator.out_count
        for target, alias in zip(args[-count:], aliases[-count:], strict=True):
            _follow(target, alias)
    if cached.form != "functional":
        return result
    for target, alias in zip(
        targets_of(cached.operator, args), targets_of(cached.operator, aliases), strict=True
    ):
        _follow(target, alias)
    return with_targets_of(cached.operator, args, result)


def _follow(target: TensorBase, alias: TensorBase) -> None:
    if alias is not target:
        target._set_data(alias._handle, alias._spec)
        target._storage = alias._storage


def _returned(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
