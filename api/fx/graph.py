"""Graph: the steps of a program in their order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.fx._codegen import CodeGen, PythonCode, PyTreeCodeGen, PyTreeInfo, TransformCodeFunc, code_of
from tt.fx._codegen import inplace_methods as inplace_methods
from tt.fx._codegen import magic_methods as magic_methods
from tt.fx._codegen import reflectable_magic_methods as reflectable_magic_methods
from tt.fx._namespace import CUSTOM_BUILTINS, Namespace, target_to_str
from tt.fx._namespace import CustomBuiltin as _CustomBuiltin
from tt.fx._namespace import register_custom_builtin as _register_custom_builtin
from tt.fx._namespace import snake_case as _snake_case
from tt.fx.node import Argument, Node, Target, map_arg
from tt.fx.node import _format_arg as _format_arg
from tt.fx.node import _get_qualified_name as _get_qualified_name
from tt.fx.node import _type_repr as _type_repr
from tt.library import warn_user

if TYPE_CHECKING:
    from tt.fx.graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]

# PyTorch's names, which libraries over graphs use.
_Namespace = Namespace
_custom_builtins = CUSTOM_BUILTINS
_PyTreeCodeGen = PyTreeCodeGen
_PyTreeInfo = PyTreeInfo


class _InsertPoint:
    """Where new nodes go: for a block of `with`, or from then on."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.before, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.graph._insert = self.before


class _node_list:  # noqa: N801 - PyTorch's name, which programs see in `type(graph.nodes)`
    """The nodes of a graph in order; those erased meanwhile are passed over."""

    def __init__(self, graph: Graph, direction: Literal["_next", "_prev"] = "_next") -> None:
        self.graph, self.direction = graph, direction

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        root, node = self.graph._root, self.graph._root
        forward = self.direction == "_next"
        while (node := node._next if forward else node._prev) is not root:
            if not node._erased:
                yield node

    def __reversed__(self) -> _node_list:
        return _node_list(self.graph, "_prev" if self.direction == "_next" else "_next")


class Graph:
    """The steps of a program: nodes in an order in which they can run.

    Parameters
    ----------
    owning_module : GraphModule, optional
        The module whose attributes and submodules the nodes name.
    tracer_cls : type, optional
        The class of the tracer that made the graph.

    Examples
    --------
    >>> import tt
    >>> graph = tt.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(tt.relu, (x,))
    >>> z = graph.call_method("sum", (y,))
    >>> _ = graph.output(z)
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=tt.relu](args = (%x,), kwargs = {})
        %sum_1 : [num_users=1] = call_method[target=sum](args = (%relu,), kwargs = {})
        return sum_1
    >>> tt.fx.GraphModule({}, graph)(tt.tensor([-1.0, 2.0]))
    tensor(2.)
    """

    def __init__(
        self,
        owning_module: GraphModule | None = None,
        tracer_cls: type[Any] | None = None,
        tracer_extras: dict[str, Any] | None = None,
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._insert: Callable[[Node], None] = self._root.prepend
        self._len = 0
        self._graph_namespace = Namespace()
        self._owning_module = owning_module
        self._owners = 0
        self._tracer_cls = tracer_cls
        self._tracer_extras = tracer_extras
        self._codegen = CodeGen()
        self._co_fields: dict[str, Any] = {}

    @property
    def owning_module(self) -> GraphModule | None:
        """The module whose attributes and submodules the nodes name."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod: GraphModule | None) -> None:
        self._owning_module = mod

    @property
    def nodes(self) -> _node_list:
        """The nodes in order, also in reverse: ``reversed(graph.nodes)``."""
        return _node_list(self)

    def output_node(self) -> Node:
        """Return the node of the output.

        Raises
        ------
        ValueRangeError
            The graph has none.
        """
        for node in reversed(self.nodes):
            if node.op == "output":
                return node
        raise ValueRangeError("the graph has no output node")

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """Return the nodes of an operation, with a target where one is given, in order.

        Raises
        ------
        AssertedError
            `call_function` needs a target.
        """
        if target is None and op == "call_function":
            raise AssertedError("find_nodes(): call_function needs a target")
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    # --- making nodes ---

    def create_node(
        self,
        op: str,
        target: Target,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node where new nodes go, by default at the end.

        Parameters
        ----------
        op : str
            See `Node`.
        target : callable or str
            What it calls or reads.
        args, kwargs : tuple, dict
            The arguments.
        name : str, optional
            The name that it should have; where that is taken, one like it.
        type_expr : type, optional
            The annotation of the result.

        Raises
        ------
        AssertedError
            `op` is none of the six.
        ValueRangeError
            The target is of the wrong kind.
        """
        if args is None:
            args = ()
        elif type(args) is not tuple and not isinstance(args, tuple):
            raise AssertedError(f"create_node(): args must be a tuple, not {tt.typename(args)}")
        if kwargs is not None and not isinstance(kwargs, dict):
            raise AssertedError(f"create_node(): kwargs must be a dict, not {tt.typename(kwargs)}")
        taken = self._graph_namespace.create_name(name if name is not None else target_to_str(target), None)
        node = Node(self, taken, op, target, args, kwargs or {}, type_expr)
        for hook in getattr(self.owning_module, "_create_node_hooks", ()):
            hook(node)
        self._graph_namespace.associate_name_with_obj(taken, node)
        self._insert(node)
        self._len += 1
        return node

    def placeholder(self, name: str, type_expr: Any = None, *default_value: Any) -> Node:
        """Add an input; a name with one or two stars takes what is left of the arguments.

        Examples
        --------
        >>> import tt
        >>> tt.fx.Graph().placeholder("x", int, 3).format_node()
        '%x : int [num_users=0] = placeholder[target=x](default=3)'
        """
        if len(default_value) > 1:
            raise tt.errors.ArgumentError("Graph.placeholder", "takes at most one default value")
        return self.create_node("placeholder", name, default_value, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """Add a node that reads a parameter, buffer or attribute of the module, by its dotted name."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, qualified_name):
            warn_user(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the "
                "necessary Parameter, or nn.Module.register_buffer to add the necessary buffer"
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node that calls a submodule, by its dotted name."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, module_name):
            warn_user(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! "
                "Call GraphModule.add_submodule to add the necessary submodule"
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node that calls a method of its first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable[..., Any],
        args: tuple[Argument, ...] | None = None,
        kwargs: dict[str, Argument] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """Add a node that calls a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Argument, type_expr: Any = None) -> Node:
        """Add the node that returns the result."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Argument] = lambda x: x) -> Node:
        """Add a copy of a node, perhaps of another graph.

        Parameters
        ----------
        node : Node
            The node.
        arg_transform : callable
            Gives for each node among the arguments what stands for it here.
        """
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, dict(kwargs), node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(
        self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False
    ) -> Argument | None:
        """Add copies of all nodes of another graph but its output.

        Parameters
        ----------
        g : Graph
            The other graph.
        val_map : dict
            What stands for nodes of `g`; those that are in it are not copied, and the others are added to it.
        return_output_node : bool
            Return also the output node of `g`.

        Returns
        -------
        The value of the output, in nodes of this graph; None where `g` has none.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda value: val_map[value])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda value: val_map[value])
        return None

    # --- where nodes go ---

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go before a node, or to the beginning; with `with`, for the block.

        Examples
        --------
        >>> import tt
        >>> graph = tt.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> y = graph.call_function(tt.relu, (x,))
        >>> with graph.inserting_before(y):
        ...     z = graph.call_function(tt.neg, (x,))
        >>> list(graph.nodes)
        [x, neg, relu]
        """
        if n is None:
            return self.inserting_after(self._root)
        if n.graph is not self:
            raise AssertedError("inserting_before(): the node is one of another graph")
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Let new nodes go behind a node, or to the end; with `with`, for the block."""
        if n is None:
            return self.inserting_before(self._root)
        if n.graph is not self:
            raise AssertedError("inserting_after(): the node is one of another graph")
        return _InsertPoint(self, n.append)

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nothing uses.

        Raises
        ------
        ValueRangeError
            It has users, or is a node of another graph.
        """
        if to_erase.users:
            raise ValueRangeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise ValueRangeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            warn_user(f"erase_node({to_erase}) on an already erased node")
            return
        for hook in getattr(self.owning_module, "_erase_node_hooks", ()):
            hook(to_erase)
        to_erase._unlink()
        to_erase._erased = True
        self._len -= 1
        to_erase._update_args_kwargs((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out the nodes whose results nothing uses, and which do nothing else.

        Parameters
        ----------
        is_impure_node : callable, optional
            Says which nodes stay although nothing uses them, in the place of `Node.is_impure`.

        Returns
        -------
        bool
            Whether there were any.

        Examples
        --------
        >>> import tt
        >>> graph = tt.fx.symbolic_trace(lambda x: (x + 1, x * 2)[0]).graph
        >>> graph.eliminate_dead_code(), list(graph.nodes)
        (True, [x, add, output])
        """
        self.lint()
        impure = is_impure_node or Node.is_impure
        before = self._len
        for node in reversed(self.nodes):
            if not node.users and not impure(node):
                self.erase_node(node)
        return self._len < before

    # --- calls ---

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the inputs for the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out: Any) -> Any:
        """Return the result of a call for the value of the output."""
        return self._codegen.process_outputs(out)

    # --- texts ---

    def python_code(
        self,
        root_module: str,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        expanded_def: bool = False,
        record_func: bool = False,
        additional_meta: list[str] | None = None,
    ) -> PythonCode:
        """Return the graph as the Python function `forward`.

        Parameters
        ----------
        root_module : str
            The name of the module in the code, usually "self".
        verbose : bool
            Add the lines of the program, and dtypes and shapes where `meta` has them.
        include_stride, include_device : bool
            With shapes, also strides and devices.
        colored, expanded_def, record_func, additional_meta
            PyTorch's; they change nothing here.
        """
        return code_of(
            self, root_module, verbose=verbose, include_stride=include_stride, include_device=include_device
        )

    def __str__(self) -> str:
        names: list[str] = []
        returned = [""]
        lines = [line for node in self.nodes if (line := node.format_node(names, returned)) is not None]
        return f"graph({', '.join(names)}){returned[0]}:" + "".join(f"\n    {line}" for line in lines)

    def print_tabular(self) -> None:
        """Print the nodes as a table.

        Examples
        --------
        >>> import tt
        >>> tt.fx.symbolic_trace(lambda x: x + 1).graph.print_tabular()
        opcode         name    target                   args    kwargs
        -------------  ------  -----------------------  ------  --------
        placeholder    x       x                        ()      {}
        call_function  add     <built-in function add>  (x, 1)  {}
        output         output  output                   (add,)  {}
        """
        head = ["opcode", "name", "target", "args", "kwargs"]
        rows = [[str(cell) for cell in (n.op, n.name, n.target, n.args, n.kwargs)] for n in self.nodes]
        # A column is as wide as its widest cell, the heading with two more.
        widths = [max([len(head[i]) + 2, *(len(row[i]) for row in rows)]) for i in range(len(head))]
        for row in (head, ["-" * width for width in widths], *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    # --- checks ---

    def lint(self) -> None:
        """Check that nodes stand in order, belong to this graph, and name what the module has.

        Raises
        ------
        ValueRangeError
            They do not.
        """
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for value in node._input_nodes:
                if value.graph is not self:
                    raise ValueRangeError(
                        f"Argument '{value}' of Node '{node}' does not belong to this Graph, but was used as an "
                        "argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on "
                        f"node_copy() to remap values\n{self}"
                    )
                if value not in seen:
                    raise ValueRangeError(
                        f"Argument '{value}' of Node '{node}' was used before it has been defined! Please check that "
                        f"Nodes in the graph are topologically ordered\n{self}"
                    )
            if node.graph is not self:
                raise ValueRangeError(f"Node '{node}' does not belong to this Graph!")
            if node.name in names:
                raise ValueRangeError(f"Node redefined name {node.name}!")
            seen.add(node)
            names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    _check_attribute(self.owning_module, node)

    # --- changes of the code ---

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let the code be written by another class."""
        self._codegen = codegen

    @contextlib.contextmanager
    def on_generate_code(
        self, make_transformer: Callable[[TransformCodeFunc | None], TransformCodeFunc]
    ) -> Iterator[None]:
        """Change the lines of the body in the code, from then on, or for a block of `with`.

        Parameters
        ----------
        make_transformer : callable
            Takes the transformer that is set, or None, and returns one that takes and returns a list of lines.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)
        try:
            yield
        finally:
            self._codegen._body_transformer = before

    # --- copies ---

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        import copy

        memo = {} if memo is None else memo
        graph = Graph(tracer_cls=self._tracer_cls)
        nodes: dict[Node, Node] = {}
        output = graph.graph_copy(self, nodes, return_output_node=True)
        graph._codegen = copy.deepcopy(self._codegen)
        if output is not None:
            value, node = output
            new = graph.output(value, type_expr=getattr(node, "type", None))
            new.meta = dict(node.meta)
            nodes[node] = new
        memo.update({id(old): new for old, new in nodes.items()})
        memo[id(self)] = graph
        return graph

    def __getstate__(self) -> dict[str, Any]:
        # A list, not the links between nodes, which would be followed as deep as the graph is long.  What passes noted
        # in `meta` stays behind: it may be anything.
        positions = {node: index for index, node in enumerate(self.nodes)}

        def place(value: Argument) -> Argument:
            return map_arg(value, lambda node: _Position(positions[node]))

        return {
            "nodes": [
                (node.op, node.target, place(node.args), dict(place(node.kwargs)), node.name, node.type)
                for node in self.nodes
            ],
            "codegen": self._codegen,
            "tracer_cls": None
            if "<locals>" in getattr(self._tracer_cls, "__qualname__", "")
            else self._tracer_cls,
            "tracer_extras": self._tracer_extras,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        from tt.fx.node import map_aggregate

        self.__init__(None, state["tracer_cls"], state["tracer_extras"])  # type: ignore[misc]
        nodes: list[Node] = []

        def node_at(value: Argument) -> Argument:
            return nodes[value.index] if isinstance(value, _Position) else value

        for op, target, args, kwargs, name, annotation in state["nodes"]:
            args, kwargs = map_aggregate(args, node_at), dict(map_aggregate(kwargs, node_at))
            nodes.append(self.create_node(op, target, args, kwargs, name, annotation))
        self._codegen = state["codegen"]


class _Position:
    """A node in the arguments of a pickled one."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return _Position, (self.index,)


def _has_attribute(module: tt.nn.Module, name: str) -> bool:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def _check_attribute(module: tt.nn.Module, node: Node) -> None:
    """Refuse a node whose target is nothing that the module has."""
    value: Any = module
    parts = str(node.target).split(".")
    for index, part in enumerate(parts):
        if not hasattr(value, part):
            missing = ".".join(parts[: index + 1])
            raise ValueRangeError(
                f"Node {node} target {node.target} references nonexistent attribute {missing}"
            )
        value = getattr(value, part)
        last = index == len(parts) - 1
        if node.op == "call_module" and last and not isinstance(value, tt.nn.Module):
            raise ValueRangeError(
                f"Node {node} target {node.target} {part} of {'.'.join(parts[:index])} does not reference an nn.Module"
            )
        if node.op == "get_attr" and last and not isinstance(value, tt.nn.Module | tt.Tensor):
            warn_user(
                f"Node {node} target {node.target} {part} of {'.'.join(parts[:index])} does not reference an "
                "nn.Module, nn.Parameter, or buffer, which is what 'get_attr' Nodes typically target"
            )
