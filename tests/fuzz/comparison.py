"""Comparing a call with PyTorch's: values, dtypes and shapes of the functional form, where both take the arguments.

A worker makes the comparison after it has said so: where PyTorch ends the process, that is none of tt's faults.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

import tt
from tests.fuzz.differing import ACCEPTED, DIFFERENT, POLYNOMIALS, undefined, without_gradients
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import ArgumentError
from tt.testing.checks.call import UNDEFINED
from tt.testing.checks.values import COMPARABLE
from tt.testing.compare import tolerances
from tt.testing.opcheck.call import bind
from tt.testing.references import as_array

__all__ = [
    "ELSEWHERE",
    "check",
    "comparable",
    "differences",
    "installed",
    "memory_differences",
    "prepare",
    "reference",
    "scale_of",
]

HALVES: Final = (tt.float16, tt.bfloat16, tt.complex32)
STRICT: Final = ("pointwise", "view")
LOOSE: Final = {"float16": 2e-2, "complex32": 2e-2, "bfloat16": 6e-2, "float32": 1e-5, "complex64": 1e-5}
"""The factor of the largest number among arguments and results, where a result is made in several steps:
PyTorch takes others, and rounds half precision after each."""

ELSEWHERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("copy", "zero", "fill", "resize"), "PyTorch's form that is called changes its argument"),
    "histogramdd": "PyTorch returns the edges that it was given, and tt's results are new (docs/differences.md)",
}
"""Operators whose results have other memory than PyTorch's, without their overload, and why."""

STEADY: Final = ("pointwise", "reduction", "view")
"""Kinds of operators that promise the strides of their results."""

MOST_ELEMENTS: Final = 1 << 24
"""Of a result: a worker has not the memory for copies of larger ones."""


@cache
def installed() -> bool:
    """Return whether PyTorch is there, and can be loaded: not into a process with other sanitizers or heaps."""
    return importlib.util.find_spec("torch") is not None and not os.environ.get("LD_PRELOAD")


def prepare() -> None:
    """Import PyTorch, and those of its modules that its first backward pass and transforms would import."""
    torch = reference().torch
    x = torch.ones(2, requires_grad=True)
    torch.func.vmap(torch.func.hessian(lambda x: (x * x).sum()))(x[None])[0].sum().backward()


def comparable(name: str) -> bool:
    """Return whether an operator is one that can be compared."""
    definition = REGISTRY.operator(name).definition
    arguments = definition.signature.arguments
    return (
        name not in DIFFERENT
        and name.partition(".")[0] not in DIFFERENT
        and name not in UNDEFINED
        and "random" not in definition.tags
        and not any(argument.alias is not None and argument.alias.write for argument in arguments)
    )


def check(
    name: str, result: Any, *args: Any, grads: Sequence[Any] = (), cotangent: str = "", **kwargs: Any
) -> str:
    """Raise unless a result of tt is PyTorch's; return "agrees", "refused" by PyTorch, "undefined", or "uncompared".

    Parameters
    ----------
    name : str
        Of the operator.
    result : Any
        The operator's result for the other arguments.
    grads : sequence of Tensor or None
        Gradients of the arguments that require one, in their order.
    cotangent : str
        An expression for the gradient of each result r, in tt's terms or PyTorch's.

    Raises
    ------
    AssertionError
        When something differs; the first line says what.
    """
    operator = REGISTRY.operator(name)
    try:
        call = bind(operator.overload(), args, kwargs)
    except ArgumentError:  # another overload took the arguments
        return "uncompared"
    arguments = dict(zip(operator.positions, call.args, strict=False))
    tensors = list(_tensors(list(arguments.values())))
    if any(tensor.layout is not tt.strided or tensor.device.type != "cpu" for tensor in tensors):
        return "uncompared"
    if undefined(name, arguments):
        return "undefined"
    if sum(found.numel() for found in _tensors(result)) > MOST_ELEMENTS:
        return "uncompared"
    half = any(tensor.dtype in HALVES for tensor in tensors)
    strict = operator.definition.kind in STRICT and name not in POLYNOMIALS  # whose recurrences cancel
    accepted = ACCEPTED.get(name.partition(".")[0])
    compared = partial(differences, half=half, accepted=accepted)
    # After an overflow, formulas that are equal for finite numbers let other infinities cancel.
    overflowed = any(found.is_floating_point() and not found.isfinite().all() for found in _tensors(result))
    if overflowed or without_gradients(name, arguments, cotangent):
        grads = ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = reference().torch_reference(operator.definition, arguments)
            if expected is NotImplemented:
                return "uncompared"
            wanted = _gradients(operator.definition, arguments, cotangent) if grads else ()
        except (RuntimeError, ValueError, IndexError, TypeError, OverflowError):
            return "refused"
        if name in COMPARABLE:
            result, expected = COMPARABLE[name](result), COMPARABLE[name](expected)
        for problem in compared(
            result, expected, scale=0.0 if strict else scale_of([tensors, result, expected])
        ):
            exact = [] if strict else _in_double(operator.definition, arguments)
            if not rounded_alike(result, expected, exact):
                raise AssertionError(problem)
        for problem in memory_differences(operator.definition, arguments, result):
            raise AssertionError(problem)
        for found, other in zip(grads, wanted, strict=True) if wanted else ():
            if (found is None or other is None) and _all_zero(found) and _all_zero(other):
                continue
            if found is None or other is None:
                raise AssertionError(f"{'no ' if found is None else ''}gradient, other than in PyTorch")
            for problem in compared(found, other, scale=scale_of([tensors, found, other])):
                exact = _in_double(operator.definition, arguments, cotangent)
                if not rounded_alike(list(grads), wanted, exact):
                    raise AssertionError(f"gradients with {problem}")
    return "agrees"


def memory_differences(definition: Any, arguments: Mapping[str, Any], result: Any) -> Iterator[str]:
    """Compare whose memory the results have, where they lie in it, and their strides, with PyTorch's.

    Strides of new memory are promised for pointwise operators and reductions of contiguous arguments.
    """
    if definition.name.partition(".")[0] in ELSEWHERE:
        return
    there = reference()
    tensors = list(_tensors(list(arguments.values())))
    if any(tensor.dtype in HALVES or there.overlaps(tensor) for tensor in tensors):
        return  # of which copies are made for PyTorch, and others
    memories = {id(tensor): tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}
    if len({*memories.values()}) < len(memories):
        return  # PyTorch's arguments share no memory with each other
    made: dict[int, Any] = {}

    def convert(value: Any) -> Any:
        if isinstance(value, tt.Tensor):
            return made.setdefault(id(value), there.to_torch(value.detach()))
        return [convert(item) for item in value] if isinstance(value, list | tuple) else there.to_torch(value)

    others = [convert(tensor) for tensor in tensors]
    expected = there.torch_call(definition, arguments, convert)
    plain = definition.kind in STEADY and all(tensor.is_contiguous() for tensor in tensors)
    results, wanted = list(_tensors([result])), list(_torch_tensors([expected]))
    if len(results) != len(wanted):
        return
    for number, (mine, theirs) in enumerate(zip(results, wanted, strict=True)):
        if not mine.numel() or theirs.is_conj() or theirs.is_neg():
            continue
        shared = False
        for place, (one, other) in enumerate(zip(tensors, others, strict=True)):
            lies, expected_there = _place(mine, one), _place(theirs, other)
            if lies != expected_there:
                yield (
                    f"other memory\nresult {number} lies {_words(lies)} argument {place}, PyTorch's "
                    f"{_words(expected_there)} it"
                )
            shared |= lies is not None
        if (shared or plain) and _steps(mine) != _steps(theirs):
            yield f"other strides\n{mine.stride()}, PyTorch's are {theirs.stride()}, of shape {tuple(mine.shape)}"


def _words(place: int | None) -> str:
    return "outside of" if place is None else f"{place} bytes behind"


def _torch_tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _torch_tensors(item)
    elif isinstance(value, reference().torch.Tensor):
        yield value


def _place(result: Any, argument: Any) -> int | None:
    """Return how many bytes a result begins behind an argument whose memory it has; None if it has its own."""
    one, other = result.untyped_storage().data_ptr(), argument.untyped_storage().data_ptr()
    if not one or one != other:
        return None
    place: int = result.data_ptr() - argument.data_ptr()
    return place


def _steps(tensor: Any) -> list[int]:
    return [step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


def _in_double(definition: Any, arguments: Mapping[str, Any], cotangent: str = "") -> Any:
    """Return PyTorch's results in double precision, or gradients for a cotangent; nothing if it used that already."""

    def widen(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [widen(item) for item in value]
        if not isinstance(value, tt.Tensor) or not (value.is_floating_point() or value.is_complex()):
            return value
        wide = tt.complex128 if value.is_complex() else tt.float64
        return value.detach().to(wide).requires_grad_(value.requires_grad)

    if all(tensor.dtype in (tt.float64, tt.complex128) for tensor in _tensors(list(arguments.values()))):
        return []  # with one of single precision among them, PyTorch rounds values computed from that one alone
    wider = {name: widen(value) for name, value in arguments.items()}
    try:
        if cotangent:
            return _gradients(definition, wider, cotangent)
        found = reference().torch_reference(definition, wider)
        return [] if found is NotImplemented else found
    except (RuntimeError, ValueError, IndexError, TypeError, OverflowError):
        return []


def rounded_alike(found: Any, wanted: Any, exact: Any) -> bool:
    """Return whether results are finite and no further from the exact ones than PyTorch's, twice at the most.

    Where sums cancel, rounding leaves more than a tolerance for all calls can grant; PyTorch's own error says how much.
    """
    if isinstance(exact, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(exact) or not exact:
            return False
        return all(rounded_alike(*many) for many in zip(found, wanted, exact, strict=True))
    if found is None or wanted is None or exact is None:
        return found is None and exact is None
    mine, theirs, right = (
        np.asarray(as_array(x) if isinstance(x, tt.Tensor) else x) for x in (found, wanted, exact)
    )
    if mine.shape != theirs.shape or mine.shape != right.shape or mine.dtype.kind in "biu":
        return bool(mine.shape == theirs.shape and (mine == theirs).all())
    mine, theirs, right = (x.astype(np.complex128) for x in (mine, theirs, right))
    if not (np.isfinite(mine).all() and np.isfinite(theirs).all() and np.isfinite(right).all()):
        return False
    return bool((abs(mine - right) <= 2 * abs(theirs - right).max(initial=0.0)).all())


def _all_zero(gradient: Any) -> bool:
    return gradient is None or not as_array(gradient).any()


def _gradients(definition: Any, arguments: Mapping[str, Any], cotangent: str) -> list[Any]:
    """Return the gradients that PyTorch computes, as arrays; none where it records nothing."""
    there = reference()
    torch = there.torch
    made: dict[int, Any] = {}

    def convert(value: Any) -> Any:
        if not isinstance(value, tt.Tensor):
            return (
                [convert(item) for item in value]
                if isinstance(value, list | tuple)
                else there.to_torch(value)
            )
        if id(value) not in made:
            made[id(value)] = there.to_torch(value.detach()).requires_grad_(value.requires_grad)
        return made[id(value)]

    inputs = [convert(value) for value in _tensors(list(arguments.values())) if value.requires_grad]
    found = there.torch_call(definition, arguments, convert)
    results = [r for r in (found if isinstance(found, list | tuple) else [found]) if r.requires_grad]
    given = [eval(cotangent, {"tt": torch, "r": r}) for r in results]
    grads = torch.autograd.grad(results, inputs, given, allow_unused=True) if results else []
    return [None if grad is None else there.to_arrays(grad) for grad in grads]


@cache
def reference() -> Any:
    """Return the module that makes calls of PyTorch's."""
    path = Path(__file__).parents[1] / "testing" / "torch_reference.py"
    spec = importlib.util.spec_from_file_location("torch_reference", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.torch.set_num_threads(1)
    return module


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, tt.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def scale_of(values: Any) -> float:
    """Return the largest finite magnitude in nested lists of tensors and arrays, and at least 1."""
    if isinstance(values, list | tuple):
        return max(map(scale_of, values), default=1.0)
    if not isinstance(values, tt.Tensor | np.ndarray):
        return 1.0
    with np.errstate(all="ignore"):
        array = np.abs(
            np.asarray(as_array(values) if isinstance(values, tt.Tensor) else values, np.complex128)
        )
    return float(np.max(array, initial=1.0, where=np.isfinite(array)))


def differences(
    actual: Any, expected: Any, *, half: bool, accepted: Callable[[Any, Any], Any] | None, scale: float
) -> Iterator[str]:
    if isinstance(actual, list | tuple):
        if not isinstance(expected, list | tuple) or len(actual) != len(expected):
            yield f"{len(actual)} results, PyTorch has another number"
            return
        for one, other in zip(actual, expected, strict=True):
            yield from differences(one, other, half=half, accepted=accepted, scale=scale)
        return
    if not isinstance(actual, tt.Tensor):
        return
    found, wanted, dtype = as_array(actual), np.asarray(expected), actual.dtype
    if found.shape != wanted.shape:
        yield f"another shape\n{found.shape}, PyTorch's is {wanted.shape}"
    elif not half and dtype not in HALVES and found.dtype != wanted.dtype:
        yield f"another dtype\n{found.dtype}, PyTorch's is {wanted.dtype}"
    else:
        wrong = ~_close(found, wanted, dtype, half, scale)
        if accepted is not None:
            wide = np.complex128 if dtype.is_complex else np.float64  # or 1e38 is infinite in float16
            wrong &= ~accepted(found.astype(wide), wanted.astype(wide))
        if wrong.any():
            yield f"other values\n{found[wrong][:4]}, PyTorch's are {wanted[wrong][:4]} ({wrong.sum()} of {wrong.size})"


def _close(found: Any, wanted: Any, dtype: Any, half: bool, scale: float) -> Any:
    with np.errstate(all="ignore"):  # to the dtype and back: what overflows there is infinite
        wanted = wanted.astype(dtype.numpy)
        if not (dtype.is_floating_point or dtype.is_complex):
            return found == wanted
        wide = np.complex128 if dtype.is_complex else np.float64
        rtol, atol = tolerances(dtype)
        if scale:
            loose = LOOSE["bfloat16"] if half else LOOSE.get(dtype.name, 1e-9)
            rtol, atol = max(rtol, loose), max(atol, loose * scale)
        close = np.isclose(found.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
        # Which part of a complex number that is not finite is NaN differs between C libraries, too.
        return close | ~(np.isfinite(found) | np.isfinite(wanted)) if dtype.is_complex else close
