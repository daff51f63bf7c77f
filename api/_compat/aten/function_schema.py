"""The schema of an operator as PyTorch's programs read it: `func._schema`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tt._compat.aten.table import names_of
from tt.core.schema.model import MISSING, Argument, Return, Signature, Type

__all__ = ["FunctionSchema", "schema_of"]

_SPELLED: Final = {
    "dtype": "ScalarType", "layout": "Layout", "device": "Device", "memory_format": "MemoryFormat", "any": "Any",
    "tuple": "", "dict": "Dict",
}  # fmt: skip
"""Types as PyTorch's schemas write them."""
_KINDS: Final = {
    "Tensor": "TensorType", "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType",
    "Scalar": "NumberType", "device": "DeviceObjType", "dtype": "IntType", "layout": "IntType",
    "memory_format": "IntType", "Generator": "GeneratorType", "any": "AnyType", "tuple": "TupleType",
    "dict": "DictType",
}  # fmt: skip
_SHORT: Final = {
    "dtype": "int",
    "layout": "int",
    "memory_format": "int",
    "device": "Device",
    "Scalar": "number",
    "any": "Any",
}


class SchemaType(str):
    """The type of an argument or result: a text as PyTorch prints it, "Optional[List[int]]"."""

    __slots__ = ("_type",)
    _type: Type

    def __new__(cls, type_: Type) -> SchemaType:
        """Return the text of a type."""
        text = _SHORT.get(type_.base, type_.base)
        if type_.element_optional:
            text = f"Optional[{text}]"
        if type_.list:
            text = f"List[{text}]"
        self = super().__new__(cls, f"Optional[{text}]" if type_.optional else text)
        self._type = type_
        return self

    def kind(self) -> str:
        """Return the name of the class that PyTorch has for the type."""
        if self._type.optional:
            return "OptionalType"
        return "ListType" if self._type.list else _KINDS[self._type.base]

    def getElementType(self) -> SchemaType:  # noqa: N802 - PyTorch's name
        """Return the type of the elements of a list, or what an optional one holds.

        Raises
        ------
        AttributeError
            If it is neither.
        """
        type_ = self._type
        if type_.optional:
            return SchemaType(Type(type_.base, list=type_.list, element_optional=type_.element_optional))
        if type_.list:
            return SchemaType(Type(type_.base, optional=type_.element_optional))
        raise AttributeError(f"{self} has no elements")


@dataclass(frozen=True)
class AliasInfo:
    """Which memory an argument or result shares, and whether the operator changes it."""

    before_set: frozenset[str]
    is_write: bool

    @property
    def after_set(self) -> frozenset[str]:
        """The sets after the call, which are the same."""
        return self.before_set


class SchemaArgument:
    """An argument or a result in a schema."""

    def __init__(self, part: Argument | Return) -> None:
        self.name = part.name or ""
        self.type = self.real_type = SchemaType(part.type)
        self.N = part.type.size
        alias = part.alias
        self.alias_info = None if alias is None else AliasInfo(frozenset(alias.sets), alias.write)
        default = part.default if isinstance(part, Argument) else MISSING
        self._has_default = default is not MISSING
        self.default_value = (
            list(default) if isinstance(default, tuple) else default if self._has_default else None
        )
        self.kwarg_only = isinstance(part, Argument) and part.keyword_only
        self._part = part

    @property
    def is_write(self) -> bool:
        """Whether the operator changes it."""
        return self.alias_info is not None and self.alias_info.is_write

    @property
    def is_out(self) -> bool:
        """Whether it is a tensor that the caller gives for a result."""
        return self.is_write and self.kwarg_only

    def has_default_value(self) -> bool:
        """Return whether it may be left out."""
        return self._has_default

    def __str__(self) -> str:
        part = self._part
        base = part.type.base
        text = part.type.text(str(part.alias or "")).replace("|Scalar", "")
        spelled = _SPELLED.get(base)
        text = text if spelled is None else spelled + text.removeprefix(base)
        if part.type.choices:
            text = base + text.partition("}")[2]
        if self.name:
            text += f" {self.name}"
        return f"{text}={_shown(self.default_value)}" if self._has_default else text

    __repr__ = __str__


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else repr(value)


class FunctionSchema:
    """A schema: its name, arguments and results.

    Attributes
    ----------
    name, overload_name : str
        "aten::add" and "Tensor".
    arguments, returns : list of SchemaArgument
        In order.
    """

    def __init__(self, name: str, overload: str, signature: Signature) -> None:
        self.name, self.overload_name = name, overload
        self.arguments = [SchemaArgument(a) for a in signature.arguments]
        self.returns = [SchemaArgument(r) for r in signature.returns]

    @property
    def is_mutable(self) -> bool:
        """Whether the operator changes an argument."""
        return any(argument.is_write for argument in self.arguments)

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        returns = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or self.returns[0].name:
            returns = f"({returns})"
        name = f"{self.name}.{self.overload_name}" if self.overload_name else self.name
        return f"{name}({', '.join(parts)}) -> {returns}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def schema_of(overload: Any) -> FunctionSchema:
    """Return the schema of an overload of tt, under PyTorch's name if it has one there."""
    signature = overload.operator.signature(overload.form)
    key = overload.operator.name, overload.form
    if signature.namespace == "tt" and key in names_of():
        name, own = names_of()[key]
        return FunctionSchema(f"aten::{name}", "" if own == "default" else own, signature)
    return FunctionSchema(f"{signature.namespace}::{signature.name}", signature.overload, signature)
