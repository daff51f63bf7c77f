"""Adding tables of kernels, composites and layers to the registry, and removing them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tt.core import plugins
from tt.core.dispatch.registry.preference import PluginNames
from tt.core.dispatch.registry.sources import (
    CompositeRegistration,
    Provider,
    Registration,
    RegistrationHandle,
)
from tt.core.dispatch.registry.tables import (
    CompositeTable,
    Kernel,
    KernelTable,
    LayerTable,
    LazyKernelTable,
    taken_names,
)
from tt.core.errors import DuplicateRegistrationError, PluginFailedError, TTError
from tt.core.schema.classes import dtype_set
from tt.core.types.layout import register_layout

if TYPE_CHECKING:
    from tt.core.dispatch.registry.registry import Registry

__all__ = ["add_composites", "add_kernels", "add_lazy_kernels", "add_to_layer", "refuse_duplicate"]


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
    new = _registrations(table, table.kernels, source, scope)
    for op in table.ops:
        registry.kernels.make(op)  # see Note [Order of lazy kernels]; before the lock, since it imports
    with registry.lock:
        # All are compared before the first is added, so that a refusal adds none.
        for registration in new:
            refuse_duplicate(registry, registration, registry.kernels.get(registration.kernel.op, ()))
        for registration in new:
            # In front, so that the latest comes first among kernels of equal priority: sorting by priority is stable.
            registry.kernels.setdefault(registration.kernel.op, []).insert(0, registration)
            registry.invalidate(registration.kernel.op)

    def remove() -> None:
        with registry.lock:
            registry.kernels.discard(new)
            for registration in new:
                registry.invalidate(registration.kernel.op)

    return RegistrationHandle(remove)


def add_lazy_kernels(
    registry: Registry, table: LazyKernelTable, source: Provider, scope: PluginNames | None
) -> RegistrationHandle:
    """Let operators have kernels that are made when they are first asked for.

    Asking for them raises DuplicateRegistrationError as `add_kernels` does, or PluginFailedError where `make` raised.
    """
    for layout in table.layouts:
        register_layout(layout)
    ops = dict.fromkeys(table.ops)
    registered: dict[str, list[Registration]] = {}

    def make(op: str) -> list[Registration]:
        try:
            kernels = [kernel for kernel in table.make(op) if kernel.op == op]
        except TTError:
            raise
        except Exception as error:
            headline = f"{source} failed to make its kernels of {op} for {table.device}"
            tried = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise PluginFailedError(op, headline, tried=[tried]) from error
        return registered.setdefault(op, _registrations(table, kernels, source, scope))

    with registry.lock:
        for op in ops:
            registry.kernels.wait(op, make)
            registry.invalidate(op)

    def remove() -> None:
        with registry.lock:
            for op in ops:
                # Kernels that nobody asked for were never made; others have to leave the table.
                if not registry.kernels.forget(op, make):
                    registry.kernels.discard(registered[op])
                registry.invalidate(op)

    return RegistrationHandle(remove)


def _registrations(
    table: KernelTable | LazyKernelTable,
    kernels: Iterable[Kernel],
    source: Provider,
    scope: PluginNames | None,
) -> list[Registration]:
    device, layouts, result = table.device, table.layouts, table.result
    return [
        Registration(kernel, device, layouts, source, dtype_set(kernel.dtypes), result, scope)
        for kernel in kernels
    ]


def refuse_duplicate(registry: Registry, new: Registration, others: Iterable[Registration]) -> None:
    """Refuse what one party registers twice; between plugins of several parties each call decides."""
    kernel, device, layouts = new.kernel, new.device, new.layouts
    if kernel.override:
        return
    for old in others:
        first = old.kernel
        # The place first: an operator has kernels for many.
        if old.device != device or old.layouts != layouts or old.plugin_name != new.plugin_name:
            continue
        if first.native != kernel.native or first.form != kernel.form or first.priority != kernel.priority:
            continue
        overlap = old.dtypes & new.dtypes
        if overlap and _same_takes(registry, first, kernel):
            dtypes = ", ".join(sorted(overlap))
            raise DuplicateRegistrationError(
                f"kernel of {new.kernel.op} for {new.where} {{{dtypes}}}", str(old), str(new)
            )


def _same_takes(registry: Registry, first: Kernel, second: Kernel) -> bool:
    """Return whether two kernels take the same arguments."""
    # Without a definition there is no signature to compare: then only the same function counts as the same.
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
