"""Defaults in signatures: numbers, words, strings, lists and dicts, as Python values of the argument's type."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

from tt.core.schema.arguments import Entries, Type
from tt.core.schema.classes import DTYPE_NAMES
from tt.core.schema.reader import NAME, Reader, Stop, suggest

__all__ = ["DEEPEST", "DIGITS", "INTEGER", "DefaultReader"]

NUMBER = re.compile(r"[+-]?(?:inf\b|nan\b|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")
INTEGER = re.compile(r"[+-]?\d+")
DIGITS: Final = 300
"""The most digits of a number: more do not fit into a float, and many more Python does not read."""
DEEPEST: Final = 20
"""The largest nesting depth of types and defaults."""
COMPLEX = re.compile(r"\([+-]?[\dinfae.+-]+j\)|[+-]?[\d.]+(?:[eE][+-]?\d+)?j")
STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"")

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "dtype": DTYPE_NAMES,
    "layout": ("strided", "sparse_coo", "sparse_csr"),
    "memory_format": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"),
}
"""The defaults that are written as plain words, for each type that has such."""


class Quoted(str):
    """A default that was written in quotes."""


class DefaultReader(Reader):
    """Reads the defaults of arguments."""

    def literal(self, depth: int = 0) -> Any:
        """Read a default; strings become `Quoted`, to distinguish them from words."""
        if depth > DEEPEST:
            raise Stop(self.at, f"a default is nested more than {DEEPEST} times")
        if self.take("["):
            items: list[Any] = []
            while not self.take("]"):
                if items:
                    self.expect(",", "or ']' in a list")
                items.append(self.literal(depth + 1))
            return tuple(items)
        if self.take("{"):
            entries: dict[Any, Any] = {}
            while not self.take("}"):
                if entries:
                    self.expect(",", "or '}' in a dict")
                at, key = self.at, self.literal(depth + 1)
                if isinstance(key, dict):
                    raise Stop(at, "a dict cannot be a key")
                self.expect(":", "after a key")
                entries[key] = self.literal(depth + 1)
            return entries
        string = self.match(STRING)
        if string:
            try:
                return Quoted(ast.literal_eval(string[0]))
            except (SyntaxError, ValueError):
                raise Stop(string.start(), f"{string[0]} is not a Python string") from None
        number = self.match(COMPLEX)
        if number:
            try:
                return complex(number[0])
            except ValueError:
                raise Stop(number.start(), f"{number[0]} is not a number") from None
        number = self.match(NUMBER)
        if number:
            text = number[0]
            if not INTEGER.fullmatch(text):
                return float(text)
            if len(text) > DIGITS:
                raise Stop(number.start(), f"a number has at most {DIGITS} digits, and this one {len(text)}")
            return int(text)
        word = self.match(NAME)
        if word:
            return {"None": None, "True": True, "False": False}.get(word[0], word[0])
        raise Stop(self.at, f"expected a default, found {self.found()}")

    def fit(self, value: Any, type_: Type, column: int) -> Any:
        """Return a default as the Python value of a type."""
        if value is None:
            if not type_.optional:
                raise Stop(column, f"None is not of type {type_}", f"write {type_}? to allow it")
            return None
        if type_.list:
            if isinstance(value, tuple):
                return tuple(self.element(item, type_, column) for item in value)
            if type_.size is None:
                raise Stop(column, f"the default of {type_} must be a list", f"write [{value}]")
            return (self.element(value, type_, column),) * type_.size
        return self.element(value, type_, column)

    def element(self, value: Any, type_: Type, column: int) -> Any:
        """Return a default, or an element of one that is a list, as the Python value of a type."""
        base = type_.base
        if base in ("tuple", "dict"):
            return self.container(value, type_, column)
        if isinstance(value, Quoted):
            fits = base in ("str", "device")
            value = "".join(value)  # a plain str
        elif isinstance(value, str):
            if base in WORDS and value not in WORDS[base]:
                raise Stop(column, f"{value!r} is not a {base}", suggest(value, WORDS[base]))
            fits = base in WORDS
        elif isinstance(value, bool):
            fits = base in ("bool", "Scalar") or type_.or_scalar
        elif isinstance(value, int):
            fits = base in ("int", "float", "Scalar") or type_.or_scalar
            value = float(value) if base == "float" else value
        else:
            fits = isinstance(value, float | complex) and (base == "Scalar" or type_.or_scalar)
            fits = fits or (isinstance(value, float) and base == "float")
        if not fits:
            raise Stop(column, f"{value!r} is not of type {type_.base}{'|Scalar' if type_.or_scalar else ''}")
        if type_.choices and value not in type_.choices:
            allowed = ", ".join(map(repr, type_.choices))
            raise Stop(column, f"{value!r} is none of the values of {type_.base}", f"they are: {allowed}")
        return value

    def container(self, value: Any, type_: Type, column: int) -> Any:
        """Return a default of a tuple or dict as Python's."""
        if type_.base == "tuple":
            if not isinstance(value, tuple) or len(value) != len(type_.items):
                raise Stop(column, f"{value!r} is not of type {type_}", f"write a list of {len(type_.items)}")
            return tuple(self.fit(item, of, column) for item, of in zip(value, type_.items, strict=True))
        if not isinstance(value, dict):
            raise Stop(column, f"{value!r} is not of type {type_}", "write {'key': value}")
        keys, values = type_.items
        return Entries({self.fit(k, keys, column): self.fit(v, values, column) for k, v in value.items()})
