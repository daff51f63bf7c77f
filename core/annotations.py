"""Signatures from the annotations of a function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Union

from tt.core.device import Device
from tt.core.dtype import dtype
from tt.core.errors import ArgumentError
from tt.core.layout import layout
from tt.core.tensor_base import TensorBase

__all__ = ["infer_schema"]

_TYPES: Final[dict[Any, str]] = {
    int: "int",
    float: "float",
    bool: "bool",
    str: "str",
    complex: "Scalar",
    dtype: "dtype",
    Device: "device",
    layout: "layout",
}


def _schema_type(annotation: Any) -> str | None:
    """Return a type as signatures write it, or None when they cannot."""
    if isinstance(annotation, type) and issubclass(annotation, TensorBase):
        return "Tensor"
    if annotation in _TYPES:
        return _TYPES[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (Union, types.UnionType):
        rest = [a for a in arguments if a is not type(None)]
        if set(rest) <= {bool, int, float, complex} and len(rest) > 1:
            inner: str | None = "Scalar"
        else:
            inner = _schema_type(rest[0]) if len(rest) == 1 else None
        return inner and inner + ("?" if len(rest) < len(arguments) else "")
    if origin in (list, Sequence) or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis):
        inner = _schema_type(arguments[0])
        return inner and f"{inner}[]"
    return None


def _returns(annotation: Any) -> str | None:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple and Ellipsis not in typing.get_args(annotation):
        items = [_schema_type(a) for a in typing.get_args(annotation)]
        return None if None in items else f"({', '.join(map(str, items))})"
    return _schema_type(annotation)


def infer_schema(function: Callable[..., Any], *, op_name: str = "", mutates_args: Iterable[str] = ()) -> str:
    """Return the signature that a function's annotations stand for.

    Parameters
    ----------
    function : callable
        Every parameter annotated with Tensor, int, float, bool, str, complex, dtype, Device, layout, a list of them
        or an optional one; the result with Tensor, a tuple or list of them, a number or None.
    op_name : str
        What to write before the arguments.
    mutates_args : iterable of str
        The arguments that the function changes.

    Raises
    ------
    ArgumentError
        When a parameter has no annotation or one that no signature can express.

    Examples
    --------
    >>> import tt
    >>> from tt.library import infer_schema
    >>> def scale(x: tt.Tensor, by: float = 1.0, *, shift: int | None = None) -> tt.Tensor: ...
    >>> infer_schema(scale, op_name="acme::scale")
    'acme::scale(Tensor x, float by=1.0, *, int? shift=None) -> Tensor'
    """
    name = op_name or getattr(function, "__name__", "function")
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters
    changed = list(mutates_args)
    for argument in changed:
        if argument not in parameters:
            raise ArgumentError(name, f"mutates: there is no argument {argument!r}")
    parts, keyword_only = [], False
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ArgumentError(name, f"an operator has no variadic parameter, as {parameter} is")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        found = _schema_type(hints.get(parameter.name, inspect.Parameter.empty))
        if found is None:
            problem = (
                "no annotation" if parameter.name not in hints else f"the annotation {hints[parameter.name]}"
            )
            raise ArgumentError(
                name,
                f"parameter {parameter.name!r} has {problem}; a signature knows Tensor, int, float, bool, str, "
                "complex, dtype, Device, layout, lists of them and optional ones",
                hint="or give the signature: custom_op(..., schema='(Tensor x) -> Tensor')",
            )
        if parameter.name in changed:
            if found != "Tensor":
                raise ArgumentError(name, f"mutates: {parameter.name!r} is no Tensor")
            found = f"Tensor(a{changed.index(parameter.name)}!)"
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        parts.append(f"{found} {parameter.name}{default}")
    returns = _returns(hints.get("return", inspect.Parameter.empty)) if "return" in hints else None
    if returns is None:
        raise ArgumentError(
            name, "the result needs an annotation: Tensor, a tuple or list of them, a number or None"
        )
    return f"{op_name}({', '.join(parts)}) -> {returns}"


def _default(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_default, value))}]"
    return str(value)
