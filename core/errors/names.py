"""Names that nothing defines, and the nearest that exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, Final

from tt.core.errors.base import TTError, _restored

OTHER_WORDS: Final = {
    "gpu": "cuda", "nvidia": "cuda", "cupy": "cuda", "numpy": "cpu", "coo": "sparse_coo", "sparse": "sparse_coo",
    "csr": "sparse_csr", "csc": "sparse_csc", "bsr": "sparse_bsr", "bsc": "sparse_bsc", "dense": "strided",
    "nested": "jagged", "fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16",
    "f16": "float16", "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "boolean": "bool",
}  # fmt: skip
"""What users say for a name, though it is spelled otherwise."""


def nearest(word: str, candidates: Iterable[str], *, count: int = 3) -> list[str]:
    """Return the candidates that `word` was probably meant to be, best first.

    Examples
    --------
    >>> from tt.core.errors import nearest
    >>> nearest("matmull", ["matmul", "mul", "exp"], count=1)
    ['matmul']
    """
    import difflib  # start-up: only errors need it

    known = list(candidates)
    meant = OTHER_WORDS.get(word.lower())
    if meant in known:
        return [meant]
    # Above 0.6, the default, which suggests words that merely share letters.
    matches = difflib.get_close_matches(word, known, n=count, cutoff=0.7)
    # A short word with one wrong letter is less alike than that.
    return matches or [other for other in known if _one_letter_apart(word, other)][:count]


def _one_letter_apart(word: str, other: str) -> bool:
    return 2 < len(word) == len(other) and sum(a != b for a, b in zip(word, other, strict=True)) == 1


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return "; did you mean 'x' or 'y'?" or an empty string."""
    matches = nearest(word, candidates)
    return "; did you mean " + " or ".join(repr(name) for name in matches) + "?" if matches else ""


MOST_LISTED: Final = 40
"""How many names a message lists although it has a guess."""


class UnknownNameError(TTError, RuntimeError, ValueError):
    """A name (device, layout, dtype, plugin, mode, ...) that is not registered."""

    def __init__(self, kind: str, name: str, candidates: Iterable[str], *, note: str = "") -> None:
        self.kind, self.name, self.candidates = kind, name, tuple(candidates)
        guess = did_you_mean(name, self.candidates)
        known = ", ".join(sorted(self.candidates)) or "(none)"
        if guess and len(self.candidates) > MOST_LISTED:  # hundreds of names would hide the guess
            known = f"{len(self.candidates)} names"
        text = f"unknown {kind} {name!r}{guess}\n  known: {known}"
        super().__init__(text + (f"\n  {note}" if note else ""))


class UnknownOpError(TTError, AttributeError, RuntimeError):
    """An operator that no schema defines, or a name that `tt` lacks."""

    def __init__(
        self,
        op: str,
        candidates: Iterable[str] | Callable[[], Iterable[str]] = (),
        *,
        owner: str = "",
        reason: str | Callable[[], str] = "",
    ) -> None:
        self.op, self.owner = op, owner
        # Both are looked for on demand, since `hasattr` asks for neither.
        self._names = candidates if callable(candidates) else tuple(candidates)
        self._reason = reason
        super().__init__(op)
        # Python would take the object from which the name was asked, and end the text with a guess of its own.
        self.name, self.obj = op, None

    @cached_property
    def candidates(self) -> tuple[str, ...]:
        """The nearest names."""
        return tuple(nearest(self.op, self._names() if callable(self._names) else self._names))

    @cached_property
    def reason(self) -> str:
        """Why the name is left out on purpose, or an empty string."""
        return self._reason() if callable(self._reason) else self._reason

    def __str__(self) -> str:
        # Facts come with names or an owner; without, a library made the error anew from a longer text.
        if not self.owner and self._names == ():
            return self.op
        if self.reason:
            return f"{self.owner} has no name {self.op!r}: {self.reason}"
        problem = f"{self.owner} has no name" if self.owner else "no operator is named"
        # A name like no other may be that of a package that is not installed, or failed to load.
        see = (
            "tt ops list"
            if self.owner or self.candidates
            else "tt ops list; tt plugins list, if a package brings it"
        )
        return f"{problem} {self.op!r}{did_you_mean(self.op, self.candidates)}\n  see: {see}"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "op": self.op,
            "name": self.op,
            "obj": None,
            "_names": self.candidates,
            "_reason": self.reason,
        }
        return _restored, (type(self), self.args), {**self.__dict__, **state}
