"""The C types that functions of extensions take and return, and their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["COMPLEX", "DTYPE_OF", "TYPE_WORDS", "CType", "Function", "Parameter", "read_type"]

Kind = Literal["number", "tensor", "results", "pointer", "text", "void"]

# --- the names of numbers ------------------------------------------------------------------------------------------

DTYPE_OF: Final[dict[str, str]] = {
    "bool": "bool", "_Bool": "bool",
    "int8_t": "int8", "signed char": "int8",
    "uint8_t": "uint8", "unsigned char": "uint8",
    "int16_t": "int16", "short": "int16", "short int": "int16",
    "uint16_t": "uint16", "unsigned short": "uint16", "unsigned short int": "uint16",
    "int32_t": "int32", "int": "int32", "signed": "int32", "signed int": "int32",
    "uint32_t": "uint32", "unsigned": "uint32", "unsigned int": "uint32",
    "int64_t": "int64", "long": "int64", "long int": "int64", "long long": "int64", "long long int": "int64",
    "ptrdiff_t": "int64", "ssize_t": "int64",
    "uint64_t": "uint64", "unsigned long": "uint64", "unsigned long int": "uint64",
    "unsigned long long": "uint64", "unsigned long long int": "uint64", "size_t": "uint64",
    "float": "float32", "double": "float64",
    "float _Complex": "complex64", "_Complex float": "complex64",
    "float complex": "complex64", "complex float": "complex64", "complex<float>": "complex64",
    "double _Complex": "complex128", "_Complex double": "complex128",
    "double complex": "complex128", "complex double": "complex128", "complex<double>": "complex128",
}  # fmt: skip
"""C and C++ spelling of a type -> tt's dtype; `long` is 64 bits wide on the supported platforms."""

TYPE_WORDS: Final = frozenset(word for spelling in DTYPE_OF for word in spelling.split())
"""The words that can be no names of parameters."""

COMPLEX: Final = {"complex64": "float", "complex128": "double"}
"""The type of the parts of a complex dtype."""

# Words without effect on the type of the argument.
_IGNORED: Final = frozenset({
    "const", "volatile", "static", "inline", "extern", "constexpr", "register", "restrict", "__restrict",
    "__restrict__", "struct", "__inline", "__inline__", "__device__", "__host__", "__global__", "__forceinline__",
    "typename", "noexcept",
})  # fmt: skip
_STORAGE: Final = frozenset({
    "static", "inline", "extern", "constexpr", "register", "__inline", "__inline__", "__device__", "__host__",
    "__global__", "__forceinline__",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class CType:
    """A type as it is written, and its meaning.

    Attributes
    ----------
    kind : str
        number; tensor (`tt_tensor *`); results (`tt_tensor **`); pointer (to the elements of a tensor); text
        (`const char *`); void.
    dtype : str
        Of a number, or of the elements behind a pointer; the name of the template parameter where it is that.
    const : bool
        The memory behind the pointer is not written.
    spelling : str
        As it is written.
    reference : bool
        A C++ reference to a tensor.
    """

    kind: Kind
    dtype: str = ""
    const: bool = False
    spelling: str = ""
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: CType


@dataclass(frozen=True, slots=True)
class Function:
    """A function that a source declares.

    Attributes
    ----------
    name : str
        Its name.
    result : CType
        Its result.
    parameters : tuple of Parameter
        Its parameters.
    template : str
        The name of its template parameter, or "".
    file, line, column : str, int, int
        The position of its name.
    defined : bool
        It has a body.
    static : bool
        Other files cannot see it.
    launched : bool
        A `__global__` function of CUDA, which is launched over a grid.
    """

    name: str
    result: CType
    parameters: tuple[Parameter, ...]
    template: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    defined: bool = False
    static: bool = False
    launched: bool = False

    @property
    def elementwise(self) -> bool:
        """It takes and returns numbers, and is lifted over the elements of tensors."""
        return self.result.kind == "number" and all(p.type.kind == "number" for p in self.parameters)

    def __str__(self) -> str:
        inner = ", ".join(f"{p.type.spelling} {p.name}".strip() for p in self.parameters)
        head = f"template <typename {self.template}> " if self.template else ""
        return f"{head}{self.result.spelling} {self.name}({inner})"


def read_type(words: list[str], template: str = "") -> CType | None:
    """Return the meaning of a type of these tokens, or None if extensions cannot pass it.

    Examples
    --------
    >>> from tt.core.extension.types import read_type
    >>> read_type(["unsigned", "int"]).dtype, read_type(["const", "tt_tensor", "*"]).kind
    ('uint32', 'tensor')
    """
    spelling = _spell([w for w in words if w not in _STORAGE])
    const = "const" in words
    stars, reference = words.count("*"), "&" in words
    kept = [w for w in words if w not in _IGNORED and w not in ("*", "&")]
    # `std::` may be written or not, as the source says.
    while kept[:2] == ["std", "::"]:
        kept = kept[2:]
    # The table has such types without spaces.
    base = "".join(kept) if "<" in kept else " ".join(kept)
    if base == "void":
        return CType("void", spelling=spelling) if not stars else None
    if base == "tt_tensor":
        if stars + reference != 1 and not (stars == 2 and not const and not reference):
            return None
        return CType(
            "results" if stars == 2 else "tensor", const=const, spelling=spelling, reference=reference
        )
    if base == "char" and stars == 1 and const:
        return CType("text", const=True, spelling=spelling)
    dtype = base if template and base == template else DTYPE_OF.get(base)
    # A plain reference could be written to, and there is no tensor to write into.
    if dtype is None or stars > 1 or (reference and not (const and not stars)):
        return None
    return CType("pointer" if stars else "number", dtype, const=const, spelling=spelling)


def _spell(words: list[str]) -> str:
    """Return tokens as one would write them."""
    text = ""
    for word in words:
        glued = word in ("<", ">", "::", ",") or text.endswith(("<", "::")) or not text
        text += word if glued or (word in "*&" and text.endswith("*")) else " " + word
    return text
