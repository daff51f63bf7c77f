"""The tests of what a kernel meets besides the given arguments: other strides, dtypes, devices, no elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tt.core.errors import TTError
from tt.core.testing.opcheck.call import (
    CheckedCall,
    in_words,
    map_tensors,
    refused,
    tensors_in,
    undefined,
    unserved,
)
from tt.core.testing.opcheck.contract import declared
from tt.core.testing.opcheck.log import Log, same_seed, unlike
from tt.core.testing.opcheck.memory import values
from tt.core.testing.opcheck.report import Finding
from tt.core.testing.opcheck.ties import only_ties
from tt.core.testing.opcheck.variants import contiguous, converted, main_dtype, moved
from tt.core.types.dtype import DTYPES, finfo, to_dtype
from tt.core.types.dtype import dtype as Dtype

__all__ = ["devices_of", "dtypes_of", "probe_device", "probe_dtype", "probe_empty", "probe_layout"]


_TIES = "other results, which differ only in which of equal values they chose"


def outcome(call: CheckedCall, log: Log) -> list[Any]:
    """Return what a call gives and what it leaves in the arguments that it changes."""
    copy = log.copy(call)
    with same_seed(call):
        result = log.run(copy)
    changed = declared(call)
    return [result, [value for a, value in copy.named() if a.name in changed]]


# --- layouts and sizes -----------------------------------------------------------------------------------------


def probe_layout(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Compare a call with the same one on row-major arguments."""
    expected = outcome(contiguous(call), log)
    try:
        found = outcome(call, log)
    except TTError as error:
        log.note(f"{call.on} are refused: {str(error).splitlines()[0]}")
        return
    except Exception as error:  # whatever the author's kernel raises is what is to be reported
        yield Finding("layout_fails", f"{type(error).__name__}: {error}", call)
        return
    if undefined(call):
        return
    text = unlike(found, expected, log.rtol, log.atol)
    if text and only_ties(call, lambda c: (outcome(c, log), outcome(contiguous(c), log)), log):
        log.note(f"{call.on}: {_TIES}")
    elif text:
        yield Finding("layout_wrong", f"not what row-major arguments give: {text}", call)


def probe_empty(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call without elements: it may be refused, but not break."""
    try:
        outcome(call, log)
    except (TTError, ValueError, RuntimeError, NotImplementedError) as error:
        log.note(f"{call.on}: refused: {in_words(error)}")
    except Exception as error:  # whatever the author's kernel raises is what is to be reported
        yield Finding("empty_fails", f"{type(error).__name__}: {error}", call)


# --- dtypes ----------------------------------------------------------------------------------------------------


def device_type(call: CheckedCall) -> str:
    """Return the device type of a call's tensors."""
    return next((str(t.device.type) for t in tensors_in(call.args)), "cpu")


def dtypes_of(call: CheckedCall) -> list[Dtype]:
    """Return the other dtypes for which kernels are registered on the device of a call."""
    from tt.core.testing.samples.base import has_dtype

    main = main_dtype(call)
    if main is None:
        return []
    place = device_type(call)
    kernels = call.operator.registry.kernels_of(call.operator.name, place, ("strided",))
    names = {name for r in kernels for name in r.dtypes}
    promised = _promised(call)
    return [d for d in DTYPES if d.name in names & promised and d is not main and has_dtype(place, d)]


def _promised(call: CheckedCall) -> set[str]:
    from tt.core.schema.classes import dtype_names

    return {*dtype_names(call.definition.dtypes)}


def probe_dtype(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call in another dtype, and compare it with the same one in double precision where both can be had."""
    main = main_dtype(call)
    try:
        found = outcome(call, log)
    except Exception as error:  # whatever the author's kernel raises is what is to be reported
        if refused(error):
            log.note(f"{call.on}: refused: {in_words(error)}")
        else:
            text = f"{type(error).__name__}: {error}"
            yield Finding("dtype_fails", f"a kernel is registered for {main}, and fails: {text}", call)
        return
    if (
        main is None
        or main.kind not in ("floating", "complex")
        or main.itemsize >= (16 if main.is_complex else 8)
    ):
        return
    if "random" in call.tags or undefined(call):
        return
    double = to_dtype("complex128" if main.is_complex else "float64")
    try:
        expected = outcome(converted(call, double), log)
    except Exception:  # there is nothing to compare with
        return

    def pair(other: CheckedCall) -> tuple[Any, Any]:
        return outcome(other, log), map_tensors(outcome(converted(other, double), log), lambda t: t.to(main))

    for one, other in zip(tensors_in(found), tensors_in(expected), strict=False):
        if not one.dtype.is_floating_point and not one.dtype.is_complex:
            continue
        rtol, atol = _coarse(main, other)
        text = unlike(one, other.to(one.dtype), rtol, atol)
        if text and only_ties(call, pair, log):
            log.note(f"{call.on}: {_TIES}")
            return
        if text:
            yield Finding("dtype_wrong", f"not what {double} gives, in {main}: {text}", call)
            return


def _coarse(dtype: Dtype, expected: Any) -> tuple[float, float]:
    """Return tolerances that many roundings stay within, for the largest value of a result."""
    eps = finfo(dtype).eps
    array = np.abs(values(expected).astype(np.complex128))
    finite = array[np.isfinite(array)]
    largest = float(finite.max()) if finite.size else 1.0
    return 50 * eps, 50 * eps * max(largest, 1.0)


# --- devices ---------------------------------------------------------------------------------------------------


def devices_of(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call on every other device that serves the operator and is there."""
    from tt.core.host import host

    registry = call.operator.registry
    here = device_type(call)
    for name in host.names("device"):
        if name in (here, "meta"):
            continue
        try:
            host.activate("device", name)
            reason = registry.backend(name).available()
        except TTError as error:
            reason = str(error).splitlines()[0]
        kernels = registry.kernels_of(call.operator.name, name, ("strided",))
        if not kernels and registry.composite(call.operator.name) is None:
            continue
        other = None if reason else moved(call, name)
        if other is None:
            log.note(f"device {name}: {reason or 'the arguments cannot go there'}")
        else:
            yield replace(other, on=f"device {name}")


def probe_device(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call on another device, and compare it with the same one on the CPU."""
    name = device_type(call)
    try:
        found = outcome(call, log)
    except Exception as error:  # whatever the author's kernel raises is what is to be reported
        if unserved(error) and not call.operator.registry.kernels_of(call.operator.name, name, ("strided",)):
            log.note(
                f"device {name}: its composite needs what the device lacks: {str(error).splitlines()[0]}"
            )
            return
        yield Finding("device_fails", f"{type(error).__name__}: {error}", call)
        return
    for tensor in tensors_in(found):
        if tensor.device.type != name and call.operator.device_at < 0:
            yield Finding("wrong_device", f"the result is on {tensor.device}, the arguments on {name}", call)
            return
    home = moved(call, "cpu")
    if home is None or undefined(call):
        return
    try:
        expected = outcome(home, log)
    except TTError:  # the CPU serves the operator not, or not so
        return
    text = unlike(_on_cpu(found), expected, log.rtol, log.atol)

    def pair(other: CheckedCall) -> tuple[Any, Any]:
        at_home = moved(other, "cpu")
        return _on_cpu(outcome(other, log)), outcome(at_home, log) if at_home else None

    if text and only_ties(call, pair, log):
        log.note(f"{call.on}: {_TIES}")
    elif text:
        yield Finding("device_wrong", f"not what the CPU gives: {text}", call)


def _on_cpu(value: Any) -> Any:
    return map_tensors(value, lambda t: t.to("cpu"))
