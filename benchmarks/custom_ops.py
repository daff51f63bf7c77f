"""The custom operators of cases/custom_ops.toml, each as tt's and as torch's users would write it.

They compute the same as built-in operators, so the difference is the cost of a custom definition.
"""

from __future__ import annotations

import types
from functools import cache
from typing import Any

import numpy as np

__all__ = ["operators", "operators_of_tt"]


def operators(library: str) -> types.SimpleNamespace:
    """Define the operators in a library, once."""
    return operators_of_tt() if library == "tt" else operators_of_torch()


@cache
def operators_of_tt() -> types.SimpleNamespace:
    """Define the operators in tt."""
    from tt import Tensor
    from tt.library import custom_op

    @custom_op("bench::exp")
    def exp(x: Tensor) -> Tensor:
        """The exponential function."""
        raise NotImplementedError

    exp.kernel("cpu", np.exp)
    exp.fake(lambda x: x.new_empty(x.shape))

    @exp.backward
    def exp_backward(g: Tensor, result: Tensor) -> Tensor:
        return g * result

    @custom_op("bench::add")
    def add(x: Tensor, y: Tensor) -> Tensor:
        """A sum."""
        raise NotImplementedError

    add.kernel("cpu", np.add)
    add.backward(x=lambda g: g, y=lambda g: g)

    @custom_op("bench::mul")
    def mul(x: Tensor, y: Tensor) -> Tensor:
        """A product, with its gradient in the form that torch has."""
        raise NotImplementedError

    mul.kernel("cpu", np.multiply)
    mul.register_autograd(_mul_backward, setup_context=_mul_context)

    @custom_op("bench::increment", mutates="x")
    def increment(x: Tensor, y: Tensor) -> None:
        """A sum in place."""

    @increment.kernel("cpu")
    def increment_on_cpu(x: Any, y: Any) -> None:
        np.add(x, y, out=x)

    @custom_op("bench::scale")
    def scale(x: Tensor, by: float, shift: float = 0.0) -> Tensor:
        """A product with a number, and a sum with another."""
        raise NotImplementedError

    @scale.kernel("cpu")
    def scale_on_cpu(x: Any, by: float, shift: float) -> Any:
        return x * by + shift

    return types.SimpleNamespace(exp=exp, add=add, mul=mul, increment=increment, scale=scale)


def _mul_context(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)


def _mul_backward(ctx: Any, g: Any) -> Any:
    x, y = ctx.saved_tensors
    return g * y, g * x


@cache
def operators_of_torch() -> types.SimpleNamespace:
    """Define the operators in torch."""
    import torch
    from torch import Tensor
    from torch.library import custom_op

    def exp(x: Tensor) -> Tensor:
        return torch.exp(x)

    def add(x: Tensor, y: Tensor) -> Tensor:
        return torch.add(x, y)

    def mul(x: Tensor, y: Tensor) -> Tensor:
        return torch.mul(x, y)

    def increment(x: Tensor, y: Tensor) -> None:
        x.add_(y)

    def scale(x: Tensor, by: float, shift: float = 0.0) -> Tensor:
        return x * by + shift

    # Annotations as strings are not for torch: it reads them as they are.
    for function in (exp, add, mul, increment, scale):
        function.__annotations__ = {
            name: {"Tensor": Tensor, "float": float, "None": None}[text]
            for name, text in function.__annotations__.items()
        }
    defined = {
        function.__name__: custom_op(
            f"bench::{function.__name__}", mutates_args=("x",) if function is increment else ()
        )(function)
        for function in (exp, add, mul, increment, scale)
    }
    defined["exp"].register_autograd(
        lambda ctx, g: g * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    defined["add"].register_autograd(lambda ctx, g: (g, g))
    defined["mul"].register_autograd(_mul_backward, setup_context=_mul_context)
    return types.SimpleNamespace(**defined)
