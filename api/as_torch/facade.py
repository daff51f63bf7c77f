"""The facade: the module `torch` whose names are tt's, and how `import torch.X` finds `tt.X`.

Note [The facade]
-----------------
`torch` is a module of its own, into which libraries may write, and which looks up in tt what it lacks.  Below it,
`torch.nn` *is* `tt.nn`: one object under two names, so that a class is the same however it was imported, and what a
library patches is patched for all.  A finder before all others gives these modules.  What tt has and PyTorch lacks as a
module (`tt.core`, `tt.cli`) is hidden, since libraries ask for modules to learn what is there.

The folder `_stand_in` holds a package `torch` of three lines and the metadata of a distribution.  `install` puts the
folder on the path, also on that of the processes that this one starts; `tt as-torch install` copies it into an
environment.  So programs, their children, `importlib.metadata` and pip all find one thing.  (Rejected: a start-up file
of the environment, which would load tt in programs that do not use it; rewriting the imports of libraries, as `tt port`
does with programs, which an upgrade would undo.)
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import tt
from tt._compat.absent.rows import absent_names, absent_spec, add_rows
from tt._compat.aliases import ALIASES
from tt._compat.homes import HIDDEN, PACKAGES
from tt._compat.torch.foreign_libraries import explain_failed_imports
from tt._compat.torch.torch_version import __version__
from tt.as_torch import pickling
from tt.as_torch.spelling import spell, spell_all
from tt.core.types.spelling import SPELLING
from tt.errors import UnsupportedError

__all__ = ["FOLDER", "HIDDEN", "METADATA", "NAME", "Facade", "install", "is_installed", "take_place"]

NAME: Final = "torch"
FOLDER: Final = Path(__file__).with_name("_stand_in")
"""The folder that holds the package `torch`, to be put on the path or copied."""
METADATA: Final = f"{NAME}-{__version__}.dist-info"
"""The folder beside the package that holds the metadata of its distribution."""
_SHIMS: Final = "tt._compat.torch"
_PATH: Final = "PYTHONPATH"


class Facade(ModuleType):
    """The module `torch`: what was written into it, else what `tt._compat.torch` says, else tt's names."""

    def __getattr__(self, name: str) -> Any:
        value = self._look_up(name)
        # The next look takes no step: programs write `torch.X` in their loops.
        vars(self)[name] = value
        return value

    def _look_up(self, name: str) -> Any:
        shims = importlib.import_module(_SHIMS)
        if name == NAME:  # PyTorch's own module imports itself, and programs write `torch.torch`
            return self
        if name == "__all__":
            return sorted({*tt.__all__, *shims.__all__} - HIDDEN)
        if name in shims.__all__:
            return getattr(shims, name)
        # Names of the import system (`__wrapped__`, `__path__`) are asked of every module, and those of tt are others.
        if name in HIDDEN or (name.startswith("__") and name not in ("__config__", "__future__")):
            raise AttributeError(f"module 'torch' has no attribute {name!r}", name=name, obj=self)
        if find_spec(f"{_SHIMS}.{name}") is not None:
            return importlib.import_module(f"{NAME}.{name}")
        try:
            return getattr(tt, name)
        except AttributeError:
            row = absent_names()[NAME].get(name)
            if row is not None:
                return row.value()
            if f"{NAME}.{name}" in absent_names():
                return importlib.import_module(f"{NAME}.{name}")
            raise

    def __dir__(self) -> list[str]:
        own = [name for name in vars(self) if name != "__builtins__"]
        return sorted({*own, *importlib.import_module(_SHIMS).__all__, *dir(tt)} - HIDDEN)


class _Alias(Loader):
    """Gives a module of tt for one of PyTorch's names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written the spec of the alias into tt's module, which would be reloaded by it.
        module.__spec__ = self._spec


class _Finder(MetaPathFinder):
    """Finds modules of tt by PyTorch's names, and completes those of tt."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, below = fullname.partition(".")
        if package == "tt":
            return _completed(fullname, path)
        if package not in PACKAGES or (package == NAME and (not below or below.partition(".")[0] in HIDDEN)):
            return None
        for name in _homes(fullname):
            try:
                spec = find_spec(name)
            except ModuleNotFoundError:  # of the package that it would lie in
                spec = None
            if spec is not None:
                return ModuleSpec(
                    fullname,
                    _Alias(name),
                    origin=spec.origin,
                    is_package=spec.submodule_search_locations is not None,
                )
        return absent_spec(fullname)


def _homes(path: str) -> tuple[str, ...]:
    """Return the modules of tt that may serve a module of PyTorch, in order."""
    if path in ALIASES:
        return (ALIASES[path],)
    shim = f"tt._compat.{path}"
    return (shim, f"tt.{path.removeprefix(NAME + '.')}") if path.startswith(NAME + ".") else (shim,)


def _path_of(name: str) -> str:
    """Return the name in PyTorch of a module of tt."""
    below = name.removeprefix("tt.")
    shim = below.removeprefix("_compat.")
    return shim if shim != below and shim.partition(".")[0] in PACKAGES else f"{NAME}.{below}"


def _completed(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Return how to import a module of tt that gets absent names, and whose classes get PyTorch's names."""
    place = _path_of(name)
    # All other finders are asked: one of them knows which compiled modules may be used.
    others = (finder.find_spec(name, path) for finder in sys.meta_path if not isinstance(finder, _Finder))
    spec = next((spec for spec in others if spec is not None), None)
    if spec is None or spec.loader is None:
        return spec
    execute = spec.loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        spell(module)
        if place != NAME:
            add_rows(module, place)

    # On the loader that there is, which also gives the source and the files of a package.
    spec.loader.exec_module = exec_module  # type: ignore[method-assign]
    return spec


def is_installed() -> bool:
    """Return whether `import torch` gives tt in this process.

    Examples
    --------
    >>> from tt import as_torch
    >>> as_torch.is_installed()
    False
    """
    return isinstance(sys.modules.get(NAME), Facade)


def install() -> None:
    """Let `import torch` give tt in this process and in those that it starts.

    `importlib.metadata` finds PyTorch's distribution, texts say `torch` (``str(x.dtype)`` is ``"torch.float32"``), and
    `PYTHONPATH` leads child processes to the same.  There is no way back: libraries keep what they have imported.

    Raises
    ------
    UnsupportedError
        PyTorch itself has been imported.

    Examples
    --------
    >>> from tt import as_torch
    >>> as_torch.install()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    >>> torch.ones(2).dtype  # doctest: +SKIP
    torch.float32
    """
    if is_installed():
        return
    _refuse_pytorch()
    folder = str(FOLDER)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    others = os.environ.get(_PATH)
    if folder not in (others or "").split(os.pathsep):
        os.environ[_PATH] = folder if not others else f"{folder}{os.pathsep}{others}"
    take_place()


def take_place() -> None:
    """Make the facade the module `torch` of this process; the package in `_stand_in` calls it.

    Raises
    ------
    UnsupportedError
        PyTorch itself has been imported.
    """
    if is_installed():
        return
    standing = sys.modules.get(NAME)  # the package of the stand-in, while it is being imported
    _refuse_pytorch()
    facade = Facade(NAME, "PyTorch's names, given by tt.")
    facade.__file__ = str(FOLDER / NAME / "__init__.py")
    facade.__path__ = [str(FOLDER / NAME)]
    facade.__package__ = NAME
    if standing is not None and standing.__spec__ is not None:
        facade.__spec__ = standing.__spec__
    else:
        facade.__spec__ = ModuleSpec(NAME, None, origin=facade.__file__, is_package=True)
    sys.modules[NAME] = facade
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        absent_names()  # reads tables, which are modules that the finder is asked for, too
        sys.meta_path.insert(0, _Finder())
        for name, module in list(sys.modules.items()):
            if name.startswith("tt.") and _path_of(name) != NAME:  # the facade has its own
                add_rows(module, _path_of(name))
    explain_failed_imports()
    SPELLING.package = NAME
    spell_all()
    pickling.install()


def _refuse_pytorch() -> None:
    if any(_is_pytorch(module) for module in (sys.modules.get(NAME), sys.modules.get("torch._C")) if module):
        raise UnsupportedError(
            "PyTorch has been imported in this process already, and its objects are no tensors of tt\n"
            "  try: tt.as_torch.install() before anything that imports torch, or tt exec program.py"
        )


def _is_pytorch(module: ModuleType) -> bool:
    """Return whether a module named `torch` is neither the facade nor the package in a stand-in."""
    return not isinstance(module, Facade) and not _is_stand_in(getattr(module, "__path__", ()))


def _is_stand_in(path: Iterable[str]) -> bool:
    return any(Path(folder).parent.joinpath(METADATA).is_dir() for folder in path)
