"""Interpreter: runs a graph node by node. Transformer: makes another graph in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.fx import traceback as fx_traceback
from tt.fx._symbolic_trace import Tracer
from tt.fx.graph import Graph
from tt.fx.graph_module import GraphModule
from tt.fx.node import Argument, Node, Target, map_aggregate, map_arg
from tt.fx.proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph node by node; a subclass changes what a node does.

    Parameters
    ----------
    module : GraphModule
        The module.
    garbage_collect_values : bool
        Drop each value after its last use.
    graph : Graph, optional
        Another graph over the attributes of the module.

    Examples
    --------
    >>> import tt
    >>> class Counted(tt.fx.Interpreter):
    ...     calls = 0
    ...     def call_function(self, target, args, kwargs):
    ...         self.calls += 1
    ...         return super().call_function(target, args, kwargs)
    >>> counted = Counted(tt.fx.symbolic_trace(lambda x: tt.relu(x) + 1))
    >>> counted.run(tt.tensor([-1.0, 2.0])), counted.calls
    (tensor([1., 3.]), 2)
    """

    def __init__(
        self, module: tt.nn.Module, garbage_collect_values: bool = True, graph: Graph | None = None
    ) -> None:
        self.module = module
        self.submodules = dict(module.named_modules())
        chosen = graph if graph is not None else getattr(module, "graph", None)
        if not isinstance(chosen, Graph):
            raise AssertedError(f"Interpreter(): {tt.typename(module)} has no graph")
        self.graph: Graph = chosen
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self.user_to_last_uses: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            seen: set[Node] = set()
            for node in reversed(self.graph.nodes):
                for value in node._input_nodes:
                    if value not in seen:
                        seen.add(value)
                        self.user_to_last_uses.setdefault(node, []).append(value)

    def run(
        self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True
    ) -> Any:
        """Run the graph.

        Parameters
        ----------
        *args
            The arguments of the module.
        initial_env : dict, optional
            Values of nodes that are known and not computed.
        enable_io_processing : bool
            Take containers apart, and put results into them, as the module itself does.

        Returns
        -------
        The value of the output.
        """
        self.env = dict(initial_env or {})
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _explain(error, node)
                raise
            if self.garbage_collect_values:
                for value in self.user_to_last_uses.get(node, ()):
                    self.env.pop(value, None)
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list: list[Any]) -> Any:
        """Run the graph with a list of arguments, which is emptied so that they are held no longer than needed."""
        inputs = [node for node in self.graph.nodes if node.op == "placeholder"]
        environment = dict(zip(inputs, args_list, strict=False))
        args_list.clear()
        return self.run(initial_env=environment)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        with fx_traceback.set_current_meta(node, f"Interpreter_{type(self).__name__}"):
            yield

    def run_node(self, n: Node) -> Any:
        """Return the value of a node, for the values of those before it."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of an input: the next argument, or its default.

        Raises
        ------
        ValueRangeError
            There is neither.
        """
        name = str(target)
        if name.startswith("*") and not name.startswith("**"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise ValueRangeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return an attribute of the module."""
        return self.fetch_attr(str(target))

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function."""
        if isinstance(target, str):
            raise AssertedError(f"call_function: {target!r} is no function")
        return target(*args, **kwargs)

    def call_method(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a method of the first argument."""
        own, *others = args
        return getattr(own, str(target))(*others, **kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a submodule."""
        return self.fetch_attr(str(target))(*args, **kwargs)

    def output(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the graph."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """Return an attribute of the module by its dotted name.

        Raises
        ------
        ValueRangeError
            There is none.
        """
        value: Any = self.module
        parts = target.split(".")
        for index, part in enumerate(parts):
            if not hasattr(value, part):
                missing = ".".join(parts[: index + 1])
                raise ValueRangeError(f"Node referenced nonexistent target {missing}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a node with the values of nodes in their places."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Argument, n: Node) -> Any:
        """Return an argument with the values of nodes in their places.

        Raises
        ------
        ValueRangeError
            A node has no value: it stands after the one that uses it.
        """
        environment = self.env

        def value_of(node: Node) -> Any:
            if node not in environment:
                raise ValueRangeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose"
                )
            return environment[node]

        return map_arg(args, value_of)


def _explain(error: Exception, node: Node) -> None:
    """Add the node, and the lines of the program from which it comes, to the text of an error."""
    text = f"While executing {node.format_node()}"
    trace = node.stack_trace
    if trace:
        text = f"{text}\nOriginal traceback:\n{trace}"
    message = f"{error.args[0]}\n\n{text}" if error.args and isinstance(error.args[0], str) else text
    error.args = (message, *error.args[1:]) if error.args else (message,)


class Transformer(Interpreter):
    """Makes another module from one: each node is run on proxies, and may do something else.

    Parameters
    ----------
    module : GraphModule
        The module.

    Examples
    --------
    >>> import tt
    >>> class ReluToGelu(tt.fx.Transformer):
    ...     def call_function(self, target, args, kwargs):
    ...         return super().call_function(tt.nn.functional.gelu if target is tt.relu else target, args, kwargs)
    >>> print(ReluToGelu(tt.fx.symbolic_trace(lambda x: tt.relu(x))).transform().code.strip())
    def forward(self, x):
        gelu = tt.gelu(x);  x = None
        return gelu
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph: Graph) -> None:
                super().__init__()
                self.graph = graph
                self.tensor_attrs = {}

            def is_leaf_module(self, _: tt.nn.Module, __: str) -> bool:
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Add an input."""
        return Proxy(self.new_graph.placeholder(str(target), None, *args[:1]), self.tracer)

    def get_attr(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Proxy:
        """Add a node that reads an attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Add the call of a submodule."""
        module = self.fetch_attr(str(target))
        return self.tracer.call_module(module, module.forward, args, kwargs)

    def call_function(self, target: Target, args: tuple[Argument, ...], kwargs: dict[str, Any]) -> Any:
        """Add the call of a function."""
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """Return the new module."""
        with fx_traceback.preserve_node_meta():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(value: Any) -> Any:
                return value.node if isinstance(value, Proxy) else value

            old = self.graph.output_node()
            new = self.new_graph.output(map_aggregate(result, node_of))
            new.type = old.type
            new.meta.update(dict(old.meta.items()))
        return GraphModule(self.module, self.new_graph)

    def run_node(self, n: Node) -> Any:
        """Return a proxy for what a node becomes, with the `meta` of the node."""
        result = super().run_node(n)
        if isinstance(result, Proxy) and result.node.meta.get("from_fx") is None:
            for key, value in n.meta.items():
                result.node.meta.setdefault(key, value)
        return result
