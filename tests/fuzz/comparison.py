"""Comparing a call with PyTorch's: values, dtypes and shapes of the functional form, where both take the arguments.

A worker makes the comparison after it has said so: where PyTorch ends the process, that is none of tt's faults.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.shapes import joining, rearranging, shaping, slicing
from tt.core.testing.checks.call import UNDEFINED
from tt.core.testing.checks.values import COMPARABLE
from tt.core.testing.compare import tolerances
from tt.core.testing.opcheck.call import bind
from tt.core.testing.references import as_array

__all__ = ["DIFFERENT", "check", "comparable", "installed"]

EQUALS: Final = "which of several equal elements is found is left open"
INFINITE: Final = "PyTorch updates a mean with each element, and the mean of infinities of one sign is NaN"
DIFFERENT: Final[Mapping[str, str]] = {
    "as_strided": "reads memory beside the elements, and PyTorch gets the elements alone",
    **dict.fromkeys(("kthvalue", "median.dim", "nanmedian.dim", "mode"), EQUALS),
    **dict.fromkeys(("var_mean", "std_mean"), INFINITE),
    **dict.fromkeys(
        ("median", "nanmedian"), "the median of no integers is NaN as an integer, which can be any"
    ),
    "lcm": "a multiple that the dtype cannot hold has another sign",
}
"""Operators, with or without their overload, that are not compared, and why."""
KINDS: Final = ("pointwise", "reduction", "view")
SHAPING: Final = frozenset(
    name for module in (shaping, rearranging, joining, slicing) for name in module.rule.rules
)
"""Names of shape rules: operators that have one of these are compared whatever their kind is."""
HALVES: Final = (tt.float16, tt.bfloat16)


@cache
def installed() -> bool:
    """Return whether PyTorch is there, and can be loaded: not into a process with other sanitizers or heaps."""
    return importlib.util.find_spec("torch") is not None and not os.environ.get("LD_PRELOAD")


def comparable(name: str) -> bool:
    """Return whether an operator is one that can be compared."""
    definition = REGISTRY.operator(name).definition
    arguments = definition.signature.arguments
    return (
        (definition.kind in KINDS or definition.meta in SHAPING)
        and name not in DIFFERENT
        and name.partition(".")[0] not in DIFFERENT
        and name not in UNDEFINED
        and "random" not in definition.tags
        and not any(argument.alias is not None and argument.alias.write for argument in arguments)
    )


def check(name: str, result: Any, *args: Any, **kwargs: Any) -> str:
    """Raise unless a result of tt is PyTorch's; return "agrees", "refused" by PyTorch, or "uncompared".

    Raises
    ------
    AssertionError
        When something differs; the first line says what.
    """
    operator = REGISTRY.operator(name)
    call = bind(operator.caller(), args, kwargs)
    arguments = dict(zip(operator.positions, call.args, strict=False))
    tensors = list(_tensors(list(arguments.values())))
    if any(tensor.layout is not tt.strided or tensor.device.type != "cpu" for tensor in tensors):
        return "uncompared"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = _reference()(operator.definition, arguments)
        except (RuntimeError, ValueError, IndexError, TypeError, OverflowError):
            return "refused"
        if expected is NotImplemented:
            return "uncompared"
        half = any(tensor.dtype in HALVES for tensor in tensors)
        if name in COMPARABLE:
            result, expected = COMPARABLE[name](result), COMPARABLE[name](expected)
        for problem in _differences(result, expected, half):
            raise AssertionError(problem)
    return "agrees"


@cache
def _reference() -> Any:
    path = Path(__file__).parents[1] / "core" / "testing" / "torch_reference.py"
    spec = importlib.util.spec_from_file_location("torch_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.torch.set_num_threads(1)
    return module.torch_reference


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, tt.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _differences(actual: Any, expected: Any, half: bool) -> Iterator[str]:
    if isinstance(actual, list | tuple):
        if not isinstance(expected, list | tuple) or len(actual) != len(expected):
            yield f"{len(actual)} results, PyTorch has another number"
            return
        for one, other in zip(actual, expected, strict=True):
            yield from _differences(one, other, half)
        return
    if not isinstance(actual, tt.Tensor):
        return
    found, wanted, dtype = as_array(actual), np.asarray(expected), actual.dtype
    if found.shape != wanted.shape:
        yield f"another shape\n{found.shape}, PyTorch's is {wanted.shape}"
    elif not half and dtype not in HALVES and found.dtype != wanted.dtype:
        yield f"another dtype\n{found.dtype}, PyTorch's is {wanted.dtype}"
    else:
        wrong = ~_close(found, wanted, dtype)
        if wrong.any():
            yield f"other values\n{found[wrong][:4]}, PyTorch's are {wanted[wrong][:4]} ({wrong.sum()} of {wrong.size})"


def _close(found: Any, wanted: Any, dtype: Any) -> Any:
    with np.errstate(all="ignore"):  # to the dtype and back: what overflows there is infinite
        wanted = wanted.astype(dtype.numpy)
        if not (dtype.is_floating_point or dtype.is_complex):
            return found == wanted
        wide = np.complex128 if dtype.is_complex else np.float64
        rtol, atol = tolerances(dtype)
        close = np.isclose(found.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
        # Which part of a complex number that is not finite is NaN differs between C libraries, too.
        return close | ~(np.isfinite(found) | np.isfinite(wanted)) if dtype.is_complex else close
