"""Adding tables of kernels, composites and layers to the registry, and removing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.dispatch.registry.preference import PluginNames
from tt.core.dispatch.registry.sources import (
    CompositeRegistration,
    Provider,
    Registration,
    RegistrationHandle,
)
from tt.core.dispatch.registry.tables import CompositeTable, Kernel, KernelTable, taken_names
from tt.core.errors import DuplicateRegistrationError
from tt.core.schema.classes import dtype_names
from tt.core.startup import plugins
from tt.core.types.layout import register_layout

if TYPE_CHECKING:
    from tt.core.dispatch.intercept.layers import LayerTable
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["add_composites", "add_kernels", "add_to_layer"]


def add_to_layer(registry: Registry, table: LayerTable, source: Provider) -> RegistrationHandle:
    """Hand a table to its layer, which is loaded at first use."""
    plugins().activate("layer", table.layer)  # also where the layer is there: its name may not be decided yet
    undo = registry.layer(table.layer).accept(table, source)
    registry.invalidate_all()

    def remove() -> None:
        undo()
        registry.invalidate_all()

    return RegistrationHandle(remove)


def add_kernels(
    registry: Registry, table: KernelTable, source: Provider, scope: PluginNames | None
) -> RegistrationHandle:
    """Put kernels before those that are there, so that the last one of equal priority counts.

    Raises
    ------
    DuplicateRegistrationError
        When the same plugin, or the program, has registered one of them.
    """
    for layout in table.layouts:
        register_layout(layout)
    new = [
        Registration(
            kernel,
            table.device,
            table.layouts,
            source,
            frozenset(dtype_names(kernel.dtypes)),
            table.result,
            scope,
        )
        for kernel in table.kernels
    ]
    with registry.lock:
        for registration in new:
            _refuse_duplicate(registry, registration)
        for registration in new:
            registry.kernels.setdefault(registration.kernel.op, []).insert(0, registration)
            registry.invalidate(registration.kernel.op)

    def remove() -> None:
        with registry.lock:
            for registration in new:
                registry.kernels[registration.kernel.op].remove(registration)
                registry.invalidate(registration.kernel.op)

    return RegistrationHandle(remove)


def _refuse_duplicate(registry: Registry, new: Registration) -> None:
    """Refuse what one party registers twice; between plugins of several parties each call decides."""
    if new.kernel.override:
        return
    device, layouts = new.device, new.layouts
    for old in registry.kernels.get(new.kernel.op, ()):
        # The place first: an operator has kernels for many.
        same_place = old.device == device and old.layouts == layouts
        if not same_place or old.plugin_name != new.plugin_name:
            continue
        same_call = (old.kernel.form, old.kernel.priority, old.kernel.native) == (
            new.kernel.form, new.kernel.priority, new.kernel.native
        )  # fmt: skip
        overlap = old.dtypes & new.dtypes
        if same_call and overlap and _same_takes(registry, old.kernel, new.kernel):
            dtypes = ", ".join(sorted(overlap))
            raise DuplicateRegistrationError(
                f"kernel of {new.kernel.op} for {new.where} {{{dtypes}}}", str(old), str(new)
            )


def _same_takes(registry: Registry, first: Kernel, second: Kernel) -> bool:
    """Return whether two kernels take the same arguments."""
    definition = registry.definition(first.op)
    if definition is None:
        return first.function is second.function
    return taken_names(first, definition.signature) == taken_names(second, definition.signature)


def add_composites(
    registry: Registry, table: CompositeTable, source: Provider, scope: PluginNames | None
) -> RegistrationHandle:
    """Put composites before those that are there."""
    new = [CompositeRegistration(op, function, source, scope) for op, function in table.functions.items()]
    with registry.lock:
        for registration in new:
            registry.composites.setdefault(registration.op, []).insert(0, registration)
            registry.invalidate(registration.op)

    def remove() -> None:
        with registry.lock:
            for registration in new:
                registry.composites[registration.op].remove(registration)
                registry.invalidate(registration.op)

    return RegistrationHandle(remove)
