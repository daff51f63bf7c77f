"""Results of calls: options of factories, checks at the first run of a cached call, and named tuples of several."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, Self

from tt.core.dispatch.call.codes import ABSENT, LIST, MIXED, ONE, RAW
from tt.core.errors import KernelContractError, describe
from tt.core.tensor.base import TensorBase
from tt.core.types.spelling import SPELLING

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import BoundKernel, CachedCall
    from tt.core.schema.model import Return

__all__ = [
    "FACTORY_OPTIONS",
    "return_type",
    "verify",
    "verify_one",
    "with_options",
    "wrap_mixed",
    "wrong_result",
]

_NO_ARRAY: Final = (list, tuple, str, bytes, set, Mapping, Generator, TensorBase)
_NUMBERS: Final = (bool, int, float, complex)
FACTORY_OPTIONS: Final = ("requires_grad", "pin_memory")
"""Options of every factory that are not in its schema, because they apply to the finished tensor."""


def with_options(result: Any, options: Mapping[str, Any], *, filled: bool = False) -> Any:
    """Return the tensor that a factory made, or `filled` because it was the `out=`, as its options want it."""
    if options.get("pin_memory") and not filled:
        result = result.pin_memory()
    if options.get("requires_grad"):
        result.requires_grad_(True)
    return result


def verify(cached: CachedCall, choice: BoundKernel, handles: Any) -> None:
    """Check the results of a cached call's first run against the schema, and let it run directly from then on.

    Raises
    ------
    KernelContractError
        When the number, kind or dtype of the results is wrong; the message names the kernel's origin.
    """
    if cached.result == ONE:
        verify_one(cached, choice, handles, cached.specs[0])
    elif cached.result == RAW:
        _verify_numbers(cached, choice, handles)
    elif cached.result == MIXED:
        _verify_mixed(cached, choice, handles)
    else:
        if not isinstance(handles, list | tuple):
            raise wrong_result(cached, choice, handles)
        # A list has as many results as the call asks for; only of several is the number in the schema.
        if cached.result != LIST and len(handles) != len(cached.specs):
            raise wrong_result(cached, choice, handles)
        for index, handle in enumerate(handles):
            verify_one(cached, choice, handle, cached.specs[0 if cached.result == LIST else index], handles)
    if type(handles) is not cached.handle_type:
        cached.result_bits = 0  # so that every result is looked at before it is wrapped
    cached.verified = True
    # Only the first choice may run without being asked; before another one runs, those before it must decline.
    cached.direct = cached.plain is not ABSENT and choice is cached.choices[0]
    if "random" in cached.operator.definition.tags:
        cached.direct = False  # `CachedCall.run` looks at handlers


def _verify_mixed(cached: CachedCall, choice: BoundKernel, found: Any) -> None:
    """Check several results, of which some are lists."""
    returns = cached.operator.definition.signature.returns
    if not isinstance(found, list | tuple) or len(found) != len(returns):
        raise wrong_result(cached, choice, found)
    for returned, value, spec in zip(returns, found, cached.specs, strict=True):
        if spec is None:
            if not _fits(returned, value):
                raise wrong_result(cached, choice, found)
        elif not returned.type.list:
            verify_one(cached, choice, value, spec, found)
        elif isinstance(value, list | tuple):
            for handle in value:
                verify_one(cached, choice, handle, spec, found)
        else:
            raise wrong_result(cached, choice, found)


def wrap_mixed(cached: CachedCall, handles: Any, args: tuple[Any, ...]) -> Any:
    """Return the tensors of several results, of which some are lists."""
    results = [
        [cached.wrap_one(handle, index, args) for handle in value]
        if returned.type.list and returned.type.is_tensor
        else cached.wrap_one(value, index, args)
        for index, (returned, value) in enumerate(
            zip(cached.operator.definition.signature.returns, handles, strict=True)
        )
    ]
    return cached.operator.return_type(results)


def verify_one(cached: CachedCall, choice: BoundKernel, handle: Any, spec: Any, handles: Any = None) -> None:
    """Check a single result, or one of several `handles`."""
    if spec is None:
        return
    if type(handle) is not cached.handle_type:
        # A kernel may leave out a result that the schema calls optional.
        if handle is None and any(r.type.optional for r in cached.operator.definition.signature.returns):
            return
        if handle is None or isinstance(handle, _NO_ARRAY) or type(handle) in _NUMBERS:
            raise wrong_result(cached, choice, handle if handles is None else handles)
    # With a downcast the kernel returns float32, which `wrap_one` casts after each call.
    if cached.downcast is None:
        _verify_dtype(cached, choice, handle, spec)


def _verify_dtype(cached: CachedCall, choice: BoundKernel, handle: Any, spec: Any) -> None:
    backend = cached.backend
    try:
        if type(handle) is not cached.handle_type:
            handle = backend.normalise(handle)
        actual, promised = backend.dtype_of(handle), backend.native_dtype(spec.dtype)
    except Exception as error:  # any error of the library: the object is not one of its arrays
        raise wrong_result(cached, choice, handle) from error
    if actual != promised:
        definition = cached.operator.definition
        hint = ""
        if "::" in definition.name and not definition.location[0]:  # defined by custom_op
            rule = getattr(actual, "name", str(actual))
            hint = (
                f"\n  try: result={rule!r} where the operator is defined, if it returns that, or let the kernel "
                f"return {spec.dtype.name}"
            )
        raise KernelContractError(
            f"the kernel of {cached.operator.name} by {choice.registration} returned {actual} where the schema "
            f"promises {spec.dtype.name} for {cached.resolution.call}{hint}"
        )


# --- numbers, texts and the like -----------------------------------------------------------------------------------


def _is_number(kind: type, kinds: str) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        # NumPy's numbers and arrays without dimensions have the shape (), and only their kind tells what they are.
        if getattr(value, "shape", None) == ():
            return getattr(getattr(value, "dtype", None), "kind", kinds) in kinds
        return isinstance(value, kind)

    return fits


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "bool": _is_number(bool, "b"),
    "int": _is_number(numbers.Integral, "biu"),
    "float": _is_number(numbers.Real, "biufV"),
    "Scalar": _is_number(numbers.Number, "biufcVW"),
    "str": lambda value: isinstance(value, str),
}
"""Tests of a value for each of the schema's types; NumPy's numbers and arrays without dimensions are numbers, too ("V"
is the kind of bfloat16, and "W" that of complex32)."""


def _verify_numbers(cached: CachedCall, choice: BoundKernel, found: Any) -> None:
    """Check results that are not tensors."""
    returns = cached.operator.definition.signature.returns
    if not returns:
        return
    values = (found,) if len(returns) == 1 else found
    if not isinstance(values, list | tuple) or len(values) != len(returns):
        raise wrong_result(cached, choice, found)
    for returned, value in zip(returns, values, strict=True):
        if not _fits(returned, value):
            raise wrong_result(cached, choice, found)


def _fits(returned: Return, value: Any) -> bool:
    type_ = returned.type
    if value is None:
        return type_.optional
    if type_.list:
        return isinstance(value, list | tuple)
    fits = _FITS.get(str(type_).removesuffix("?"))
    return fits is None or fits(value)


# --- saying it -----------------------------------------------------------------------------------------------------


def wrong_result(cached: CachedCall, choice: BoundKernel, found: Any) -> KernelContractError:
    """Return the error of a kernel whose result does not match the schema."""
    signature = cached.operator.definition.signature
    expected = ", ".join(map(str, signature.returns)) or "nothing"
    if any(returned.type.is_tensor for returned in signature.returns):
        several = len(signature.returns) > 1 or signature.returns[0].type.list
        what = (
            f"a list or tuple of arrays of {cached.backend.device_type}"
            if several
            else (f"an array of {cached.backend.device_type}")
        )
        expected = f"{expected}: {what}"
    count = ""
    if isinstance(found, list | tuple):
        count = f" of {len(found)}: {', '.join(map(describe, found[:4]))}{', ...' if len(found) > 4 else ''}"
    return KernelContractError(
        f"the kernel of {cached.operator.name} by {choice.registration} returned "
        f"{'nothing' if found is None else _kind(found) + count}\n"
        f"  expected: {expected}\n"
        f"  schema: {signature}\n"
        f"  for: {cached.resolution.call}"
    )


def _kind(value: Any) -> str:
    text = describe(value)
    return text if text.startswith(("a ", "an ")) else f"{'an' if text[0] in 'aeiou' else 'a'} {text}"


# --- named results ---


class _NamedResult(tuple[Any, ...]):
    """The base of the results; prints as PyTorch's do."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, values: Iterable[Any], further: Mapping[str, Any] | None = None) -> Self:
        """Make a result of its parts; pickles of PyTorch's also have fields without a position, `further`."""
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        inner = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__module__}.{type(self).__name__}(\n{inner})"

    @classmethod
    def _make(cls, values: Any) -> Any:
        return tuple.__new__(cls, values)

    # The class is made when a call needs it, so pickle finds it by `return_type` and not in a module.
    def __reduce__(self) -> tuple[Any, ...]:
        if SPELLING.package != "tt":  # as PyTorch reads them, whose classes are in `torch.return_types`
            return type(self), (tuple(self), {})
        return _restore, (type(self).__name__, self._fields, tuple(self))


def _restore(name: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    return return_type(name, fields)._make(values)


@cache
def return_type(name: str, fields: tuple[str, ...]) -> Any:
    """Return the class of results with these names; the same class for the same name and fields."""
    members: dict[str, Any] = {
        "__slots__": (),
        "_fields": fields,
        "__module__": SPELLING.spelled("tt.return_types"),
    }
    for index, field in enumerate(fields):
        members[field] = property(itemgetter(index))
    return type(name, (_NamedResult,), members)
