"""Finds the functions that C, C++ or CUDA source declares: a reader of declarations, not of the language.

It reads the top level of the text, outside of bodies and of namespaces other than `extern "C"`, and
does not run the preprocessor: a function that a macro or a header defines is found by declaring it in the source,
`float hypot2(float x, float y);`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tt.core.extension.types import TYPE_WORDS, CType, Function, Parameter, read_type

__all__ = ["find_functions"]

_TOKEN: Final = re.compile(
    r"""
    (?P<skip> \s+ | //(?:[^\n\\]|\\.|\\\n)* | /\*.*?\*/ | \#(?:[^\n\\]|\\.|\\\n)* )
  | (?P<string> (?:u8|[uUL])?R"(?P<mark>[^ ()\\]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' )
  | (?P<word> [A-Za-z_]\w* | \.?\d(?:[\w.]|[eEpP][+-])* | :: | \[\[ | \]\] | -> | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPENING: Final = {"(": ")", "[": "]", "{": "}", "[[": "]]"}
_ATTRIBUTES: Final = frozenset({"__attribute__", "__declspec", "alignas", "__launch_bounds__"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")


class Token(NamedTuple):
    """A word of the source and its position."""

    text: str
    position: int


def _tokens(source: str) -> list[Token]:
    return [
        Token(match[0], match.start())
        for match in _TOKEN.finditer(source)
        if match.lastgroup != "skip" and match["skip"] is None
    ]


def find_functions(source: str, file: str = "") -> list[Function]:
    """Return the functions that a source declares or defines, in its order.

    Functions whose types extensions cannot pass are left out.

    Examples
    --------
    >>> from tt.core.extension.declarations import find_functions
    >>> [str(f) for f in find_functions("float twice(float x) { return 2 * x; }")]
    ['float twice(float x)']
    """
    functions = []
    for statement, defined in _statements(_tokens(source)):
        function = _function(statement, defined, source, file)
        if function is not None:
            functions.append(function)
    return functions


# --- statements ----------------------------------------------------------------------------------------------------


def _statements(tokens: list[Token]) -> Iterator[tuple[list[Token], bool]]:
    """Yield the top-level tokens up to a semicolon or a body, and whether a body follows."""
    statement: list[Token] = []
    at = 0
    while at < len(tokens):
        text = tokens[at].text
        if text == "{":
            words = [t.text for t in statement]
            if words == ["extern", '"C"']:
                at += 1  # its content is at the top level, too
            else:
                at = _after(tokens, at)
                # A brace after "=" is an initialiser and no body.
                yield statement, "=" not in words
            statement = []
        elif text in ";}":
            yield statement, False
            statement = []
            at += 1
        elif text in ("(", "["):
            end = _after(tokens, at)
            statement += tokens[at:end]
            at = end
        else:
            statement.append(tokens[at])
            at += 1


def _after(tokens: list[Token], at: int) -> int:
    """Return the position behind the bracket that closes the one at `at`."""
    opening, closing, depth = tokens[at].text, _OPENING[tokens[at].text], 0
    for position in range(at, len(tokens)):
        text = tokens[position].text
        depth += (text == opening) - (text == closing)
        if depth == 0:
            return position + 1
    # Unbalanced source is left to the compiler, which explains it better.
    return len(tokens)


# --- functions -----------------------------------------------------------------------------------------------------


def _function(statement: list[Token], defined: bool, source: str, file: str) -> Function | None:
    tokens = _without_attributes(statement)
    template, tokens = _template(tokens)
    words = [token.text for token in tokens]
    if words[:2] == ["extern", '"C"']:
        tokens, words = tokens[2:], words[2:]
    if "(" not in words or words[0] in ("typedef", "using", "namespace", "struct", "class", "enum", "union"):
        return None if not words or words[0] != "struct" else _struct_result(tokens, defined, source, file)
    return _named(tokens, template, defined, source, file)


def _struct_result(tokens: list[Token], defined: bool, source: str, file: str) -> Function | None:
    """Read `struct tt_tensor *f(...)`; other structs cannot be passed."""
    if len(tokens) > 2 and tokens[1].text == "tt_tensor" and any(t.text == "(" for t in tokens):
        return _named(tokens[1:], "", defined, source, file)
    return None


def _named(tokens: list[Token], template: str, defined: bool, source: str, file: str) -> Function | None:
    words = [token.text for token in tokens]
    at = words.index("(")
    # "=" before the parenthesis: a variable with an initialiser.
    if at == 0 or not _IDENTIFIER.fullmatch(words[at - 1]) or "=" in words[:at] or template == "?":
        return None
    end = _after(tokens, at)
    result = read_type(words[: at - 1], template)
    parameters = _parameters(words[at + 1 : end - 1], template)
    # Extensions cannot say to whom memory behind a returned pointer would belong.
    if (
        result is None
        or parameters is None
        or result.kind in ("results", "pointer", "text")
        or result.reference
    ):
        return None
    before = source[: tokens[at - 1].position]
    return Function(
        words[at - 1],
        result,
        parameters,
        template,
        file,
        before.count("\n") + 1,
        len(before) - (before.rfind("\n") + 1) + 1,
        defined,
        "static" in words[:at],
        "__global__" in words[:at],
    )


def _without_attributes(statement: list[Token]) -> list[Token]:
    kept: list[Token] = []
    at = 0
    while at < len(statement):
        text = statement[at].text
        if text == "[[":
            at = _after(statement, at)
        elif text in _ATTRIBUTES and at + 1 < len(statement) and statement[at + 1].text == "(":
            at = _after(statement, at + 1)
        else:
            kept.append(statement[at])
            at += 1
    return kept


def _template(tokens: list[Token]) -> tuple[str, list[Token]]:
    """Return the one type parameter of a template ("?" of any other template), and the tokens behind it."""
    if not tokens or tokens[0].text != "template":
        return "", tokens
    words = [token.text for token in tokens]
    depth = end = 0
    for end in range(1, len(words)):
        depth += (words[end] == "<") - (words[end] == ">")
        if depth == 0:
            break
    inner = words[2:end]
    if len(inner) >= 2 and inner[0] in ("typename", "class") and "," not in inner:
        return inner[1], tokens[end + 1 :]
    return "?", tokens[end + 1 :]


def _parameters(words: list[str], template: str) -> tuple[Parameter, ...] | None:
    """Return the parameters of a list between parentheses, or None if one cannot be passed."""
    if words in ([], ["void"]):
        return ()
    groups: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in "<([{") - (word in ">)]}")
        if word == "," and depth == 0:
            groups.append([])
        else:
            groups[-1].append(word)
    parameters = [_parameter(group, template, number) for number, group in enumerate(groups)]
    return None if None in parameters else tuple(p for p in parameters if p is not None)


def _parameter(words: list[str], template: str, number: int) -> Parameter | None:
    # A default argument of C++ is no part of the type.
    if "=" in words:
        words = words[: words.index("=")]
    array = "[" in words
    if array:
        words = words[: words.index("[")]
    name = f"arg{number}"
    type_: CType | None = None
    # The last word is the name, unless the type would be none without it: `unsigned int`.
    if len(words) > 1 and _IDENTIFIER.fullmatch(words[-1]) and words[-1] not in TYPE_WORDS:
        type_ = read_type([*words[:-1], *(["*"] if array else [])], template)
        name = words[-1] if type_ is not None else name
    if type_ is None:
        type_ = read_type([*words, *(["*"] if array else [])], template)
    return None if type_ is None or type_.kind == "void" else Parameter(name, type_)
