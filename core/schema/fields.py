"""The keys of a schema file with their values and documentation, for the loader and the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tt.core.schema.classes import DTYPE_CLASSES, DTYPE_NAMES
from tt.core.schema.foreach import FORMS
from tt.core.schema.model import AUTOCAST, KINDS, RESULTS, TAGS, VARIANTS

__all__ = ["FIELDS", "SCHEMA_VERSION", "TOP_LEVEL", "Field"]

SCHEMA_VERSION: Final = 1

Form = Literal["text", "words", "word or words", "flag"]


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an entry.

    Attributes
    ----------
    form : str
        text (a string), words (a list), word or words (either), flag (true or false).
    doc : str
        The meaning of the field.
    words : mapping or None
        The allowed words and their meaning; None: any that match `pattern`.
    pattern : str
        A regular expression for the text or each word.
    what : str
        The noun for a word in messages.
    required : bool
        Whether every entry has it.
    """

    form: Form
    doc: str
    words: Mapping[str, str] | None = None
    pattern: str = ""
    what: str = "text"
    required: bool = False


_DTYPES = {name: ", ".join(n for n in DTYPE_NAMES if n in members) for name, members in DTYPE_CLASSES.items()}
_DTYPES |= dict.fromkeys(DTYPE_NAMES, "one dtype")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_DOTTED = rf"{_NAME}(?:\.{_NAME})*"

FIELDS: Final[dict[str, Field]] = {
    "func": Field("text", "The signature: name.overload(arguments) -> returns.", required=True, what="signature"),
    "kind": Field("text", "What sort of operator it is.", KINDS, required=True, what="kind"),
    "meta": Field(
        "text", "The shape rule, or module:function; absent: the composite runs on the shapes.",
        pattern=rf"{_NAME}|{_DOTTED}:{_DOTTED}", what="name of a shape rule",
    ),
    "promote": Field("words", "The arguments that promote together.", pattern=_NAME, what="name of an argument"),
    "result": Field(
        "word or words", "The dtype of the results: one word for all, or one for each.",
        RESULTS | dict.fromkeys(DTYPE_NAMES, "always this dtype"), what="rule of result",
    ),
    "dtypes": Field("word or words", "The dtypes that a full implementation serves.", _DTYPES, what="class of dtypes"),
    "variants": Field("words", "The public forms.", VARIANTS, what="variant"),
    "python_module": Field(
        "text", "The namespace below tt for the function; without it tt itself.", pattern=_DOTTED, what="dotted name",
    ),
    "foreach": Field(
        "words", "The overloads of _foreach_NAME and _foreach_NAME_, its forms for lists.", FORMS, what="form",
    ),
    "aliases": Field("words", "Other names of the function, below tt.", pattern=_DOTTED, what="dotted name"),
    "grad": Field("words", "The arguments that have a gradient.", pattern=_NAME, what="name of an argument"),
    "format_of": Field(
        "words", "The arguments, one of which with its channels last makes the results so.",
        pattern=_NAME, what="name of an argument",
    ),
    "in_range": Field(
        "words", "The numbers that must be in the range of the result's dtype.",
        pattern=_NAME, what="name of an argument",
    ),
    "in_compute_range": Field(
        "words", "The numbers that must be in the range of the result's dtype, or of float32 for half precision.",
        pattern=_NAME, what="name of an argument",
    ),
    "autocast": Field(
        "text", "How autocast chooses the precision; absent: it does not.", AUTOCAST, what="policy of autocast",
    ),
    "autocast_cpu": Field(
        "text", "The same on the CPU, where it differs.", AUTOCAST, what="policy of autocast",
    ),
    "core": Field("flag", "Whether it is part of the minimal set that a new backend implements."),
    "tags": Field("words", "Properties that have a law of their own.", TAGS, what="tag"),
    "ref": Field(
        "text", "An independent reference for the checks, as module:function.",
        pattern=rf"{_DOTTED}:{_DOTTED}", what="module:function",
    ),
    "samples": Field(
        "text", "The family that generates its inputs for the checks, or module:function.",
        pattern=rf"{_NAME}|{_DOTTED}:{_DOTTED}", what="name",
    ),
    "doc": Field("text", "A description in a sentence or two."),
    "example": Field("text", "A doctest that runs after `import tt`."),
}  # fmt: skip
"""Key of an entry -> its field, in the order in which entries are written."""

TOP_LEVEL: Final[dict[str, str]] = {
    "schema_version": f"The version of this format: {SCHEMA_VERSION}.",
    "namespace": "The namespace of the operators of a third party.",
    "ops": "The operators: a list of entries, or the lists of entries of each family by its name.",
}
"""Key of a file -> its documentation."""
