"""Generates the code between the caller and the user's functions: for each, an entry with one fixed signature.

Every generated line carries a `#line` that names the declaration of the function that it calls, so that no error of the
compiler is ever about a line that the user has not written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tt.core.extension.compilers import Language
from tt.core.extension.diagnostics import WRAPPER
from tt.core.extension.types import COMPLEX, CType, Function

__all__ = ["Instance", "c_type", "line_directive", "wrappers"]

_INTEGER = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True, slots=True)
class Instance:
    """A function for certain dtypes: what an entry calls.

    Attributes
    ----------
    function : Function
        The function to call.
    dtype : str
        The template argument; "" if the function is not a template.
    symbol : str
        The name of its entry.
    """

    function: Function
    dtype: str
    symbol: str

    def dtype_of(self, type_: CType) -> str:
        """Return the dtype of a parameter or of the result."""
        is_parameter = self.function.template and type_.dtype == self.function.template
        return self.dtype if is_parameter else type_.dtype


def c_type(dtype: str, language: Language) -> str:
    """Return how a language writes the type of a dtype.

    Examples
    --------
    >>> from tt.core.extension.generate import c_type
    >>> c_type("float32", "c"), c_type("complex64", "c++"), c_type("int8", "c")
    ('float', 'std::complex<float>', 'int8_t')
    """
    if dtype in COMPLEX:
        return f"std::complex<{COMPLEX[dtype]}>" if language == "c++" else f"{COMPLEX[dtype]} _Complex"
    return {"float32": "float", "float64": "double", "bool": "bool"}.get(dtype, f"{dtype}_t")


def line_directive(line: int, file: str) -> str:
    """Return the directive that names the next line."""
    # Paths of Windows have backslashes, which are escapes within the quotes.
    return f'#line {line} "{file}"'.replace("\\", "\\\\")


def wrappers(instances: Sequence[Instance], language: Language) -> str:
    """Return the entries of instances, all of one language."""
    lines: list[str] = []
    for instance in instances:
        function = instance.function
        called = function.name + (f" for {instance.dtype}" if instance.dtype else "")
        directive = line_directive(function.line, f"{function.file}{WRAPPER}{called}")
        body = _elementwise(instance, language) if function.elementwise else _over_tensors(instance, language)
        for line in _entry(instance.symbol, body, language):
            lines += [directive, line]
    if language == "c++":
        lines = ['extern "C" {', *lines, "}"]
    return "\n".join(lines) + "\n"


def _entry(symbol: str, body: list[str], language: Language) -> list[str]:
    guarded = body if language == "c" else [
        "try {", *body,
        '} catch (const std::exception &error) { tt_error("%s", error.what());',
        '} catch (...) { tt_error("a C++ exception that is not a std::exception"); }',
    ]  # fmt: skip
    return [
        f'__attribute__((visibility("default"))) int {symbol}(tt_call *call) {{',
        # Entries may call each other: the present call is put back at the end.
        "tt_call *before = tt_current_call;",
        "tt_current_call = call;",
        *guarded,
        "tt_current_call = before;",
        "return call->message[0] != 0;",
        "}",
    ]


def _called(instance: Instance, arguments: Sequence[str], language: Language) -> str:
    name = instance.function.name
    if instance.dtype and instance.function.template:
        name += f"<{c_type(instance.dtype, language)}>"
    return f"{name}({', '.join(arguments)})"


# --- elements ------------------------------------------------------------------------------------------------------


def _elementwise(instance: Instance, language: Language) -> list[str]:
    """Return the loop over one dimension: plain where all elements are neighbours, so that it can be vectorised."""
    function = instance.function
    types = [
        c_type(instance.dtype_of(t), language)
        for t in (function.result, *(p.type for p in function.parameters))
    ]
    count = len(types)
    lines = ["const int64_t n = call->count;"]
    for i, name in enumerate(types):
        const = "const " if i else ""
        lines += [f"char *p{i} = call->data[{i}]; const int64_t s{i} = call->strides[{i}];"]
        # The promise that nothing overlaps lets the compiler vectorise; the caller makes the result's memory.
        lines += [f"{const}{name} *__restrict q{i} = ({const}{name} *)p{i};"]
    cases = [frozenset(range(count))]
    if count == 3:
        cases += [frozenset({0, 1}), frozenset({0, 2})]  # the other operand is one number
    for moving in cases:
        # Within each case the strides are constants, which a vectoriser needs.
        test = " && ".join(
            f"s{i} == {f'(int64_t)sizeof({t})' if i in moving else '0'}" for i, t in enumerate(types)
        )
        fixed = "".join(f"const {types[i]} c{i} = *q{i}; " for i in range(1, count) if i not in moving)
        arguments = [f"q{i}[i]" if i in moving else f"c{i}" for i in range(1, count)]
        lines += [
            f"if ({test}) {{ {fixed}",
            f"for (int64_t i = 0; i < n; i++) q0[i] = {_called(instance, arguments, language)};",
            "} else",
        ]
    arguments = [f"*(const {t} *)p{i}" for i, t in enumerate(types) if i]
    steps = " ".join(f"p{i} += s{i};" for i in range(count))
    lines += [
        "for (int64_t i = 0; i < n; i++) {",
        f"*({types[0]} *)p0 = {_called(instance, arguments, language)};",
        f"{steps} }}",
    ]
    return lines


# --- tensors -------------------------------------------------------------------------------------------------------


def _over_tensors(instance: Instance, language: Language) -> list[str]:
    function = instance.function
    arguments = [_argument(instance, p.type, i, language) for i, p in enumerate(function.parameters)]
    called = _called(instance, arguments, language)
    result, dtype = function.result, instance.dtype_of(function.result)
    if result.kind == "void":
        return [f"{called};"]
    if result.kind == "tensor":
        return [f"call->result.tensor = (tt_tensor *){called};"]
    if dtype in COMPLEX:
        # By its parts: C and C++ lay complex numbers out alike, and spell the type differently.
        part = f"(({COMPLEX[dtype]} *)&value)"
        return [
            f"{c_type(dtype, language)} value = {called};",
            f"call->result.complex_parts[0] = {part}[0]; call->result.complex_parts[1] = {part}[1];",
        ]
    member, cast = ("integer", "int64_t") if dtype in _INTEGER else ("floating", "double")
    return [f"call->result.{member} = ({cast}){called};"]


def _argument(instance: Instance, type_: CType, at: int, language: Language) -> str:
    value, dtype = f"call->values[{at}]", instance.dtype_of(type_)
    if type_.kind == "tensor":
        return f"*{value}.tensor" if type_.reference else f"{value}.tensor"
    if type_.kind == "results":
        return f"&{value}.tensor"
    if type_.kind == "text":
        return f"{value}.text"
    if type_.kind == "pointer":
        template = instance.function.template
        spelling = (
            re.sub(rf"\b{template}\b", c_type(dtype, language), type_.spelling)
            if template
            else type_.spelling
        )
        # An optional tensor that is missing arrives as NULL.
        return f"({spelling})({value}.tensor == NULL ? NULL : {value}.tensor->data)"
    if dtype in COMPLEX:
        real, imag = (f"({COMPLEX[dtype]}){value}.complex_parts[{k}]" for k in (0, 1))
        if language == "c++":
            return f"{c_type(dtype, language)}({real}, {imag})"
        return f"*({c_type(dtype, language)} *)(({COMPLEX[dtype]}[2]){{{real}, {imag}}})"
    return f"({c_type(dtype, language)}){value}.{'integer' if dtype in _INTEGER else 'floating'}"
