"""The classes and functions that a file may use when it is loaded with `weights_only=True`."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from tt.serialization.names import operator_to_torch, to_torch

__all__ = [
    "add_safe_globals",
    "allowed",
    "blocked_module",
    "clear_safe_globals",
    "get_safe_globals",
    "safe_globals",
]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_added: list[SafeGlobal] = []

_BLOCKED_MODULES: Final = frozenset({"nt", "os", "posix", "sys"})
_BLOCKED_BUILTINS: Final = {
    name: getattr(builtins, name)
    for name in (
        "__build_class__", "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "globals", "input",
        "locals", "open", "setattr", "vars",
    )
}  # fmt: skip
"""Functions that run code, or with which a file could replace code that runs later."""


def add_safe_globals(safe_globals: Iterable[SafeGlobal]) -> None:
    """Allow files to use more classes and functions.

    A file may call them with arguments of its choice, and set the attributes of their results: allow only what is
    harmless with any.  What runs code stays refused even if it is listed: everything of the modules `os`, `posix`, `nt`
    and `sys`, and `eval`, `exec`, `open`, `setattr` and their like of `builtins`.

    Parameters
    ----------
    safe_globals : iterable
        Classes and functions, or pairs of one and the name, with its module, that the file has for it.

    Examples
    --------
    >>> import io
    >>> import tt
    >>> from decimal import Decimal
    >>> file = io.BytesIO()
    >>> tt.save({"price": Decimal("1.5")}, file)
    >>> _ = file.seek(0)
    >>> tt.serialization.add_safe_globals([Decimal])
    >>> tt.load(file)
    {'price': Decimal('1.5')}
    >>> tt.serialization.clear_safe_globals()
    """
    checked = list(safe_globals)
    for entry in checked:
        _check(entry)
    _added.extend(entry for entry in checked if entry not in _added)


def get_safe_globals() -> list[SafeGlobal]:
    """Return what was allowed by `add_safe_globals`, or by the `safe_globals` blocks around.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.get_safe_globals()
    []
    """
    return list(_added)


def clear_safe_globals() -> None:
    """Take back what was allowed by `add_safe_globals`.

    Examples
    --------
    >>> import tt
    >>> tt.serialization.clear_safe_globals()
    """
    _added.clear()


class safe_globals:  # noqa: N801 - PyTorch's name
    """Allow files to use more classes and functions in a block; see `add_safe_globals`.

    Examples
    --------
    >>> import tt
    >>> from decimal import Decimal
    >>> with tt.serialization.safe_globals([Decimal]):
    ...     tt.serialization.get_safe_globals()
    [<class 'decimal.Decimal'>]
    >>> tt.serialization.get_safe_globals()
    []
    """

    def __init__(self, safe_globals: Iterable[SafeGlobal]) -> None:
        self._more = list(safe_globals)

    def __enter__(self) -> None:
        """Allow them from here on."""
        self._before = list(_added)
        add_safe_globals(self._more)

    def __exit__(self, *exception: object) -> None:
        _added[:] = self._before


def _check(entry: object) -> None:
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[1], str) and callable(entry[0]):
        return
    if not callable(entry):
        raise TypeError(
            "a safe global is a class or a function, or a pair of one and its name in files, not "
            f"{type(entry).__name__}"
        )


def allowed() -> dict[str, Any]:
    """Return what was allowed, by the names that files may have for it."""
    table: dict[str, Any] = {}
    for entry in _added:
        if isinstance(entry, tuple):
            table[entry[1]] = entry[0]
            continue
        name = getattr(entry, "__qualname__", getattr(entry, "__name__", ""))
        module = getattr(entry, "__module__", None) or "builtins"
        table[f"{module}.{name}"] = entry
        # Files name the PyTorch counterpart.
        if other := operator_to_torch(entry) or to_torch(module, name):
            table[f"{other[0]}.{other[1]}"] = entry
    return table


def blocked_module(name: str, value: object = None) -> str | None:
    """Return the module because of which a global is refused even if the user allowed it; None if it is not.

    Parameters
    ----------
    name : str
        The name that a file has for it, with its module.
    value : object, optional
        What the user allowed under this name.  It may be `os.system` under a name that looks harmless.
    """
    module, _, short = name.partition(".")
    if module in _BLOCKED_MODULES:
        return module
    if module == "builtins" and short in _BLOCKED_BUILTINS:
        return module
    # `partial(os.system)` would hide the function behind a harmless name.
    while isinstance(value, partial):
        value = value.func
    if value is None:
        return None
    # A module may offer a blocked function under a name of its own.
    own = str(getattr(value, "__module__", None)).partition(".")[0]
    if own in _BLOCKED_MODULES:
        return own
    return "builtins" if any(value is function for function in _BLOCKED_BUILTINS.values()) else None
