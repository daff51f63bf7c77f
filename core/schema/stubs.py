"""Type stubs from the schema, so that an editor shows every function and method with its signature and description.

The build makes core/tensor/tensor_methods.pyi, api/__init__.pyi, one stub for each namespace with operators, that of
`ops` and those of modules with lazy names, and so does `python -m tt.core.schema.stubs`; git ignores them.  Members
other than operators are read from the modules themselves; the few whose Python signatures say too little are written
by hand in `stub_templates`.

This tool looks at the finished package from outside, so it imports the modules that it describes by name.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from tt.core.by_name import module_named, object_named
from tt.core.lazy import own_names
from tt.core.schema.generate import write
from tt.core.schema.load import load
from tt.core.schema.model import OpDefinition
from tt.core.schema.snapshot import definitions, root
from tt.core.schema.stub_ops import ops_stub
from tt.core.schema.stub_render import (
    ALIASES,
    HEADER_TYPES,
    render_callable,
    render_member,
    render_operator,
    render_property,
    result_class,
)

__all__ = ["stubs"]

_HERE: Final = os.path.dirname(os.path.realpath(__file__))
_PLUGINS: Final = ("tt.plugins.autograd.plugin", "tt.plugins.nested.plugin", "tt.plugins.sparse.plugin")
"""The plugins of tt itself whose members every installation has."""
_NOTICE: Final = (
    '"""Made from ops.yaml and the modules by `tt.core.schema.stubs`."""\n\n# ruff: noqa\n# fmt: off\n'
)


def stubs() -> dict[str, str]:
    """Return all stubs: path below the project -> text."""
    texts = {
        os.path.join("core", "tensor", "tensor_methods.pyi"): methods_stub(),
        os.path.join("api", "__init__.pyi"): api_stub(),
        os.path.join("core", "dispatch", "registry", "typed_ops.pyi"): ops_stub(_NOTICE, namespaces()),
    }
    for module in sorted({d.module for d in definitions().values() if d.module}):
        parts = module.split(".")
        package = os.path.join("api", *parts, "__init__.py")
        file = (
            package if os.path.exists(os.path.join(root(), package)) else os.path.join("api", *parts) + ".py"
        )
        if os.path.exists(os.path.join(root(), file)):
            texts[file + "i"] = namespace_stub(module)
    return texts | lazy_stubs()


def namespaces() -> dict[str, list[OpDefinition]]:
    """Return the operators of tt and of its own plugins, which bring theirs as YAML, by namespace."""
    by_namespace = {"tt": list(definitions().values())}
    for plugin in _PLUGINS:
        folder = Path(str(module_named(plugin).__file__)).parent
        for definition in load(sorted(folder.glob("*.yaml"))).values():
            by_namespace.setdefault(definition.signature.namespace, []).append(definition)
    return by_namespace


def grouped(chosen: Iterable[OpDefinition]) -> dict[str, list[OpDefinition]]:
    """Return the overloads of each operator's name."""
    groups: dict[str, list[OpDefinition]] = {}
    for definition in chosen:
        groups.setdefault(definition.signature.name, []).append(definition)
    return groups


# --- core/tensor/tensor_methods.pyi ----------------------------------------------------------------------------

_UNARY: Final = ("__neg__", "__pos__", "__abs__", "__invert__")


def methods_stub() -> str:
    """Return the stub of `tt.core.tensor.tensor_methods`: the methods of `Tensor`, and the results with names.

    No such module runs: for type checkers and editors `TensorMethods` is the base class of `Tensor`.
    """
    dunders = object_named("tt.core.methods.methods:DUNDERS")
    by_hand = template("tensor")
    written = set(re.findall(r"^    (?:def )?(\w+)", by_hand, re.MULTILINE))
    # What is written by hand says more than `inspect` could find.
    members = {name: member for name, member in plain_members().items() if name not in written}
    lines = [_NOTICE, HEADER_TYPES, "from tt.core.tensor.base import TensorBase"]
    lines += ["from tt.core.tensor.tensor import Tensor\n", '__all__ = ["TensorMethods"]\n', ALIASES]
    results = dict(filter(None, map(result_class, definitions().values())))
    for name, fields in results.items():
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: Tensor" for field in fields), ""]
    lines += [
        "class TensorMethods(TensorBase):",
        '    """Members of `Tensor` from ops.yaml and from plugins."""',
    ]
    lines += ["    # --- members that are not operators ---", by_hand.rstrip("\n")]
    for name, member in members.items():
        lines += render_member(name, member, "    ")
    lines += ["    # --- Python's operators ---"]
    for name in dunders:
        if name in _UNARY:
            lines.append(f"    def {name}(self) -> Tensor: ...")
        else:
            # `object` declares these two to return bool.
            ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
            lines.append(f"    def {name}(self, other: Tensor | _Scalar) -> Tensor: ...{ignore}")
    lines += ["    # --- operators ---"]
    known = {*plain_members(), *written}
    groups = grouped(d for d in definitions().values() if d.signature.namespace == "tt")
    for name, overloads in groups.items():
        methods = [d for d in overloads if d.has_method]
        if methods and name not in known:
            lines += render_operator(name, methods, "method", "    ")
        attributes = [d for d in overloads if d.has_property]
        for definition in attributes:
            lines += render_property(definition, "    ")
        # An in-place form is a method only where the operator is one, or has no namespace of its own.
        inplace = [d for d in overloads if d.has_inplace and (d.has_method or not d.module)]
        if inplace and f"{name}_" not in known:
            lines += render_operator(f"{name}_", inplace, "inplace", "    ")
    return "\n".join(lines) + "\n"


def plain_members() -> dict[str, Any]:
    """Return the members of tensors that are not operators: the core's, and those of tt's own plugins."""
    members = dict(object_named("tt.core.methods.attributes:MEMBERS"))
    for name, module in object_named("tt.core.methods.attributes:LATE_MEMBERS").items():
        members[name] = object_named(f"{module}:{name}")
    for plugin in _PLUGINS:
        for name, target in module_named(plugin).tt_manifest().members.items():
            members[name] = object_named(target)
    return members


def template(name: str) -> str:
    """Return the part of a stub that is written by hand."""
    with open(os.path.join(_HERE, "stub_templates", f"{name}.pyi.in"), encoding="utf-8") as file:
        return file.read()


# --- api/__init__.pyi and its namespaces -----------------------------------------------------------------------


def api_stub() -> str:
    """Return the stub of `tt`: its own names, and every operator that is a function."""
    tt = module_named("tt")
    with open(os.path.join(root(), "api", "__init__.py"), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    lines = [_NOTICE, HEADER_TYPES, ALIASES]
    results = dict(filter(None, map(result_class, definitions().values())))
    lines += [f"from tt.core.tensor.tensor_methods import {', '.join(sorted(results))}"]
    taken: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module not in (None, "__future__", "typing"):
            for alias in node.names:
                name = alias.asname or alias.name
                if not name.startswith("_"):
                    lines.append(f"from {node.module} import {alias.name} as {name}")
                    taken.add(name)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            taken.add(node.name)
            lines += render_callable(node.name, getattr(tt, node.name))
        elif isinstance(node, ast.Assign):
            for name in _assigned(node):
                taken.add(name)
                lines.append(f"{name}: {_constant_type(getattr(tt, name))}")
    for name, target in tt._SYNONYMS.items():
        lines.append(f"{name}: {_constant_type(getattr(tt, target))}")
        taken.add(name)
    for name, module in {**tt._TYPE_HOMES, **tt._HOMES, **tt._DEPRECATED}.items():
        lines.append(f"from {module} import {name} as {name}")
        taken.add(name)
    present = [m for m in tt._MODULES if _exists(f"api/{m}") or _exists(m)]
    lines += [f"from tt import {module} as {module}" for module in present]
    lines += ["__version__: str", f"__all__ = {tt.__all__!r}"]
    lines += _functions("", {*taken, *present})
    return "\n".join(lines) + "\n"


# Members of a namespace besides operators.
_BESIDES = {"linalg": ("from tt.core.errors import LinAlgError as LinAlgError",)}


def namespace_stub(module: str) -> str:
    """Return the stub of a namespace such as nn.functional."""
    imported = module_named(f"tt.{module}")
    lines = [_NOTICE, HEADER_TYPES, ALIASES, "from tt.core.tensor.tensor import Tensor as Tensor"]
    lines += _BESIDES.get(module, ())
    results = dict(filter(None, map(result_class, definitions().values())))
    lines += [f"from tt.core.tensor.tensor_methods import {', '.join(sorted(results))}"]
    taken: set[str] = set()
    for name, value in vars(imported).items():
        if (
            inspect.isfunction(value)  # no operator that somebody used before
            and value.__module__ == imported.__name__
            and not name.startswith("_")
        ):
            lines += render_callable(name, value)
            taken.add(name)
    lines += _functions(module, taken)
    return "\n".join(lines) + "\n"


def lazy_stubs() -> dict[str, str]:
    """Return the stubs of the modules that are nothing but a table of `tt.core.lazy`: path -> text."""
    texts = {}
    for folder, package in (("api", "tt"), ("backends", "tt.backends"), ("core", "tt.core")):
        for file in sorted(Path(root(), folder).rglob("*.py")):
            # Modules are found by their text: importing all of them would run the whole package.
            if "\n__all__ = attach(" not in file.read_text(encoding="utf-8"):
                continue
            inner = file.relative_to(Path(root(), folder)).with_suffix("").parts
            name = ".".join((package, *(part for part in inner if part != "__init__")))
            texts[str(file.relative_to(root())) + "i"] = lazy_stub(name)
    return texts


def lazy_stub(name: str) -> str:
    """Return the stub of a module with lazy names; those of functions have no type."""
    module = module_named(name)
    lazy = own_names(module)["__getattr__"]  # `vars` of some packages would import all modules
    lines = [_NOTICE, "from typing import Any"]
    for member, source in sorted(lazy.sources.items()):
        if callable(source):
            lines.append(f"{member}: Any")
        else:
            home = name + source if source.startswith(".") else source
            lines.append(f"from {home} import {member} as {member}")
    inner_modules = (inner for inner in lazy.submodules() if inner not in lazy.sources)
    lines += [f"from {name} import {inner} as {inner}" for inner in inner_modules]
    lines.append(f"__all__ = {module.__all__!r}")
    return "\n".join(lines) + "\n"


def _functions(module: str, taken: set[str]) -> list[str]:
    """Return the operators that a namespace has by their own names or by aliases."""
    lines: list[str] = []
    for overloads in grouped(d for d in definitions().values() if d.public_names).values():
        first, declared = overloads[0], ""
        # Each public name once, and aliases by assignment, so that editors show one function.
        for public in dict.fromkeys(name for d in overloads for name in d.public_names):
            parent, _, name = public.rpartition(".")
            if parent != module or name in taken:
                continue
            if declared:
                lines.append(f"{name} = {declared}")
            elif module and not first.module:
                lines.append(f"from tt import {first.python_name} as {name}")
            else:
                lines += render_operator(name, overloads, "function")
            declared = declared or name
            inplace = [d for d in overloads if d.has_inplace]
            if inplace and module == "nn.functional":
                # In `nn.functional` the in-place form is a function, whose first parameter is called input.
                declared_as = f"def {name}_(self", f"def {name}_(input: Tensor"
                rendered = render_operator(f"{name}_", inplace, "inplace")
                lines += [line.replace(*declared_as) for line in rendered]
    return lines


def _assigned(node: ast.Assign) -> list[str]:
    names = [n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _constant_type(value: Any) -> str:
    name = type(value).__name__
    known = {
        "dtype": "_dtype",
        "float": "_float",
        "int": "_int",
        "str": "str",
        "NoneType": "None",
        "bool": "_bool",
    }
    return known.get(name, "Any")


def _exists(path: str) -> bool:
    full = os.path.join(root(), *path.split("/"))
    return os.path.exists(full + ".py") or os.path.exists(os.path.join(full, "__init__.py"))


# --- the command -----------------------------------------------------------------------------------------------


def main(arguments: list[str]) -> int:
    """Write the stubs that are out of date; the arguments are those after the command's name: none."""
    if arguments:
        print("usage: python -m tt.core.schema.stubs", file=sys.stderr)
        return 2
    for path, text in stubs().items():
        write(os.path.join(root(), path), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
