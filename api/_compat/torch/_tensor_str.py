"""torch._tensor_str: how tensors are written as text."""

from __future__ import annotations

from typing import Any

import tt
from tt import printoptions, set_printoptions
from tt.core.methods.printing import format_tensor, get_printoptions

__all__ = ["PRINT_OPTS", "printoptions", "set_printoptions"]


class _Options:
    """The print options as attributes, which programs read."""

    def __getattr__(self, name: str) -> Any:
        options = get_printoptions()
        if name in options:
            return options[name]
        raise AttributeError(f"no print option {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        set_printoptions(**{name: value})


PRINT_OPTS = _Options()


def _str(self: tt.Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the text of a tensor."""
    return format_tensor(self)


_str_intern = _str


def _tensor_str(self: tt.Tensor, indent: int) -> str:
    """Return the numbers of a tensor, without its name and suffixes; further rows are indented."""
    prefix = "tensor("
    text = format_tensor(self.detach())[len(prefix) : -1]
    # The rows of the text stand below its first number, which `prefix` moves.
    first, *rows = text.split("\n")
    return "\n".join([first, *(" " * indent + row[len(prefix) :] if row else row for row in rows)])


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """Return the text of a tensor with what follows its numbers, and the closing bracket."""
    if not suffixes:
        return f"{tensor_str})"
    line = len(tensor_str) - tensor_str.rfind("\n") + 1
    if force_newline or line + sum(len(s) + 2 for s in suffixes) > PRINT_OPTS.linewidth:
        return f"{tensor_str},\n{' ' * indent}{', '.join(suffixes)})"
    return f"{tensor_str}, {', '.join(suffixes)})"
