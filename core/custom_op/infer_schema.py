"""Signatures from the annotations of a function."""

from __future__ import annotations

import inspect
import numbers
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum, Flag
from typing import Any, Final, Literal, NoReturn, Union

from tt.core.dispatch.call.binding import Mismatch, converter
from tt.core.errors import ArgumentError, did_you_mean
from tt.core.schema.model import MISSING, Alias, Argument, Entries, Return, Signature, Type
from tt.core.tensor.base import TensorBase
from tt.core.tensor.generator import Generator
from tt.core.types.device import Device
from tt.core.types.dtype import dtype
from tt.core.types.layout import layout
from tt.core.types.memory_format import format_name, memory_format
from tt.core.types.size import Size

__all__ = ["infer_schema", "infer_signature"]

_PLAIN: Final[dict[Any, str]] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    numbers.Number: "Scalar",
    dtype: "dtype",
    Device: "device",
    layout: "layout",
    memory_format: "memory_format",
    Generator: "Generator",
}
_NUMBERS: Final = frozenset({bool, int, float, complex, numbers.Number})
_LISTS: Final = (list, Sequence)
_KNOWN: Final = (
    "Tensor, int, float, bool, str, complex, dtype, Device, layout, memory_format, Generator, Literal, Enum, lists, "
    "tuples and dicts of them, and optional ones"
)
_BY_SCHEMA: Final = "or give the signature: custom_op(..., schema='(Tensor x) -> Tensor')"


class _Unfit(Exception):  # noqa: N818 - an internal signal, never seen by users
    """An annotation that no signature can express; carries the reason."""


# --- types -----------------------------------------------------------------------------------------------------


def _type(annotation: Any) -> Type:
    """Return the signature type for an annotation."""
    annotation = _resolved(annotation)
    if annotation in _PLAIN:
        return Type(_PLAIN[annotation])
    if isinstance(annotation, type) and issubclass(annotation, TensorBase):
        return Type("Tensor")
    if annotation is Size:
        return Type("int", list=True)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enumeration(annotation, list(annotation))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is Literal:
        return _literal(arguments)
    if origin in _LISTS or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis):
        return _list(_type(arguments[0]))
    if origin is tuple:
        return _tuple([_type(argument) for argument in arguments])
    if origin in (dict, Mapping):
        return _dict(*map(_type, arguments))
    if annotation in (list, tuple, dict, Sequence, Mapping):
        raise _Unfit(f"without an element type: write {annotation.__name__}[int], for instance")
    raise _Unfit(f"which a signature cannot express ({_KNOWN})")


def _resolved(annotation: Any) -> Any:
    """Return the type behind an alias, a `NewType` or an `Annotated`."""
    while True:
        # `Annotated`, `NewType` and aliases are for readers and checkers; the type behind them decides.
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        # By name: the class exists from Python 3.12 on.
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _enumeration(kind: type[Enum], members: Sequence[Enum]) -> Type:
    # The members of a Flag combine, so that its values are not all that there are.
    if issubclass(kind, Flag):
        raise _Unfit("whose members combine: annotate it with int")
    values = [member.value for member in members]
    return _chosen(values, kind)


def _literal(values: Sequence[Any]) -> Type:
    optional = None in values
    chosen = [value for value in values if value is not None]
    kinds = {type(value) for value in chosen if isinstance(value, Enum)}
    if kinds:
        if len(kinds) > 1 or not all(isinstance(value, Enum) for value in chosen):
            raise _Unfit("which mixes members of an enumeration with other values")
        inferred = _enumeration(kinds.pop(), chosen)
    else:
        inferred = _chosen(chosen, None)
    return _with(inferred, optional=optional)


def _chosen(values: Sequence[Any], enum: type[Enum] | None) -> Type:
    """Return the type of one of several values, which are all str, all int, all float or all bool."""
    # bool before int, of which it is a subclass.
    for kind in (str, bool, int, float):
        if values and all(isinstance(value, kind) for value in values):
            plain = tuple(kind(value) for value in values)
            return Type(_PLAIN[kind], choices=plain, enum=enum)
    kinds = ", ".join(sorted({type(value).__name__ for value in values})) or "none"
    raise _Unfit(f"whose values must be all str, all int, all float or all bool, and are: {kinds}")


def _union(arguments: Sequence[Any]) -> Type:
    # `Optional[X]` is a union with None.
    rest = [_resolved(a) for a in arguments if a is not type(None)]
    optional = len(rest) < len(arguments)
    if len(rest) == 1:
        return _with(_type(rest[0]), optional=optional)
    tensors = [a for a in rest if isinstance(a, type) and issubclass(a, TensorBase)]
    others = {a for a in rest if a not in tensors}
    if not others:
        return Type("Tensor", optional)
    if others <= _NUMBERS:
        return Type("Tensor", optional, or_scalar=True) if tensors else Type("Scalar", optional)
    if all(typing.get_origin(a) is Literal for a in rest):
        return _with(_literal([v for a in rest for v in typing.get_args(a)]), optional=optional)
    raise _Unfit("a union of types of which only numbers, Tensor and None go together")


def _list(element: Type) -> Type:
    if element.list:
        raise _Unfit(
            "a list of lists: give the inner lists a fixed length, list[tuple[int, int]], or flatten it"
        )
    return _with(element, list=True, optional=False, element_optional=element.optional)


def _tuple(items: Sequence[Type]) -> Type:
    if all(item.is_tensor and not item.list for item in items):
        # A tuple of tensors is a list of fixed length to the dispatcher, which looks for tensors in lists.
        if len(set(items)) > 1:
            raise _Unfit("a tuple of tensors of which some are optional: make all optional, or none")
        return _with(_list(items[0]), size=len(items))
    if any(item.is_tensor for item in items):
        raise _Unfit("a tuple of tensors and other values: give them as arguments of their own")
    return Type("tuple", items=tuple(items))


def _dict(key: Type, value: Type) -> Type:
    if str(key) not in ("str", "int"):
        raise _Unfit("a dict whose keys are neither str nor int")
    if value.is_tensor:
        raise _Unfit("a dict of tensors: give the tensors as a list, and their names as another")
    return Type("dict", items=(key, value))


def _with(type_: Type, **fields: Any) -> Type:
    attributes = {name: getattr(type_, name) for name in Type.__slots__}
    return Type(**{**attributes, **fields})


# --- defaults --------------------------------------------------------------------------------------------------


def _default(value: Any, type_: Type) -> Any:
    """Return a default as a signature holds it."""
    if value is None and type_.optional:
        return None
    if type_.is_tensor and not type_.or_scalar and not (type_.list and not len(value)):
        raise Mismatch("None: a signature has no other default for tensors")
    return _plain(converter(type_)(value), type_)


def _plain(value: Any, type_: Type) -> Any:
    if isinstance(value, list | tuple):
        items = type_.items if type_.base == "tuple" and not type_.list else None
        one = _with(type_, list=False, size=None)
        return tuple(_plain(v, items[i] if items else one) for i, v in enumerate(value))
    if isinstance(value, dict):
        return Entries(value)
    if isinstance(value, dtype | layout):
        return value.name
    if isinstance(value, memory_format):
        return format_name(value)
    return str(value) if isinstance(value, Device) else value


# --- functions -------------------------------------------------------------------------------------------------


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    """Return the annotations of a function, with strings evaluated in its scope."""
    frame: types.FrameType | None = sys._getframe(1)
    # The frame of the user's code: the functions between are tt's.
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tt.core."):
        frame = frame.f_back
    try:
        # A function may refer to locals of the function around it, which is running now.
        return typing.get_type_hints(function, localns=dict(frame.f_locals) if frame else None)
    except NameError as error:
        raise ArgumentError(
            name,
            f"an annotation names {error.name!r}, which is not defined in the function's scope",
            hint="define or import it before the function, also where only type checkers see it now",
        ) from None


def infer_signature(
    function: Callable[..., Any], *, name: str = "", mutates: str | Iterable[str] = ()
) -> Signature:
    """Return the signature from a function's annotations; see `infer_schema`.

    Parameters
    ----------
    function : callable
        The function.
    name : str
        "namespace::name" of the operator, or empty.
    mutates : iterable of str
        The arguments that it changes, or "unknown" for all that are tensors.

    Raises
    ------
    ArgumentError
        When a parameter has no annotation or one that no signature can express.
    """
    shown = name or getattr(function, "__name__", "function")
    hints = _hints(function, shown)
    parameters = inspect.signature(function).parameters
    changed = _changed(shown, mutates, parameters, hints)
    arguments = []
    for index, parameter in enumerate(parameters.values()):
        # The schema has no `*args`: each argument has a position of its own.
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ArgumentError(
                shown,
                f"an operator has no variadic parameter, as {parameter} is",
                hint="take a list: list[Tensor], list[int]",
            )
        type_ = _parameter_type(shown, parameter, hints)
        alias = None
        if parameter.name in changed:
            if not type_.is_tensor or type_.or_scalar:
                raise ArgumentError(shown, f"mutates: {parameter.name!r} is {type_}, and only tensors change")
            alias = Alias((f"a{index}",), write=True)
        default: Any = MISSING
        if parameter.default is not parameter.empty:
            try:
                default = _default(parameter.default, type_)
            except (Mismatch, TypeError) as problem:
                raise ArgumentError(
                    shown,
                    f"the default of parameter {parameter.name!r} must be {problem}, and it is {parameter.default!r}",
                ) from None
        arguments.append(
            Argument(parameter.name, type_, default, parameter.kind is parameter.KEYWORD_ONLY, alias)
        )
    if "return" not in hints:
        raise ArgumentError(
            shown, "the result needs an annotation: Tensor, a tuple or list of them, a number or None"
        )
    returns = _returns(shown, hints["return"])
    namespace, _, short = name.rpartition("::")
    return Signature(namespace or "tt", short, "", tuple(arguments), returns)


def _changed(
    name: str,
    mutates: str | Iterable[str],
    parameters: Mapping[str, inspect.Parameter],
    hints: Mapping[str, Any],
) -> tuple[str, ...]:
    if mutates == "unknown":
        # "unknown" is PyTorch's word for: any tensor may change.
        return tuple(p for p in parameters if p in hints and _takes_tensors(hints[p]))
    names = (mutates,) if isinstance(mutates, str) else tuple(mutates)
    for argument in names:
        if argument not in parameters:
            raise ArgumentError(
                name,
                f"mutates: unknown argument {argument!r}{did_you_mean(argument, parameters)}",
                hint=f"its arguments are: {', '.join(parameters)}",
            )
    return names


def _takes_tensors(annotation: Any) -> bool:
    try:
        return _type(annotation).is_tensor
    except _Unfit:
        return False


def _parameter_type(name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Type:
    if parameter.name not in hints:
        raise ArgumentError(
            name,
            f"parameter {parameter.name!r} has no annotation; a signature can express {_KNOWN}",
            hint=_BY_SCHEMA,
        )
    try:
        return _type(hints[parameter.name])
    except _Unfit as problem:
        raise ArgumentError(
            name,
            f"parameter {parameter.name!r} has the annotation {_shown(hints[parameter.name])}, {problem}",
            hint=_BY_SCHEMA,
        ) from None


def _shown(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) and not typing.get_args(annotation) else (
        str(annotation)
    )  # fmt: skip


def _returns(name: str, annotation: Any) -> tuple[Return, ...]:
    annotation = _resolved(annotation)
    if annotation is None or annotation is type(None):
        return ()
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        hints = _hints(annotation, name)
        return tuple(_return(name, hints[field], field) for field in annotation._fields)
    if typing.get_origin(annotation) is tuple and Ellipsis not in typing.get_args(annotation):
        return tuple(_return(name, item, None) for item in typing.get_args(annotation))
    return (_return(name, annotation, None),)


def _return(name: str, annotation: Any, field: str | None) -> Return:
    def refuse(reason: str) -> NoReturn:
        raise ArgumentError(
            name,
            f"the result has the annotation {_shown(annotation)}, {reason}",
            hint="an operator returns Tensor, list[Tensor], a number, a tuple of these, or None",
        )

    try:
        type_ = _type(annotation)
    except _Unfit as problem:
        refuse(str(problem))
    if type_.optional or type_.element_optional:
        refuse("and a result cannot be missing: return a tensor without elements instead of None")
    if type_.or_scalar or (
        not type_.is_tensor and type_.base not in ("int", "float", "bool", "Scalar", "str")
    ):
        refuse("which is neither a tensor, a list of tensors, a number nor a string")
    return Return(field, Type(type_.base, list=type_.list))


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str] = (),
    op_name: str | None = None,
) -> str:
    """Return the signature from a function's annotations.

    Parameters
    ----------
    prototype_function : callable
        Every parameter annotated with Tensor, int, float, bool, str, complex, dtype, Device, layout, memory_format,
        Generator, a Literal or an Enum, with a list, a tuple or a dict of these, or an optional one; the result with
        Tensor, a list of them, a number, a tuple of these (also a named one) or None.
    mutates_args : iterable of str
        The arguments that the function changes, or "unknown": all tensors.
    op_name : str, optional
        What to write before the arguments.

    Raises
    ------
    ArgumentError
        When a parameter has no annotation or one that no signature can express.

    Examples
    --------
    >>> import tt
    >>> from typing import Literal
    >>> from tt.library import infer_schema
    >>> def scale(x: tt.Tensor, by: float = 1, *, how: Literal["up", "down"] = "up") -> tt.Tensor: ...
    >>> infer_schema(scale, op_name="acme::scale")
    "acme::scale(Tensor x, float by=1.0, *, str{'up', 'down'} how='up') -> Tensor"
    """
    text = str(infer_signature(prototype_function, name=op_name or "", mutates=mutates_args))
    return text if op_name else "(" + text.partition("(")[2]
