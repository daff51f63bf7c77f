"""tt.fx.operator_schemas: the arguments of a call as the signature of what is called has them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import tt

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position, and by keyword."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Callable[..., Any], return_schemas: bool = False) -> Any:
    """Return the signatures of an operator, one for each overload; None for a function that is none.

    Parameters
    ----------
    op : callable
        The operator.
    return_schemas : bool
        Return also the schemas.

    Examples
    --------
    >>> import tt
    >>> from tt.fx.operator_schemas import get_signature_for_torch_op
    >>> [list(signature.parameters) for signature in get_signature_for_torch_op(tt.add)]
    [['self', 'other', 'alpha', 'out']]
    """
    overloads = getattr(op, "op_overloads", None)
    operators: list[Any] = list(overloads.values()) if overloads else [op]
    if not all(hasattr(operator, "schema") for operator in operators):
        return (None, None) if return_schemas else None
    signatures = [inspect.signature(operator) for operator in operators]
    return (signatures, [operator.schema for operator in operators]) if return_schemas else signatures


def normalize_function(
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call in the order of the signature, with defaults; None where that is not known.

    Parameters
    ----------
    target : callable
        What is called.
    args, kwargs : tuple, dict
        The arguments.
    arg_types, kwarg_types
        PyTorch's; they change nothing, since the first overload that takes the arguments serves.
    normalize_to_only_use_kwargs : bool
        Return all of them by keyword.

    Examples
    --------
    >>> import tt
    >>> from tt.fx.operator_schemas import normalize_function
    >>> normalize_function(tt.nn.functional.linear, (1, 2), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1, 'weight': 2, 'bias': None}
    """
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        try:
            signatures = [inspect.signature(inspect.unwrap(target))]
        except (TypeError, ValueError):
            return None
    for signature in signatures:
        try:
            return _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
        except TypeError:
            continue
    return None


def normalize_module(
    root: tt.nn.Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """Return the arguments of a call of a submodule in the order of its `forward`; None where that is not known.

    Parameters
    ----------
    root : Module
        The module that has it.
    target : str
        Its dotted name.
    args, kwargs, normalize_to_only_use_kwargs
        As of `normalize_function`.
    """
    try:
        signature = inspect.signature(root.get_submodule(target).forward)
        return _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
    except (AttributeError, TypeError, ValueError):
        return None


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_keyword: bool
) -> ArgsKwargsPair:
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if not by_keyword:
        return ArgsKwargsPair(bound.args, bound.kwargs)
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in signature.parameters.values()):
        raise TypeError("arguments after a star have no keyword")
    # PyTorch calls the first argument of functions `input`, which operators of tt take under both names.
    return ArgsKwargsPair(
        (), {name: value for name, value in bound.arguments.items() if name != "out" or value is not None}
    )
