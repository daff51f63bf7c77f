"""Programs of PyTorch, made to import tt: `python -m tt.port FILE...`, or `tt port FILE...`.

In import statements `torch` becomes `tt`; where a statement binds the name `torch`, it goes on to do so, so that the
rest of the program stays as it is.  Names that tt lacks are listed with what to use instead.
"""

from __future__ import annotations

import ast
import importlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from tt._compat.left_out import left_out
from tt.errors import nearest

__all__ = ["Missing", "Port", "port"]

ONLY_RAISE: Final = ("torch.compile", "torch.compiler.compile", "torch.jit.script", "torch.jit.trace")
"""Names that tt has so that programs get a reason; they count as missing."""


@dataclass(frozen=True, order=True)
class Missing:
    """A name of PyTorch that a program uses and tt lacks.

    Attributes
    ----------
    line : int
        Where it is used first.
    name : str
        The name, from `torch` on.
    instead : str
        What to use.
    """

    line: int
    name: str
    instead: str


@dataclass(frozen=True)
class Port:
    """A program that imports tt.

    Attributes
    ----------
    text : str
        The program.
    missing : tuple of Missing
        The part that tt lacks.
    """

    text: str
    missing: tuple[Missing, ...]


def port(source: str) -> Port:
    r"""Return a program of PyTorch with its imports swapped, and which of its names tt lacks.

    Parameters
    ----------
    source : str
        The text of a Python file.

    Raises
    ------
    SyntaxError
        If it is not a Python program.

    Examples
    --------
    >>> from tt.port import port
    >>> print(port("import torch\nimport torch.nn as nn\n").text)
    import tt as torch
    import tt.nn as nn
    """
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    # From the end, so that the positions of earlier statements stay right.
    for node in sorted(_statements(tree), key=lambda n: (n.lineno, n.col_offset), reverse=True):
        if isinstance(node, ast.Import):
            for alias in reversed(node.names):
                if _of_torch(alias.name):
                    _replace(lines, alias.lineno, alias.col_offset, _span(alias), _swapped(alias, node))
        else:
            _replace_module(lines, node)
    return Port("".join(lines), tuple(sorted(_missing(tree))))


# --- the text --------------------------------------------------------------------------------------------------


def _of_torch(name: str | None) -> bool:
    return name is not None and (name == "torch" or name.startswith("torch."))


def _statements(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the statements that import something of PyTorch."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            if any(_of_torch(alias.name) for alias in node.names):
                yield node
        elif isinstance(node, ast.ImportFrom) and not node.level and _of_torch(node.module):
            yield node


def _swapped(alias: ast.alias, statement: ast.Import) -> str:
    """Return what imports the same of tt and binds the same name."""
    name = "tt" + alias.name.removeprefix("torch")
    if alias.asname is not None:
        return f"{name} as {alias.asname}"
    if name == "tt":
        return "tt as torch"
    # `import torch.nn` binds `torch`; one more import of the module binds nothing that the program could use.
    bound = any(other.name == "torch" and other.asname is None for other in statement.names)
    return name if bound else f"tt as torch, {name}"


def _span(alias: ast.alias) -> tuple[int, int]:
    """Return where an alias ends: the line and the column."""
    assert alias.end_lineno is not None and alias.end_col_offset is not None
    return alias.end_lineno, alias.end_col_offset


def _replace(lines: list[str], line: int, column: int, end: tuple[int, int], text: str) -> None:
    """Put a text in place of another; columns are counted in UTF-8, as the parser does."""
    first, last = lines[line - 1].encode(), lines[end[0] - 1].encode()
    lines[line - 1 : end[0]] = [(first[:column] + text.encode() + last[end[1] :]).decode()]
    lines[line:line] = [""] * (end[0] - line)  # the numbers of later lines stay


def _replace_module(lines: list[str], node: ast.ImportFrom) -> None:
    """Swap the module of a `from` statement."""
    rest = "".join(lines[node.lineno - 1 :])
    start = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    # By tokens, for the module may stand on another line than `from`, or behind a comment.
    tokens = tokenize.generate_tokens(io.StringIO(rest[start:]).readline)
    first = next(token for token in tokens if token.string == "torch")
    row = node.lineno - 1 + first.start[0] - 1
    column = first.start[1] + (start if first.start[0] == 1 else 0)
    lines[row] = lines[row][:column] + "tt" + lines[row][column + len("torch") :]


# --- the names -------------------------------------------------------------------------------------------------


def _missing(tree: ast.AST) -> Iterator[Missing]:
    bound: dict[str, str] = {}
    used: dict[str, int] = {}

    def use(name: str, line: int) -> None:
        used[name] = min(line, used.get(name, line))

    for node in _statements(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _of_torch(alias.name):
                    bound[alias.asname or "torch"] = alias.name if alias.asname else "torch"
                    use(alias.name, node.lineno)
        else:
            for alias in node.names:
                name = f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
                bound[alias.asname or alias.name] = name
                use(name, node.lineno)
    for part in ast.walk(tree):
        chain = _chain(part)
        if isinstance(part, ast.expr) and chain and chain[0] in bound:
            use(".".join([bound[chain[0]], *chain[1:]]), part.lineno)
    lacking: dict[str, int] = {}
    for name, line in used.items():
        lacked = _first_lacking(name)
        if lacked:
            lacking[lacked] = min(line, lacking.get(lacked, line))
    for name, line in lacking.items():
        yield Missing(line, name, _instead(name))


def _chain(node: ast.AST) -> list[str]:
    """Return the names of `a.b.c`, or an empty list for another expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) and parts else []


def _first_lacking(name: str) -> str:
    """Return the shortest part of a name of PyTorch that tt lacks, or "" if it has all of them."""
    if name in ONLY_RAISE:
        return name
    value: Any = importlib.import_module("tt")
    path = "tt"
    for index, part in enumerate(parts := name.split(".")[1:]):
        path += f".{part}"
        try:
            value = getattr(value, part)
        except (AttributeError, ImportError):
            try:
                value = importlib.import_module(path)
            except ImportError:
                return ".".join(["torch", *parts[: index + 1]])
        if not isinstance(value, ModuleType | type):
            return ""  # the members of a value are not known before the program runs
    return ""


def _instead(name: str) -> str:
    """Return what to use in place of a name: from the table, or the nearest names."""
    row = left_out(name.removeprefix("torch."))
    if row is not None:
        return f"{row.instead} ({row.reason})"
    parts = name.split(".")
    parent: Any = importlib.import_module("tt")
    for part in parts[1:-1]:
        parent = getattr(parent, part)
    missing = re.sub(r"\W", "", parts[-1])
    near = nearest(missing, [n for n in dir(parent) if not n.startswith("_")])
    path = ".".join(["tt", *parts[1:-1]])
    return " or ".join(f"{path}.{other}" for other in near) if near else "no name of tt is near"


if __name__ == "__main__":
    from tt.cli.main import main

    sys.argv[1:1] = ["port"]
    main()
