"""What the function of a custom operator may return: what its signature says, in memory of its own.

A result that is an argument, a view of one, or there twice would let a write into one tensor change another that
nobody connects with it: autograd, transforms and compilers take the signature's word.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np

from tt.core.blocks import swapped
from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.mutate.overlap import shares_memory
from tt.core.errors import KernelContractError
from tt.core.schema.model import Return
from tt.core.tensor.base import TensorBase
from tt.core.types.carried import Carried

__all__ = ["checked_composite", "checked_kernel", "results_as_they_come", "tensors_in"]


class _Checks(Carried):
    """Whether this thread refuses results.  No context variable: kernels run in a context of their own."""

    refuse = True


_checks = _Checks()

_NUMBERS: Final[dict[str, tuple[type, ...]]] = {
    "int": (int, np.integer),
    "float": (float, int, np.floating, np.integer),
    "bool": (bool, np.bool_),
    "Scalar": (bool, int, float, complex, np.number, np.bool_),
    "str": (str,),
}
"""The values that a result of a type may be."""


def results_as_they_come() -> swapped:
    """Refuse no results in a block: for checks that look at them and say more of what is wrong."""
    return swapped(_checks, "refuse", False)


def tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """Return the tensors among values and in their lists."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_in(value)


def checked_composite(operator: Operator, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function over tensors whose results are checked at each call.

    Raises
    ------
    KernelContractError
        By the returned function: when the results are not those of the signature, or share memory.
    """
    # tt's own composites may return views and arguments: their schemas say so.
    if operator.definition.signature.namespace == "tt":
        return function
    name, returns = operator.name, operator.definition.signature.returns

    @wraps(function)
    def checked(*args: Any) -> Any:
        result = function(*args)
        if not _checks.refuse:
            return result
        if len(returns) == 1:
            result = _fitting(operator, returns[0], result)
            results: Sequence[Any] = (result,)
        elif not returns:
            if result is not None:
                raise _wrong(operator, result)
            return None
        elif isinstance(result, list | tuple) and len(result) == len(returns):
            results = [_fitting(operator, of, value) for of, value in zip(returns, result, strict=True)]
            # A named tuple is rebuilt by its class.
            result = type(result)(results) if type(result) in (list, tuple) else type(result)(*results)
        else:
            raise _wrong(operator, result)
        # A result that the schema declares as an argument may be one.
        _refuse_aliases(
            name, [value for value, of in zip(results, returns, strict=True) if not of.alias], args
        )
        return result

    return checked


def _fitting(operator: Operator, of: Return, value: Any) -> Any:
    """Return a result as its type says: a whole number becomes a float where that is promised."""
    kind = of.type
    if value is None and kind.optional:
        return None
    if kind.is_tensor:
        if not kind.list:
            if isinstance(value, TensorBase):
                return value
        elif isinstance(value, list | tuple) and all(isinstance(item, TensorBase) for item in value):
            return value
    elif kind.list:
        if isinstance(value, list | tuple):
            return value
    elif kind.base not in _NUMBERS:
        return value
    else:
        fits = isinstance(value, _NUMBERS[kind.base])
        if fits:
            return float(value) if kind.base == "float" else value
    raise _wrong(operator, value)


def _wrong(operator: Operator, value: Any) -> KernelContractError:
    returned = "nothing" if value is None else f"{type(value).__name__} {reprlib.repr(value)}"
    if isinstance(value, TensorBase):
        returned = "a tensor"
    elif isinstance(value, list | tuple):
        returned = (
            f"a {type(value).__name__} of {len(value)}: {', '.join(type(item).__name__ for item in value)}"
        )
    returns = ", ".join(map(str, operator.definition.signature.returns)) or "nothing"
    return KernelContractError(
        f"the function of the custom operator {operator.name} returned {returned}, and must return {returns}\n"
        f"  schema: {operator.definition.signature}"
    )


def _refuse_aliases(name: str, results: Iterable[Any], args: Iterable[Any]) -> None:
    """Refuse results that are arguments, views of these, or share memory with each other."""
    known = list(tensors_in(args))
    for result in tensors_in(results):
        if any(result is other or shares_memory(result, other) for other in known):
            raise _alias(name)
        # Results are compared with each other, too.
        known.append(result)


def _alias(name: str) -> KernelContractError:
    return KernelContractError(
        f"a result of the custom operator {name} is one of its arguments, or shares memory with an argument or with "
        "another result\n  try: return a copy: result.clone()"
    )


def checked_kernel(
    operator: Operator, function: Callable[..., Any], *, new_values: bool = False
) -> Callable[..., Any]:
    """Return a function over native arrays that refuses results that share memory, as `checked_composite` does.

    Of arrays of NumPy the memory is compared; of others, whose libraries have no common word for it, the objects.

    Parameters
    ----------
    operator : Operator
        The custom operator.
    function : callable
        Its kernel.
    new_values : bool
        Whether the kernel returns the new values of the arguments that change before the results.  They are copied.
    """
    signature = operator.definition.signature
    if signature.namespace == "tt" or not any(of.type.is_tensor for of in signature.returns):
        return function
    if any(of.alias for of in signature.returns):
        return function  # which returns the arrays that it changes
    if isinstance(getattr(function, "nin", None), int):  # a ufunc makes its result
        return function
    name, copied = operator.name, len(operator.mutates) if new_values else 0

    @wraps(function)
    def checked(*values: Any) -> Any:
        result = function(*values)
        known = list(_arrays_in(values))
        for array in _arrays_in(
            result[copied:] if copied and isinstance(result, list | tuple) else (result,)
        ):
            if any(_is_alias(array, other) for other in known) and _checks.refuse:
                raise _alias(name)
            known.append(array)
        return result

    return checked


def _arrays_in(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _arrays_in(value)
        elif hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, np.generic):
            yield value


def _is_alias(one: Any, other: Any) -> bool:
    if one is other:
        return True
    # Bounds only, which is cheap; a false alarm needs interleaved views of one memory.
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.may_share_memory(one, other)
