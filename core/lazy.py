"""Packages whose names are imported when they are first used.

A program uses a few of the classes of `tt.nn` and `tt.optim`, and importing all their modules takes longer than
everything else that a first training step needs.  A package says once which name comes from which module; `attach`
gives it `__getattr__`, `__dir__` and `__all__`, and `tt.core.schema.stubs` makes its stub for type checkers from the
same table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from tt.core import plugins

__all__ = ["LazyNames", "attach", "own_names", "show_whole"]


class LazyNames:
    """The `__getattr__` of a package with names that are imported when first used.

    Attributes
    ----------
    package : str
        The import name of the package or module.
    sources : dict
        Name -> where it comes from: a module, or a function that returns it.
    modules : list of str
        The modules below the package that its `__all__` has, too.
    """

    def __init__(
        self,
        package: str,
        table: Mapping[str | Callable[[str], Any], str],
        modules: str,
        layer: str,
        without: str,
    ) -> None:
        self.package = package
        self.sources = {name: source for source, names in table.items() for name in names.split()}
        self.modules = modules.split()
        self._layer = layer
        self._without = frozenset(without.split())

    def __call__(self, name: str) -> Any:
        """Return a name of the package, importing the module from which it comes."""
        source = self.sources.get(name)
        if source is None:
            return self._submodule(name)
        layer = self._layer
        # Names in `without` work where the plugin of the layer is left out; all others need it.
        if layer and not (name in self._without and plugins().leaves_out("layer", layer)):
            plugins().require("layer", layer)
            plugins().activate("layer", layer)
        if callable(source):
            return source(name)
        module = import_module(source, self.package)
        try:
            member = getattr(module, name)
        except AttributeError:
            if not hasattr(module, "__path__"):
                raise
            # A module that nothing has imported yet: found as `from ... import` finds it.
            member = import_module(f"{module.__name__}.{name}")
        # As an attribute of the package, so that the next look-up does not come here.
        setattr(sys.modules[self.package], name, member)
        return member

    def _submodule(self, name: str) -> Any:
        """Return a module of the package, which is an attribute as if it had been imported."""
        path = f"{self.package}.{name}"
        is_package = "__path__" in own_names(sys.modules[self.package])
        if is_package and name.isidentifier() and not name.startswith("__"):
            try:
                return import_module(path)
            except ModuleNotFoundError as error:
                if error.name != path:  # a module that it imports
                    raise
        raise AttributeError(f"module {self.package!r} has no attribute {name!r}")

    def names(self) -> list[str]:
        """Return the names of the package, as `__dir__` does."""
        listed = own_names(sys.modules[self.package]).get("__all__", ())
        return sorted({*listed, *self.sources, *self.submodules()})

    def submodules(self) -> list[str]:
        """Return the names of the public modules below the package."""
        from pkgutil import iter_modules

        path = own_names(sys.modules[self.package]).get("__path__", ())
        return [module.name for module in iter_modules(path) if not module.name.startswith("_")]


def own_names(module: ModuleType) -> dict[str, Any]:
    """Return the names that a module has now, whatever its class makes of `vars`."""
    names: dict[str, Any] = vars(ModuleType)["__dict__"].__get__(module)
    return names


class _NamesakePackage(ModuleType):
    """A package in which a member has the name of the module that it comes from: the name stays the member's."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a module sets it as an attribute of its package, after the module has run.
        if not (isinstance(value, ModuleType) and name in own_names(self)["__getattr__"].sources):
            super().__setattr__(name, value)


class _WholePackage(_NamesakePackage):
    """A package whose `vars` imports all its names: libraries look there for every class of a kind."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # mypy takes it for an attribute
        names = own_names(self)
        lazy = names["__getattr__"]
        for name in lazy.sources:
            if name not in names:
                lazy(name)
        return names


class _WholeNamespace(ModuleType):
    """A module with `__getattr__` and `__dir__` of its own whose `vars` has all names."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]  # as above
        names = own_names(self)
        for name in names["__dir__"]():
            if name not in names:
                names[name] = names["__getattr__"](name)
        return names


def show_whole(module: ModuleType) -> None:
    """Let `vars` of a module that finds its names by functions of its own have all of them, as those of PyTorch do.

    Examples
    --------
    >>> import tt
    >>> "inv" in vars(tt.linalg)
    True
    """
    module.__class__ = _WholeNamespace


def attach(
    package: str,
    table: Mapping[str | Callable[[str], Any], str],
    *,
    modules: str = "",
    layer: str = "",
    without: str = "",
    whole: bool = False,
) -> list[str]:
    """Give a package `__getattr__` and `__dir__`, and return its `__all__`.

    Every module below the package is an attribute of it, as if it had been imported.

    Parameters
    ----------
    package : str
        Its `__name__`; a module that is no package can have lazy names, too.
    table : mapping
        Module -> the names that come from it, separated by spaces.  A module that starts with a dot lies in the
        package; a name like the module's own is the member's, also when the module is imported.  In the place of a
        module may be a function, which is called with the name each time.
    modules : str
        The modules below the package that its `__all__` has, too.
    layer : str
        The layer without which the names are of no use: its plugin is activated first, or its absence explained.
    without : str
        The names that are of use without the layer, too, if its plugin is blocked or not installed.
    whole : bool
        Whether `vars` of the package imports all names, instead of showing those that were used.

    Examples
    --------
    >>> import sys, types
    >>> from tt.core.lazy import attach
    >>> sys.modules["shapes"] = shapes = types.ModuleType("shapes")
    >>> shapes.__all__ = attach("shapes", {"tt.core.types.size": "Size"})
    >>> shapes.__all__, shapes.Size([1, 2]).numel()
    (['Size'], 2)
    """
    lazy = LazyNames(package, table, modules, layer, without)
    module = sys.modules[package]
    vars(module).update(__getattr__=lazy, __dir__=lazy.names)
    if whole:
        module.__class__ = _WholePackage
    elif any(source == f".{name}" for name, source in lazy.sources.items()):
        module.__class__ = _NamesakePackage
    return sorted({*lazy.sources, *lazy.modules})
