"""Names of a package that are imported from its modules when first used.

A program uses a few of the classes of `tt.nn` and `tt.optim`, and importing all their modules takes longer than
everything else that a first training step needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["late_names"]


def late_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Its import name.
    homes : mapping of str to str
        Module -> the names that the package takes from it, separated by spaces.  A module that starts with a dot lies
        in the package; it is an attribute of the package, too, as if it had been imported.

    Examples
    --------
    >>> from tt._names.late_names import late_names
    >>> getattr_, dir_ = late_names("tt.nn.modules", {".linear": "Linear Bilinear"})
    >>> getattr_("Linear").__module__
    'tt.nn.modules.linear'
    """
    home_of = {name: module for module, names in homes.items() for name in names.split()}
    modules = {module[1:] for module in homes if module.startswith(".")}

    def find(name: str) -> Any:
        home = home_of.get(name)
        if home is not None:
            member = getattr(import_module(home, package), name)
            setattr(sys.modules[package], name, member)
            return member
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home_of, *modules})

    return find, names
