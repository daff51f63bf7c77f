"""Types of `engine`, which is a hot module and has none of its own."""

from typing import Any

from tt.plugins.autograd.record.graph import Node

def run(
    roots: list[Any],
    gradients: list[Any],
    keep_graph: bool,
    create_graph: bool,
    captures: list[Any] | None,
    accumulating: bool,
) -> list[Any]: ...
def find_needed(roots: list[Node], captures: list[tuple[Node, int]]) -> set[Node]: ...
