"""The arithmetic that the formulas of optimizers are written in: on one tensor, on lists, and with recorded history.

A formula is written once, as ``m.add_(param, grad, alpha=-lr)``, and computes

- with `loop`, on single tensors, and with numbers as scalars;
- with `foreach`, on lists of tensors that share their scalars;
- with `tensor_scalars`, on single tensors, and with tensors as scalars, which need not be read from their device;
- with `differentiable`, like that, and autograd can differentiate the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import tt

NAMES: Final = (
    "abs", "add", "add_", "addcdiv_", "addcmul_", "clamp_", "copy_", "div", "div_", "gt", "lerp_", "lt", "maximum",
    "mul", "mul_", "neg", "sign", "sqrt", "sqrt_", "sub", "where", "zeros_like",
)  # fmt: skip
"""Operators that formulas use."""

Operand: TypeAlias = "tt.Tensor | list[tt.Tensor]"
"""What a formula computes with: a tensor, or one for each parameter."""


class Arithmetic:
    """Operators by name."""

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        self.__dict__.update(functions)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _mapped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors as one of lists; other values are the same for all."""

    def over_lists(*args: Any, **options: Any) -> list[Any]:
        listed = [isinstance(a, list | tuple) for a in args]
        return [
            function(*[a[i] if many else a for a, many in zip(args, listed, strict=True)], **options)
            for i in range(len(args[0] if listed[0] else args[1]))
        ]

    return over_lists


def _add(x: tt.Tensor, y: tt.Tensor, alpha: float | tt.Tensor = 1) -> Any:
    # One multiplication less in the most frequent case.
    return x + (y * alpha if tt.is_tensor(alpha) or alpha != 1 else y)


def _addcmul(x: tt.Tensor, a: tt.Tensor, b: tt.Tensor, value: float | tt.Tensor = 1) -> Any:
    return x + a * b * value


def _addcdiv(x: tt.Tensor, a: tt.Tensor, b: tt.Tensor, value: float | tt.Tensor = 1) -> Any:
    return x + a / b * value


def _lerp(x: tt.Tensor, y: tt.Tensor, weight: float | tt.Tensor) -> Any:
    return x + (y - x) * weight


_COMPOSED: Final[dict[str, Callable[..., Any]]] = {
    "add": _add,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "lerp": _lerp,
}


def _function(name: str) -> Callable[..., Any]:
    """Return the functional form of an operator, with tensors as scalars."""
    plain = name.removesuffix("_")
    if plain == "copy":
        # The target's old values do not count.
        return lambda x, y: y
    return _COMPOSED[plain] if plain in _COMPOSED else getattr(tt, plain)


def _in_place(name: str, saves: bool) -> Callable[..., Any]:
    """Return an in-place form by way of the functional one.

    Autograd refuses saved tensors that have changed, and states change with every step: with `saves`, copies are
    saved.
    """
    function = _function(name)

    def changed(x: tt.Tensor, *args: Any, **options: Any) -> Any:
        if saves:
            # Autograd may have saved an argument that a later line of the formula changes.
            args = tuple(a.clone() if tt.is_tensor(a) else a for a in args)
        return x.copy_(function(x.clone() if saves else x, *args, **options))

    return changed


@cache
def loop() -> Arithmetic:
    """Return the operators on single tensors."""
    return Arithmetic({name: getattr(tt.ops, name) for name in NAMES})


@cache
def foreach() -> Arithmetic:
    """Return the operators on lists."""
    return Arithmetic(
        {name: getattr(tt.ops, f"_foreach_{name}", None) or _mapped(getattr(tt.ops, name)) for name in NAMES}
    )


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose arguments and result may be changed, though autograd may have saved them."""

    def fresh(*args: Any, **options: Any) -> Any:
        return function(*[a.clone() if tt.is_tensor(a) else a for a in args], **options).clone()

    return fresh


def _with_tensors(saves: bool) -> Arithmetic:
    functions = {}
    for name in NAMES:
        if name.endswith("_"):
            functions[name] = _in_place(name, saves)
        else:
            functions[name] = _fresh(_function(name)) if saves else _function(name)
    return Arithmetic(functions)


@cache
def tensor_scalars() -> Arithmetic:
    """Return the operators on single tensors, with tensors as scalars."""
    return _with_tensors(False)


@cache
def differentiable() -> Arithmetic:
    """Return the operators on single tensors that autograd can differentiate."""
    return _with_tensors(True)
