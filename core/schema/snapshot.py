"""The snapshot: ops.yaml as a generated module, so that importing tt reads no YAML.

`python -m tt.core.schema.snapshot` writes `_snapshot.py`; with `--check` it exits with 1 if that file is stale.

Note [Staleness]
----------------
The snapshot records the size and the SHA-256 of the ops.yaml that it was made from.  Where another file lies beside
the package (somebody edited it), the YAML is parsed instead, so an edit takes effect at once.  The hash is computed
only if the size is equal and the YAML is newer than the snapshot; usually two `stat` calls decide.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final, TypeAlias

from tt.core.schema.model import MISSING, Alias, Argument, OpDefinition, Return, Signature, Type

__all__ = ["Definitions", "definitions", "methods", "overloads", "properties", "public_names", "source_path"]

_HERE: Final = os.path.dirname(os.path.realpath(__file__))
SNAPSHOT_PATH: Final = os.path.join(_HERE, "_snapshot.py")
FIELDS: Final = ("kind", "meta", "promote", "result", "dtypes", "variants", "grad", "core", "ref", "samples", "tags",
                  "doc", "example", "module", "aliases")  # fmt: skip
"""The fields of a definition that a record holds as they are, in its order."""


def source_path() -> str:
    """Return where ops.yaml lies: beside the folders of the project, or in the installed package."""
    return os.path.join(os.path.dirname(os.path.dirname(_HERE)), "ops.yaml")


# --- reading ---------------------------------------------------------------------------------------------------


class Definitions(Mapping[str, OpDefinition]):
    """The operators by qualified name, in the order of ops.yaml; each is made when it is first asked for."""

    def __init__(
        self, records: Mapping[str, tuple[Any, ...]], types: tuple[Any, ...], aliases: tuple[Any, ...]
    ) -> None:
        self._records = records
        self._types = tuple(_make_type(t) for t in types)
        self._aliases = (None, *(Alias(*a) for a in aliases))
        self._made: dict[str, OpDefinition] = {}

    def __getitem__(self, name: str) -> OpDefinition:
        found = self._made.get(name)
        if found is None:
            found = self._made.setdefault(name, self._make(self._records[name]))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<{len(self)} operators>"

    def _make(self, record: tuple[Any, ...]) -> OpDefinition:
        (namespace, name, overload, arguments, returns), line, *fields = record
        signature = Signature(
            namespace,
            name,
            overload,
            tuple(
                Argument(a[0], self._types[a[1]], a[4] if len(a) > 4 else MISSING, a[2], self._aliases[a[3]])
                for a in arguments
            ),
            tuple(Return(r[0], self._types[r[1]], self._aliases[r[2]]) for r in returns),
        )
        return OpDefinition(signature, **dict(zip(FIELDS, fields, strict=True)), location=("ops.yaml", line))


def _make_type(fields: tuple[Any, ...]) -> Type:
    """Return a type from what `_type_fields` made of it."""
    found = Type(*fields[:7])
    return replace(found, items=tuple(map(_make_type, fields[7]))) if len(fields) == 8 else found


def _type_fields(t: Type) -> tuple[Any, ...]:
    fields = (t.base, t.optional, t.list, t.size, t.element_optional, t.or_scalar)
    return (*fields, t.choices, tuple(map(_type_fields, t.items))) if t.choices or t.items else fields


State: TypeAlias = tuple[
    Mapping[str, OpDefinition], Mapping[str, tuple[str, ...]], tuple[str, ...], Mapping[str, str], Mapping[str, str]
]  # fmt: skip
"""Definitions, overloads, methods, public names and properties."""


@cache
def _state() -> State:
    """Return what the snapshot holds, or (see Note [Staleness]) the YAML."""
    try:
        from tt.core.schema import _snapshot as s
    except ImportError:  # a checkout in which it was deleted to be generated anew
        return _parsed()
    if is_stale(s.SIZE, s.SHA256):
        return _parsed()
    return Definitions(s.OPS, s.TYPES, s.ALIASES), s.OVERLOADS, s.METHODS, s.PUBLIC_NAMES, s.PROPERTIES


def _parsed() -> State:
    from tt.core.schema.load import load

    found = load([source_path()])
    return found, _overloads(found), _methods(found), _public_names(found), _properties(found)


def is_stale(size: int, digest: str, source: str | None = None, snapshot: str = SNAPSHOT_PATH) -> bool:
    """Tell whether ops.yaml is there and is not the one that a snapshot was made from."""
    source = source_path() if source is None else source
    try:
        found = os.stat(source)
    except OSError:
        return False
    if found.st_size != size:
        return True
    try:
        if found.st_mtime_ns <= os.stat(snapshot).st_mtime_ns:
            return False
    except OSError:
        pass
    with open(source, "rb") as file:
        return _digest(file.read()) != digest


def definitions() -> Mapping[str, OpDefinition]:
    """Return tt's own operators by qualified name, in the order of ops.yaml.

    Examples
    --------
    >>> from tt.core.schema.snapshot import definitions
    >>> definitions()["max.dim"].signature.returns[0].name
    'values'
    """
    return _state()[0]


def overloads(name: str) -> tuple[str, ...]:
    """Return the qualified names of the overloads of an operator, in the order of ops.yaml; () if there is none.

    Examples
    --------
    >>> from tt.core.schema.snapshot import overloads
    >>> overloads("max")
    ('max', 'max.dim', 'max.other')
    """
    found = _state()[1].get(name)
    if found is None:
        found = (name,) if name in definitions() else ()
    return found


def methods() -> tuple[str, ...]:
    """Return the names of all methods and in-place methods that operators give to `Tensor`."""
    return _state()[2]


def public_names() -> Mapping[str, str]:
    """Return the public functions: dotted name below tt -> name of the operator.

    Examples
    --------
    >>> from tt.core.schema.snapshot import public_names
    >>> public_names()["linalg.svd"], public_names()["multiply"]
    ('linalg_svd', 'mul')
    """
    return _state()[3]


def properties() -> Mapping[str, str]:
    """Return the attributes that operators give to `Tensor`: name -> what it is.

    Examples
    --------
    >>> from tt.core.schema.snapshot import properties
    >>> "mT" in properties()
    True
    """
    return _state()[4]


# --- what is derived from all definitions ----------------------------------------------------------------------


def _base(definition: OpDefinition) -> str:
    return definition.name.removesuffix(f".{definition.signature.overload}")


def _overloads(found: Mapping[str, OpDefinition]) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for definition in found.values():
        base = _base(definition)
        names[base] = (*names.get(base, ()), definition.name)
    return names


def _methods(found: Mapping[str, OpDefinition]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for definition in found.values():
        for name in (definition.signature.name, *definition.aliases):
            if definition.has_method and "." not in name:
                names[name] = None
            # As in PyTorch, what is only a function of a namespace has its in-place form there, too.
            if (
                definition.has_inplace
                and "." not in name
                and (definition.has_method or not definition.module)
            ):
                names[f"{name}_"] = None
    return tuple(names)


def _properties(found: Mapping[str, OpDefinition]) -> dict[str, str]:
    return {d.signature.name: d.doc for d in found.values() if d.has_property}


def _public_names(found: Mapping[str, OpDefinition]) -> dict[str, str]:
    names: dict[str, str] = {}
    for definition in found.values():
        for name in definition.public_names:
            names.setdefault(name, _base(definition))
    return names


# --- writing ---------------------------------------------------------------------------------------------------


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()


def render(source: str | None = None) -> str:
    """Return the text of `_snapshot.py` for an ops.yaml."""
    from tt.core.schema.load import loads

    source = source_path() if source is None else source
    with open(source, "rb") as file:
        data = file.read()
    found = loads(data.decode("utf-8"), "ops.yaml")
    types: dict[Type, int] = {}
    aliases: dict[Alias | None, int] = {None: 0}
    records = {}
    for name, definition in found.items():
        signature = definition.signature
        arguments = tuple(
            (
                a.name,
                types.setdefault(a.type, len(types)),
                a.keyword_only,
                aliases.setdefault(a.alias, len(aliases)),
            )
            + (() if a.default is MISSING else (a.default,))
            for a in signature.arguments
        )
        returns = tuple(
            (r.name, types.setdefault(r.type, len(types)), aliases.setdefault(r.alias, len(aliases)))
            for r in signature.returns
        )
        head = (signature.namespace, signature.name, signature.overload, arguments, returns)
        fields = tuple(getattr(definition, field) for field in FIELDS)
        records[name] = (head, definition.location[1], *fields)
    lines = [
        '"""ops.yaml, generated by `python -m tt.core.schema.snapshot`; do not edit."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "from __future__ import annotations",
        "",
        "from typing import Any",
        "",
        f"SIZE = {len(data)}",
        f'SHA256 = "{_digest(data)}"',
        "TYPES: tuple[tuple[Any, ...], ...] = (",
        *(f"    {_literal(_type_fields(t))}," for t in types),
        ")",
        "ALIASES: tuple[tuple[Any, ...], ...] = (",
        *(f"    {_literal((a.sets, a.write, a.contained))}," for a in aliases if a is not None),
        ")",
        "OPS: dict[str, tuple[Any, ...]] = {",
        *(f"    {name!r}: {_literal(record)}," for name, record in records.items()),
        "}",
        "OVERLOADS: dict[str, tuple[str, ...]] = {",
        *(f"    {name!r}: {_literal(names)}," for name, names in _overloads(found).items()),
        "}",
        f"METHODS: tuple[str, ...] = {_literal(_methods(found))}",
        "PUBLIC_NAMES: dict[str, str] = {",
        *(f"    {name!r}: {op!r}," for name, op in _public_names(found).items()),
        "}",
        "PROPERTIES: dict[str, str] = {",
        *(f"    {name!r}: {doc!r}," for name, doc in _properties(found).items()),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _literal(value: Any) -> str:
    """Return Python source that the compiler folds to a constant, infinities and NaN included."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and value != value:
        return "(1e999 - 1e999)"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return "1e999" if value > 0 else "-1e999"
    return repr(str(value)) if isinstance(value, str) else repr(value)


def write(path: str, text: str, *, check: bool, command: str) -> int:
    """Write a generated file, or with `check` only tell whether it is current; return the exit code."""
    try:
        with open(path, encoding="utf-8") as file:
            current = file.read()
    except OSError:
        current = None
    if current == text:
        return 0
    if check:
        print(f"{os.path.basename(path)} is stale; run: python -m {command}", file=sys.stderr)
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


def main(arguments: list[str]) -> int:
    """Run the command; the arguments are those after its name."""
    if set(arguments) - {"--check"}:
        print("usage: python -m tt.core.schema.snapshot [--check]", file=sys.stderr)
        return 2
    return write(SNAPSHOT_PATH, render(), check="--check" in arguments, command="tt.core.schema.snapshot")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
