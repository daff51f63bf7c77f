"""The manifest of a plugin: the names that it brings, known before anything of it is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Final, Literal

from tt.core.errors import PluginError

__all__ = ["API_VERSION", "Declares", "Manifest", "major_and_minor"]

API_VERSION: Final = "1.0"
"""The version of the hooks and of `tt.library` that this tt offers to plugins: a new major version takes something
away or changes it, a new minor version only adds."""

Declares = Literal["device", "layout", "layer", "namespace", "library", "member", "command"]
"""The kinds of names that plugins bring; using one for the first time activates the plugin.  All but the commands,
which the hook `tt_commands` names, stand in the manifest."""

DECLARED: Final[tuple[Declares, ...]] = ("device", "layout", "layer", "namespace", "library", "member")


def major_and_minor(version: object) -> tuple[int, int]:
    """Return the two parts of a version of the plugin interface.

    Raises
    ------
    ValueError
        When it is neither "MAJOR.MINOR", "MAJOR" nor an int.

    Examples
    --------
    >>> from tt.core.host.manifest import major_and_minor
    >>> major_and_minor("1.2"), major_and_minor(1)
    ((1, 2), (1, 0))
    """
    if isinstance(version, int) and not isinstance(version, bool):
        return version, 0
    # Without regular expressions here and in the like: compiling one takes longer than all that a process does with it.
    major, point, minor = version.partition(".") if isinstance(version, str) else ("", "", "")
    if not major.isdecimal() or (point and not minor.isdecimal()):
        raise ValueError(f"no version: {version!r}")
    return int(major), int(minor or 0)


def _is_word(value: object) -> bool:
    return isinstance(value, str) and bool(value)


@dataclass(frozen=True)
class Manifest:
    """The name of a plugin, and its contents.

    Parameters
    ----------
    name : str
        The name of the plugin, the same as that of its entry point.
    api_version : str or int
        The `API_VERSION` for which the plugin was written: "1.0"; 1 is the same.
    devices : tuple of str
        Device types that the plugin brings, for instance ("cuda",).
    layouts : tuple of str
        Layouts that it brings, for instance ("sparse_coo",).
    layers : tuple of str
        Layers that it brings, for instance ("autograd",).
    members : mapping of str to str
        Attributes of tensors, name -> "module:attribute" of a function, property or other descriptor.
    namespaces : tuple of str
        Namespaces of its operators: "acme" for `acme::twice`, which is `tt.ops.acme.twice`.
    libraries : tuple of str
        Compiled libraries of PyTorch's ecosystem whose operators it brings, as dotted paths without a suffix:
        "torchvision._C" for ".../torchvision/_C.so".  `tt.ops.load_library` activates the plugin instead.
    requires : tuple of str
        Names of the plugins that must be active before this one.
    extends : tuple of str
        Device types of other plugins for which this one brings further kernels, or ("*",) for any.  They serve where
        a preference names the plugin.
    accelerators : tuple of str
        Those of its device types that `tt.accelerator` may choose.
    available : str
        "module:function" of a function that returns None, or the reason why the plugin cannot work on this
        machine; it must not import what may be missing.
    parts : mapping of str to str
        Parts of operators that its layers take from whoever defines an operator: "gradient", "batching rule" -> the
        layer.

    Raises
    ------
    PluginError
        When a field does not have the form above.

    Examples
    --------
    >>> from tt.core.host.manifest import Manifest
    >>> Manifest("acme", namespaces=("acme",)).declares("namespace")
    ('acme',)
    """

    name: str
    api_version: str | int = API_VERSION
    devices: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)
    namespaces: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    extends: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    available: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Manifests come from packages that are not type-checked, so the annotations above promise nothing.
        if not _is_word(self.name):
            raise PluginError(f"the name of a manifest is a word, not {self.name!r}")
        try:
            major_and_minor(self.api_version)
        except ValueError:
            raise PluginError(
                f"manifest {self.name!r}: api_version is a version like {API_VERSION!r}, not {self.api_version!r}"
            ) from None
        for name in ("devices", "layouts", "layers", "namespaces"):
            self._check_names(name, identifiers=True)
        for name in ("libraries", "requires", "extends", "accelerators"):
            self._check_names(name, identifiers=False)
        for name in self.accelerators:
            if name not in self.devices:
                raise PluginError(
                    f"manifest {self.name!r}: accelerators: {name!r} is none of its devices, {list(self.devices)}"
                )
        if not isinstance(self.members, Mapping):
            raise PluginError(
                f"manifest {self.name!r}: members maps names to 'module:attribute', not {self.members!r}"
            )
        for member, target in self.members.items():
            if not _is_word(member) or not member.isidentifier():
                raise PluginError(f"manifest {self.name!r}: members: {member!r} is not an attribute name")
            self._check_target(f"members: {member!r}", target)
        if self.available:
            self._check_target("available", self.available)
        if not isinstance(self.parts, Mapping):
            raise PluginError(
                f"manifest {self.name!r}: parts maps parts of operators to layers, not {self.parts!r}"
            )
        for part, layer in self.parts.items():
            if layer not in self.layers:
                raise PluginError(
                    f"manifest {self.name!r}: parts: {part!r}: {layer!r} is none of its layers, {list(self.layers)}"
                )
        # Frozen copies: the plugin keeps no way to change what it declared.
        object.__setattr__(self, "members", MappingProxyType(dict(self.members)))
        object.__setattr__(self, "parts", MappingProxyType(dict(self.parts)))

    def _check_names(self, field_name: str, *, identifiers: bool) -> None:
        names = getattr(self, field_name)
        if isinstance(names, str) or not isinstance(names, tuple | list):
            raise PluginError(f"manifest {self.name!r}: {field_name} is a tuple of names, not {names!r}")
        for name in names:
            if not _is_word(name) or (identifiers and not name.isidentifier()):
                raise PluginError(f"manifest {self.name!r}: {field_name}: {name!r} is not a name")
        if len(set(names)) != len(names):
            raise PluginError(f"manifest {self.name!r}: {field_name} names something twice: {list(names)}")
        object.__setattr__(self, field_name, tuple(names))

    def _check_target(self, what: str, target: object) -> None:
        if not isinstance(target, str) or target.count(":") != 1 or not all(target.split(":")):
            raise PluginError(f"manifest {self.name!r}: {what} is 'module:attribute', not {target!r}")

    def declares(self, kind: Declares) -> tuple[str, ...]:
        """Return the names of one kind."""
        return tuple(getattr(self, "libraries" if kind == "library" else kind + "s"))

    def all_declared(self) -> tuple[tuple[Declares, str], ...]:
        """Return every (kind, name) that the manifest declares."""
        return tuple((kind, name) for kind in DECLARED for name in self.declares(kind))

    def as_dict(self) -> dict[str, object]:
        """Return the fields as plain data, as `tt plugins list --json` prints them."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            k: dict(v) if isinstance(v, Mapping) else list(v) if isinstance(v, tuple) else v
            for k, v in values.items()
        }
