"""The grammar of signatures: from text to `Signature`, with the column of every mistake.

It is PyTorch's function schema less its C++ types (which are read, too, where any spelling is taken)::

    signature := [namespace ::] name [. overload] ( arguments ) -> returns
    arguments := [argument {, argument}] [, * , argument {, argument}]
    argument  := type name [= default]
    type      := base [|Scalar] [choices] [items] [alias] [?] [ [ [size] ] [?] ]
    choices   := { value {, value} }
    items     := ( type {, type} )
    alias     := ( set {| set} [!] [ -> *] )
    returns   := type | ( [type [name] {, type [name]}] )

There is one spelling for everything, so that printing a signature gives back what was read.
"""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any, Final

from tt.core.errors import SchemaError, SchemaProblem
from tt.core.schema.arguments import MISSING, Alias, Argument, Entries, Return, Type
from tt.core.schema.classes import DTYPE_NAMES
from tt.core.schema.model import BASES, Signature
from tt.core.schema.reader import NAME, Mistake, Reader, Stop, suggest

__all__ = ["Mistake", "parse", "read"]

LONGEST: Final = 64
"""The most elements that a list of fixed length may have: no tensor has more dimensions."""
# As PyTorch's schemas name alias sets; "*" is the set of all values.
SET = re.compile(r"\*|[a-z][0-9]*")

NOTHING = re.compile(r"None(?:Type)?\s*$")
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

_PYTORCH_NAMES: Final = {
    "SymInt": "int", "ScalarType": "dtype", "Layout": "layout", "Device": "device", "number": "Scalar",
    "MemoryFormat": "memory_format", "complex": "Scalar", "string": "str", "double": "float", "SymBool": "bool",
    "SymFloat": "float", "Dict": "dict", "Any": "any",
}  # fmt: skip
"""Types of PyTorch's C++ side -> their names here."""
_PYTORCH_DEFAULTS: Final[dict[str, dict[Any, Any]]] = {
    "dtype": {
        "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64", "half": "float16",
        "float": "float32", "double": "float64", "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128",
        0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64",
        8: "complex32", 9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16",
    },
    "memory_format": {0: "contiguous_format", 1: "preserve_format", 2: "channels_last", 3: "channels_last_3d"},
    "layout": {0: "strided", 1: "sparse_coo", 2: "sparse_csr"},
    "int": {"Mean": 1},
}  # fmt: skip
"""Defaults as PyTorch's schemas write them, by words of its C++ side or as it prints them, by numbers."""


class Quoted(str):
    """A default that was written in quotes."""


def parse(text: str, *, any_spelling: bool = False) -> Signature:
    """Return the signature that a text describes.

    Parameters
    ----------
    text : str
        The signature.
    any_spelling : bool
        Take other spellings, too: `float x=2`, other spaces, PyTorch's types, defaults and results (`-> None`).

    Raises
    ------
    SchemaError
        With every mistake and its column.
    """
    signature, mistakes = read(text, any_spelling=any_spelling)
    if signature is None or mistakes:
        raise SchemaError(
            [SchemaProblem("<signature>", 1, m.column + 1, m.message, text, m.hint) for m in mistakes]
        )
    return signature


def read(text: str, *, any_spelling: bool = False) -> tuple[Signature | None, list[Mistake]]:
    """Return the signature that a text describes (None if it is beyond repair) and all mistakes in it."""
    reader = SignatureReader(text, any_spelling)
    try:
        signature = reader.signature()
    except Stop as stop:
        return None, [*reader.mistakes, stop.mistake]
    mistakes = sorted(reader.mistakes, key=lambda m: m.column)
    # There is one spelling, and printing defines it: so every other one is found here, whatever is odd about it.
    canonical = str(signature)
    if not mistakes and canonical != text and not any_spelling:
        column = next(
            (i for i, (a, b) in enumerate(zip(text, canonical, strict=False)) if a != b),
            min(len(text), len(canonical)),
        )
        mistakes = [Mistake(column, "there is another spelling for this", f"write: {canonical}")]
    return signature, mistakes


class SignatureReader(Reader):
    """Reads a signature."""

    def __init__(self, text: str, any_spelling: bool = False) -> None:
        super().__init__(text)
        self.any_spelling = any_spelling
        self.alias_at = 0

    # --- the parts ---------------------------------------------------------------------------------------------

    def signature(self) -> Signature:
        namespace, name = "tt", self.name("the name of an operator")
        if self.take("::"):
            namespace, name = name, self.name("the name of an operator")
        overload = self.name("the name of an overload") if self.take(".") else ""
        self.expect("(", "before the arguments")
        arguments, columns = self.arguments()
        self.expect("->", "before the returns")
        known = {s for a in arguments if a.alias for s in a.alias.sets}
        if self.any_spelling and self.match(NOTHING):
            returns: list[Return] = []
        else:
            returns = self.returns(known)
        self.skip()
        if self.at < len(self.text):
            raise Stop(self.at, f"expected the end, found {self.found()}")
        self.check_arguments(arguments, columns)
        return Signature(namespace, name, overload, tuple(arguments), tuple(returns))

    def arguments(self) -> tuple[list[Argument], list[int]]:
        arguments: list[Argument] = []
        columns: list[int] = []
        star = -1
        while not self.take(")"):
            if (arguments or star >= 0) and not self.take(","):
                raise Stop(self.at, f"expected ',' or ')' after an argument, found {self.found()}")
            if not arguments and star < 0 and self.peek(","):
                raise Stop(self.at, "expected an argument, found ','")
            self.skip()
            column = self.at
            if self.take("*"):
                if star >= 0:
                    self.note(column, "a second '*'", "all arguments after the first one are keyword-only")
                star = column
                if self.peek(")"):
                    self.note(column, "no argument follows the '*'")
                continue
            try:
                arguments.append(self.argument(star >= 0))
                columns.append(column)
            except Stop as stop:
                # The rest of the arguments is read on, so that their mistakes are reported, too.
                self.recover(column)
                if self.at >= len(self.text):
                    raise
                self.mistakes.append(stop.mistake)
                # A stand-in, so that later mistakes keep their columns; no name that was read begins with a space.
                arguments.append(Argument(f" {column}", Type("any"), MISSING, star >= 0))
                columns.append(column)
            if self.at >= len(self.text):
                raise Stop(self.at, "expected ',' or ')' after an argument, found the end")
        return arguments, columns

    def argument(self, keyword_only: bool) -> Argument:
        type_, alias = self.type()
        self.skip()
        column = self.at
        name = self.name("the name of an argument")
        if keyword.iskeyword(name):
            self.note(column, f"{name!r} is a word of Python and cannot name an argument", f"write {name}_")
        default: Any = MISSING
        if self.take("="):
            self.skip()
            column = self.at
            default = self.literal()
            default = self.fit(default, type_, column)
        return Argument(name, type_, default, keyword_only, alias)

    def type(self, depth: int = 0) -> tuple[Type, Alias | None]:
        self.skip()
        column = self.at
        # PyTorch writes a tuple without a name.
        base = "tuple" if self.any_spelling and self.peek("(") else self.name("a type")
        if self.any_spelling:
            base = _PYTORCH_NAMES.get(base, base)
        if base not in BASES:
            hint = f"write {_PYTORCH_NAMES[base]!r}" if base in _PYTORCH_NAMES else suggest(base, BASES)
            raise Stop(column, f"unknown type {base!r}", hint or f"there are: {', '.join(BASES)}")
        or_scalar = False
        if self.take("|"):
            at = self.at
            if self.name("Scalar") != "Scalar" or base != "Tensor":
                raise Stop(at, "the only union of types is Tensor|Scalar")
            or_scalar = True
        choices = self.choices(base) if self.peek("{") else ()
        items = self.items(base, column, depth) if base in ("tuple", "dict") else ()
        alias = None
        if self.peek("("):
            self.alias_at = self.at
            alias = self.alias()
            if base != "Tensor":
                raise Stop(self.alias_at, f"only tensors alias, not {base}")
        question = self.take("?")
        if not self.take("["):
            return Type(base, question, or_scalar=or_scalar, choices=choices, items=items), alias
        size = self.match(INTEGER)
        # The number of digits first: Python refuses to convert very long ones.
        if size and (len(size[0]) > DIGITS or int(size[0]) > LONGEST):
            raise Stop(size.start(), f"the size of a list must be at most {LONGEST}")
        if size and int(size[0]) < 1:
            raise Stop(size.start(), f"the size of a list must be at least 1, not {size[0]}")
        self.expect("]", "after the size of a list")
        if self.any_spelling and alias is None and base == "Tensor" and self.peek("("):
            self.alias_at = self.at
            alias = self.alias()  # TorchScript writes it behind the brackets
        optional = self.take("?")
        count = int(size[0]) if size else None
        return Type(base, optional, True, count, question, or_scalar, choices, items), alias

    def choices(self, base: str) -> tuple[Any, ...]:
        """Read the only values that a type has."""
        column = self.at
        self.expect("{", "before the values")
        if base not in ("str", "int", "float", "bool"):
            raise Stop(column, f"only str, int, float and bool have chosen values, not {base}")
        values: list[Any] = []
        while not self.take("}"):
            if values:
                self.expect(",", "or '}' between values")
            self.skip()
            at = self.at
            values.append(self.element(self.literal(), Type(base), at))
            if values[-1] in values[:-1]:
                self.note(at, f"the value {values[-1]!r} occurs twice")
        if not values:
            raise Stop(column, f"{base}{{}} has no value", f"write {base}, or list the values")
        return tuple(values)

    def items(self, base: str, column: int, depth: int) -> tuple[Type, ...]:
        """Read the types of the items of a tuple or a dict."""
        self.expect("(", f"before the types of the items of a {base}")
        # Recursion is bounded: a file of brackets must not end in a RecursionError.
        if depth > DEEPEST:
            raise Stop(column, f"a type is nested more than {DEEPEST} times")
        types: list[Type] = []
        while not self.take(")"):
            if types:
                self.expect(",", "or ')' between types")
            self.skip()
            at = self.at
            type_, alias = self.type(depth + 1)
            if type_.is_tensor or alias:
                raise Stop(at, f"a {base} holds no tensors", "give them an argument of their own")
            types.append(type_)
        if base == "dict" and (len(types) != 2 or str(types[0]) not in ("str", "int")):
            raise Stop(column, "a dict has keys of str or int, and values", "write dict(str, float)")
        if not types:
            raise Stop(column, "an empty tuple holds nothing", "leave the argument out")
        return tuple(types)

    def alias(self) -> Alias:
        self.expect("(", "before alias sets")
        sets = []
        while True:
            match = self.match(SET)
            if not match:
                raise Stop(self.at, f"expected an alias set such as a, found {self.found()}")
            sets.append(match[0])
            if not self.take("|"):
                break
        write = self.take("!")
        contained = False
        if self.take("->"):
            self.expect("*", "after '->' in an alias annotation")
            contained = True
        self.expect(")", "after alias sets")
        return Alias(tuple(sets), write, contained)

    def returns(self, known: set[str]) -> list[Return]:
        if not self.take("("):
            return [self.single(known, named=self.any_spelling)]
        results: list[Return] = []
        while not self.take(")"):
            if results:
                self.expect(",", "between returns")
            self.skip()
            column = self.at
            results.append(self.single(known, named=True))
            if results[-1].name and results[-1].name in [r.name for r in results[:-1]]:
                self.note(column, f"two returns are called {results[-1].name!r}")
        return results

    def single(self, known: set[str], *, named: bool) -> Return:
        type_, alias = self.type()
        if alias:
            # "*" stands for any value, and needs no argument.
            # PyTorch also gives a result a set of its own: it may be new, `Tensor(b|a)`.
            new = self.any_spelling and not alias.write and bool({*alias.sets} & known)
            for unknown in [s for s in alias.sets if s != "*" and s not in known and not new]:
                self.note(self.alias_at, f"no argument is in the alias set {unknown!r} of the return")
        name = self.match(NAME) if named else None
        return Return(name[0] if name else None, type_, alias)

    # --- the arguments together --------------------------------------------------------------------------------

    def check_arguments(self, arguments: list[Argument], columns: list[int]) -> None:
        seen: set[str] = set()
        defaulted = ""
        for argument, column in zip(arguments, columns, strict=True):
            if argument.name in seen:
                self.note(column, f"two arguments are called {argument.name!r}")
            seen.add(argument.name)
            # A keyword-only argument may lack a default behind one that has it,
            # and a stand-in has no default to speak of.
            if argument.keyword_only or argument.name.startswith(" "):
                continue
            if argument.default is not MISSING:
                defaulted = argument.name
            elif defaulted:
                self.note(column, f"{argument.name!r} has no default, but {defaulted!r} before it has one")

    # --- defaults: numbers, words, strings, lists and dicts, as Python values of the argument's type ---------

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
        # Before plain numbers, which would read the first part of a complex one.
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
            # One value fills a sized list, as in PyTorch.
            return (self.element(value, type_, column),) * type_.size
        return self.element(value, type_, column)

    def element(self, value: Any, type_: Type, column: int) -> Any:
        """Return a default, or an element of one that is a list, as the Python value of a type."""
        base = type_.base
        # Quoted texts are no words, and True is no number.
        if self.any_spelling and type(value) in (str, int):
            value = _PYTORCH_DEFAULTS.get(base, {}).get(value, value)
        if base in ("tuple", "dict"):
            return self.container(value, type_, column)
        if isinstance(value, Quoted):
            # Words in quotes are texts; without them they are names of dtypes, layouts and memory formats.
            fits = base in ("str", "device")
            value = "".join(value)  # a plain str
        elif isinstance(value, str):
            if base in WORDS and value not in WORDS[base]:
                raise Stop(column, f"{value!r} is not a {base}", suggest(value, WORDS[base]))
            fits = base in WORDS
        # Before int: True is an int.
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
