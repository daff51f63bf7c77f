"""The registry: which operators exist, and who brought which kernel, composite, layer and backend.

Registering and unregistering go through here, so that exactly the affected operators forget their cached calls.

Note [Operators are made late]
------------------------------
The registry is below all that calls and resolves, which asks it for kernels.  It makes an operator when one is first
looked up, and only then imports what the operator consists of, here and in `namespace`: tables are filled, and
`tt --help` is printed, without the dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from tt.core import plugins
from tt.core.by_name import object_named
from tt.core.dispatch.registry.composites import CompositeRegistrations
from tt.core.dispatch.registry.definitions import DefinitionTable, activate_namespace, read_definitions
from tt.core.dispatch.registry.namespace import Operators
from tt.core.dispatch.registry.plugin_registry import PluginRegistry
from tt.core.dispatch.registry.preference import PluginNames, eligibilities_of, in_order
from tt.core.dispatch.registry.registering import (
    add_composites,
    add_kernels,
    add_lazy_kernels,
    add_to_layer,
    refuse_duplicate,
)
from tt.core.dispatch.registry.registrations import KernelRegistrations
from tt.core.dispatch.registry.scopes import RegistrationScopes
from tt.core.dispatch.registry.sources import (
    TT_SOURCE,
    CompositeRegistration,
    Provider,
    Registration,
    RegistrationHandle,
    code_location,
)
from tt.core.dispatch.registry.tables import CompositeTable, KernelTable, LazyKernelTable, is_layer_table
from tt.core.errors import (
    DeviceError,
    DuplicateRegistrationError,
    PluginError,
    PluginFailedError,
    PluginMissingError,
    UnknownNameError,
    UnknownOpError,
    ValueRangeError,
    did_you_mean,
)
from tt.core.errors.aliases import declare_aliases
from tt.core.forks import fork_safe_lock
from tt.core.schema.model import OpDefinition
from tt.core.types.device import Device
from tt.core.types.keys import KEYS
from tt.core.types.layout import register_layout
from tt.core.types.user_warnings import warn_user

if TYPE_CHECKING:
    from collections.abc import Callable

    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.operator import Operator
    from tt.core.dispatch.call.packet import PacketOp
    from tt.core.dispatch.intercept.layers import Layer
    from tt.core.dispatch.registry.plugin_registry import Table
    from tt.core.tensor.backend import Backend

__all__ = [
    "REGISTRY",
    "Operators",
    "PluginRegistry",
    "Provider",
    "Registration",
    "RegistrationHandle",
    "Registry",
    "code_location",
    "ops",
]


class Registry:
    """The dispatcher's registry.

    Attributes
    ----------
    definition_table : DefinitionTable
        The definitions of operators, by name and by alias.
    scopes : RegistrationScopes
        What the program has registered and undoes at the end of a `with`.
    composites : CompositeRegistrations
        op -> registrations, the one that was registered last first.
    kernels : KernelRegistrations
        op -> registrations, the one that was registered last first; those of lazy tables are made when asked for.
    backends : dict
        (device type, layout) -> Backend.
    layers : dict
        name -> Layer.
    places : dict
        (device, layout or None) -> keys of the tensors that factories make there; filled as they are called.
    packets : dict
        (operator without overload, form) -> what `ops` shows for several overloads.

    Examples
    --------
    >>> import tt
    >>> from tt.library import REGISTRY, KernelTable
    >>> table = KernelTable(device="cpu")
    >>> _ = table.kernel("sign", lambda self: self * 0 + 5, dtypes="floating", override=True)
    >>> handle = REGISTRY.add(table)
    >>> tt.sign(tt.ones(2))
    tensor([5., 5.])
    >>> handle.remove()
    >>> tt.sign(tt.ones(2))
    tensor([1., 1.])
    """

    def __init__(self) -> None:
        self.lock: Any = fork_safe_lock(rank=1)
        self.definition_table = DefinitionTable()
        self.scopes = RegistrationScopes()
        self.composites = CompositeRegistrations(self.lock)
        self.kernels = KernelRegistrations(self.lock, partial(refuse_duplicate, self))
        self.backends: dict[tuple[str, str], Backend] = {}
        self.backend_sources: dict[tuple[str, str], Provider] = {}
        self.layers: dict[str, Layer] = {}
        self.operators: dict[str, Operator] = {}
        self.places: dict[Any, int] = {}
        self.packets: dict[tuple[str, str], PacketOp] = {}
        self._shape_rules: dict[str, list[list[Any]]] = {}

    # --- operators ---------------------------------------------------------------------------------------------

    def operator(self, name: str) -> Operator:
        """Return the operator of a qualified overload name, making it at first use."""
        operator = self.operators.get(name)
        if operator is not None:
            return operator
        from tt.core.dispatch.resolve.operators import make_operator  # see Note [Operators are made late]

        definition = self.definition(name)
        # A plugin may have defined the operator without registering, see `tt_define` in `tt.core.hooks`.
        if definition is None or self.definition_source(name).plugin:
            activate_namespace(name)
            definition = self.definition(name)
        if definition is None:
            raise UnknownOpError(name, self.names())
        declare_aliases(definition.signature.name, definition.aliases)
        # Another thread may have made it meanwhile: there is one operator, since it holds the cached calls.
        with self.lock:
            return self.operators.setdefault(definition.name, make_operator(definition, self))

    def overload(self, name: str, form: str = "functional") -> OpOverload:
        """Return the overload of one form of an operator."""
        return self.operator(name).overload(form)

    def invalidate(self, name: str) -> None:
        """Make an operator forget its cached calls."""
        operator = self.operators.get(name)
        if operator is not None:
            operator.invalidate()

    def definition(self, name: str) -> OpDefinition | None:
        """Return the definition of an overload, or None."""
        return self.definition_table.definition(name)

    def definitions(self) -> Iterator[OpDefinition]:
        """Yield the definitions of all operators, tt's own first."""
        return self.definition_table.definitions()

    def definition_source(self, name: str) -> Provider:
        """Return who defined an operator."""
        return self.definition_table.source(name)

    def names(self) -> list[str]:
        """Return the qualified names of all overloads."""
        return self.definition_table.names()

    def overloads(self, name: str) -> tuple[str, ...]:
        """Return the qualified overload names of an operator's name, in the order of the schema."""
        return self.definition_table.overloads(name)

    # --- registering -------------------------------------------------------------------------------------------

    def _registering(self) -> PluginRegistry | None:
        """Return the view of the plugin that is registering just now: additions are the plugin's, not the program's."""
        view = plugins().current_registry()
        return view if view is not None and view.registry is self else None

    def add(
        self, table: Table, source: Provider | None = None, scope: PluginNames | None = None
    ) -> RegistrationHandle:
        """Register a table of kernels, of composites, or one that a layer understands.

        Parameters
        ----------
        table : KernelTable, LazyKernelTable, CompositeTable or LayerTable
            What to register; the last is any object with the name of its `layer`.
        source, scope : optional
            Who brings it; `PluginRegistry` says so.

        Returns
        -------
        RegistrationHandle
            Undoes the registration.
        """
        # A plugin's module may register by the functions of `tt.library`, outside of the argument of its hook.
        if source is None and (plugin := self._registering()) is not None:
            return plugin.add(table)
        kernels = table if isinstance(table, KernelTable | LazyKernelTable) else None
        if source is None and kernels is not None and any("::" not in op for op in kernels.ops):
            # The device's plugin registers first, so that the program can override its kernels.  If the plugin cannot
            # be used, its error is raised where the device is.
            with suppress(PluginError, PluginFailedError, PluginMissingError):
                plugins().activate("device", kernels.device)
        handle = self.scopes.note(self._add(table, source or Provider(), scope), source)
        if source is None and kernels is not None:
            self._warn_of_unknown(kernels)
        return handle

    def _warn_of_unknown(self, table: KernelTable | LazyKernelTable) -> None:
        """Warn of kernels for operators that tt lacks: another version may have them, or they are misspelt."""
        for name in table.ops:
            if "::" not in name and self.definition(name) is None:
                warn_user(
                    f"no operator is named {name!r}, for which a kernel of {table.device!r} is added"
                    f"{did_you_mean(name, self.names())}",
                )

    def _add(self, table: object, source: Provider, scope: PluginNames | None = None) -> RegistrationHandle:
        if isinstance(table, KernelTable):
            return add_kernels(self, table, source, scope)
        if isinstance(table, LazyKernelTable):
            return add_lazy_kernels(self, table, source, scope)
        if isinstance(table, CompositeTable):
            return add_composites(self, table, source, scope)
        if is_layer_table(table):
            return add_to_layer(self, table, source)
        raise TypeError(
            f"a plugin passes kernel tables, composite tables and tables of layers, not {type(table).__name__}"
        )

    def add_backend(self, backend: Backend, source: Provider | None = None) -> RegistrationHandle:
        """Register the backend of a device type and layout.

        Raises
        ------
        ValueRangeError
            When the name of the device type could not be written in `device=...`.
        """
        name: Any = backend.device_type
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueRangeError(
                f"a device type has a name of letters, digits and underscores, as in 'npu', not {name!r}"
            )
        if source is None and (plugin := self._registering()) is not None:
            return plugin.add_backend(backend)
        return self.scopes.note(self._add_backend(backend, source or Provider()), source)

    def _add_backend(self, backend: Backend, source: Provider) -> RegistrationHandle:
        key = (backend.device_type, backend.layout)
        with self.lock:
            if key in self.backends:
                raise DuplicateRegistrationError(
                    f"backend of {'/'.join(key)}", str(self.backend_sources[key]), str(source)
                )
            # The bits are allotted before the backend is visible: a call that finds it needs them.
            KEYS.bit("device", backend.device_type)
            register_layout(backend.layout)
            Device.declare(backend.device_type)
            self.backends[key] = backend
            self.backend_sources[key] = source
        self.invalidate_all()

        def remove() -> None:
            self.backends.pop(key, None)
            self.backend_sources.pop(key, None)
            self.invalidate_all()

        return RegistrationHandle(remove)

    def add_layer(self, layer: Layer, source: Provider | None = None) -> RegistrationHandle:
        """Register a layer."""
        if source is None and (plugin := self._registering()) is not None:
            return plugin.add_layer(layer)
        return self.scopes.note(self._add_layer(layer, source or Provider()), source)

    def _add_layer(self, layer: Layer, source: Provider) -> RegistrationHandle:
        with self.lock:
            if layer.name in self.layers:
                raise DuplicateRegistrationError(f"layer {layer.name}", "an earlier plugin", str(source))
            self.layers[layer.name] = layer
        self.invalidate_all()

        def remove() -> None:
            self.layers.pop(layer.name, None)
            self.invalidate_all()

        return RegistrationHandle(remove)

    def add_definitions(self, definitions: Any, source: Provider | None = None) -> RegistrationHandle:
        """Register operators: a path of a YAML file, or definitions.

        Raises
        ------
        SchemaError
            With all mistakes of the file.
        DuplicateRegistrationError
            When an operator of that name exists.
        """
        if source is None and (plugin := self._registering()) is not None:
            return plugin.add_definitions(definitions)
        return self.scopes.note(self._add_definitions(definitions, source or Provider()), source)

    def _add_definitions(self, definitions: Any, source: Provider) -> RegistrationHandle:
        new = read_definitions(definitions)
        with self.lock:
            self.definition_table.add(new, source)
            self._forget_packets(new)
            ops.forget()

        def remove() -> None:
            self.definition_table.remove(new)
            for definition in new:
                self._shape_rules.pop(definition.name, None)
                operator = self.operators.pop(definition.name, None)
                if operator is not None:  # who still holds it gets an error
                    operator.removed = True
                    operator.invalidate()
            self._forget_packets(new)
            ops.forget()

        return RegistrationHandle(remove)

    def add_shape_rule(self, name: str, rule: Any, source: Provider | None = None) -> RegistrationHandle:
        """Give an operator of a third party a shape rule: the name of one, or a `ShapeRule`; it shadows an earlier one.

        Raises
        ------
        UnknownOpError
            When no third party has defined the operator.
        """
        if source is None and (plugin := self._registering()) is not None:
            return plugin.add_shape_rule(name, rule)
        added = self.definition_table.added
        if name not in added:
            raise UnknownOpError(name, added)
        slot = [rule]  # an object of its own, however often the rule occurs
        with self.lock:
            slots = self._shape_rules.setdefault(name, [[added[name][0].meta]])
            slots.insert(0, slot)
            self._set_shape_rule(name)

        def remove() -> None:
            with self.lock:
                if name in self._shape_rules:  # else the operator went before
                    self._shape_rules[name] = [p for p in self._shape_rules[name] if p is not slot]
                    self._set_shape_rule(name)

        return self.scopes.note(RegistrationHandle(remove), source)

    def _set_shape_rule(self, name: str) -> None:
        """Put the shape rule that counts into the definition of an operator."""
        added = self.definition_table.added
        # Definitions cannot change, so that a new one takes the place of the old, here and in the operator.
        definition, source = added[name]
        definition = definition._replace(meta=self._shape_rules[name][0][0])
        added[name] = (definition, source)
        operator = self.operators.get(name)
        if operator is not None:
            operator.definition = definition
            operator.invalidate()

    def _forget_packets(self, definitions: Iterable[OpDefinition]) -> None:
        """Let the functions that choose among overloads be made again where the overloads have changed."""
        names = {definition.name.partition(".")[0] for definition in definitions}
        for key in [key for key in self.packets if key[0] in names]:
            del self.packets[key]

    def invalidate_all(self) -> None:
        """Make every operator forget its cached calls, and the keys of devices be looked up again."""
        self.places.clear()
        for operator in list(self.operators.values()):
            operator.invalidate()

    # --- looking up --------------------------------------------------------------------------------------------

    def backend(self, device_type: str, layout: str = "strided") -> Backend:
        """Return the backend of a device type and layout, loading its plugin at first use.

        Raises
        ------
        UnknownNameError
            When no plugin declares the device type or the layout.
        DeviceError
            When the device type has no tensors of the layout.
        """
        backend = self.backends.get((device_type, layout))
        if backend is None and device_type in _CORE_BACKENDS and layout == "strided":
            with suppress(DuplicateRegistrationError):  # another thread has been faster
                self._add_backend(object_named(_CORE_BACKENDS[device_type])(), TT_SOURCE)
            backend = self.backends.get((device_type, layout))
        if backend is None:
            plugins().activate("device", device_type)
            plugins().activate("layout", layout)
            backend = self.backends.get((device_type, layout))
        if backend is None:
            pairs = ["/".join(key) for key in self.backends]
            if device_type not in _CORE_BACKENDS and not any(key[0] == device_type for key in self.backends):
                plugins().require("device", device_type)  # names the nearest, or what would bring it
                raise UnknownNameError("device", device_type, {key[0] for key in self.backends})
            if layout != "strided" and not any(key[1] == layout for key in self.backends):
                plugins().require("layout", layout)
            raise DeviceError(
                f"device {device_type!r} has no tensors of layout {layout!r}; there are: {', '.join(pairs)}"
            )
        return backend

    def device_types(self) -> list[str]:
        """Return the device types that have a backend, or a plugin that brings one when it is used."""
        return sorted(
            {device for device, _ in self.backends} | _CORE_BACKENDS.keys() | set(plugins().names("device"))
        )

    def layer(self, name: str) -> Layer:
        """Return a layer, loading what brings it at first use."""
        layer = self.layers.get(name)
        if layer is None:
            if name in _CORE_LAYERS:
                with suppress(DuplicateRegistrationError):  # another thread has been faster
                    self._add_layer(object_named(_CORE_LAYERS[name])(), TT_SOURCE)
            else:
                plugins().activate("layer", name)
            layer = self.layers.get(name)
        if layer is None:
            raise UnknownNameError("layer", name, {*self.layers, *_CORE_LAYERS})
        return layer

    def composite(self, op: str) -> CompositeRegistration | None:
        """Return the composite of an operator that counts, or None."""
        return self.composites.first(op)

    def composite_on(self, name: str, keys: int) -> Callable[..., Any] | None:
        """Return an operator's composite as it runs on tensors of these keys, whose layers may surround it."""
        composite = self.composite(name)
        if composite is None:
            return None
        function, devices = composite.function, KEYS.names("device", keys)
        for layer in KEYS.names("layer", keys):
            function = self.layer(layer).around_composite(function, devices)
        return function

    def all_kernels_of(self, op: str, device: str, layouts: tuple[str, ...]) -> list[Registration]:
        """Return all kernels of an operator for a device and the layouts of a call, the highest priority first."""
        kernels = [r for r in self.kernels.get(op, ()) if r.device == device and r.layouts == layouts]
        # The sort is stable: of equal priority, the one that was registered last stays in front.
        return sorted(kernels, key=lambda r: -r.kernel.priority)

    def kernels_of(self, op: str, device: str, layouts: tuple[str, ...]) -> list[Registration]:
        """Return those that take part currently, the one that counts first; see Note [Taking part]."""
        kernels = self.all_kernels_of(op, device, layouts)
        return [kernels[i] for i in in_order(eligibilities_of(kernels), [r.source for r in kernels])]

    def for_plugin(self, source: Provider, scope: PluginNames | None = None) -> PluginRegistry:
        """Return a view of the registry that notes `source` with everything that is added."""
        return PluginRegistry(self, source, scope)


# The core's own registrations, loaded at first use like a plugin's.
_CORE_LAYERS = {
    "functionalise": "tt.core.layers.functionalise:FunctionaliseLayer",
    "placement": "tt.core.layers.multi_device:PlacementLayer",
    "fake": "tt.core.layers.fake:FakeLayer",
    "python": "tt.core.layers.tt_dispatch:PythonLayer",
}
_CORE_BACKENDS = {"meta": "tt.core.meta:MetaBackend"}


REGISTRY = Registry()
"""The registry of this process."""
if TYPE_CHECKING:
    from tt.core.dispatch.registry.typed_ops import ops  # made from ops.yaml: the signature of each operator
else:
    ops = Operators(REGISTRY)
"""All operators by attribute."""
