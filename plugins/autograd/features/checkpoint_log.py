"""The operators of the two runs of a checkpoint, for the error that says how they differ."""

from __future__ import annotations

import sys
from itertools import zip_longest
from typing import Any

from tt.core.library import Tensor, TTDispatchMode

__all__ = ["OperatorLog", "both_runs"]


class OperatorLog(TTDispatchMode):
    """Writes down the operators of a run, with their results and the lines of the program that called them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def __enter__(self) -> Any:
        self.calls.clear()  # the function runs again for each backward pass
        return super().__enter__()

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        values = [*map(_words, args), *(f"{name}={_words(value)}" for name, value in (kwargs or {}).items())]
        # Written before the call: an operator stands above those that it calls.
        index = len(self.calls)
        self.calls.append((f"{func.name}({', '.join(values)})", _line()))
        result = func(*args, **(kwargs or {}))
        text, line = self.calls[index]
        self.calls[index] = f"{text} -> {_words(result)}", line
        return result


def both_runs(first: OperatorLog, second: OperatorLog) -> str:
    """Return the operators of both runs in words, with the first difference marked."""
    differing = next(
        (
            i
            for i, (a, b) in enumerate(zip_longest(first.calls, second.calls))
            if a is None or b is None or a[0] != b[0]
        ),
        -1,
    )
    lines = []
    for title, log in (("of the forward pass", first), ("of the second run", second)):
        lines.append(f"the operators {title}:" if log.calls else f"the operators {title}: none")
        for number, (text, line) in enumerate(log.calls):
            lines.append(f"  {'>' if number == differing else ' '} {number + 1}. {text}   {line}")
    return "\n".join(lines)


def _words(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_words, value))}]"
    return repr(value)


def _line() -> str:
    """Return the line of the program, outside of tt, that runs."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tt":
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
