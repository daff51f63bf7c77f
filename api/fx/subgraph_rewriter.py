"""tt.fx.subgraph_rewriter: puts one small graph in the place of another, wherever that occurs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import tt
from tt.errors import ValueRangeError
from tt.fx._symbolic_trace import symbolic_trace
from tt.fx.graph import Graph
from tt.fx.graph_module import GraphModule
from tt.fx.node import Node
from tt.fx.passes.utils.matcher_utils import InternalMatch, SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]

Pattern = Callable[..., Any] | Graph | GraphModule
MatchFilter = Callable[[InternalMatch, Graph, Graph], bool]


class Match(NamedTuple):
    """One occurrence of a pattern: its last node, and which node of the pattern is which of the graph."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """One occurrence that was replaced, with the nodes that came in its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


def replace_pattern(
    gm: GraphModule, pattern: Callable[..., Any] | GraphModule, replacement: Callable[..., Any] | GraphModule
) -> list[Match]:
    """Put a function in the place of another, wherever a graph computes that.

    Parameters
    ----------
    gm : GraphModule
        The module; it changes.
    pattern, replacement : callable or GraphModule
        Functions of the same arguments: what is looked for, and what comes in its place.

    Returns
    -------
    list of Match
        Where it was.

    Examples
    --------
    >>> import tt
    >>> module = tt.fx.symbolic_trace(lambda x, y: tt.relu(x + y) * 2)
    >>> matches = tt.fx.replace_pattern(module, lambda a, b: tt.relu(a + b), lambda a, b: tt.relu(a) - b)
    >>> print(module.code.strip())
    def forward(self, x, y):
        relu_1 = tt.relu(x);  x = None
        sub = relu_1 - y;  relu_1 = y = None
        mul = sub * 2;  sub = None
        return mul
    """
    replaced = _replace(gm, pattern, replacement, [], None, False, "")
    return [Match(match.anchor, match.nodes_map) for match in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None = None,
    match_filters: list[MatchFilter] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """Put a graph in the place of another where filters permit it.

    Parameters
    ----------
    gm : GraphModule
        The module; it changes.
    pattern, replacement : callable, Graph or GraphModule
        What is looked for, and what comes in its place.
    match_filters : list of callable, optional
        Say of an occurrence whether it is replaced, from it, the graph and the pattern.
    ignore_literals : bool
        Numbers and texts of the pattern stand for any.
    replacement_callback : callable, optional
        Makes the replacement for an occurrence.
    node_name_match : str
        A part of the name that the last node has.

    Returns
    -------
    list of ReplacedPatterns
        What was replaced.

    Raises
    ------
    ValueRangeError
        Neither or both of `replacement` and `replacement_callback` are given.
    """
    if (replacement is None) == (replacement_callback is None):
        raise ValueRangeError(
            "replace_pattern_with_filters(): takes one of replacement and replacement_callback"
        )
    return _replace(
        gm, pattern, replacement, match_filters or [], replacement_callback, ignore_literals, node_name_match
    )


def _graph_of(pattern: Pattern) -> Graph:
    if isinstance(pattern, GraphModule):
        return pattern.graph
    return pattern if isinstance(pattern, Graph) else symbolic_trace(pattern).graph


def _replace(
    gm: GraphModule,
    pattern: Pattern,
    replacement: Pattern | None,
    filters: list[MatchFilter],
    make_replacement: Callable[[InternalMatch, Graph, Graph], Graph] | None,
    ignore_literals: bool,
    node_name_match: str,
) -> list[ReplacedPatterns]:
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, remove_overlapping_matches=True, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(accepts(match, graph, pattern_graph) for accepts in filters)
    ]
    common = None if replacement is None else _graph_of(replacement)
    changed: dict[Node, Node] = {}  # what stands for results of matches that were replaced before
    replaced = []
    for match in matches:
        new_graph = make_replacement(match, graph, pattern_graph) if make_replacement is not None else common
        if new_graph is None:
            continue
        inputs: list[Any] = [
            changed.get(value, value) if isinstance(value, Node) else value
            for value in match.placeholder_nodes
        ]
        own_inputs = [node for node in new_graph.nodes if node.op == "placeholder"]
        if len(own_inputs) != len(inputs):
            raise ValueRangeError(
                f"the replacement takes {len(own_inputs)} arguments, and the pattern {len(inputs)}"
            )
        environment = dict(zip(own_inputs, inputs, strict=True))
        # Before the first user, where all that the match is made of has been computed, and behind its inputs.
        users = [user for node in match.returning_nodes for user in node.users]
        before = min(users) if users else match.returning_nodes[-1].next
        last_input = max((value for value in inputs if isinstance(value, Node)), default=None)
        if last_input is not None and before.op != "root" and before < last_input:
            before = last_input.next
        with graph.inserting_before(before):
            result = graph.graph_copy(new_graph, environment)
        results = [result] if isinstance(result, Node) else list(result or ())
        if len(results) != len(match.returning_nodes):
            raise ValueRangeError(
                f"the replacement returns {len(results)} values, and the pattern {len(match.returning_nodes)}"
            )
        for old, new in zip(match.returning_nodes, results, strict=True):
            old.replace_all_uses_with(new)
            changed[old] = new
        for own in reversed(pattern_graph.nodes):
            if own.op not in ("placeholder", "output") and own in match.nodes_map:
                graph.erase_node(match.nodes_map[own])
        added = [new for new in environment.values() if new not in inputs]
        replaced.append(ReplacedPatterns(match.anchors[0], match.nodes_map, added))
    if isinstance(replacement, tt.nn.Module):
        _take_attributes(gm, replacement)
    gm.recompile()
    return replaced


def _take_attributes(gm: GraphModule, replacement: tt.nn.Module) -> None:
    """Give a module what new nodes name, and take from it what none does any more."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr"):
            continue
        name = str(node.target)
        if _has(gm, name):
            continue
        if not _has(replacement, name):
            raise ValueRangeError(
                f'Attempted to create a "{node.op}" node during subgraph rewriting with target {name}, but the '
                "referenced attribute does not exist in the replacement"
            )
        value: Any = replacement
        for part in name.split("."):
            value = getattr(value, part)
        value = copy.deepcopy(value)
        if isinstance(value, tt.nn.Module):
            gm.add_submodule(name, value)
        else:
            setattr(gm, name, value)
    gm.graph.lint()


def _has(module: Any, name: str) -> bool:
    for part in name.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True
