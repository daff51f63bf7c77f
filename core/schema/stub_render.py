"""Type stubs, the small pieces: a signature, a member, a docstring as the text of a .pyi file.

Names such as `int` and `dtype` are names of tt or of methods, too; stubs therefore write `_int`, `_dtype`, ...
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tt.core.schema.model import MISSING, Argument, OpDefinition, Return, Signature, Type

__all__ = [
    "HEADER_TYPES",
    "render_callable",
    "render_member",
    "render_operator",
    "render_property",
    "result_class",
]

HEADER_TYPES: Final = """\
from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, overload
from typing_extensions import TypeIs

from tt.core.types.device import device as _device
from tt.core.types.dtype import dtype as _dtype
from tt.core.types.layout import layout as _layout
from tt.core.tensor.generator import Generator as _Generator
from tt.core.types.size import Size as _Size
"""

_TYPES: Final = {
    "Tensor": "Tensor", "Scalar": "_Scalar", "int": "_int", "float": "_float", "bool": "_bool", "str": "str",
    "dtype": "_DtypeLike", "device": "_DeviceLike", "layout": "_layout | str", "memory_format": "Any",
    "Generator": "_Generator", "any": "Any",
}  # fmt: skip
ALIASES: Final = """\
_Scalar: TypeAlias = _bool | _int | _float | _complex
_DtypeLike: TypeAlias = _dtype | type[Any] | str
_DeviceLike: TypeAlias = _device | str | _int
"""


# --- types -----------------------------------------------------------------------------------------------------


def type_text(type_: Type, words: Mapping[str, str] = _TYPES) -> str:
    """Return the annotation of an argument, with the words of stubs or of other readers for the schema's types."""
    text = words.get(type_.base, type_.base)
    if type_.or_scalar:
        text = f"{words.get('Tensor', 'Tensor')} | {words['Scalar']}"
    if type_.items:
        text = f"{type_.base}[{', '.join(type_text(item, words) for item in type_.items)}]"
    if type_.list:
        element = f"{text} | None" if type_.element_optional else text
        text = f"Sequence[{element}]"
        if type_.size is not None:
            text = f"{words.get(type_.base, element.removesuffix(' | None'))} | {text}"
    return f"{text} | None" if type_.optional and text != "Any" else text


def result_class(definition: OpDefinition) -> tuple[str, tuple[str, ...]] | None:
    """Return name and fields of the named tuple that an operator returns, if it does."""
    names = [r.name for r in definition.signature.returns]
    if len(names) < 2 or None in names:
        return None
    words = "".join(word.title() for word in definition.signature.name.split("_"))
    return f"_{words}Result", tuple(str(name) for name in names)


def return_text(definition: OpDefinition, returns: tuple[Return, ...]) -> str:
    """Return the annotation of the result."""
    named = result_class(definition)
    if named is not None:
        # A named result is annotated by its class, whose fields editors show.
        return named[0]
    if not returns:
        return "None"
    texts = [f"tuple[{_TYPES[r.type.base]}, ...]" if r.type.list else _TYPES[r.type.base] for r in returns]
    return texts[0] if len(texts) == 1 else f"tuple[{', '.join(texts)}]"


# --- operators -------------------------------------------------------------------------------------------------


def takes_variadic_sizes(signature: Signature, form: str) -> bool:
    """Return whether `x.view(2, 3)` means `x.view((2, 3))`: a list is the only positional parameter in Python."""
    positional = signature.positional if form == "function" else signature.positional[1:]
    return len(positional) == 1 and positional[0].type.list and positional[0].type.base == "int"


def _parameter(argument: Argument, name: str) -> str:
    text = f"{name}: {type_text(argument.type)}"
    if argument.default is MISSING:
        return text
    default = repr(argument.default)
    is_word = isinstance(argument.default, str) and argument.type.base != "str"
    # Words such as `strided` are no literals of Python, and `inf` has none.
    return f"{text} = ..." if is_word or default in ("inf", "-inf", "nan") else f"{text} = {default}"


def parameter_lists(definition: OpDefinition, form: str) -> list[list[str]]:
    """Return the parameters of a form (function, method, inplace) as text: one list, or two with sizes as `*size`."""
    signature = definition.signature
    extra = []
    if form == "function" and definition.has_out:
        count = len(signature.returns)
        target = "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"
        extra.append(f"out: {target} | None = None")
    # Options of every factory, which its schema does not list; see `FACTORY_OPTIONS`.
    if definition.kind == "factory" and form != "inplace":
        extra += ["requires_grad: _bool = False", "pin_memory: _bool = False"]
    lists = []
    may_vary = takes_variadic_sizes(signature, form) or "variadic" in definition.tags
    # `view(2, 3)` and `view((2, 3))` are two overloads for type checkers.
    for variadic in (False, True) if may_vary else (False,):
        parameters: list[str] = []
        for index, argument in enumerate(signature.positional):
            if index == 0 and form != "function":
                parameters.append("self")
            elif variadic and argument.type.list:
                parameters.append(f"*{argument.name}: {_TYPES[argument.type.base]}")
            else:
                name = "input" if index == 0 and argument.name == "self" else argument.name
                parameters.append(_parameter(argument, name))
        keywords = [_parameter(a, a.name) for a in signature.keyword_only] + extra
        # After `*sizes` all parameters are keyword-only without a star of their own.
        if keywords and not variadic:
            parameters.append("*")
        lists.append(parameters + keywords)
    return lists


def docstring(text: str, indent: str) -> list[str]:
    """Return a docstring as the lines of a body."""
    # Backslashes and quotes must not end or change the docstring that is written.
    lines = textwrap.dedent(text).strip().replace("\\", "\\\\").replace('"""', "'''").split("\n")
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def _documentation(definition: OpDefinition, form: str) -> str:
    if form == "inplace":
        return f"In-place form of `{definition.signature.name}`.\n\n{definition.doc}"
    example = f"\n\nExamples\n--------\n>>> import tt\n{definition.example}" if definition.example else ""
    return definition.doc + example


def render_operator(name: str, definitions: Iterable[OpDefinition], form: str, indent: str = "") -> list[str]:
    """Return the lines that declare one form of an operator, with all its overloads."""
    variants = []
    for definition in definitions:
        returns = (
            definition.signature.inplace().returns if form == "inplace" else definition.signature.returns
        )
        variants += [(definition, parameters, returns) for parameters in parameter_lists(definition, form)]
    lines = []
    for definition, parameters, returns in variants:
        if len(variants) > 1:
            lines.append(f"{indent}@overload")
        lines.append(f"{indent}def {name}({', '.join(parameters)}) -> {return_text(definition, returns)}:")
        lines += [*docstring(_documentation(definition, form), indent + "    "), f"{indent}    ..."]
    return lines


def render_property(definition: OpDefinition, indent: str) -> list[str]:
    """Return the lines that declare an operator as an attribute of tensors."""
    returns = return_text(definition, definition.signature.returns)
    lines = [f"{indent}@property", f"{indent}def {definition.signature.name}(self) -> {returns}:"]
    return [*lines, *docstring(_documentation(definition, "property"), indent + "    "), f"{indent}    ..."]


# --- members that are not operators ----------------------------------------------------------------------------

_KNOWN: Final = {
    "Any", "None", "Tensor", "str", "tuple", "list", "dict", "type", "object", "Callable", "Iterator", "Sequence",
    "TypeIs", "_int", "_float", "_bool", "_complex", "_dtype", "_device", "_layout", "_Size", "_Generator",
}  # fmt: skip
_RENAMED: Final = {
    "int": "_int", "float": "_float", "bool": "_bool", "complex": "_complex", "dtype": "_dtype", "Dtype": "_dtype",
    "Device": "_device", "layout": "_layout", "Layout": "_layout", "Size": "_Size",
}  # fmt: skip
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def annotation_text(annotation: Any) -> str:
    """Return an annotation in the names of a stub; Any where it uses others."""
    if annotation is inspect.Parameter.empty:
        return "Any"
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    text = _WORD.sub(lambda m: _RENAMED.get(m[0], m[0]), text)
    # A name that the stub does not import would be an error in it.
    return text if set(_WORD.findall(text)) <= _KNOWN else "Any"


def render_callable(
    name: str, function: Callable[..., Any], indent: str = "", *, method: bool = False
) -> list[str]:
    """Return the lines that declare a function of Python."""
    signature = inspect.signature(function)
    parameters, star = [], False
    for index, parameter in enumerate(signature.parameters.values()):
        if method and index == 0:
            parameters.append("self")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        mark = "*" if parameter.kind is parameter.VAR_POSITIONAL else (
            "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        )  # fmt: skip
        star = star or mark == "*"
        default = "" if parameter.default is parameter.empty else " = ..."
        parameters.append(f"{mark}{parameter.name}: {annotation_text(parameter.annotation)}{default}")
    returns = annotation_text(signature.return_annotation)
    lines = [f"{indent}def {name}({', '.join(parameters)}) -> {returns}:"]
    doc = inspect.getdoc(function)
    return [*lines, *(docstring(doc, indent + "    ") if doc else []), f"{indent}    ..."]


def render_member(name: str, member: Any, indent: str) -> list[str]:
    """Return the lines that declare a method or a property of `Tensor`."""
    if not isinstance(member, property):
        if callable(member):
            return render_callable(name, member, indent, method=True)
        return [f"{indent}{name}: Any"]
    returns = annotation_text(inspect.signature(member.fget).return_annotation) if member.fget else "Any"
    doc = inspect.getdoc(member)
    lines = [f"{indent}@property", f"{indent}def {name}(self) -> {returns}:"]
    lines += [*(docstring(doc, indent + "    ") if doc else []), f"{indent}    ..."]
    if member.fset is not None:
        lines += [f"{indent}@{name}.setter", f"{indent}def {name}(self, value: Any) -> None: ..."]
    if member.fdel is not None:
        lines += [f"{indent}@{name}.deleter", f"{indent}def {name}(self) -> None: ..."]
    return lines
