"""The test of fake tensors: a call without data gives what the call with data gives, but for the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tt.core.errors import DataDependentError, MissingFakeError
from tt.core.tensor.base import TensorBase
from tt.core.testing.opcheck.call import CheckedCall, tensors_in
from tt.core.testing.opcheck.log import Log
from tt.core.testing.opcheck.memory import is_strided, plain
from tt.core.testing.opcheck.report import Finding

__all__ = ["probe_fake"]


def probe_fake(call: CheckedCall, log: Log) -> Iterator[Finding]:
    """Make a call with data, in fake mode and on the meta device, and compare what the results look like."""
    from tt.core.meta import depends_on_data

    if not all(is_strided(t) for t in tensors_in(call.args)):
        log.note("fake tensors are strided, and an argument is not")
        return
    real = log.result(call)
    dependent = depends_on_data(call.definition)
    for how in ("fake", "meta"):
        try:
            fake_call = _without_data(call, how)
            found = _run(fake_call, how, log)
        except MissingFakeError as error:
            yield Finding("missing_fake", str(error).splitlines()[0], call, how)
            return
        except DataDependentError as error:
            if not dependent:
                yield Finding("fake_needs_data", str(error).splitlines()[0], call, how)
                return
            continue
        except (
            Exception
        ) as error:  # whatever the author's fake implementation raises is what is to be reported
            yield Finding(
                "fake_fails", f"without data, the call raises {type(error).__name__}: {error}", call, how
            )
            return
        findings = list(_compare(call, real, found, how))
        findings += _sharing(call, fake_call, found, how)
        yield from findings
        if findings:
            return


def _without_data(call: CheckedCall, how: str) -> CheckedCall:
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.layers.fake import to_fake
    from tt.core.meta import describe
    from tt.core.tensor.tensor import wrap
    from tt.core.types.device import Device

    if how == "fake":
        return call.map(lambda t: to_fake(plain(t)))
    spec = REGISTRY.backend("meta").spec
    made = call.map(lambda t: wrap(describe(plain(t)), spec(t.dtype)))
    args = list(made.args)
    at = made.operator.device_at
    if at >= 0 and (args[at] is not None or not list(tensors_in(args))):
        args[at] = Device("meta")
    return CheckedCall(made.caller, tuple(args), made.on)


def _run(call: CheckedCall, how: str, log: Log) -> Any:
    from tt.core.layers.fake import FakeMode

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
    exact = call.definition.kind == "view" or all(t.is_contiguous() for t in tensors_in(call.args))
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        where = "the result" if len(ours) == 1 else f"result {index}"
        if tuple(one.shape) != tuple(other.shape):
            yield Finding(
                "fake_shape", f"{where} has shape {list(other.shape)} without data, {list(one.shape)} with", call, how
            )  # fmt: skip
            continue
        if one.dtype is not other.dtype:
            yield Finding(
                "fake_dtype", f"{where} has {other.dtype} without data, {one.dtype} with", call, how
            )
        if how == "fake" and str(one.device) != str(other.device):
            yield Finding(
                "fake_result", f"{where} is on {other.device} without data, on {one.device} with", call, how
            )
        # The promise of meta tensors: exact strides for views and for arguments that are contiguous.
        if not exact or not is_strided(one) or not one._spec.backend.has_views or not one.numel():
            continue
        if tuple(one.stride()) != tuple(other.stride()):
            yield Finding(
                "fake_strides",
                f"{where} has strides {list(other.stride())} without data, {list(one.stride())} with",
                call, how,
            )  # fmt: skip


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
            same = tensor is other or tensor._handle is other._handle
            if same or (tensor._storage is not None and tensor._storage is other._storage):
                yield Finding(
                    "fake_aliases", f"without data, the result is argument '{name}' itself", call, how, name
                )
                return
