"""Names of nodes: unique, legal as Python's, and what a person would choose."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import tt

__all__ = ["CUSTOM_BUILTINS", "CustomBuiltin", "Namespace", "snake_case", "target_to_str"]


class CustomBuiltin(NamedTuple):
    """A name that generated code may use, and the line that imports it into a file."""

    import_str: str
    obj: Any


# Filled by `register_custom_builtin`, for classes whose repr is a call of their name.
CUSTOM_BUILTINS: Final[dict[str, CustomBuiltin]] = {
    "inf": CustomBuiltin("from math import inf", math.inf),
    "nan": CustomBuiltin("from math import nan", math.nan),
    "NoneType": CustomBuiltin("NoneType = type(None)", type(None)),
    "tt": CustomBuiltin("import tt", tt),
    "torch": CustomBuiltin("import torch", None),
    "device": CustomBuiltin("from tt import device", tt.device),
    "fx_pytree": CustomBuiltin("import tt.fx._pytree as fx_pytree", None),
    "pytree": CustomBuiltin("import tt.utils._pytree as pytree", None),
}

_ILLEGAL_CHARACTERS: Final = re.compile(r"[^0-9a-zA-Z_]+")
_SUFFIX: Final = re.compile(r"(.*)_(\d+)$")
_WORD: Final = re.compile(r"(?<=[a-z])([A-Z])")
# Without `_`, which an interactive session puts there.
_BUILTINS: Final = {name: value for name, value in vars(builtins).items() if name != "_"}


def register_custom_builtin(name: str, import_str: str, obj: Any) -> None:
    """Let generated code use a name, by an import."""
    CUSTOM_BUILTINS[name] = CustomBuiltin(import_str, obj)


def snake_case(text: str) -> str:
    """Return a name in lower case, its words joined by underscores.

    Examples
    --------
    >>> from tt.fx._namespace import snake_case
    >>> snake_case("BatchNorm2d"), snake_case("relu")
    ('batch_norm2d', 'relu')
    """
    return _WORD.sub(r"_\1", text).lower()


def target_to_str(target: Callable[..., Any] | str) -> str:
    """Return the name that a node with a target would best have."""
    name = target if isinstance(target, str) else getattr(target, "__name__", type(target).__name__)
    if len(name) > 4 and name.startswith("__") and name.endswith("__"):
        name = name[2:-2]
    return snake_case(name)


class Namespace:
    """The names that are taken in one graph, or in the code of one.

    Examples
    --------
    >>> from tt.fx._namespace import Namespace
    >>> names = Namespace()
    >>> [names.create_name(name, None) for name in ("x", "x", "features.0", "in", "x_1")]
    ['x', 'x_1', 'features_0', 'in_1', 'x_2']
    """

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any | None) -> str:
        """Return the name of an object: the one that it has, the candidate, or that with a number.

        Parameters
        ----------
        candidate : str
            The name that it should have.
        obj : object or None
            What has the name from then on; None: a name for nothing.
        """
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        name = candidate
        if (
            name in self._used_names
            or not name.isidentifier()
            or not name.isascii()
            or _is_illegal(name, obj)
        ):
            name = self._numbered(candidate, obj)
        else:
            base, number = _split(name)
            if number is not None:
                self._base_count[base] = number
        self._used_names.add(name)
        if obj is not None:
            self._obj_to_name[obj] = name
        return name

    def _numbered(self, candidate: str, obj: Any | None) -> str:
        """Return a legal name that is free."""
        name = _ILLEGAL_CHARACTERS.sub("_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        base, number = _split(name)
        if number is None:
            base, number = name, self._base_count.get(name, 0)
        if name not in self._used_names and not _is_illegal(name, obj):
            self._base_count[base] = number
            return name
        number += 1
        while (name := f"{base}_{number}") in self._used_names or _is_illegal(name, obj):
            number += 1
        self._base_count[base] = number
        return name

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Give an object a name that `create_name` gave for nothing."""
        self._obj_to_name[obj] = name

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)


def _split(name: str) -> tuple[str, int | None]:
    match = _SUFFIX.match(name)
    return (match.group(1), int(match.group(2))) if match else (name, None)


def _is_illegal(name: str, obj: Any | None) -> bool:
    """Return whether a name means something else in Python, or in generated code."""
    if keyword.iskeyword(name):
        return True
    if name in _BUILTINS:
        return _BUILTINS[name] is not obj
    custom = CUSTOM_BUILTINS.get(name)
    return custom is not None and (obj is None or custom.obj is not obj)
