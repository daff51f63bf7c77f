"""Public namespaces: which operators are found below `tt.linalg`, `tt.nn.functional` and their like."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import UnknownOpError
from tt.core.schema.snapshot import public_names
from tt.core.types.spelling import SPELLING

__all__ = ["names_of", "namespace"]


def names_of(module: str) -> dict[str, str]:
    """Return the public names of a namespace with the operators that they stand for.

    Examples
    --------
    >>> from tt.core.methods.namespaces import names_of
    >>> names_of("linalg")["svd"]
    'linalg_svd'
    """
    names = _functions(module)
    for name, operator in list(names.items()):
        if _has_inplace(module, operator):
            names.setdefault(f"{name}_", f"{operator}_")
    return names


def _functions(module: str) -> dict[str, str]:
    """Return the names without those of in-place forms, which only definitions tell."""
    functions: dict[str, str] = {}
    for public, operator in REGISTRY.definition_table.public_names():
        parent, _, name = public.rpartition(".")
        if parent == module:
            functions.setdefault(name, operator)
    return functions


def _has_inplace(module: str, operator: str) -> bool:
    """Return whether the in-place form is a function of the namespace, too, as those of networks are: `F.elu_`."""
    if module != "nn.functional":
        return False
    definitions = map(REGISTRY.definition, REGISTRY.overloads(operator))
    return any(definition is not None and definition.has_inplace for definition in definitions)


def _is_of(value: Any, home: Any) -> bool:
    return isinstance(value, FunctionType) and value.__module__ in (
        home.__name__,
        SPELLING.spelled(home.__name__),
    )


def namespace(
    module: str, also: Iterable[str] = (), *, reason: Callable[[str], str] = lambda name: ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a namespace.

    Parameters
    ----------
    module : str
        The namespace below tt, as the schema's `python_module` writes it.
    also : iterable of str
        Operators of tt itself that are found here, too.
    reason : callable, optional
        Returns why a name, with the namespace in front, is left out on purpose, or an empty string.
    """
    shared = dict.fromkeys(also)

    def find(name: str) -> Any:
        if name == "__all__":  # what `from tt.fft import *` gives
            home = sys.modules[f"tt.{module}"]
            # Own classes and functions, and not what the module has imported.
            own = [n for n, v in vars(home).items() if isinstance(v, type) or _is_of(v, home)]
            return [n for n in sorted({*dir(home), *own}) if not n.startswith("_")]
        known = public_names().get(f"{module}.{name}")
        # One look-up in the usual case; all names are made for an error or an in-place form.
        names = {name: known} if known else {**{s: s for s in shared}, **_functions(module)}
        plain = names.get(name.removesuffix("_"))
        if name not in names and plain is not None and _has_inplace(module, plain):
            names[name] = f"{plain}_"
        if name not in names or name.startswith("__"):
            names |= names_of(module)
            raise UnknownOpError(name, names, owner=f"tt.{module}", reason=lambda: reason(f"{module}.{name}"))
        function = getattr(ops, names[name])
        # The next look-up finds it as an ordinary attribute of the module.
        setattr(sys.modules[f"tt.{module}"], name, function)
        return function

    def listing() -> list[str]:
        return sorted({*shared, *names_of(module)})

    return find, listing
