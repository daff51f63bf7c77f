"""What an absent name is: a class or a function that raises where it is called, and the modules that hold such."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any, Final, NamedTuple

from tt._compat.aliases import ALIASES
from tt.errors import UnsupportedError

__all__ = [
    "ANSWERS", "AbsentModule", "Row", "absent", "absent_module", "absent_names", "absent_spec", "add_rows", "table",
]  # fmt: skip

_PACKAGE: Final = "tt._compat.absent"
ANSWERS: Final[dict[str, Callable[..., Any]]] = {
    "same": lambda value, *args, **kwargs: value,
    "decorator": lambda *args, **kwargs: lambda function: function,
    "bool": lambda value, *args, **kwargs: bool(value),
    "false": lambda *args, **kwargs: False,
    "none": lambda *args, **kwargs: None,
}
"""What a function answers that has nothing to do because the feature is absent, by the word after its name."""


class Row(NamedTuple):
    """An absent name.

    Attributes
    ----------
    path : str
        The module, such as ``"torch.fx"``.
    text : str
        The name: with a capital a class, otherwise a function that raises.  What does not depend on the feature is
        answered: ``"wrap:same"`` is a function that returns its argument, and so for the other words of `ANSWERS`;
        ``"Shard@tt._compat.placements"`` is what that module has.
    reason : str
        What tt lacks, for the error.
    """

    path: str
    text: str
    reason: str

    @property
    def name(self) -> str:
        """The name itself."""
        return self.text.partition("@")[0].partition(":")[0]

    def value(self) -> Any:
        """Return what stands for the name."""
        return absent(self.path, self.text, self.reason)


def table(reason: str, names: Mapping[str, str]) -> list[Row]:
    """Return rows, by the path of a module, that share a reason.

    Examples
    --------
    >>> from tt._compat.absent.rows import table
    >>> [row.name for row in table("there are no graphs", {"torch.fx": "Graph wrap:same"})]
    ['Graph', 'wrap']
    """
    return [Row(path, text, reason) for path, texts in names.items() for text in texts.split()]


@cache
def absent_names() -> dict[str, dict[str, Row]]:
    """Return the rows of all tables by module and name; the packages that their modules lie in have an entry, too."""
    rows: dict[str, dict[str, Row]] = {}
    for entry in iter_modules(sys.modules[_PACKAGE].__path__):
        for row in getattr(importlib.import_module(f"{_PACKAGE}.{entry.name}"), "ABSENT", ()):
            rows.setdefault(row.path, {})[row.name] = row
    for path in [*rows, *ALIASES]:
        parent = path.rpartition(".")[0]
        while "." in parent:
            rows.setdefault(parent, {})
            parent = parent.rpartition(".")[0]
    return rows


def absent(path: str, name: str, reason: str) -> Any:
    """Return a class or function that stands for an absent name.

    Parameters
    ----------
    path, name : str
        Its module and its own name, as in a row.
    reason : str
        What tt lacks.

    Examples
    --------
    >>> from tt._compat.absent.rows import absent
    >>> Dim = absent("torch.export", "Dim", "tt exports no programs")
    >>> isinstance(1, Dim)
    False
    >>> Dim()
    Traceback (most recent call last):
        ...
    tt.core.errors.UnsupportedError: torch.export.Dim(): tt exports no programs
    """
    doc = f"Absent: {reason}."
    name, _, home = name.partition("@")
    if home:
        return getattr(importlib.import_module(home), name)
    name, _, answer = name.partition(":")
    if answer:
        return _named(FunctionType(ANSWERS[answer].__code__, {}), path, name, f"Nothing to do: {reason}.")

    if name.lstrip("_")[:1].isupper():

        def __new__(cls: type, *args: object, **kwargs: object) -> Any:  # noqa: N807
            raise UnsupportedError(f"{path}.{name}(): {reason}")

        # Annotations of libraries are evaluated: `RRef[Module]`.
        members = {"__new__": __new__, "__class_getitem__": classmethod(lambda cls, _: cls)}
        return type(name, (), {**members, "__module__": path, "__doc__": doc})

    def function(*args: object, **kwargs: object) -> Any:
        raise UnsupportedError(f"{path}.{name}(): {reason}")

    return _named(function, path, name, doc)


def _named(function: Any, path: str, name: str, doc: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = path
    function.__doc__ = doc
    return function


class AbsentModule(ModuleType):
    """A module of PyTorch of which tt has nothing: its names are absent ones."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "A module of PyTorch whose names tt lacks.")
        self.__path__: list[str] = []
        self.__all__ = sorted(absent_names()[name])

    def __getattr__(self, name: str) -> Any:
        row = absent_names()[self.__name__].get(name)
        if row is not None:
            vars(self)[name] = value = row.value()
            return value
        path = f"{self.__name__}.{name}"
        if path in absent_names() or path in ALIASES:
            return importlib.import_module(path)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self.__all__})


def absent_module(path: str) -> AbsentModule:
    """Return the module of a path that rows alone serve; the import system knows it from then on."""
    module = sys.modules.get(path)
    if not isinstance(module, AbsentModule):
        module = AbsentModule(path)
        # Looking for the module asks for its spec, which a module without a loader would lack.
        module.__spec__ = ModuleSpec(path, _AbsentLoader(), is_package=True)
        sys.modules[path] = module
    return module


class _AbsentLoader(Loader):
    """Gives a module that rows alone serve."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return absent_module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def absent_spec(path: str) -> ModuleSpec | None:
    """Return how to import a module that rows alone serve, or None where there are no rows."""
    return ModuleSpec(path, _AbsentLoader(), is_package=True) if path in absent_names() else None


def add_rows(module: ModuleType, path: str) -> None:
    """Add absent names to a module that serves a path of PyTorch, and the modules below it that rows alone serve.

    What the module has, or finds when it is first used, stays.

    Parameters
    ----------
    module : module
        A module of tt, or one of the shims.
    path : str
        Its name in PyTorch, such as ``"torch.distributed"``.
    """
    own = vars(ModuleType)["__dict__"].__get__(module)
    late = getattr(own.get("__getattr__"), "sources", ())
    rows = absent_names().get(path)
    if rows is None:
        return
    for name, row in rows.items():
        if name not in own and name not in late:
            setattr(module, name, row.value())
    children = [child for child in (*absent_names(), *ALIASES) if child.rpartition(".")[0] == path]
    is_package = "__path__" in own
    if children and not is_package:
        own["__path__"] = []  # so that they can be imported
    for child in children:
        name = child.rpartition(".")[2]
        if child in ALIASES or name in own:
            continue
        if not is_package or find_spec(f"{module.__name__}.{name}") is None:
            setattr(module, name, absent_module(child))
