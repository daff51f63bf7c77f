"""Sources that people write: operator schemas, and the C, C++ and CUDA code of extensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tt.core.errors.base import TTError


class SchemaProblem(NamedTuple):
    """One mistake in a schema file, with its place.

    Attributes
    ----------
    file, line, column : str, int, int
        Where; line and column count from 1.
    message : str
        The fault, in words.
    source : str
        The text of the line.
    hint : str
        The nearest valid word, or what to write instead.
    """

    file: str
    line: int
    column: int
    message: str
    source: str = ""
    hint: str = ""

    def __str__(self) -> str:
        lines = [f"{self.file}:{self.line}:{self.column}: {self.message}"]
        if self.source:
            lines += [f"    {self.source}", "    " + " " * (self.column - 1) + "^"]
        if self.hint:
            lines.append(f"    {self.hint}")
        return "\n".join(lines)


class SchemaError(TTError, ValueError):
    """All the mistakes of one or more schema files, reported together."""

    def __init__(self, problems: Sequence[SchemaProblem]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = f"{count} problem{'s' if count != 1 else ''} in the operator schema"
        super().__init__("\n".join([head, *map(str, self.problems)]))


class CompileError(TTError, RuntimeError):
    """C, C++ or CUDA source of an extension that does not compile, link or load.

    Attributes
    ----------
    extension : str
        The name of the extension.
    problems : tuple of Diagnostic
        The compiler's messages, each with its place in the user's source.
    command : tuple of str
        What was run.
    output : str
        The whole output.
    """

    def __init__(
        self,
        extension: str,
        headline: str,
        *,
        problems: Sequence[Any] = (),
        hint: str = "",
        command: Sequence[str] = (),
        output: str = "",
    ) -> None:
        self.extension, self.problems = extension, tuple(problems)
        self.command, self.output = tuple(command), output
        lines = [f"{extension}: {headline}", *map(str, self.problems)]
        lines += [f"  try: {hint}"] if hint else []
        super().__init__("\n".join(lines))


class NoCompilerError(TTError, RuntimeError):
    """No compiler for the language of an extension was found."""

    def __init__(self, language: str, tried: Sequence[str], install: str) -> None:
        self.language, self.tried = language, tuple(tried)
        variable = "CC" if language == "c" else "CXX"
        lines = [f"no compiler for {language.upper()} was found"]
        lines += [f"  tried: {item}" for item in self.tried]
        lines += [f"  try: {install}; or name one in the environment variable {variable}"]
        super().__init__("\n".join(lines))


class TraceError(TTError, ValueError):
    """A program that cannot be traced: what it does depends on a value that is not known yet."""
