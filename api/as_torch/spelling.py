"""Classes and functions under PyTorch's names, in a process where `import torch` gives tt.

Note [Names of classes under the facade]
----------------------------------------
Programs print `type(x)`, look whether a class is of `torch.nn`, and write classes into pickles by name, which PyTorch
reads.  So `__module__`, and `__qualname__` where it differs, say where PyTorch has the class.  They are attributes, and
the facade writes them: once in all modules of tt that are loaded when it is installed, then in each after it has run.
Without the facade nothing of this happens.

`inspect`, `pickle` and `typing` look in `sys.modules` for what `__module__` says.  So each module is entered there
under PyTorch's name, too.  Annotations that are texts are evaluated in that module: those of a class that PyTorch has
in another module than tt get a note of their own one.

Rejected: a metaclass or a property `__module__` (`type(x)` does not look at it), and pickles that translate names (they
are written by pickle, copy, multiprocessing, cloudpickle, each with a pickler of its own).
"""

from __future__ import annotations

import sys
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any, Final, ForwardRef

from tt import _compat
from tt._compat.homes import home_in_torch, mirrored
from tt.as_torch.pickling import complete
from tt.core.lazy import own_names

__all__ = ["spell", "spell_all"]

_SHIMS: Final = frozenset(
    module.name for path in _compat.__path__ for module in iter_modules([f"{path}/torch"])
)
"""The modules for which the facade has one of its own."""


def spell_all() -> None:
    """Give the classes and functions of all modules of tt that are loaded PyTorch's names."""
    for name, module in list(sys.modules.items()):
        if name == "tt" or name.startswith("tt."):
            spell(module)


def spell(module: ModuleType) -> None:
    """Give the classes and functions in a module of tt PyTorch's names, and the module itself.

    Parameters
    ----------
    module : module
        One that has run.  What it has imported from another module of tt is named, too.
    """
    name = module.__name__
    alias = mirrored(name)
    if (
        alias is not None
        and alias != "torch"
        and (name.startswith("tt._compat.") or alias.split(".")[1] not in _SHIMS)
    ):
        sys.modules.setdefault(alias, module)
    complete(module)
    for value in list(own_names(module).values()):
        if isinstance(value, type | FunctionType):
            # A property in a class whose instances say where they are from; None in functions of `exec`.
            home = str(value.__module__)
            if home == "tt" or home.startswith("tt."):
                _name(value, home)


def _name(value: Any, module: str) -> None:
    name = value.__qualname__
    home = home_in_torch(module, name)
    if home is None:
        return
    try:
        value.__module__ = home[0]
    except TypeError:  # a compiled class
        return
    if home[1] != name:
        value.__qualname__, value.__name__ = home[1], home[1].rpartition(".")[2]
    if isinstance(value, type) and home[0] != mirrored(module):
        annotations = vars(value).get("__annotations__", {})
        for key, text in annotations.items():
            if isinstance(text, str):
                annotations[key] = ForwardRef(text, module=module, is_class=True)
