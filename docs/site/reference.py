"""The reference of tt's public classes and functions: a page for each namespace, and one for each class.

`make docs` writes them into docs/reference, which git ignores; Sphinx's autodoc fills them from the docstrings.
Operators have pages already, to which the namespaces link.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from docstrings import escaped

__all__ = ["FOLDER", "NAMESPACES", "Entry", "entries", "operator_pages", "pages", "public_names", "write"]

FOLDER: Final = "docs/reference"
INDEX: Final = "README"
NAMESPACES: Final = {
    "Tensors and settings": ("", "random", "types", "storage", "version", "errors"),
    "Operators by namespace": ("linalg", "fft", "special", "signal.windows", "functional", "array_api"),
    "Neural networks": (
        "nn", "nn.functional", "nn.init", "nn.attention", "nn.attention.bias", "nn.attention.flex_attention",
        "nn.grad", "nn.parallel", "nn.parameter", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize",
        "nn.utils.prune", "nn.utils.rnn", "nn.utils.stateless",
    ),
    "Training": ("optim", "optim.lr_scheduler", "optim.swa_utils", "utils.data", "amp", "utils.checkpoint"),
    "Gradients": (
        "autograd", "autograd.function", "autograd.functional", "autograd.forward_ad", "autograd.graph",
        "autograd.grad_mode", "autograd.anomaly_mode", "autograd.profiler", "autograd.variable", "func",
    ),
    "Distributions": (
        "distributions", "distributions.constraints", "distributions.transforms", "distributions.kl",
        "distributions.utils", "quasirandom",
    ),
    "Layouts": ("sparse", "nested", "masked"),
    "Devices": (
        "cuda", "cuda.memory", "cuda.nvtx", "cuda.profiler", "cuda.amp", "accelerator", "cpu", "cpu.amp",
    ),
    "Files and processes": (
        "serialization", "utils.safetensors", "hub", "utils.model_zoo", "multiprocessing", "futures",
        "distributed", "distributed.nn", "distributed.fsdp", "distributed.fsdp.wrap",
        "distributed.fsdp.sharded_grad_scaler", "distributed.optim",
        "distributed.algorithms", "distributed.algorithms.ddp_comm_hooks.default_hooks", "distributed.checkpoint",
        "distributed.checkpoint.state_dict", "distributed.elastic.multiprocessing.errors",
    ),
    "Extending tt": (
        "library", "utils.cpp_extension", "overrides", "utils._python_dispatch", "utils._pytree", "utils.dlpack",
        "utils.hooks", "utils.weak",
    ),
    "Graphs": (
        "fx", "fx.graph", "fx.graph_module", "fx.node", "fx.proxy", "fx.interpreter", "fx.traceback",
        "fx.subgraph_rewriter", "fx.immutable_collections", "fx.operator_schemas", "fx.passes.shape_prop",
        "fx.passes.split_module", "fx.passes.utils.matcher_utils",
    ),
    "Testing and measuring": (
        "testing", "utils.benchmark", "utils.flop_counter", "utils.module_tracker", "utils.tensorboard",
        "utils.deterministic", "utils.collect_env", "utils", "profiler",
    ),
    "Porting programs": ("as_torch", "port", "jit", "compiler"),
}  # fmt: skip
"""The namespaces with a page, by chapter.

An object that several namespaces export is described in the first of them, in the order of `_order`.
"""


@dataclass(frozen=True)
class Entry:
    """A public name.

    Attributes
    ----------
    name : str
        Its full name.
    kind : str
        "class", "exception", "function", "data", "module", or "operator", which has a page of its own kind.
    home : str
        The full name under which the object is described: its own, or another.
    page : str
        The page of the description, from the root of the documentation.
    """

    name: str
    kind: str
    home: str
    page: str


@functools.cache
def operator_pages() -> dict[str, str]:
    """Return the page of each operator and method by its full name."""
    from tt.cli.pages.operator_page import file_of, title_of
    from tt.core.dispatch.registry.registry import REGISTRY
    from tt.core.host import host

    host.activate_all()
    found: dict[str, str] = {}
    for definition in REGISTRY.definitions():
        if definition.signature.namespace != "tt":
            continue
        page = "docs/operators/" + file_of(title_of(definition)).removesuffix(".md")
        found.update((f"tt.{name}", page) for name in definition.public_names)
        plain, inplace = definition.signature.name, definition.inplace_name
        methods = [plain, *definition.aliases] if definition.has_method or definition.has_property else []
        if definition.has_inplace:
            methods += [inplace, *(f"{alias}_" for alias in definition.aliases)]
        for name in methods:
            found.setdefault(f"tt.Tensor.{name}", page)
    return found


def public_names(namespace: str) -> list[str]:
    """Return the public names of a namespace: those of `__all__`, or all without an underscore."""
    module = importlib.import_module(f"tt.{namespace}".rstrip("."))
    if not namespace:  # the operators are in the schema
        own = {"bool", "is_tensor", *module._TYPE_HOMES, *module._HOMES, *module._MODULES}
        return sorted(own - {"bool_"})
    listed = getattr(module, "__all__", None)
    return sorted(listed if listed is not None else (n for n in dir(module) if not n.startswith("_")))


@functools.cache
def entries() -> dict[str, Entry]:
    """Return every public name of the namespaces."""
    homes: dict[Any, Entry] = {}
    found: dict[str, Entry] = {}
    for namespace in _order():
        module = importlib.import_module(f"tt.{namespace}".rstrip("."))
        for short in public_names(namespace):
            name = f"{module.__name__}.{short}"
            value = getattr(module, short)
            kind = _kind(name, value)
            entry = Entry(name, kind, name, _page(namespace, name, kind, value))
            if kind in ("class", "exception", "function"):
                first = homes.setdefault(_identity(value), entry)
                entry = Entry(name, kind, first.home, first.page)
            found[name] = entry
    return found


def _order() -> list[str]:
    """Return the namespaces, those of fewer parts first: `tt.Stream` is described rather than `tt.cuda.Stream`.

    Errors are described where all of them are.
    """
    listed = [namespace for chapter in NAMESPACES.values() for namespace in chapter]
    return sorted(listed, key=lambda name: (name != "errors", bool(name), name.count(".")))


def _identity(value: Any) -> Any:
    """Return what is the same for the same object; a bound method is made each time that it is read."""
    return (id(value.__self__), value.__func__) if isinstance(value, types.MethodType) else id(value)


def _kind(name: str, value: Any) -> str:
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    if name in operator_pages() or f"tt.{_operator_name(value)}" in operator_pages():
        return "operator"
    if callable(value) and getattr(value, "__name__", None) and getattr(value, "__doc__", None):
        return "function"
    return "data"


def _operator_name(value: Any) -> str:
    """Return the name of an operator below another name, as those of `tt.functional` are."""
    from tt.core.dispatch.call.op_overload import OpOverload
    from tt.core.dispatch.call.packet import OpOverloadPacket

    return str(value.__name__) if isinstance(value, OpOverload | OpOverloadPacket) else ""


def _page(namespace: str, name: str, kind: str, value: Any) -> str:
    if kind == "operator":
        return operator_pages().get(name) or operator_pages()[f"tt.{_operator_name(value)}"]
    if kind == "module":
        inner = name.removeprefix("tt.")
        return f"{FOLDER}/{inner}" if inner in _order() else ""
    return f"{FOLDER}/{name if kind == 'class' else namespace or 'tt'}"


# --- pages -----------------------------------------------------------------------------------------------------


def pages() -> dict[str, str]:
    """Return the pages as reStructuredText, by their file names."""
    found = {f"{INDEX}.rst": _index()}
    for namespace in _order():
        found[f"{namespace or 'tt'}.rst"] = _namespace(namespace)
    for entry in entries().values():
        if entry.kind == "class" and entry.home == entry.name:
            found[f"{entry.name}.rst"] = _class(entry)
    return found


def write(folder: Path) -> None:
    """Bring the folder up to date; a page that has not changed is left, so that it is not built again."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = pages()
    for path in folder.glob("*.rst"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _index() -> str:
    parts = [_title("Namespaces", "=")]
    for chapter, namespaces in NAMESPACES.items():
        rows = [(f":doc:`tt.{n} <{n}>`" if n else ":doc:`tt`", _summary(_module(n))) for n in namespaces]
        parts += [_title(chapter, "-"), _table(rows)]
    return "\n".join(parts)


def _namespace(namespace: str) -> str:
    name = f"tt.{namespace}".rstrip(".")
    here = [entries()[f"{name}.{short}"] for short in public_names(namespace)]
    parts = [":orphan:\n", _title(name, "="), f".. automodule:: {name}\n   :no-members:\n"]
    if not namespace:
        parts.append("Operators are on :doc:`pages of their own <../operators/README>`.\n")
    tables: dict[str, Callable[[Entry], bool]] = {
        "Namespaces": lambda e: e.kind == "module" and bool(e.page),
        "Classes": lambda e: e.kind == "class",
        "Operators": lambda e: e.kind == "operator",
        "Described elsewhere": lambda e: e.kind in ("function", "exception") and e.home != e.name,
    }
    for heading, holds in tables.items():
        if rows := [(_link(e), _summary(_value(e.name))) for e in here if holds(e)]:
            parts += [_title(heading, "-"), _table(rows)]
    blocks = {"Functions": "function", "Exceptions": "exception", "Values": "data"}
    for heading, kind in blocks.items():
        if chosen := [e for e in here if e.kind == kind and e.home == e.name]:
            parts += [_title(heading, "-"), *(_directive(e) for e in chosen)]
    return "\n".join(parts)


def _directive(entry: Entry) -> str:
    if entry.kind == "data":
        value = _value(entry.name)
        namespace, _, short = entry.name.rpartition(".")
        lines = [
            f".. py:data:: {short}",
            f"   :module: {namespace}",
            f"   :type: {type(value).__module__}.{type(value).__name__}",
        ]
        if isinstance(value, bool | int | float | str | None):
            lines.append(f"   :value: {value!r}")
        return "\n".join(lines) + "\n"
    if entry.kind == "exception":
        return f".. autoexception:: {entry.name}\n   :show-inheritance:\n"
    return f".. autofunction:: {entry.name}\n"


def _class(entry: Entry) -> str:
    from tt import Tensor

    namespace = entry.name.rpartition(".")[0].removeprefix("tt").removeprefix(".")
    parts = [":orphan:\n", _title(entry.name, "="), f"In :doc:`{namespace or 'tt'}`.\n"]
    others = sorted(e.name for e in entries().values() if e.home == entry.name != e.name)
    if others:
        parts.append(f"Also: {', '.join(f'``{name}``' for name in others)}.\n")
    cls, short = _value(entry.name), entry.name.rpartition(".")[2]
    if cls.__name__ != short:  # autodoc only names the class that it is
        text = escaped((inspect.getdoc(cls) or "").splitlines())
        parts += [f".. py:class:: {entry.name}\n", *(f"   {line}" for line in text)]
        return "\n".join(parts) + "\n"
    # A signature that instances compute is not the class's.
    signature = "()" if isinstance(inspect.getattr_static(cls, "__signature__", None), property) else ""
    parts += [f".. autoclass:: {entry.name}{signature}", "   :show-inheritance:"]
    parts += _members_of_tensor() if cls is Tensor else ["   :members:\n"]
    return "\n".join(parts)


def _members_of_tensor() -> Iterator[str]:
    """Yield what tensors offer: operators as links, for they have pages, the rest described here."""
    from tt import Tensor

    names = [name for name in dir(Tensor) if not name.startswith("_") and hasattr(Tensor, name)]
    rows = [
        (f":doc:`{name} <../operators/{Path(page).name}>`", _summary(getattr(Tensor, name)))
        for name in names
        if (page := operator_pages().get(f"tt.Tensor.{name}"))
    ]
    yield from ("", _title("Operators", "-"), _table(rows), _title("Further members", "-"))
    for name in names:
        if f"tt.Tensor.{name}" not in operator_pages() and getattr(Tensor, name).__doc__:
            directive = "automethod" if callable(getattr(Tensor, name)) else "autoattribute"
            yield f".. {directive}:: tt.Tensor.{name}\n"


# --- text ------------------------------------------------------------------------------------------------------


def _module(namespace: str) -> Any:
    return importlib.import_module(f"tt.{namespace}".rstrip("."))


def _value(name: str) -> Any:
    namespace, _, short = name.rpartition(".")
    return getattr(importlib.import_module(namespace), short)


def _link(entry: Entry) -> str:
    short = entry.name.rpartition(".")[2]
    if entry.kind in ("operator", "module"):
        return f":doc:`{short} </{entry.page}>`"
    return f":py:obj:`{short} <{entry.home}>`"


def _summary(value: Any) -> str:
    """Return the first sentence of a docstring."""
    text = inspect.getdoc(value) or ""
    return " ".join("\n".join(escaped(text.partition("\n\n")[0].splitlines())).split())


def _title(text: str, underline: str) -> str:
    return f"{text}\n{underline * len(text)}\n"


def _table(rows: list[tuple[str, str]]) -> str:
    lines = [".. list-table::", "   :widths: 30 70", ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return "\n".join(lines) + "\n"
