"""tt.fx.passes.utils.matcher_utils: finds where a small graph occurs in a large one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import tt
from tt.errors import ValueRangeError
from tt.fx.graph import Graph
from tt.fx.node import Node
from tt.utils import _pytree as pytree

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One occurrence of a pattern.

    Attributes
    ----------
    anchors : list of Node
        The nodes that match the last ones of the pattern.
    nodes_map : dict
        Node of the pattern -> node of the graph.
    placeholder_nodes, returning_nodes : list of Node
        What the graph has for the inputs and outputs of the pattern; for an input perhaps a constant.
    """

    anchors: list[Node]
    nodes_map: dict[Node, Any] = field(default_factory=dict)
    placeholder_nodes: list[Any] = field(default_factory=list)
    returning_nodes: list[Node] = field(default_factory=list)
    name_node_map: dict[str, Node] = field(default_factory=dict)

    def __copy__(self) -> InternalMatch:
        return InternalMatch(
            list(self.anchors), dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds where a pattern occurs in graphs.

    Parameters
    ----------
    pattern : Graph
        The pattern; its inputs stand for anything.
    match_output, match_placeholder : bool
        Its output, and its inputs, stand for those of the graph alone.
    remove_overlapping_matches : bool
        Return the first of several that have a node in common.
    ignore_literals : bool
        Numbers and texts of the pattern stand for any.

    Raises
    ------
    ValueRangeError
        The pattern is empty.

    Examples
    --------
    >>> import tt
    >>> from tt.fx.passes.utils.matcher_utils import SubgraphMatcher
    >>> pattern = tt.fx.symbolic_trace(lambda a, b: tt.relu(a + b)).graph
    >>> graph = tt.fx.symbolic_trace(lambda x, y: tt.relu(x + y) * 2).graph
    >>> [match.anchors for match in SubgraphMatcher(pattern).match(graph)]
    [[relu]]
    """

    def __init__(
        self,
        pattern: Graph,
        match_output: bool = False,
        match_placeholder: bool = False,
        remove_overlapping_matches: bool = True,
        ignore_literals: bool = False,
    ) -> None:
        if len(pattern.nodes) == 0:
            raise ValueRangeError("SubgraphMatcher cannot be initialized with an empty pattern")
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        for node in pattern.nodes:
            if node.op != "output" and not node.users and not node.is_impure() and node.op != "placeholder":
                raise ValueRangeError("SubgraphMatcher cannot be used with a pattern that has dead code")
        output = pattern.output_node()
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        self.pattern_returning_nodes: list[Node] = output.all_input_nodes
        # An output that another one is made of needs no search of its own.
        self.pattern_anchors = [output] if match_output else [
            node for node in output.all_input_nodes if len(node.users) == 1
        ]  # fmt: skip

    def match(self, graph: Graph, node_name_match: str = "") -> list[InternalMatch]:
        """Return the occurrences in a graph, in its order.

        Parameters
        ----------
        graph : Graph
            Where to look.
        node_name_match : str
            A part of the name that the anchors have, where it is not empty.
        """
        candidates = [
            (anchor, [
                node for node in graph.nodes
                if self._nodes_are_equal(anchor, node) and (not node_name_match or node_name_match in node.name)
            ])
            for anchor in self.pattern_anchors
        ]  # fmt: skip
        matches: list[InternalMatch] = []
        self._search(candidates, 0, InternalMatch(self.pattern_anchors), matches)
        matches = [match for match in matches if self._is_contained(match.nodes_map)]
        if not self.remove_overlapping_matches:
            return matches
        taken: set[Node] = set()
        separate = []
        for match in matches:
            nodes = {node for own, node in match.nodes_map.items() if own.op not in ("placeholder", "output")}
            if not nodes & taken:
                taken |= nodes
                separate.append(match)
        return separate

    def _search(
        self,
        candidates: Sequence[tuple[Node, list[Node]]],
        index: int,
        match: InternalMatch,
        matches: list[InternalMatch],
    ) -> None:
        """Add the matches in which the anchors before an index have their nodes."""
        if index == len(candidates):
            match.anchors = [match.nodes_map[anchor] for anchor in self.pattern_anchors]
            match.placeholder_nodes = [
                match.nodes_map[node] for node in self.pattern_placeholder_nodes if node in match.nodes_map
            ]
            match.returning_nodes = [match.nodes_map[node] for node in self.pattern_returning_nodes]
            matches.append(match)
            return
        anchor, nodes = candidates[index]
        for node in nodes:
            attempt = copy.copy(match)
            if self._match_nodes(anchor, node, attempt):
                self._search(candidates, index + 1, attempt, matches)

    def _nodes_are_equal(self, own: Node, node: Node) -> bool:
        if not self.match_placeholder and own.op == "placeholder":
            return True
        if own.op != node.op:
            return False
        if own.op in ("placeholder", "output"):
            return True
        if own.op == "get_attr":
            return self._attributes_are_equal(own, node)
        if (
            own.op == "call_module"
            and own.graph.owning_module is not None
            and node.graph.owning_module is not None
        ):
            # Modules are of two trees: those of one class and the same name, or class alone where names are numbers.
            kinds = [type(n.graph.owning_module.get_submodule(str(n.target))) for n in (own, node)]  # type: ignore[union-attr]
            return kinds[0] is kinds[1]
        return own.target == node.target

    @staticmethod
    def _attributes_are_equal(own: Node, node: Node) -> bool:
        values = [_attribute(n.graph.owning_module, str(n.target)) for n in (own, node)]
        if isinstance(values[0], tt.Tensor) and isinstance(values[1], tt.Tensor):
            return type(values[0]) is type(values[1])
        return bool(own.target == node.target)

    def _match_nodes(self, own: Node, node: Node, match: InternalMatch) -> bool:
        """Return whether a node and what it is made of match, and note which nodes do."""
        if own in match.nodes_map:
            return match.nodes_map[own] is node
        if node in match.nodes_map.values() or not self._nodes_are_equal(own, node):
            return False
        match.nodes_map[own] = node
        if own.op == "placeholder":
            return True
        arguments = [self._arguments(own), self._arguments(node)]
        if len(arguments[0]) != len(arguments[1]):
            arguments = [self._arguments(own, True), self._arguments(node, True)]
        if len(arguments[0]) != len(arguments[1]) or not all(
            self._match_argument(mine, other, match) for mine, other in zip(*arguments, strict=True)
        ):
            del match.nodes_map[own]
            return False
        return True

    @staticmethod
    def _arguments(node: Node, normalized: bool = False) -> list[Any]:
        args, kwargs = node.args, node.kwargs
        if normalized and node.op == "call_function":
            pair = node.normalized_arguments(tt.nn.Module(), normalize_to_only_use_kwargs=True)
            if pair is not None:
                args, kwargs = pair
        leaves = pytree.tree_leaves(
            (list(args), [kwargs[key] for key in sorted(kwargs)]), is_leaf=_is_argument
        )
        return [*leaves, sorted(kwargs)]

    def _match_argument(self, own: Any, argument: Any, match: InternalMatch) -> bool:
        if isinstance(own, Node) and isinstance(argument, Node):
            return self._match_nodes(own, argument, match)
        if isinstance(own, Node):
            # An input of the pattern stands for a constant as well, the same wherever it is used.
            if own.op != "placeholder" or self.match_placeholder:
                return False
            return bool(match.nodes_map.setdefault(own, argument) == argument)
        if isinstance(argument, Node):
            return False
        return bool((self.ignore_literals and not isinstance(own, list)) or own == argument)

    def _is_contained(self, nodes_map: dict[Node, Node]) -> bool:
        """Return whether nothing outside uses what the pattern has inside."""
        inner = {node: own for own, node in nodes_map.items() if own.op != "placeholder"}
        return all(
            own in self.pattern_returning_nodes
            or own.op == "output"
            or all(user in inner for user in node.users)
            for node, own in inner.items()
        )


def _is_argument(value: Any) -> bool:
    return isinstance(value, slice | Node)


def _attribute(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module
