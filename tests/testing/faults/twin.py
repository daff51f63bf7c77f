"""The twin: a device of its own with the CPU's backend and kernels, on which faults harm nothing else.

Its tensors are in a layer of its own, too, whose rules see tensors and every form of an operator.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, Final

import tt
from tt.backends.cpu.backend import CpuBackend
from tt.core.dispatch.call.codes import KERNEL
from tt.core.dispatch.registry.registry import REGISTRY, Provider, Registration
from tt.core.dispatch.registry.tables import Kernel, taken_names
from tt.core.library import CachedCall, KernelTable, Layer, Operator

__all__ = ["TWIN", "Rule", "TwinBackend", "TwinLayer", "kernels_of_cpu", "twin"]

TWIN: Final = "twin"

Rule = Callable[[CachedCall, tuple[Any, ...]], Any]


class TwinLayer(Layer):
    """Handles the operators for which a fault brings a rule, and hands all others that have a kernel down."""

    name = TWIN
    order = -10

    def __init__(self) -> None:
        super().__init__()
        self.rules: dict[tuple[str, str], Rule] = {}

    def rule(self, operator: Operator, form: str) -> Rule | None:
        """Return the rule of a fault, or what runs the kernel if there is one."""
        found = self.rules.get((operator.name, form))
        if found is not None or form == "out" or not kernels_of_cpu(operator.name):
            return found
        return run_below if form == "functional" else run_inplace_below

    def passes_through(self, operator: Operator, form: str) -> bool:
        """Let everything else pass."""
        return True


def run_below(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run what lies below the layer."""
    return entry.call_below(args)


def run_inplace_below(entry: CachedCall, args: tuple[Any, ...]) -> Any:
    """Run what lies below the layer on aliases, and let the target have what becomes of its own."""
    if entry.below.kind == KERNEL:
        return entry.call_below(args)
    target, stripped = args[0], entry.strip(args)
    entry.below.run(stripped)
    if stripped[0]._handle is not target._handle:
        target._set_data(stripped[0]._handle, target._spec)
    return target


class TwinBackend(CpuBackend):
    """The CPU's backend under another name."""

    def __init__(self, layer: TwinLayer) -> None:
        super().__init__()
        self.device_type, self.layer, self.layer_bits = TWIN, layer, layer.bit


def kernels_of_cpu(op: str) -> list[Registration]:
    """Return the CPU's own kernels of an operator."""
    return REGISTRY.kernels_of(op, "cpu", ("strided",))


def own(kernel: Kernel) -> Kernel:
    """Return a kernel of the CPU as the twin's: one that draws numbers takes them from generators of the twin."""
    names = taken_names(kernel, REGISTRY.operator(kernel.op).definition.signature)
    if "generator" not in names:
        return kernel
    at = names.index("generator")

    def function(*args: Any) -> Any:
        given = args[at]
        if given is None or given.device.type != TWIN:
            return kernel.function(*args)
        generator = tt.Generator("cpu")
        generator.manual_seed(given.initial_seed())
        generator.set_offset(given.get_offset())
        result = kernel.function(*args[:at], generator, *args[at + 1 :])
        given.set_offset(generator.get_offset())
        return result

    return dataclasses.replace(kernel, function=function, takes=names)


@contextlib.contextmanager
def twin() -> Iterator[TwinBackend]:
    """Register the twin inside of a `with` block."""
    tt.ones(1)  # the CPU is there before
    layer = TwinLayer()
    backend, table = TwinBackend(layer), KernelTable(device=TWIN)
    for op in list(REGISTRY.kernels):
        table.kernels += [own(r.kernel) for r in reversed(kernels_of_cpu(op))]
    source = Provider("the twin")
    with (
        REGISTRY.add_layer(layer, source),
        REGISTRY.add_backend(backend, source),
        REGISTRY.add(table, source),
    ):
        yield backend
