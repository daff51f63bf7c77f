"""What ops.yaml says, as frozen dataclasses.

Printing a signature gives back the text that was parsed; `grammar` refuses any other spelling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final

from tt.core.schema.words import BASES, KINDS, RESULTS, TAGS, VARIANTS

__all__ = [
    "BASES",
    "KINDS",
    "MISSING",
    "RESULTS",
    "TAGS",
    "VARIANTS",
    "Alias",
    "Argument",
    "Entries",
    "OpDefinition",
    "Return",
    "Signature",
    "Type",
]


class _Missing(Enum):
    MISSING = "MISSING"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing.MISSING
"""The default of an argument that has none."""

# --- types and arguments ---------------------------------------------------------------------------------------


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
        """Whether tensors are taken: `Tensor`, `Tensor|Scalar` and lists of tensors."""
        return self.base == "Tensor"

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


@dataclass(frozen=True, slots=True)
class Alias:
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


@dataclass(frozen=True, slots=True)
class Argument:
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

    def __hash__(self) -> int:  # type: ignore[override]  # frozen, unlike other dicts
        return hash(frozenset(self.items()))

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("the default of an argument does not change: copy it with dict(x)")

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
        return str(value)
    return repr(value)


@dataclass(frozen=True, slots=True)
class Return:
    """A result of an operator: its type, perhaps a name and an alias annotation."""

    name: str | None
    type: Type
    alias: Alias | None = None

    def __str__(self) -> str:
        text = self.type.text(str(self.alias or ""))
        return text if self.name is None else f"{text} {self.name}"


# --- signatures ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of one overload of an operator.

    Attributes
    ----------
    namespace : str
        "tt", or the namespace of a third party.
    name, overload : str
        "max" and "dim" of `max.dim`; the overload may be empty.
    arguments : tuple of Argument
        In order; those after the `*` are keyword-only.
    returns : tuple of Return
        In order.

    Examples
    --------
    >>> from tt.core.schema import Signature
    >>> s = Signature.parse("add(Tensor self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor")
    >>> s.qualified, [a.name for a in s.tensor_arguments]
    ('add', ['self', 'other'])
    >>> print(s.inplace())
    add_(Tensor(a!) self, Tensor|Scalar other, *, Scalar alpha=1) -> Tensor(a!)
    >>> print(s.out())
    add.out(Tensor self, Tensor|Scalar other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
    """

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    @staticmethod
    def parse(text: str) -> Signature:
        """Return the signature that a text describes.

        Raises
        ------
        SchemaError
            With every mistake and its column.
        """
        from tt.core.schema.grammar import parse

        return parse(text)

    @property
    def qualified(self) -> str:
        """The name with namespace (unless it is tt) and overload: "add", "max.dim", "acme::twice"."""
        name = self.name if self.namespace == "tt" else f"{self.namespace}::{self.name}"
        return f"{name}.{self.overload}" if self.overload else name

    @property
    def tensor_arguments(self) -> tuple[Argument, ...]:
        """The arguments that take tensors or lists of tensors."""
        return tuple(a for a in self.arguments if a.type.is_tensor)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments before the `*`."""
        return tuple(a for a in self.arguments if not a.keyword_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments after the `*`."""
        return tuple(a for a in self.arguments if a.keyword_only)

    def argument(self, name: str) -> Argument | None:
        """Return the argument of a name, or None."""
        return next((a for a in self.arguments if a.name == name), None)

    def __str__(self) -> str:
        parts, seen_star = [], False
        for argument in self.arguments:
            if argument.keyword_only and not seen_star:
                parts.append("*")
                seen_star = True
            parts.append(str(argument))
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.returns[0].name is not None:
            returns = f"({returns})"
        return f"{self.qualified}({', '.join(parts)}) -> {returns}"

    def inplace(self) -> Signature:
        """Return the signature of the in-place form: the first argument is changed and returned.

        Raises
        ------
        ValueError
            If the first argument or the only return is not a tensor.
        """
        first = self.arguments[0] if self.arguments else None
        plain = Type("Tensor")
        if first is None or first.type != plain or len(self.returns) != 1 or self.returns[0].type != plain:
            raise ValueError(
                f"{self} has no in-place form: it must take a tensor first and return one tensor"
            )
        taken = {s for a in self.arguments[1:] if a.alias for s in a.alias.sets}
        alias = Alias((next(_fresh(taken)),), write=True)
        return replace(
            self,
            name=self.name + "_",
            arguments=(replace(first, alias=alias), *self.arguments[1:]),
            returns=(Return(None, plain, alias),),
        )

    def out(self) -> Signature:
        """Return the signature of the form that writes into given tensors.

        Raises
        ------
        ValueError
            If a return is not a tensor.
        """
        plain = Type("Tensor")
        if not self.returns or any(r.type != plain for r in self.returns):
            raise ValueError(f"{self} has no out= form: it must return tensors")
        taken = {s for a in self.arguments if a.alias for s in a.alias.sets}
        fresh = _fresh(taken)
        names = (
            ["out"] if len(self.returns) == 1 else [r.name or f"out{i}" for i, r in enumerate(self.returns)]
        )
        aliases = [Alias((next(fresh),), write=True) for _ in self.returns]
        outs = [Argument(n, plain, MISSING, True, a) for n, a in zip(names, aliases, strict=True)]
        return replace(
            self,
            overload=f"{self.overload}_out" if self.overload else "out",
            arguments=(*self.arguments, *outs),
            returns=tuple(replace(r, alias=a) for r, a in zip(self.returns, aliases, strict=True)),
        )


def _fresh(taken: set[str]) -> Any:
    """Yield the names of alias sets that are free: a, b, ... z, a1, ..."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return (name for n in range(100) for letter in letters if (name := f"{letter}{n or ''}") not in taken)


# --- definitions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpDefinition:
    """One entry of ops.yaml; the `keys` of an entry are documented where they are listed, in `FIELDS` of `load`.

    Attributes
    ----------
    signature : Signature
        Key `func`.
    meta : str, ShapeRule or None
        Key `meta`: the name of the shape rule; of an operator that is defined in a program also the rule itself.
    module : str
        Key `python_module`: where the function goes below tt ("" is tt itself).
    location : (str, int)
        File and line of the entry.
    """

    signature: Signature
    kind: str
    meta: Any = None
    promote: tuple[str, ...] = ()
    result: str | tuple[str, ...] = "default"
    dtypes: str | tuple[str, ...] = "all"
    variants: tuple[str, ...] = ("function",)
    grad: tuple[str, ...] = ()
    core: bool = False
    ref: str | None = None
    samples: str | None = None
    tags: tuple[str, ...] = ()
    doc: str = ""
    example: str | None = None
    module: str = ""
    aliases: tuple[str, ...] = ()
    location: tuple[str, int] = field(default=("", 0), compare=False)

    @property
    def name(self) -> str:
        """The qualified name of the overload: "add", "max.dim", "acme::twice"."""
        return self.signature.qualified

    @property
    def inplace_name(self) -> str:
        """The name of the in-place form, without overload: "add_"."""
        signature = self.signature
        return (
            f"{signature.name}_"
            if signature.namespace == "tt"
            else f"{signature.namespace}::{signature.name}_"
        )

    @property
    def python_name(self) -> str:
        """The name of the function in its module: "svd" for linalg_svd in linalg."""
        return self.signature.name.removeprefix(self.module.rpartition(".")[2] + "_") if self.module else (
            self.signature.name
        )  # fmt: skip

    @property
    def public_names(self) -> tuple[str, ...]:
        """The names of the function below tt, aliases included; none if it is not a public function."""
        if not self.has_function or "internal" in self.tags:
            return ()
        return (f"{self.module}.{self.python_name}" if self.module else self.python_name, *self.aliases)

    @property
    def has_function(self) -> bool:
        """Whether there is a public function."""
        return "function" in self.variants

    @property
    def has_method(self) -> bool:
        """Whether there is a method."""
        return "method" in self.variants

    @property
    def has_property(self) -> bool:
        """Whether it is an attribute of tensors."""
        return "property" in self.variants

    @property
    def has_inplace(self) -> bool:
        """Whether there is an in-place form."""
        return "inplace" in self.variants

    @property
    def has_out(self) -> bool:
        """Whether the function takes out=."""
        return "out" in self.variants
