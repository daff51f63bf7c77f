"""tt.fx.passes.split_module: cuts a graph into submodules."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import tt
from tt.errors import ValueRangeError
from tt.fx.graph import Graph
from tt.fx.graph_module import GraphModule
from tt.fx.node import Node, map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes of one submodule, with what it takes from others and gives to them.

    Attributes
    ----------
    name : str
        Its number or name.
    inputs, outputs : dict
        Names of nodes outside that it uses, and of its own that are used outside, in order.
    dependencies, dependents : dict
        The parts before it, and behind it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[str] = []
        self.inputs: dict[str, None] = {}
        self.outputs: dict[str, None] = {}
        self.dependencies: dict[str, None] = {}
        self.dependents: dict[str, None] = {}
        self.graph = Graph()
        self.environment: dict[Node, Node] = {}
        self.targets: dict[str, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n outputs: "
            f"{list(self.outputs)},\n partitions depended on: {list(self.dependencies)},\n partition dependents: "
            f"{list(self.dependents)}"
        )


def split_module(
    m: GraphModule,
    root_m: tt.nn.Module,
    split_callback: Callable[[Node], int | str | None],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
) -> GraphModule:
    """Return a module of submodules, each with the nodes that have one number.

    Parameters
    ----------
    m : GraphModule
        The module.
    root_m : Module
        Where its attributes and submodules are.
    split_callback : callable
        Gives the number or name of the part of a node.
    qualname_map : dict, optional
        Filled: the new name of an attribute -> the old one.
    keep_original_order : bool
        Call the parts in the order in which their first nodes stand, where that is possible.
    keep_original_node_name : bool
        Name nodes as they were named.
    keep_original_input_name : bool
        Name the inputs of the parts after the nodes that they take.

    Raises
    ------
    ValueRangeError
        Two parts need results of each other.

    Examples
    --------
    >>> import tt
    >>> from tt.fx.passes.split_module import split_module
    >>> traced = tt.fx.symbolic_trace(lambda x: tt.relu(x + 1) * 2)
    >>> parts = split_module(traced, traced, lambda node: 0 if node.name == "add" else 1)
    >>> print(parts.code.strip())
    def forward(self, x):
        submod_0 = self.submod_0(x);  x = None
        submod_1 = self.submod_1(submod_0);  submod_0 = None
        return submod_1
    """
    parts: dict[str, Partition] = {}
    part_of: dict[Node, str] = {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        part = parts.setdefault(name, Partition(name))
        part.node_names.append(node.name)
        part_of[node] = name

    def connect(value: Node, user: Node | None) -> None:
        """Note that a node is used by one of another part, or by the output."""
        source, target = part_of.get(value), None if user is None else part_of.get(user)
        if source == target:
            return
        if source is not None:
            parts[source].outputs.setdefault(value.name)
        if target is not None:
            if value.op != "get_attr":
                parts[target].inputs.setdefault(value.name)
            if source is not None:
                parts[source].dependents.setdefault(target)
                parts[target].dependencies.setdefault(source)

    for node in m.graph.nodes:
        for value in node.all_input_nodes:
            connect(value, None if node.op == "output" else node)
    order = _in_order(parts, keep_original_order)

    by_name = {node.name: node for node in m.graph.nodes}
    for name in order:
        part = parts[name]
        for source in part.inputs:
            kept = source if keep_original_input_name else f"arg_{len(part.environment)}"
            new = part.graph.placeholder(kept, type_expr=by_name[source].type)
            new.meta = dict(by_name[source].meta)
            part.environment[by_name[source]] = new
    for node in m.graph.nodes:
        if node not in part_of:
            continue
        part = parts[part_of[node]]
        target = node.target
        if node.op == "call_module":
            value = _attribute(root_m, str(target))
            target = str(target).replace(".", "_")
            part.targets[target] = value
            if qualname_map is not None:
                qualname_map[f"{part.submod_name}.{target}"] = str(node.target)

        def local(value: Node, part: Partition = part) -> Node:
            if value not in part.environment and value.op == "get_attr":
                new_target = str(value.target).replace(".", "_")
                part.targets[new_target] = _attribute(root_m, str(value.target))
                if qualname_map is not None:
                    qualname_map[f"{part.submod_name}.{new_target}"] = str(value.target)
                with part.graph.inserting_before(None):
                    read = part.graph.create_node("get_attr", new_target, name=value.name)
                part.environment[value] = read
            return part.environment[value]

        args, kwargs = map_arg(node.args, local), dict(map_arg(node.kwargs, local))
        kept_name = node.name if keep_original_node_name else None
        new = part.graph.create_node(node.op, target, args, kwargs, kept_name, node.type)
        new.meta = dict(node.meta)
        part.environment[node] = new

    graph = Graph()
    environment: dict[str, Node] = {}
    members: dict[str, Any] = {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            new = graph.placeholder(str(node.target), node.type, *node.args[:1])
            new.meta = dict(node.meta)
            environment[node.name] = new
    for node in m.graph.nodes:
        if node.op == "get_attr" and any(user.op == "output" for user in node.users):
            members[str(node.target)] = _attribute(root_m, str(node.target))
            environment[node.name] = graph.node_copy(node)
    for name in order:
        part = parts[name]
        outputs = [part.environment[by_name[value]] for value in part.outputs]
        part.graph.output(tuple(outputs) if len(outputs) > 1 else outputs[0] if outputs else None)
        members[part.submod_name] = GraphModule(part.targets, part.graph)
        call = graph.call_module(part.submod_name, tuple(environment[value] for value in part.inputs))
        if len(part.outputs) == 1:
            environment[next(iter(part.outputs))] = call
            continue
        for index, result in enumerate(part.outputs):
            environment[result] = graph.call_function(operator.getitem, (call, index))
    for node in m.graph.nodes:
        if node.op == "output":
            new = graph.output(map_arg(node.args[0], lambda value: environment[value.name]), node.type)
            new.meta = dict(node.meta)
    return GraphModule(members, graph)


def _in_order(parts: dict[str, Partition], keep_original_order: bool) -> list[str]:
    """Return the parts so that each comes behind those whose results it needs."""
    order: list[str] = []
    left = dict(parts)
    while left:
        ready = [name for name, part in left.items() if all(other not in left for other in part.dependencies)]
        if not ready:
            raise ValueRangeError("cycle exists between partitions!")
        # One at a time, so that a part whose first node comes first goes first.
        for name in ready[:1] if keep_original_order else ready:
            order.append(name)
            del left[name]
    return order


def _attribute(module: tt.nn.Module, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part)
    return value
