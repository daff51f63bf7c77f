"""A device of the tests' own, so that registrations on it disturb no other test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tt.core.library import REGISTRY, Backend, KernelTable, Provider, Tensor, wrap
from tt.core.library import dtype as Dtype


class ProbeBackend(Backend):
    """NumPy arrays under another device type."""

    device_type = "probe"
    handle_type = np.ndarray

    def normalise(self, result: Any) -> Any:
        return np.asarray(result)

    def cast(self, handle: Any, native_dtype: Any) -> Any:
        return handle.astype(native_dtype)

    def empty(self, shape: Any, native_dtype: Any) -> Any:
        return np.empty(shape, native_dtype)

    def from_numpy(self, array: Any, device: Any = None) -> Any:
        return array

    def to_numpy(self, handle: Any) -> Any:
        return handle

    def copy_into(self, target: Any, source: Any) -> None:
        np.copyto(target, source, casting="unsafe")

    def clone(self, handle: Any) -> Any:
        return handle.copy()


class Probe:
    """Registers on the probe device and takes everything back."""

    def __init__(self) -> None:
        self.handles: list[Any] = [
            REGISTRY.add_backend(ProbeBackend(), Provider("probe-dist", "1.0", "probe"))
        ]
        self.backend = REGISTRY.backends["probe", "strided"]

    def kernel(
        self, op: str, function: Callable[..., Any], *, source: str = "probe-dist", **options: Any
    ) -> Any:
        table = KernelTable(device="probe")
        table.kernel(op, function, **options)
        handle = REGISTRY.add(table, Provider(source, "1.0", "probe"))
        self.handles.append(handle)
        return handle

    def add(self, table: Any, source: str = "probe-dist") -> Any:
        handle = REGISTRY.add(table, Provider(source, "1.0", "probe"))
        self.handles.append(handle)
        return handle

    def tensor(self, data: Any, dtype: Dtype) -> Tensor:
        return wrap(np.asarray(data, dtype.numpy), self.backend.spec(dtype))

    def remove(self) -> None:
        while self.handles:
            self.handles.pop().remove()


@pytest.fixture
def probe() -> Iterator[Probe]:
    """A fresh probe device."""
    found = Probe()
    yield found
    found.remove()


class Scope:
    """A plugin with the given declarations and tables."""

    def __init__(self, *held, lost=(), extends=("cpu",)):
        self._held, self._lost, self._extends = set(held), set(lost), extends

    def declares(self, kind, name):
        return (kind, name) in self._held | self._lost

    def holds(self, kind, name):
        return (kind, name) in self._held

    def extends(self, device):
        return device in self._extends

    def lost(self, kind, name):
        return f"{kind} {name} is another's"


@pytest.fixture
def plugin():
    """Return a function that makes the registry of a plugin; all is taken out afterwards."""
    made = []

    def make(name, *held, **options):
        made.append(REGISTRY.for_plugin(Provider(f"tt-{name}", "1.0", name), Scope(*held, **options)))
        return made[-1]

    yield make
    for registry in made:
        registry.remove()
