"""The snapshot: ops.yaml as a generated module, so that importing tt reads no YAML.

Every build makes `_snapshot.py` (see `generate`), and git ignores it.

Note [Freshness]
----------------
The snapshot holds a digest of ops.yaml and of the modules that made it.  In a checkout (ops.yaml lies next to
hatch_build.py) the first use compares the digest, and where it differs the YAML is parsed and the snapshot written
again, and the stubs with it.  The whole content is hashed (0.5 ms): times of files say nothing after a checkout of
another branch, and Python's own cache of the snapshot is as coarse as a second.  An installed package is never
compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import source_hash
from typing import Any, Final, TypeAlias

from tt.core.schema.model import MISSING, Alias, Argument, OpDefinition, Return, Signature, Type

__all__ = [
    "FIELDS", "SNAPSHOT_PATH", "Definitions", "State", "definitions", "digest", "methods", "originals", "overloads",
    "properties", "public_names", "source_path",
]  # fmt: skip

_HERE: Final = os.path.dirname(os.path.realpath(__file__))
SNAPSHOT_PATH: Final = os.path.join(_HERE, "_snapshot.py")
FIELDS: Final = (
    "kind", "meta", "promote", "result", "dtypes", "variants", "grad", "format_of", "in_range", "in_compute_range",
    "autocast", "autocast_cpu", "core", "ref", "samples", "tags", "doc", "example", "module", "aliases", "family",
)  # fmt: skip
"""The fields of a definition that a record holds as they are, in its order."""


_MAKERS: Final = (
    "snapshot", "generate", "load", "fields", "grammar", "reader", "model", "arguments", "words", "classes",
    "copies", "foreach",
)  # fmt: skip


def root() -> str:
    """Return the folder that holds core: that of the project, or the installed package."""
    return os.path.dirname(os.path.dirname(_HERE))


def source_path() -> str:
    """Return the folder of ops.yaml, which is next to core."""
    return os.path.join(root(), "ops.yaml")


# --- reading ---------------------------------------------------------------------------------------------------


class Definitions(Mapping[str, OpDefinition]):
    """The operators by qualified name, in the order of ops.yaml; each is made when it is first requested.

    The records are texts of JSON, because a process uses few of them, and making the objects in all takes 6 ms.
    """

    def __init__(self, records: Mapping[str, str], types: tuple[Any, ...], aliases: tuple[Any, ...]) -> None:
        self._records = records
        # Position 0 is "no alias", as `render` numbers them.
        self._types = tuple(_make_type(t) for t in types)
        self._aliases = (None, *(Alias(*a) for a in aliases))
        self._made: dict[str, OpDefinition] = {}

    def __getitem__(self, name: str) -> OpDefinition:
        value = self._made.get(name)
        if value is None:
            # Two threads may make the same one; all get the first.
            value = self._made.setdefault(name, self._make(json.loads(self._records[name])))
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<{len(self)} operators>"

    def _make(self, record: list[Any]) -> OpDefinition:
        (namespace, name, overload, arguments, returns), line, *fields = record
        signature = Signature(
            namespace,
            name,
            overload,
            tuple(
                Argument(
                    a[0],
                    self._types[a[1]],
                    _with_tuples(a[4]) if len(a) > 4 else MISSING,
                    a[2],
                    self._aliases[a[3]],
                )
                for a in arguments
            ),
            tuple(Return(r[0], self._types[r[1]], self._aliases[r[2]]) for r in returns),
        )
        values = map(_with_tuples, fields)
        return OpDefinition(signature, **dict(zip(FIELDS, values, strict=True)), location=("ops.yaml", line))


# JSON has no tuples, and definitions are hashed.
def _with_tuples(value: Any) -> Any:
    """Return a value of JSON with tuples in place of lists."""
    return tuple(map(_with_tuples, value)) if type(value) is list else value


def _make_type(fields: tuple[Any, ...]) -> Type:
    """Return a type from what `_type_fields` made of it."""
    node_type = Type(*fields[:7])
    return replace(node_type, items=tuple(map(_make_type, fields[7]))) if len(fields) == 8 else node_type


State: TypeAlias = tuple[
    Mapping[str, OpDefinition], Mapping[str, tuple[str, ...]], tuple[str, ...], Mapping[str, str], Mapping[str, str],
    Mapping[str, str],
]  # fmt: skip
"""Definitions, overloads, methods, public names, properties and originals."""


@cache
def _state() -> State:
    """Return the contents of the snapshot, which a checkout rebuilds if it is stale (see Note [Freshness])."""
    # An installed package has no hatch_build.py, and its snapshot is what the build made.
    checkout = os.path.exists(os.path.join(root(), "hatch_build.py"))
    try:
        from tt.core.schema import _snapshot as s  # start-up: definitions are read at first use
    except ImportError:
        stored = ""
    else:
        stored = getattr(s, "DIGEST", "of an older form")
    # An installed snapshot counts as current: it is compared with itself.
    current = digest() if checkout else stored
    if not stored or stored != current:
        from tt.core.schema.generate import refresh  # brings the YAML parser

        return refresh(current if checkout else "", missing=not stored)
    return (
        Definitions(s.OPS, s.TYPES, s.ALIASES),
        s.OVERLOADS,
        s.METHODS,
        s.PUBLIC_NAMES,
        s.PROPERTIES,
        s.ORIGINALS,
    )


def digest() -> str:
    """Return a digest of ops.yaml and of the modules that determine the contents of its snapshot."""
    contents = []
    for path in (source_path(), *(os.path.join(_HERE, f"{name}.py") for name in _MAKERS)):
        # The separator keeps the digest of two files apart from that of their concatenation.
        with open(path, "rb") as file:
            contents.append(file.read())
    # As Python hashes sources: hashlib loads OpenSSL, which takes longer than all of this.
    return source_hash(b"\0".join(contents)).hex()


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
    names = _state()[1].get(name)
    if names is None:
        names = (name,) if name in definitions() else ()
    return names


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
    """Return the attributes that operators give to `Tensor`: name -> documentation.

    Examples
    --------
    >>> from tt.core.schema.snapshot import properties
    >>> "mT" in properties()
    True
    """
    return _state()[4]


def originals() -> Mapping[str, str]:
    """Return the names that aliases stand for, without making a definition.

    Examples
    --------
    >>> from tt.core.schema.snapshot import originals
    >>> originals()["subtract"]
    'sub'
    """
    return _state()[5]
