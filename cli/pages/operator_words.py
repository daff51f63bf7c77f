"""Words about an operator for its page: types, Python signatures, results and errors, from its entry in ops.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tt.core.schema.classes import dtype_names
from tt.core.schema.model import MISSING, RESULTS
from tt.core.schema.operator_texts import common_meanings, meaning, operator_text, result_dtype, result_shape
from tt.core.schema.stub_render import type_text
from tt.testing.coverage.words import dtypes_in_words

if TYPE_CHECKING:
    from tt.core.schema.model import Argument, OpDefinition, Type

__all__ = [
    "Parameter",
    "default_text",
    "errors",
    "is_method",
    "parameters",
    "python_signature",
    "results",
    "type_words",
]

Parameter = tuple[str, str, str, str]
"""Name, type, default (or an empty text) and meaning."""

_LEFT_OPEN: Final = "None leaves it to the operator."
"""The end of the text about a dtype, where it depends on the operator what None means."""

_INPUT_OR_NOT: Final = (
    ("None takes that of the input, or strided.", "None takes that of the input.", "None means strided."),
    (
        "None takes that of the input or the default device.",
        "None takes that of the input.",
        "None takes the default device.",
    ),
)
"""Texts for operators with and without an input -> with one, without one."""

_WORDS: Final = {"Scalar": "number", "any": "object"}
_DIMS: Final = frozenset({"dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "dimension"})


def type_words(type_: Type) -> str:
    """Return a type as Python writes it.

    Examples
    --------
    >>> from tt.cli.pages.operator_words import type_words
    >>> from tt.core.schema import Signature
    >>> s = Signature.parse("f(Tensor|Scalar a, int[2]? b=None, Scalar c=1) -> Tensor")
    >>> [type_words(argument.type) for argument in s.arguments]
    ['Tensor | number', 'int | Sequence[int] | None', 'number']
    """
    return type_text(type_, _WORDS)


def default_text(argument: Argument) -> str:
    """Return a default as it is written, or an empty text."""
    return "" if argument.default is MISSING else str(argument).partition("=")[2]


def _name(argument: Argument) -> str:
    return "input" if argument.name == "self" else argument.name


def is_method(title: str) -> bool:
    """Return whether a page is about a method or attribute of tensors, whose first argument is the tensor itself."""
    return title.startswith("tt.Tensor.")


def python_signature(title: str, definition: OpDefinition, width: int | None = None) -> str:
    """Return how Python writes the signature of an overload, below the name of its page.

    One that is longer than `width` gets a line for each parameter.

    Examples
    --------
    >>> from tt.cli.pages.operator_words import python_signature
    >>> from tt.core.schema.snapshot import definitions
    >>> python_signature("tt.exp", definitions()["exp"])
    'tt.exp(input: Tensor, *, out: Tensor | None = None) -> Tensor'
    """
    if definition.has_property and is_method(title):
        return f"{title}: {type_words(definition.signature.returns[0].type)}"
    parts, starred = [], False
    for argument in definition.signature.arguments[1 if is_method(title) else 0 :]:
        if argument.keyword_only and not starred:
            parts.append("*")
            starred = True
        default = default_text(argument)
        parts.append(f"{_name(argument)}: {type_words(argument.type)}" + (f" = {default}" if default else ""))
    if definition.has_out:
        parts += [*([] if starred else ["*"]), f"out: {_out_type(definition)} | None = None"]
    returns = [
        type_words(r.type) if not r.type.list else "tuple[Tensor, ...]" for r in definition.signature.returns
    ]
    result = returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]" if returns else "None"
    line = f"{title}({', '.join(parts)}) -> {result}"
    if width is None or len(line) <= width:
        return line
    lines = [f"    {part}," for part in parts]
    return "\n".join([f"{title}(", *lines, f") -> {result}"])


def _out_type(definition: OpDefinition) -> str:
    count = len(definition.signature.returns)
    return "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"


def parameters(definition: OpDefinition) -> Iterator[Parameter]:
    """Yield the parameters of an overload, with `out`; of those that nothing is known of the meaning is empty."""
    for argument in definition.signature.arguments:
        about = meaning(definition, argument)
        if about.endswith(_LEFT_OPEN):
            about = about.removesuffix(_LEFT_OPEN) + _dtype_by_default(definition)
        for both, like, alone in _INPUT_OR_NOT:
            about = about.replace(both, like if definition.signature.tensor_arguments else alone)
        yield _name(argument), type_words(argument.type), default_text(argument), about
    if definition.has_out:
        single = len(definition.signature.returns) == 1
        about = str(common_meanings()["out"]) if single else "The tensors to write into; they are returned."
        yield "out", f"{_out_type(definition)} | None", "None", about


def results(definition: OpDefinition) -> list[str]:
    """Return sentences about the results: names, dtype, shape, and whether they share memory.

    Examples
    --------
    >>> from tt.cli.pages.operator_words import results
    >>> from tt.core.schema.snapshot import definitions
    >>> results(definitions()["exp"])
    ['dtype: that of the input; bools and integers become the default dtype', 'shape: that of the first tensor']
    """
    returns = definition.signature.returns
    if returns and not any(r.type.base == "Tensor" for r in returns):
        return [" and ".join(f"a Python {type_words(r.type)}" for r in returns)]
    result = []
    names = [r.name for r in returns]
    if len(names) > 1:
        result.append(
            f"a named tuple: {', '.join(f'`{name}`' for name in names)}" if all(names) else "a tuple"
        )
    words = (
        (definition.result,) * max(1, len(returns))
        if isinstance(definition.result, str)
        else definition.result
    )
    promoted = dict(zip(names or [None], words, strict=False))
    said = {name: _dtype_words(word, definition) for name, word in promoted.items() if word != "none"}
    if len(set(said.values())) == 1:
        # One line if all results have the same dtype.
        result.append(f"dtype: {next(iter(said.values()))}")
    else:
        result += [f"dtype of `{name}`: {text}" for name, text in said.items()]
    shape = result_shape(definition)
    # The shape rule speaks of keepdim, which this overload does not have: it reduces everything.
    if "keepdim" in shape and definition.signature.argument("keepdim") is None:
        shape = "no dimensions"
    if shape:
        result.append(f"shape: {shape}")
    if definition.kind == "view":
        result.append("memory: a view, which shares that of the input")
    return result


def _dtype_words(word: str, definition: OpDefinition) -> str:
    if word == "default" and definition.kind == "composite" and not definition.promote:
        if definition.signature.namespace != "tt":
            return "that of the operators that it is composed of"
        return result_dtype(definition) or "that of the input"
    words = RESULTS.get(word, word).replace("the dtype of the first tensor argument", "that of the input")
    # One argument promotes with none.
    return words.replace("the promoted dtype", "that of the input") if len(definition.promote) == 1 else words


def _dtype_by_default(definition: OpDefinition) -> str:
    """Return the end of a sentence about a dtype: what None means."""
    word = definition.result if isinstance(definition.result, str) else definition.result[0]
    words = _dtype_words(word, definition)
    if "argument dtype" in words or "`dtype`" in words:
        words = "that of the input" if definition.signature.tensor_arguments else "the default dtype"
    first, _, rest = words.partition("; ")
    return f"None takes {first}" + (f" ({rest})." if rest else ".")


def errors(definition: OpDefinition) -> dict[str, str]:
    """Return the errors that follow from an overload's entry, and those that the texts add."""
    arguments, tags = definition.signature.arguments, definition.tags
    result: dict[str, str] = {}
    if any(a.name in _DIMS and a.type.base == "int" for a in arguments):
        result["DimensionError"] = "The tensor has no such dimension."
    if definition.meta == "broadcast" and len(definition.signature.tensor_arguments) > 1:
        result["BroadcastError"] = "The shapes do not broadcast."
    if "same_dtype" in tags:
        names = [_name(a) for a in arguments if a.name in definition.promote]
        result["DtypeError"] = f"{' and '.join(f'`{name}`' for name in names)} differ in dtype."
    dtypes = (definition.dtypes,) if isinstance(definition.dtypes, str) else definition.dtypes
    if definition.signature.tensor_arguments and not {"all", "any"} & set(dtypes):
        result["DtypeNotServedError"] = (
            f"The dtype is not supported; supported: {dtypes_in_words(dtype_names(dtypes))}."
        )
    if definition.signature.argument("memory_format") is not None:
        result["ShapeError"] = "`memory_format` is for another number of dimensions."
    if "data_dependent" in tags or "data_dependent_shape" in tags:
        result["DataDependentError"] = "A tensor is on the device `meta`: the result depends on values."
    if sum(not a.type.list for a in definition.signature.tensor_arguments) > 1:
        result["DeviceMismatchError"] = "The tensors lie on different devices."
    if definition.has_out and not {"exact_out", "exact_target"} & set(tags):
        result["CastError"] = "`out` has a dtype that cannot hold the result."
    elif definition.has_out:
        result["TargetDtypeError"] = "`out` has another dtype than the result."
    return result | dict(operator_text(definition).errors)
