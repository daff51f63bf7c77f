"""Plugins that do what none should: they are quarantined with a reason, and never stop what uses tt."""

from __future__ import annotations

import random
from typing import Final

from tests.fuzz.drafts import Program

__all__ = ["program"]

VALUES: Final = (
    "None", "1", "-1", "''", "'x' * 10**6", "b'x'", "object()", "[]", "{}", "{'a': 1}", "('cpu',)", "('',)",
    "(None,)", "[['a']]", "{'shape': 'os:getcwd'}", "{'x': 'nowhere:f'}", "{'__class__': 'os:getcwd'}",
    "float('nan')", "10**30", "'1.0'", "'99.0'", "'\\u0661.\\u0660'", "lambda *a, **k: None", "Bad()", "type",
    "range(3)", "('autograd',)", "('acme', 'acme')", "('a::b',)", "('a b',)",
)  # fmt: skip
FIELDS: Final = (
    "api_version", "devices", "layouts", "layers", "members", "namespaces", "requires", "extends",
    "accelerators", "available",
)  # fmt: skip
BODIES: Final = (
    "raise RuntimeError('no')", "raise undefined", "return", "return {value}", "yield", "1 / 0",
    "import nowhere", "raise ImportError",
    "raise type('E', (Exception,), {{'__str__': lambda self: 1 / 0}})()", "return Bad()",
    "import sys; sys.exit(3)", "raise StopIteration", "return tt_manifest()",
    "registry.kernel('add', 'cpu')(None)", "registry.{name}({value})", "registry.{name} = {value}",
    "del registry.{name}", "raise RecursionError", "return Manifest('other')", "return Manifest({value})",
)  # fmt: skip
NAMES: Final = (
    "source", "add", "kernel", "device", "backend", "schema", "define", "composite", "layer", "register",
    "load",
)  # fmt: skip
MODULE: Final = """\
from tt.core.hooks import Manifest, hookimpl

class Bad:
    def __getattr__(self, name): raise ValueError(name)
    def __repr__(self): raise ValueError("repr")
    def __eq__(self, other): raise ValueError("eq")
    def __hash__(self): raise ValueError("hash")
    def __len__(self): raise ValueError("len")
    def __iter__(self): raise ValueError("iter")
    def __bool__(self): raise ValueError("bool")

{top}
@hookimpl
def tt_manifest():
    {manifest}

@hookimpl
def tt_register(registry):
    {register}
"""
PROGRAM: Final = """\
import sys, tempfile
from pathlib import Path
from tests.core.host.conftest import Packages
with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    try:
        packages = Packages(Path(folder))
        packages.add("acme", {module}, entry={entry})
        packages.add_good("good")
        host = packages.host()
        host.load()
        host.activate_all()
        states = {{plugin.name: plugin.state for plugin in host.plugins()}}
        assert states["good"] == "active", f"a good plugin is {{states['good']}}"
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.startswith("host_test_")]:
            del sys.modules[name]
"""


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a program that loads a hostile plugin; `tests.fuzz.operators.program` explains the arguments."""
    chance = random.Random(f"{seed}/{number}")
    parts = [
        chance.choice(("manifest", "field", "field", "register", "top"))
        for _ in range(chance.randrange(1, 4))
    ]
    fields, top, register = {"namespaces": "('acme',)"}, "", "pass"
    body = ""
    for index, name in enumerate(parts):
        value, field, word = chance.choice(VALUES), chance.choice(FIELDS), chance.choice(NAMES)
        statement = chance.choice(BODIES).format(value=value, name=word)
        if index in dropped or name in excluded:
            continue
        if name == "field":
            fields[field] = value
        elif name == "manifest":
            body = statement
        elif name == "register":
            register = statement
        elif not statement.startswith(("return", "yield", "registry", "del")):
            top = statement
    named = ", ".join(f"{key}={value}" for key, value in fields.items())
    module = MODULE.format(top=top, manifest=body or f"return Manifest('acme', {named})", register=register)
    entry = chance.choice(("''",) * 8 + ("'a b'", "'é'", "'.'"))
    return Program(PROGRAM.format(module=repr(module), entry=entry), tuple(parts), "plugin")
