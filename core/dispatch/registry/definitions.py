"""The definitions of operators: tt's own from the snapshot, and those that plugins and the program add."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tt.core import plugins
from tt.core.dispatch.registry.sources import TT_SOURCE, Provider
from tt.core.errors import DuplicateRegistrationError
from tt.core.schema import snapshot
from tt.core.schema.model import OpDefinition

__all__ = ["DefinitionTable", "activate_namespace", "read_definitions"]


class DefinitionTable:
    """The known operators, by name and by alias.

    Those of tt are made when they are first looked up by name; see `tt.core.schema.snapshot`.

    Attributes
    ----------
    added : dict
        Qualified name -> definition and who brought it, of operators that are not tt's own.
    """

    def __init__(self) -> None:
        self.added: dict[str, tuple[OpDefinition, Provider]] = {}
        self._aliases: dict[str, str] | None = None

    def add(self, definitions: Iterable[OpDefinition], source: Provider) -> None:
        """Add operators.

        Raises
        ------
        DuplicateRegistrationError
            When one of them exists; then none is added.
        """
        new = list(definitions)
        # All are looked at before the first is added, so that a refusal adds none.
        for definition in new:
            if self.definition(definition.name) is not None:
                first = self.source(definition.name)
                raise DuplicateRegistrationError(f"operator {definition.name}", str(first), str(source))
        for definition in new:
            self.added[definition.name] = (definition, source)
        self._aliases = None

    def remove(self, definitions: Iterable[OpDefinition]) -> None:
        """Remove operators that were added."""
        for definition in definitions:
            self.added.pop(definition.name, None)
        self._aliases = None

    def definitions(self) -> Iterator[OpDefinition]:
        """Yield the definitions of all operators, tt's own first."""
        yield from snapshot.definitions().values()
        for definition, _ in list(self.added.values()):
            yield definition

    def definition(self, name: str) -> OpDefinition | None:
        """Return the definition of an overload, or None."""
        name = name.removeprefix("tt::")
        added = self.added.get(name)
        return added[0] if added is not None else snapshot.definitions().get(name)

    def source(self, name: str) -> Provider:
        """Return who defined an operator."""
        added = self.added.get(name)
        return added[1] if added is not None else TT_SOURCE

    def names(self) -> list[str]:
        """Return the qualified names of all overloads."""
        return [*snapshot.definitions(), *self.added]

    def public_names(self) -> Iterator[tuple[str, str]]:
        """Yield the public functions, as dotted names below tt, with the names of operators; makes no definition."""
        yield from snapshot.public_names().items()
        for definition, _ in list(self.added.values()):
            for public in definition.public_names:
                yield public, definition.signature.name

    def overloads(self, name: str) -> tuple[str, ...]:
        """Return the qualified overload names of an operator's name, in the order of the schema."""
        # `max` and `max.dim`, and not `maximum`.
        own = tuple(n for n in self.added if n == name or n.startswith(name + "."))
        if not own and activate_namespace(name):
            own = tuple(n for n in self.added if n == name or n.startswith(name + "."))
        return own or tuple(snapshot.overloads(name))

    def original(self, name: str) -> str:
        """Return the name that an alias stands for ("subtract": "sub", "subtract_": "sub_"); other names unchanged."""
        originals = self._originals()
        original = originals.get(name)
        if original is None and name.endswith("_"):
            original = originals.get(name[:-1])
            # `__and__` is no in-place form, although it ends in an underscore.
            original = original if original is None or name.endswith("__") else f"{original}_"
        return name if original is None else original

    def _originals(self) -> dict[str, str]:
        # Made of no definition of tt's: that takes longer than all else that a first in-place call does.
        if self._aliases is None:
            added = {a: d.signature.name for d, _ in list(self.added.values()) for a in d.aliases}
            self._aliases = {**snapshot.originals(), **added}
        return self._aliases


def activate_namespace(name: str) -> bool:
    """Let the plugin that declares the namespace of an operator register; return whether there is one."""
    namespace, separator, _ = name.partition("::")
    if not separator:
        return False
    return plugins().activate("namespace", namespace)


def read_definitions(definitions: Any) -> list[OpDefinition]:
    """Return operators: those of a YAML file, or of a mapping, list or tuple of definitions, or a single one.

    Raises
    ------
    SchemaError
        With all mistakes of the file.
    """
    from tt.core.schema.load import load  # brings the YAML parser, which `import tt` does without

    if isinstance(definitions, OpDefinition):
        return [definitions]
    if isinstance(definitions, Mapping):
        return list(definitions.values())
    if isinstance(definitions, list | tuple) and all(isinstance(d, OpDefinition) for d in definitions):
        return list(definitions)
    return list(load([definitions]).values())
