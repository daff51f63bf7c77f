"""Arguments and results of operators: their types, defaults and alias annotations, and how these are written."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

__all__ = ["MISSING", "Alias", "Argument", "Entries", "Return", "Type", "print_default", "print_value"]


class _Missing(Enum):
    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing.MISSING
"""The default of an argument that has none."""


@dataclass(frozen=True, slots=True)
class Type:
    """The type of an argument or a return.

    Attributes
    ----------
    base : str
        One of `BASES`.
    optional : bool
        Whether None is allowed: `int?`, `int[]?`.
    list : bool
        Whether it is a list: `int[]`.
    size : int or None
        N of `int[N]`, which also takes a single number for N equal ones.
    element_optional : bool
        Whether None is allowed in the list: `Tensor?[]`.
    or_scalar : bool
        Whether it is `Tensor|Scalar`.
    choices : tuple
        The only values: `str{'mean', 'sum'}`.
    items : tuple of Type
        Of `tuple` the types of its items, of `dict` those of its keys and values.
    enum : type or None
        The class of the values, where a function's annotations named an `Enum`; its values are the choices.
    """

    base: str
    optional: bool = False
    list: bool = False
    size: int | None = None
    element_optional: bool = False
    or_scalar: bool = False
    choices: tuple[Any, ...] = ()
    items: tuple[Type, ...] = ()
    enum: Any = field(default=None, compare=False, repr=False)

    @property
    def is_tensor(self) -> bool:
        """Whether it takes tensors: `Tensor`, `Tensor|Scalar` and lists of tensors."""
        return self.base == "Tensor"

    @property
    def takes_number(self) -> bool:
        """Whether a Python number may be given."""
        return not self.list and (self.or_scalar or self.base in ("Scalar", "int", "float"))

    def __str__(self) -> str:
        return self.text("")

    def text(self, alias: str) -> str:
        """Return the type as it is written, with an alias annotation in its place."""
        parts = [self.base, "|Scalar" if self.or_scalar else ""]
        if self.choices:
            parts.append(f"{{{', '.join(print_value(c, self) for c in self.choices)}}}")
        if self.items:
            parts.append(f"({', '.join(map(str, self.items))})")
        parts += [alias, "?" if self.element_optional else ""]
        if self.list:
            parts.append(f"[{'' if self.size is None else self.size}]")
        return "".join(parts) + ("?" if self.optional else "")


class Alias(NamedTuple):
    """An alias annotation: `(a)`, `(a!)`, `(a|b)`, `(a -> *)`.

    Attributes
    ----------
    sets : tuple of str
        The alias sets that the value is in.
    write : bool
        Whether the operator changes the value: `(a!)`.
    contained : bool
        Whether the elements of the result alias the value: `(a -> *)`.
    """

    sets: tuple[str, ...]
    write: bool = False
    contained: bool = False

    def __str__(self) -> str:
        return f"({'|'.join(self.sets)}{'!' if self.write else ''}{' -> *' if self.contained else ''})"


class Argument(NamedTuple):
    """An argument of an operator.

    Attributes
    ----------
    name : str
        Its name.
    type : Type
        Its type.
    default : object
        Its default as a Python value (a tuple for a list, the name for a dtype), or `MISSING`.
    keyword_only : bool
        Whether it stands after the `*`.
    alias : Alias or None
        Its alias annotation.
    """

    name: str
    type: Type
    default: Any = MISSING
    keyword_only: bool = False
    alias: Alias | None = None

    def __str__(self) -> str:
        text = f"{self.type.text(str(self.alias or ''))} {self.name}"
        return text if self.default is MISSING else f"{text}={print_default(self.default, self.type)}"


class Entries(dict[Any, Any]):
    """The default of a `dict`: it cannot change, so that all calls may share it.

    Examples
    --------
    >>> from tt.core.schema.model import Entries
    >>> Entries(a=1) == {"a": 1}
    True
    """

    # Definitions are hashed by caches, and a default is part of one.
    def __hash__(self) -> int:  # type: ignore[override]  # a frozen dict
        return hash(frozenset(self.items()))

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("the default of an argument does not change: copy it with dict(x)")

    # Every method of dict that changes it, so that calls can share the object.
    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return Entries, (dict(self),)


def print_default(value: Any, type_: Type) -> str:
    """Return a default as it is written in a signature."""
    if type_.list and isinstance(value, tuple):
        # One element is repeated to fill a sized list, unless it is a tuple, which is written like a list itself.
        alike = len(value) == type_.size and len({repr(item) for item in value}) == 1
        if alike and type_.base != "tuple":
            return print_value(value[0], type_)
        return f"[{', '.join(print_value(item, type_) for item in value)}]"
    return print_value(value, type_)


def _escaped(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    # A line break in a default would break the line of the signature.
    return character if character.isprintable() else character.encode("unicode_escape").decode()


def print_value(value: Any, type_: Type) -> str:
    """Return an element of a default, or a choice, as it is written in a signature."""
    if isinstance(value, Enum):
        value = value.value
    if type_.base == "tuple" and isinstance(value, tuple):
        texts = [print_default(item, of) for item, of in zip(value, type_.items, strict=True)]
        return f"[{', '.join(texts)}]"
    if isinstance(value, dict):
        keys, values = type_.items
        texts = [f"{print_default(k, keys)}: {print_default(v, values)}" for k, v in value.items()]
        return f"{{{', '.join(texts)}}}"
    if isinstance(value, str):
        if type_.base not in ("str", "device"):
            return value
        return "'" + "".join(map(_escaped, value)) + "'"
    if isinstance(value, float) and not math.isfinite(value):
        # `repr` of NumPy's floats has another spelling.
        return str(value)
    return repr(value)


class Return(NamedTuple):
    """A result of an operator: its type, perhaps a name and an alias annotation."""

    name: str | None
    type: Type
    alias: Alias | None = None

    def __str__(self) -> str:
        text = self.type.text(str(self.alias or ""))
        return text if self.name is None else f"{text} {self.name}"
