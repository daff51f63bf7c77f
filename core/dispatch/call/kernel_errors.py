"""Errors raised by kernels.

Shape rules do not run before kernels; when a kernel has raised, the rule explains the mistake in terms of the operator.
tt's own errors pass unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tt.core.dispatch.call.quiet import is_conflict, run_in_copy
from tt.core.errors import (
    ArgumentError,
    DataDependentError,
    DataTypeError,
    DivisionByZeroError,
    HostMemoryError,
    IndexValueError,
    InplaceError,
    KernelContractError,
    KernelFailedError,
    NumberRangeError,
    SizeLimitError,
    TTError,
    ValueRangeError,
)
from tt.core.errors.aliases import as_called
from tt.core.schema.number_ranges import refuse_wide
from tt.core.tensor.backend import Backend
from tt.core.tensor.base import TensorBase

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import BoundKernel, CachedCall

__all__ = [
    "cast_failed",
    "check_limits",
    "check_shapes",
    "failed",
    "method_escaped",
    "method_failed",
    "name_caller",
    "names_methods",
]


_OURS = "tt-tensor"
"""The distribution whose kernels must raise tt's errors; errors of other kernels pass unchanged."""

_OWN_WORDS = (
    (OverflowError, NumberRangeError),
    (ZeroDivisionError, DivisionByZeroError),
    (IndexError, IndexValueError),
    (KeyError, ValueRangeError),
    (TypeError, DataTypeError),
    (ValueError, ValueRangeError),
)
"""Errors of Python and NumPy -> the error of tt that a caller catches in the same way."""

_NO_WRAPPING = frozenset({"clamp", "clamp_min", "clamp_max", "pow", "addcmul", "where"})
"""Operators that would misread an operand that wraps around."""

_LIMITS = (
    "array is too big", "Maximum allowed", "maximum supported dimension", "at most 64 dimensions",
    "automatically allocated output array specified with an inconsistent axis mapping",  # of comparisons
)  # fmt: skip
"""Texts of NumPy's errors for arrays beyond its limits."""


def failed(
    cached: CachedCall, choice: BoundKernel, error: Exception, args: tuple[Any, ...], prepared: list[Any]
) -> Any:
    """Handle an error of a kernel.

    Returns the result where the call only has to be repeated: in a context of its own (see Note [Silencing NumPy per
    kernel]), or with a Python integer wrapped to the dtype, as PyTorch does.
    """
    # Another call runs in the context of the quiet kernels: the kernel did not start, and can be called again.
    if is_conflict(error):
        try:
            return run_in_copy(choice.function, prepared)
        except Exception as second:
            return failed(cached, choice, second, args, prepared)
    if isinstance(error, TTError | KernelFailedError):
        raise error
    if isinstance(error, MemoryError):
        raise HostMemoryError(*_asked(cached, args, error)) from error
    # First, because the number may be a size or a step, which does not wrap around.
    refuse_wide(cached.operator.definition, args)
    name = cached.operator.definition.signature.name
    # PyTorch refuses a fill value that the dtype cannot hold, and wraps operands.
    if isinstance(error, OverflowError) and (cached.operator.is_factory or name in _NO_WRAPPING):
        raise NumberRangeError(f"{name}(): {error}") from error
    if isinstance(error, OverflowError):
        wrapped = _wrap_integers(cached, choice, prepared)
        if wrapped is not None:
            try:
                return choice.function(*wrapped)
            except Exception as second:
                error = second
    # Only now, since rules cost more than kernels: they run for calls that failed already.
    check_shapes(cached, args, error)
    if cached.operator.mutates and not cached.backend.mutable and isinstance(error, TypeError | ValueError):
        device = cached.backend.device_type
        raise KernelContractError(
            f"the kernel of {cached.operator.name} by {choice.registration} failed on {device}, whose arrays cannot "
            f"change: {error}\n  try: form='functional', and return the new values and then the results"
        ) from error
    check_limits(cached, args, error)
    source = getattr(choice.registration, "source", None)
    # A third party's errors pass unchanged: its users may catch them.
    ours = source is None or source.distribution == _OURS
    own = _in_own_words(name, error) if ours else None
    if own is not None:
        raise own from error
    raise_named(cached, choice, error, args)


def name_caller(cached: CachedCall, error: Exception) -> None:
    """Make an error from inside a composite name the operator that was called rather than one of its parts.

    An `ArgumentError` keeps the name: it counts the arguments of that part, and shows its signature.
    """
    text = error.args[0] if error.args else None
    if isinstance(error, TTError) and not isinstance(error, ArgumentError) and isinstance(text, str):
        spoken, parentheses, problem = text.partition("(): ")
        name = cached.operator.definition.signature.name
        # Composites call operators by aliases, too.
        inner = (
            cached.operator.registry.definition_table.original(spoken) if spoken.isidentifier() else spoken
        )
        if (
            parentheses
            and inner.isidentifier()
            and inner in cached.operator.registry.names()
            and inner != name
        ):
            error.args = (as_called(f"{name}(): {problem}"), *error.args[1:])
            if getattr(error, "op", None) == inner:
                with_field: Any = error  # of some classes
                with_field.op = name


def method_escaped(cached: CachedCall, error: Exception, args: Sequence[Any]) -> NoReturn:
    """Reraise an error with the call added if a backend's method raised it outside of the kernel; else as it is."""
    if isinstance(error, TTError | KernelFailedError) or not method_of(error):
        raise error
    raise_named(cached, None, error, args)


def cast_failed(cached: CachedCall, error: Exception, handle: Any, position: int) -> NoReturn:
    """Raise the error of a backend that failed to cast an argument for the kernel."""
    if isinstance(error, TTError | KernelFailedError):
        raise error
    name = cached.operator.arguments[position].name
    words = f"{name}={_handle_in_words(handle)} to {cached.compute_native}"
    named = KernelFailedError.of(
        error, cached.operator.name, cached.backend.device_type, "", words, method_of(error) or "cast"
    )
    _raise(named, error)


def names_methods(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Make errors of a function whose last parameters are (cached, args) name the failed method of the backend."""

    @wraps(rule)
    def run(*given: Any) -> Any:
        try:
            return rule(*given)
        except Exception as error:
            method_escaped(given[-2], error, given[-1])

    return run


def check_limits(cached: CachedCall, args: tuple[Any, ...], error: Exception) -> None:
    """Raise the error for too large a tensor, where NumPy raised one for an array."""
    if type(error) is ValueError and str(error).startswith(_LIMITS):
        shape, _ = _results(cached, args)
        name = cached.operator.definition.signature.name
        raise SizeLimitError(name, shape, reason=str(error)) from error


def raise_named(
    cached: CachedCall, choice: BoundKernel | None, error: Exception, args: Sequence[Any]
) -> NoReturn:
    """Raise an error of the library's class that names the failed call."""
    named = KernelFailedError.of(
        error,
        cached.operator.name,
        _device_type(cached, args),
        "" if choice is None else str(choice.registration),
        in_words(cached, args),
        method_of(error),
    )
    _raise(named, error)


def _raise(named: BaseException, error: Exception) -> NoReturn:
    """Raise an error with its cause, unless it is the cause: some classes cannot be named."""
    if named is error:
        raise error
    raise named from error


def _device_type(cached: CachedCall, args: Sequence[Any]) -> str:
    backend: Backend | None = cached.backend  # a layer has none
    if backend is not None:
        return backend.device_type
    tensor = next((value for value in args if isinstance(value, TensorBase)), None)
    return "" if tensor is None else str(tensor.device.type)


def method_failed(error: Exception, backend: Backend, method: str, served: str, *args: Any) -> NoReturn:
    """Raise a library's error from a method of a backend, outside of kernels, with the method and its purpose.

    Parameters
    ----------
    error : Exception
        The library's error.
    backend, method : Backend, str
        The method; "" looks for it in the traceback.
    served : str
        The purpose of the call.
    *args
        Its arguments.
    """
    if isinstance(error, TTError | KernelFailedError):
        raise error
    words = ", ".join(map(_handle_in_words, args))
    named = KernelFailedError.of(error, served, backend.device_type, "", words, method or method_of(error))
    _raise(named, error)


def _handle_in_words(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    return (
        _in_words(value) if shape is None or dtype is None else f"{type(value).__name__} {dtype}{list(shape)}"
    )


def in_words(cached: CachedCall, args: Sequence[Any]) -> str:
    """Return the arguments of a call: names, dtypes and shapes of tensors, and the other values."""
    return ", ".join(
        f"{argument.name}={_in_words(value)}"
        for argument, value in zip(cached.operator.arguments, args, strict=False)
        if value is not argument.default
    )


def _in_words(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_in_words, value[:4]))}{', ...' if len(value) > 4 else ''}]"
    text = str(value) if isinstance(value, int | float | str | None) else type(value).__name__
    return text if len(text) <= 40 else text[:37] + "..."


def method_of(error: BaseException) -> str:
    """Return the outermost method of a backend in which an exception was raised; empty if it was in none."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        # A method's first argument is its instance: so the frame of a backend
        # is recognised, whatever the method's name.
        if code.co_argcount and isinstance(trace.tb_frame.f_locals.get(code.co_varnames[0]), Backend):
            return code.co_name
        trace = trace.tb_next
    return ""


def _in_own_words(name: str, error: Exception) -> TTError | None:
    """Return tt's error for an error of Python or NumPy in one of tt's kernels, or None if it has none."""
    # An error of another library keeps its class: `raise_named` adds the call to it.
    if type(error).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return None
    for builtin, own in _OWN_WORDS:
        if isinstance(error, builtin):
            return own(f"{name}(): {error}")
    return None


def check_shapes(cached: CachedCall, args: tuple[Any, ...], cause: Exception | None = None) -> None:
    """Run the shape rule of the operator, which raises if the call is wrong."""
    try:
        result = cached.operator.run_rule(args)
    # A rule may need data that only the kernel has seen.
    except DataDependentError:
        return  # the rule needs values to find the mistake
    except TTError as explained:
        raise explained from cause
    except NotImplementedError:
        return
    metadata = "metadata_inplace" in cached.operator.definition.tags
    if (
        cached.form == "inplace"
        and not metadata
        and not isinstance(result, tuple | list)
        and result.shape != tuple(args[0].shape)
    ):
        raise InplaceError(
            f"{cached.operator.definition.inplace_name}(): the result has shape {list(result.shape)}, which the "
            f"target of shape {list(args[0].shape)} cannot hold"
        ) from cause


def _asked(cached: CachedCall, args: tuple[Any, ...], error: MemoryError) -> tuple[str, int | None, str]:
    """Return the arguments of an out-of-memory error: the operator, the bytes of its results, the kernel's message."""
    _, asked = _results(cached, args)
    return cached.operator.definition.signature.name, asked, str(error)


def _results(cached: CachedCall, args: tuple[Any, ...]) -> tuple[tuple[int, ...], int | None]:
    """Return the shape of the first result and the bytes of all; as far as the shape rule gives them."""
    try:
        outcome = cached.operator.run_rule(args)
    except (DataDependentError, NotImplementedError):
        return (), None
    results = [*outcome] if isinstance(outcome, tuple | list) else [outcome]
    total = sum(prod(one.shape) * one.dtype.itemsize for one in results)
    return results[0].shape if results else (), total


def _wrap_integers(cached: CachedCall, choice: BoundKernel, prepared: list[Any]) -> list[Any] | None:
    """Return the arguments with integers among the operands wrapped around to the compute dtype, or None.

    Numbers that are not operands, such as a factor or a fill value, are refused if the dtype cannot hold them, and so
    are integers of more than 64 bits.
    """
    definition, dtype = cached.operator.definition, cached.resolution.compute
    if dtype is None or dtype.kind not in ("signed", "unsigned"):
        return None
    bits = dtype.itemsize * 8
    wrapped = [*prepared]
    for number, position in enumerate(choice.takes):
        value, name = prepared[number], definition.signature.arguments[position].name
        if type(value) is int and name in definition.promote and -(2**63) <= value < 2**64:
            value &= (1 << bits) - 1
            # By way of the unsigned dtype, since NumPy refuses Python integers beyond the range of a signed one.
            wrapped[number] = int(
                np.array(value, dtype=f"u{dtype.itemsize}").view(f"{dtype.numpy.kind}{dtype.itemsize}")
            )
    return None if all(a is b for a, b in zip(wrapped, prepared, strict=True)) else wrapped
