"""Checks of devices: results and intermediates stay where the arguments are, and nothing is copied to the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tt.core.dispatch.intercept.trace import trace_calls
from tt.core.testing.conformance.case import Case, tensors_in

__all__ = ["check_device"]


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
                    self.strays[f"{caller.operator.name} {what} a tensor on {tensor.device}"] = None
        return result


def check_device(case: Case) -> Iterator[str]:
    """Compare the devices of the results and of every inner call with those of the arguments."""
    places = case.places
    expected = _expected(case)
    for tensor in tensors_in(case.result):
        if tensor.device.type != expected:
            yield f"the result is on {tensor.device} instead of {expected}"
    with _Watch(places) as watch, _downloads(case) as found:
        case.run()
    for stray in watch.strays:
        yield f"inside of the call, {stray}"
    if found:
        yield f"the call reads {len(found)} arrays back to the host ({', '.join(map(str, found[:3]))})"


def _expected(case: Case) -> str:
    """Return the device type of the results: the one asked for, else that of the first tensor."""
    from tt.core.types.device import Device

    named = [value.type for value in case.bound.values() if isinstance(value, Device)]
    others = [t.device.type for t in case.tensors]
    return next(iter([*named, *others]), str(case.device).partition(":")[0])


@contextmanager
def _downloads(case: Case) -> Iterator[list[str]]:
    """Note the shapes of the arrays that the device's backend turns into NumPy arrays meanwhile.

    Any operator may read a number to decide what to do (whether a matrix is singular, for instance), and one whose
    shape depends on data may read that, too.  On the host itself reading copies nothing.
    """
    from tt.core.dispatch.registry.registry import REGISTRY

    found: list[str] = []
    device = str(case.device).partition(":")[0]
    backend: Any = REGISTRY.backend(device)
    dependent = {"data_dependent", "data_dependent_shape"} & set(case.definition.tags)
    if device == "cpu" or dependent or "to_numpy" in vars(backend):
        yield found
        return
    original = backend.to_numpy

    def counted(handle: Any) -> Any:
        if handle.ndim:
            found.append(f"shape {tuple(handle.shape)}")
        return original(handle)

    backend.to_numpy = counted
    try:
        yield found
    finally:
        del backend.to_numpy
