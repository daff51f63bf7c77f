"""The classes and functions that a file may use when it is loaded with `weights_only=True`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tt.serialization.names import operator_to_torch, to_torch

__all__ = ["add_safe_globals", "allowed", "clear_safe_globals", "get_safe_globals", "safe_globals"]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]

_added: list[SafeGlobal] = []


def add_safe_globals(safe_globals: Iterable[SafeGlobal]) -> None:
    """Allow files to use more classes and functions.

    A file may call them with arguments of its choice, and set the attributes of their results: allow only what is
    harmless with any.

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


def _check(entry: Any) -> None:
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
        if other := operator_to_torch(entry) or to_torch(module, name):
            table[f"{other[0]}.{other[1]}"] = entry
    return table
