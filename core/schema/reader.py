"""A reader of one text from left to right, with the column of each fault: the base of the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tt.core.errors import nearest

__all__ = ["NAME", "Mistake", "Reader", "Stop", "suggest"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a text: its column (from 0), a description, and a suggestion."""

    column: int
    message: str
    hint: str = ""


class Stop(Exception):  # noqa: N818 - an internal signal, never seen by users
    """Ends the reading at a mistake, after which nothing can be understood."""

    def __init__(self, column: int, message: str, hint: str = "") -> None:
        self.mistake = Mistake(column, message, hint)


def suggest(word: str, candidates: Any) -> str:
    """Return "did you mean 'x'?" or an empty string."""
    matches = nearest(word, candidates, count=1)
    return f"did you mean {matches[0]!r}?" if matches else ""


class Reader:
    """Reads a text from left to right; a mistake in one argument does not hide those in the next."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.mistakes: list[Mistake] = []

    # --- characters --------------------------------------------------------------------------------------------

    def skip(self) -> None:
        """Pass spaces."""
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def peek(self, token: str) -> bool:
        """Return whether a token comes next."""
        self.skip()
        return self.text.startswith(token, self.at)

    def take(self, token: str) -> bool:
        """Pass a token if it comes next; return whether it did."""
        taken = self.peek(token)
        self.at += len(token) * taken
        return taken

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Pass what matches a pattern, if it comes next."""
        self.skip()
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def found(self) -> str:
        """The next token, for messages."""
        self.skip()
        if self.at >= len(self.text):
            return "the end"
        name = NAME.match(self.text, self.at)
        return repr(name[0] if name else self.text[self.at])

    def expect(self, token: str, where: str) -> None:
        """Pass a token, or stop."""
        if not self.take(token):
            raise Stop(self.at, f"expected {token!r} {where}, found {self.found()}")

    def name(self, what: str) -> str:
        """Pass a name and return it, or stop."""
        match = self.match(NAME)
        if not match:
            raise Stop(self.at, f"expected {what}, found {self.found()}")
        return match[0]

    def note(self, column: int, message: str, hint: str = "") -> None:
        """Note a mistake and read on."""
        self.mistakes.append(Mistake(column, message, hint))

    def recover(self, start: int) -> None:
        """Go to the comma or bracket that ends the argument that begins at a column."""
        # Brackets and quotes are counted, since a comma inside of a default does not end the argument.
        self.at = start
        depth, quote = 0, ""
        while self.at < len(self.text):
            character = self.text[self.at]
            if quote and character == "\\":
                self.at += 1
            elif quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            elif character in "([{":
                depth += 1
            elif character in ")]}" and depth:
                depth -= 1
            elif character in ",)" and not depth:
                return
            self.at += 1
