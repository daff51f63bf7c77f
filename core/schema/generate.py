"""Makes the files generated from ops.yaml that are not committed: the snapshot, and through `make` the type stubs.

The build calls it, and so does the first use of a checkout whose ops.yaml has changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from importlib.util import cache_from_source
from typing import Any

from tt.core.errors import SchemaError
from tt.core.schema.load import load
from tt.core.schema.model import MISSING, Alias, OpDefinition, Type
from tt.core.schema.snapshot import FIELDS, SNAPSHOT_PATH, State, digest, source_path

__all__ = ["make_snapshot", "refresh", "render", "write"]


def refresh(digest: str, *, missing: bool) -> State:
    """Return the present contents of ops.yaml, and write snapshot and stubs if the folder is writable.

    Parameters
    ----------
    digest : str
        Digest of the sources, taken before they are read; empty if nothing is to be written.
    missing : bool
        There was no snapshot.

    Raises
    ------
    SchemaError
        With every mistake; the snapshot is left as it was.
    """
    began = time.perf_counter()
    loaded = load([source_path()])
    if digest:
        what = "ops.yaml has no snapshot" if missing else "ops.yaml or its loader has changed"
        # A read-only checkout works, too: each process then reads the YAML.
        try:
            write(SNAPSHOT_PATH, render(loaded, digest))
            forget_bytecode()
        except OSError as error:
            say(f"{what}, and every process reads the YAML, since the snapshot cannot be written: {error}")
        else:
            failed = make_stubs()
            report = (
                f"snapshot made; its type stubs failed: {failed}"
                if failed
                else "snapshot and type stubs made"
            )
            say(f"{what}: {report} in {time.perf_counter() - began:.1f} s")
    # As later processes read them: the snapshot names the file without its folder.
    here = {name: d._replace(location=("ops.yaml", d.location[1])) for name, d in loaded.items()}
    return (
        here, _overloads(loaded), _methods(loaded), _public_names(loaded), _properties(loaded), _originals(loaded)
    )  # fmt: skip


def make_snapshot() -> None:
    """Write the snapshot, if it is missing or out of date."""
    now = digest()
    write(SNAPSHOT_PATH, render(load([source_path()]), now))


def main() -> None:
    """Write the snapshot, or end the process with all mistakes of ops.yaml."""
    try:
        make_snapshot()
    except (SchemaError, OSError) as error:
        sys.exit(str(error))


def forget_bytecode() -> None:
    """Remove Python's cache of the snapshot: two versions of one second and one size are one to it."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(cache_from_source(SNAPSHOT_PATH))


def make_stubs() -> str:
    """Make the stubs in a process of its own, since tt may be half imported here; return why that failed."""
    script = os.path.join(os.path.dirname(os.path.realpath(__file__)), "make.py")
    try:
        # -P: modules beside the script must not be found under their bare names.
        done = subprocess.run(
            [sys.executable, "-P", script, "stubs"], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return lines[-1] if done.returncode else ""


def say(message: str) -> None:
    """Print one line to the standard error, if there is one."""
    if sys.stderr is not None:
        print(f"tt: {message}", file=sys.stderr)


def write(path: str, text: str) -> bool:
    """Write a generated file at once, so that no process reads half of it; return whether it changed."""
    # An unchanged file keeps its time, so that nothing that depends on it is made again.
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return False
    except FileNotFoundError:
        pass
    folder, name = os.path.split(path)
    # One name for each process and thread, so that two that write at once do not mix.
    partial = os.path.join(folder, f".{name}.{os.getpid()}.{threading.get_ident()}.partial")
    try:
        with open(partial, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # Atomic within a folder, hence the partial file beside the file.
        os.replace(partial, path)
    except OSError as error:
        if os.path.exists(partial):
            os.unlink(partial)
        if error.filename is None:  # a full disk is reported without the file
            raise OSError(error.errno, error.strerror, path) from error
        raise
    return True


# --- tables derived from all definitions -----------------------------------------------------------------------


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
            # As in PyTorch, an operator with only a function in a namespace has its in-place form there, too.
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
            # The first overload that has a public name decides.
            names.setdefault(name, _base(definition))
    return names


def _originals(found: Mapping[str, OpDefinition]) -> dict[str, str]:
    return {alias: d.signature.name for d in found.values() for alias in d.aliases}


# --- the text of the snapshot --------------------------------------------------------------------------------------


def render(found: Mapping[str, OpDefinition], digest: str) -> str:
    """Return the text of `_snapshot.py`."""
    types: dict[Type, int] = {}
    aliases: dict[Alias | None, int] = {None: 0}
    records = {}
    for name, definition in found.items():
        signature = definition.signature
        arguments = tuple(
            (
                a.name,
                # Types and aliases are few and repeat: a record holds their numbers.
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
        '"""Made from ops.yaml by `tt.core.schema.generate`."""',
        "",
        "# ruff: noqa",
        "# fmt: off",
        "from __future__ import annotations",
        "",
        "from typing import Any",
        "",
        f'DIGEST = "{digest}"',
        "TYPES: tuple[tuple[Any, ...], ...] = (",
        *(f"    {_literal(_type_fields(t))}," for t in types),
        ")",
        "ALIASES: tuple[tuple[Any, ...], ...] = (",
        *(f"    {_literal((a.sets, a.write, a.contained))}," for a in aliases if a is not None),
        ")",
        "OPS: dict[str, str] = {",
        # JSON in a literal of text: Python's compiler reads one constant, and the record is parsed when it is used.
        *(f"    {name!r}: {json.dumps(record)!r}," for name, record in records.items()),
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
        "ORIGINALS: dict[str, str] = {",
        *(f"    {alias!r}: {name!r}," for alias, name in _originals(found).items()),
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


def _type_fields(t: Type) -> tuple[Any, ...]:
    fields = (t.base, t.optional, t.list, t.size, t.element_optional, t.or_scalar)
    return (*fields, t.choices, tuple(map(_type_fields, t.items))) if t.choices or t.items else fields
