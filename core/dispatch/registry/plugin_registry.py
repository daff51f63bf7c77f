"""The registry as the `tt_register` hook of a plugin gets it.

A plugin registers what its manifest declares.  A name that another plugin declares, too, may not be its own (yet): what
it brings for such a name waits until the name is decided for it, see `tt.core.host.name_owners`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tt.core.dispatch.registry.definitions import read_definitions
from tt.core.dispatch.registry.sources import RegistrationHandle
from tt.core.dispatch.registry.tables import (
    CompositeTable,
    KernelTable,
    LayerTable,
    LazyKernelTable,
    is_layer_table,
)
from tt.core.errors import PluginError

if TYPE_CHECKING:
    from tt.core.dispatch.intercept.layers import Layer
    from tt.core.dispatch.registry.preference import Names, PluginNames
    from tt.core.dispatch.registry.registry import Registry
    from tt.core.dispatch.registry.sources import Provider
    from tt.core.tensor.backend import Backend

__all__ = ["PluginRegistry", "Table"]

Table: TypeAlias = KernelTable | LazyKernelTable | CompositeTable | LayerTable
"""The registrations of a plugin."""

Waiting = tuple["Names", Callable[[], RegistrationHandle], "_Late"]


class _Late(RegistrationHandle):
    """The handle of a registration that waits."""

    def __init__(self) -> None:
        super().__init__(self._remove)
        self.cancelled = False
        self.inner: RegistrationHandle | None = None

    def _remove(self) -> None:
        self.cancelled = True
        if self.inner is not None:
            self.inner.remove()


class PluginRegistry:
    """The argument of a plugin's `tt_register` hook: the registry, with the plugin noted as the source.

    The handles of all that was added are kept, so that a plugin can be taken out again.

    Examples
    --------
    >>> from tt.library import KernelTable, PluginRegistry, hookimpl
    >>> @hookimpl
    ... def tt_register(registry: PluginRegistry) -> None:
    ...     table = KernelTable(device="cpu")
    ...     table.kernel("acme::twice", lambda x: x + x)
    ...     registry.add(table)
    """

    def __init__(self, registry: Registry, source: Provider, scope: PluginNames | None = None) -> None:
        self.registry, self.source, self._scope = registry, source, scope
        self.handles: list[RegistrationHandle] = []
        self._waiting: list[Waiting] = []

    def add(self, table: Table) -> RegistrationHandle:
        """Register a table of kernels, composites, formulas or rules."""
        if isinstance(table, KernelTable | LazyKernelTable):
            self._check_kernels(table)
        names: Names = ()
        if is_layer_table(table):
            names = self._check_layer_table(table)
        return self._when_held(names, lambda: self.registry.add(table, self.source, self._scope))

    def add_backend(self, backend: Backend) -> RegistrationHandle:
        """Register the backend of a device type and layout."""
        names: Names = (("device", backend.device_type), ("layout", backend.layout))
        declared = self._declared(names)
        if self._scope is not None and not declared:
            raise PluginError(
                f"the {self.source.plugin!r} plugin brings a backend of {backend.device_type}/{backend.layout}, but "
                f"its manifest declares neither\n  try: Manifest(..., devices=({backend.device_type!r},))"
            )
        return self._when_held(declared, lambda: self.registry.add_backend(backend, self.source))

    def add_layer(self, layer: Layer) -> RegistrationHandle:
        """Register a layer."""
        names: Names = (("layer", layer.name),)
        self._require_declared(names, f"layers=({layer.name!r},)")
        return self._when_held(names, lambda: self.registry.add_layer(layer, self.source))

    def add_definitions(self, definitions: Any) -> RegistrationHandle:
        """Register operators from a YAML file or from definitions."""
        new = read_definitions(definitions)
        for name in dict.fromkeys(d.signature.namespace for d in new):
            self._require_declared((("namespace", name),), f"namespaces=({name!r},)")
        names: Names = tuple(dict.fromkeys(("namespace", d.signature.namespace) for d in new))
        return self._when_held(names, lambda: self.registry.add_definitions(new, self.source))

    def add_shape_rule(self, name: str, rule: Any) -> RegistrationHandle:
        """Give an operator of the plugin a shape rule."""
        names: Names = (("namespace", name.partition("::")[0]),)
        self._require_declared(names, f"namespaces=({names[0][1]!r},)")
        return self._when_held(names, lambda: self.registry.add_shape_rule(name, rule, self.source))

    def remove(self) -> None:
        """Undo everything, the last first."""
        # The last first: what was registered later may depend on what was there before.
        self._waiting.clear()
        while self.handles:
            self.handles.pop().remove()

    def names_were_decided(self) -> None:
        """Register what waited for names that are the plugin's own now."""
        # Taken before the loop, since registering may make further registrations wait.
        waiting, self._waiting = self._waiting, []
        for names, register, late in waiting:
            if late.cancelled:
                continue
            if self._holds(names):
                late.inner = register()
            else:
                self._waiting.append((names, register, late))

    # --- allowed by the manifest ------------------------------------------------------------------------------

    def _when_held(self, names: Names, register: Callable[[], RegistrationHandle]) -> RegistrationHandle:
        if self._holds(names):
            return self._keep(register())
        late = _Late()
        self._waiting.append((names, register, late))
        return self._keep(late)

    def _holds(self, names: Names) -> bool:
        return self._scope is None or all(self._scope.holds(kind, name) for kind, name in names)

    def _declared(self, names: Names) -> Names:
        scope = self._scope
        return () if scope is None else tuple(n for n in names if scope.declares(*n))

    def _require_declared(self, names: Names, field: str) -> None:
        for kind, name in names:
            if self._scope is not None and not self._scope.declares(kind, name):
                raise PluginError(
                    f"the {self.source.plugin!r} plugin brings the {kind} {name!r}, which its manifest does not "
                    f"declare\n  try: Manifest(..., {field})"
                )

    def _check_kernels(self, table: KernelTable | LazyKernelTable) -> None:
        """Refuse kernels for a device of others that the manifest does not announce."""
        scope = self._scope
        if scope is None or scope.extends(table.device):
            return
        layouts = [("layout", layout) for layout in table.layouts]
        # A manifest that owns the device (or a layout) may say everything
        # about it; others only of their operators.
        if self._declared((("device", table.device), *layouts)):
            return
        for op in table.ops:
            namespace, separator, _ = op.partition("::")
            if not separator or not scope.declares("namespace", namespace):
                raise PluginError(
                    f"the {self.source.plugin!r} plugin brings a kernel of {op} for {table.device}, both of "
                    f"others, which its manifest does not announce\n"
                    f"  try: Manifest(..., extends=({table.device!r},))"
                )

    def _check_layer_table(self, table: LayerTable) -> Names:
        """Return the names that a table of a layer serves; refuse one that is for the operators of others."""
        if self._scope is None:
            return ()
        layer: Names = (("layer", table.layer),)
        if self._declared(layer):
            return layer
        names: dict[tuple[str, str], None] = {}
        for op in _operators_of(table):
            namespace, separator, _ = op.partition("::")
            if not separator or not self._scope.declares("namespace", namespace):
                raise PluginError(
                    f"the {self.source.plugin!r} plugin brings the rule of the layer {table.layer!r} for {op}: that is "
                    f"for whoever brings the operator or the layer to say"
                )
            names["namespace", namespace] = None
        return tuple(names)

    def _keep(self, handle: RegistrationHandle) -> RegistrationHandle:
        self.handles.append(handle)
        return handle


def _operators_of(table: LayerTable) -> Iterable[str]:
    """Return the operators for which a layer's table has something."""
    for value in vars(table).values():
        if isinstance(value, Mapping):
            yield from (name for name in value if isinstance(name, str))
