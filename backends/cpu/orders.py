"""The order of dimensions of results that NumPy's functions make of several arrays.

Where two arrays order their dimensions differently, NumPy chooses row-major order.  The shape rule of pointwise
operators, which native kernels follow, lets the first array decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Final

import numpy as np

from tt.backends.cpu.backend import in_order_of
from tt.core.library import REGISTRY, Kernel

__all__ = ["with_shared_order"]

RULE: Final = "broadcast"
"""The shape rule of the operators whose results have an order that all arguments determine."""


def with_shared_order(kernel: Kernel) -> Kernel:
    """Return a kernel whose results have the strides that the shape rule promises, however its function makes them.

    Kernels of other operators, of one tensor, and of other forms are returned as they are.
    """
    # Native kernels lay out their results themselves.
    if kernel.native or kernel.tensors or kernel.form != "functional":
        return kernel
    definition = REGISTRY.operator(kernel.op).definition
    arguments = definition.signature.arguments
    if definition.meta != RULE or len(definition.signature.tensor_arguments) < 2:
        return kernel
    takes = kernel.takes
    inputs = getattr(kernel.function, "nin", None)
    if takes is None and inputs is not None:  # the names of a ufunc's arguments, which the wrapper hides
        takes = tuple(argument.name for argument in arguments[:inputs])
    return replace(kernel, function=_ordered(kernel.function), takes=takes)


def _ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def ordered(*args: Any) -> Any:
        result = function(*args)
        # With fewer than two dimensions there is only one order.
        if result.ndim < 2 or not result.size:
            return result
        first = None
        for value in args:
            if type(value) is not np.ndarray or value.ndim < 2:
                continue  # orders nothing
            if first is None:
                first = value
            elif value.flags.c_contiguous and first.flags.c_contiguous:
                continue
            # Usually all arguments have one layout and NumPy's result has it, too; only else is the rule
            # asked.
            elif value.strides != first.strides or value.shape != first.shape:
                return in_order_of(result, [value for value in args if type(value) is np.ndarray])
        return result

    return ordered
