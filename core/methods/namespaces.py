"""Public namespaces: which operators are found below `tt.linalg`, `tt.nn.functional` and their like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import UnknownOpError

__all__ = ["names_of", "namespace"]


def names_of(module: str) -> dict[str, str]:
    """Return the public names of a namespace with the operators that they stand for.

    Examples
    --------
    >>> from tt.core.methods.namespaces import names_of
    >>> names_of("linalg")["svd"]
    'linalg_svd'
    """
    found: dict[str, str] = {}
    for definition in REGISTRY.definitions():
        for public in definition.public_names:
            parent, _, name = public.rpartition(".")
            if parent == module:
                found.setdefault(name, definition.signature.name)
                # The functions of networks have in-place forms as functions: `F.elu_`.
                if definition.has_inplace and module == "nn.functional":
                    found.setdefault(f"{name}_", f"{definition.signature.name}_")
    return found


def namespace(module: str, also: Iterable[str] = ()) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a namespace.

    Parameters
    ----------
    module : str
        The namespace below tt, as the schema's `python_module` writes it.
    also : iterable of str
        Operators of tt itself that are found here, too.
    """
    shared = dict.fromkeys(also)

    def find(name: str) -> Any:
        names = {**{s: s for s in shared}, **names_of(module)}
        if name not in names or name.startswith("__"):
            raise UnknownOpError(f"{module}.{name}", [f"{module}.{known}" for known in names])
        found = getattr(ops, names[name])
        # The next look-up finds it as an ordinary attribute of the module.
        setattr(sys.modules[f"tt.{module}"], name, found)
        return found

    def listing() -> list[str]:
        return sorted({*shared, *names_of(module)})

    return find, listing
