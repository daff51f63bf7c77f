"""The checks of fake tensors: a call without data gives the metadata of the call with data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from tt.core.errors import DataDependentError, MissingFakeError
from tt.core.layers.fake import FakeMode, to_fake
from tt.core.meta import depends_on_data
from tt.core.tensor.base import TensorBase
from tt.core.types.device import Device
from tt.core.types.memory_format import ORDERS
from tt.testing.checks.call import (
    CheckedCall,
    is_strided,
    like,
    map_tensors,
    plain,
    tensors_in,
    to_meta,
)
from tt.testing.checks.case import SKIPPED, Case
from tt.testing.checks.strides import READ_STRIDES
from tt.testing.checks.values import takes
from tt.testing.findings.log import Finding, Log
from tt.testing.snippets import ABSENT

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

__all__ = ["check_absent", "check_meta", "differences_without_data", "probe_fake"]


def probe_fake(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call with data, in fake mode and on the meta device, and compare the metadata of the results."""
    if not all(is_strided(t) for t in tensors_in(call.args)):
        log.note("fake tensors are strided, and an argument is not")
        return
    real = log.result(call)
    dependent = depends_on_data(call.definition)
    for how in ("fake", "meta"):
        try:
            fake_call = _without_data(call, how)
            fake_result = _run(fake_call, how, log)
        # Both ways ask the same fake implementation, so one report is enough.
        except MissingFakeError as error:
            yield Finding("missing_fake", str(error).splitlines()[0], call, how)
            return
        except DataDependentError as error:
            if not dependent:
                yield Finding("fake_needs_data", str(error).splitlines()[0], call, how)
                return
            continue
        except Exception as error:  # any error of the author's fake implementation is reported
            yield Finding(
                "fake_fails", f"without data, the call raises {type(error).__name__}: {error}", call, how
            )
            return
        findings = list(_compare(call, real, fake_result, how))
        findings += _sharing(call, fake_call, fake_result, how)
        yield from findings
        if findings:
            return


def _without_data(call: CheckedCall, how: str) -> CheckedCall:
    if how == "fake":
        return call.map(lambda t: to_fake(plain(t)))
    absent = how == "absent"
    device = Device(ABSENT if absent else "meta")
    args = list(call.map(lambda t: to_fake(plain(t), device)).args if absent else to_meta(call.args))
    # A device that is named would have data again, and so would the default one where no tensor names another.
    at = call.operator.device_at
    if at >= 0 and (args[at] is not None or not list(tensors_in(args))):
        args[at] = device
    return CheckedCall(call.caller, tuple(args), call.on)


def _run(call: CheckedCall, how: str, log: Log) -> Any:
    if how == "meta":
        return log.run(call)
    with FakeMode():
        return log.run(call)


def _compare(call: CheckedCall, real: Any, found: Any, how: str) -> Iterator[Finding]:
    ours, theirs = list(tensors_in(real)), list(tensors_in(found))
    if len(ours) != len(theirs) or not _same_kind(real, found):
        yield Finding(
            "fake_result", f"without data {_words(found)} came back, and with data {_words(real)}", call, how
        )
        return
    exact = has_exact_strides(call)
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        where = "the result" if len(ours) == 1 else f"result {index}"
        for fault, what, seen, expected in differences_without_data(one, other, exact):
            message = f"{where} has {what}{expected} without data, {seen} with"
            yield Finding(fault, message, call, how)
        if how == "fake" and str(one.device) != str(other.device):
            message = f"{where} is on {other.device} without data, on {one.device} with"
            yield Finding("fake_result", message, call, how)


def has_exact_strides(call: CheckedCall) -> bool:
    """Return whether meta tensors promise exact strides: for views, and for arguments in a memory format."""
    return call.definition.kind == "view" or all(
        is_strided(t) and (t.is_contiguous() or t.is_contiguous(memory_format=FORMATS.get(t.ndim)))
        for t in tensors_in(call.args)
    )


def differences_without_data(real: Any, fake: Any, exact: bool) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield how a result differs from that without data: the fault, a word for it, the real and the fake value."""
    if tuple(real.shape) != tuple(fake.shape):
        yield "fake_shape", "shape ", list(real.shape), list(fake.shape)
        return
    if real.dtype is not fake.dtype:
        yield "fake_dtype", "", real.dtype, fake.dtype
    if real.layout is not fake.layout:
        yield "fake_result", "", real.layout, fake.layout
    elif not (exact and is_strided(real) and real._spec.backend.has_views and real.numel()):
        return
    elif tuple(real.stride()) != tuple(fake.stride()):
        yield "fake_strides", "strides ", list(real.stride()), list(fake.stride())


def _same_kind(real: Any, found: Any) -> bool:
    if isinstance(real, TensorBase) or isinstance(found, TensorBase):
        return isinstance(real, TensorBase) and isinstance(found, TensorBase)
    if isinstance(real, list | tuple):
        return isinstance(found, list | tuple) and len(real) == len(found)
    return bool(real == found) or (real is None) == (found is None)


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"{len(value)} results"
    return "a tensor" if isinstance(value, TensorBase) else repr(value)


def _sharing(call: CheckedCall, fake_call: CheckedCall, found: Any, how: str) -> Iterator[Finding]:
    """Look for a fake result that is, or shares the memory of, an argument that the schema does not let it share."""
    allowed = {a.name for a, _ in call.named() if a.alias is not None}
    for tensor in tensors_in(found):
        for argument, name, other in fake_call.tensors():
            if argument.name in allowed:
                continue
            # A new tensor around the argument's own description is the argument as well.
            same = tensor is other or tensor._handle is other._handle
            if same or (tensor._storage is not None and tensor._storage is other._storage):
                yield Finding(
                    "fake_aliases", f"without data, the result is argument '{name}' itself", call, how, name
                )
                return


FORMATS: Final = {len(order): name for name, order in ORDERS.items()}
"""Number of dimensions -> the memory format with the channels last."""

# --- on samples ------------------------------------------------------------------------------------------------

_SOMETIMES_DEPENDENT: Final = frozenset(
    {"one_hot", "repeat_interleave.Tensor", "repeat_interleave.self_Tensor"}
)
"""Whose shape depends on data unless a number that says it is given."""


def check_meta(case: Case) -> Iterator[str]:
    """Compare shape, dtype and strides with those of the same call without data."""
    strided = all(map(is_strided, case.tensors))  # other layouts may read values to find the stored elements
    dependent = depends_on_data(case.definition)
    # A mask as an index selects as many elements as it has true ones.
    masked = any(t.dtype.name in ("bool", "uint8") for t in case.tensors)
    try:
        args = _without_data(case.given, "meta").args
        fake = list(tensors_in(case.run_bound(dict(zip(case.bound, args, strict=True)))))
    except DataDependentError as error:
        if strided and not dependent and not masked and case.definition.name not in _SOMETIMES_DEPENDENT:
            yield f"the call is refused without data: {error}"
        return
    if strided and dependent:
        yield "the result depends on data, and the call succeeded without"
        return
    real = list(tensors_in(case.result))
    if len(real) != len(fake):
        yield f"{len(real)} results instead of {len(fake)}"
        return
    exact = has_exact_strides(case.given)
    for one, other in zip(real, fake, strict=True):
        for _, what, seen, expected in differences_without_data(one, other, exact):
            yield f"{what}{seen} instead of {expected}"


def check_absent(case: Case) -> Iterator[str]:
    """Call with fake tensors of a device that does not exist: the results are those of meta tensors, on that device."""
    if not all(map(is_strided, case.tensors)):
        yield SKIPPED
        return
    try:
        expected = list(tensors_in(case.run_bound(_bound_without_data(case, "meta"))))
    except DataDependentError:
        return  # judged by check_meta
    try:
        with nullcontext() if case.tensors else FakeMode():  # which makes factories fake
            results = list(tensors_in(case.run_bound(_bound_without_data(case, "absent"))))
    except DataDependentError as error:
        yield f"fake tensors of an absent device are refused: {error}"
        return
    except Exception as error:  # whatever asks for the device
        yield f"fake tensors of an absent device meet {type(error).__name__}: {error}"
        return
    if len(results) != len(expected):
        yield f"of an absent device there are {len(results)} results instead of {len(expected)}"
        return
    for one, other in zip(results, expected, strict=True):
        # Strides are compared in every case: neither side has run a kernel that may choose its own.
        for _, what, seen, usual in differences_without_data(one, other, True):
            yield f"of an absent device: {what}{seen} instead of {usual}"
        if other.device.type == "meta" and one.device != Device(ABSENT):
            yield f"of an absent device: the result is on {str(one.device)!r}"


def _bound_without_data(case: Case, how: str) -> dict[str, Any]:
    return dict(zip(case.bound, _without_data(case.given, how).args, strict=True))


def check_format(case: Case) -> Iterator[str]:
    """Call with the channels last in memory: the strides of the results are those without data."""
    usable = (
        any(t.ndim in FORMATS and t.numel() for t in case.tensors)
        and case.definition.kind != "view"
        and case.definition.name not in READ_STRIDES
        and not depends_on_data(case.definition)
        and all(map(is_strided, case.tensors))
    )
    if not takes(case, "format", usable):
        yield SKIPPED
        return
    bound = {name: map_tensors(value, channels_last) for name, value in case.bound.items()}
    formatted = CheckedCall(case.given.caller, tuple(bound.values()), case.given.on)
    try:
        fake = case.run_bound(dict(zip(bound, _without_data(formatted, "meta").args, strict=True)))
    except DataDependentError:
        return
    for one, other in zip(tensors_in(case.run_bound(bound)), tensors_in(fake), strict=True):
        ours, theirs = _moving(one), _moving(other)
        if one._spec.backend.has_views and one.numel() and ours != theirs:
            yield f"with the channels last: strides {ours} of shape {list(one.shape)} instead of {theirs}"


def _moving(tensor: Tensor) -> list[int]:
    """Return the strides that lead from one element to another: those of dimensions of size 1 do not."""
    return [stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1]


def channels_last(tensor: Tensor) -> Any:
    """Return a tensor of four or five dimensions with the same values and its channels last, another one itself."""
    name = FORMATS.get(tensor.ndim)
    return tensor if name is None else like(plain(tensor).clone(memory_format=name), tensor)
