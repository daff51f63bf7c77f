"""The checks of devices: each gives the same, keeps results and intermediates, and copies nothing to the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.dispatch.resolve.trace import trace_calls
from tt.core.errors import TTError
from tt.core.host import host
from tt.core.meta import depends_on_data
from tt.core.types.device import Device
from tt.testing.checks.call import (
    CheckedCall,
    device_type,
    like,
    on_cpu,
    plain,
    tensors_in,
    undefined,
    unserved,
)
from tt.testing.checks.case import Case
from tt.testing.checks.ties import judged, outcome
from tt.testing.checks.values import unlike
from tt.testing.findings.log import Finding, Log

__all__ = ["check_device", "devices", "probe_device"]

# --- other devices ---------------------------------------------------------------------------------------------


def moved(call: CheckedCall, device: str) -> CheckedCall | None:
    """Return the call on another device, or None if its tensors cannot be moved there."""
    try:
        copy = call.map(lambda t: like(plain(t).to(device), t), f"device {device}")
    except (TTError, KeyError, TypeError):
        return None
    # A device among the arguments would bring the results back to where they were.
    args = tuple(Device(device) if isinstance(a, Device) else a for a in copy.args)
    return CheckedCall(copy.caller, args, copy.on)


def devices(call: CheckedCall, log: Log) -> Iterator[CheckedCall]:
    """Yield the call on every other device that serves the operator and is there."""
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
        result = outcome(call, log)
    except Exception as error:  # any error of the author's kernel is reported
        # A composite is offered on every device; whether its parts are served there shows only in a call.
        if unserved(error) and not call.operator.registry.kernels_of(call.operator.name, name, ("strided",)):
            log.note(
                f"device {name}: its composite needs operators that the device lacks: {str(error).splitlines()[0]}"
            )
            return
        yield Finding("device_fails", f"{type(error).__name__}: {error}", call)
        return
    for tensor in tensors_in(result):
        # An operator with a device argument may put its result elsewhere on request.
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
    text = unlike(on_cpu(result), expected, log.rtol, log.atol)

    def at_home(other: CheckedCall) -> Any:
        home = moved(other, "cpu")
        return outcome(home, log) if home else None

    if text:
        finding = Finding("device_wrong", f"differs from the CPU: {text}", call)
        yield from judged(finding, lambda c: on_cpu(outcome(c, log)), at_home, log)


# --- where results are -----------------------------------------------------------------------------------------


class _Watch(trace_calls):
    """Notes the inner calls that have tensors elsewhere."""

    def __init__(self, places: set[str]) -> None:
        super().__init__()
        self.places, self.strays = places, dict[str, None]()

    def handle(self, caller: Any, args: tuple[Any, ...]) -> Any:
        result = super().handle(caller, args)
        for what, value in (("takes", args), ("returns", result)):
            for tensor in tensors_in(value):
                if tensor.device.type not in self.places:
                    # A dict as an ordered set: each stray once, the first one first.
                    self.strays[f"{caller.operator.name} {what} a tensor on {tensor.device}"] = None
        return result


def check_device(case: Case) -> Iterator[str]:
    """Compare the devices of the results and of every inner call with those of the arguments."""
    expected = case.named_places[0]
    for tensor in tensors_in(case.result):
        if tensor.device.type != expected:
            yield f"the result is on {tensor.device} instead of {expected}"
    with _Watch({*case.named_places}) as watch, _downloads(case) as downloads:
        case.run()
    for stray in watch.strays:
        yield f"inside of the call, {stray}"
    if downloads:
        yield f"the call reads {len(downloads)} arrays back to the host ({', '.join(map(str, downloads[:3]))})"


_READ_SIZES: Final = frozenset(
    {"lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data", "_rnn_layer", "_rnn_layer_backward"}
)
"""Operators that loop over batch sizes, which programs have on the host: where they are on a device, they are read."""


@contextmanager
def _downloads(case: Case) -> Iterator[list[str]]:
    """Note the shapes of the arrays that the device's backend turns into NumPy arrays meanwhile.

    Any operator may read a number to decide what to do (whether a matrix is singular, for instance), and one whose
    shape depends on data may read that, too.  On the host itself reading copies nothing.
    """
    downloads: list[str] = []
    backend: Any = REGISTRY.backend(case.device_type)
    if (
        case.device_type == "cpu"
        or depends_on_data(case.definition)
        or case.definition.name in _READ_SIZES
        # An attribute of the instance is the counter of a check that is already at work.
        or "to_numpy" in vars(backend)
    ):
        yield downloads
        return
    original = backend.to_numpy

    def counted(handle: Any) -> Any:
        # Single numbers are allowed: an operator may have to decide by one.
        if handle.ndim:
            downloads.append(f"shape {tuple(handle.shape)}")
        return original(handle)

    backend.to_numpy = counted
    try:
        yield downloads
    finally:
        # Without the attribute the instance finds the method of its class again.
        del backend.to_numpy
