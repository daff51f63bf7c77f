"""Node: one step of a graph, with the nodes that it uses and those that use it."""

from __future__ import annotations

import builtins
import inspect
import operator
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import tt
from tt.errors import ArgumentError, AssertedError, ValueRangeError
from tt.fx.immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from tt.fx.graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Target: TypeAlias = Callable[..., Any] | str
Argument: TypeAlias = Any
"""A node, a constant, or a tuple, list, dict with texts as keys, or slice of arguments."""

base_types: Final = (
    str, int, float, bool, complex, tt.dtype, tt.Tensor, tt.device, tt.memory_format, tt.layout,
)  # fmt: skip
"""Constants that may be arguments of a node."""

_legal_ops: Final = dict.fromkeys(
    ["placeholder", "call_method", "call_module", "call_function", "get_attr", "output", "root"]
)

# Filled by `has_side_effect`, which decorates a function where it is defined.
_side_effectful_functions: Final[set[Callable[..., Any]]] = {operator.setitem}

F = TypeVar("F", bound=Callable[..., Any])


def has_side_effect(fn: F) -> F:
    """Say that calls of a function stay in a graph although nothing uses their results; also a decorator.

    Examples
    --------
    >>> import tt
    >>> @tt.fx.has_side_effect
    ... @tt.fx.wrap
    ... def log(x):
    ...     print("logged")
    >>> def f(x):
    ...     log(x)
    ...     return x + 1
    >>> graph = tt.fx.symbolic_trace(f).graph
    >>> graph.eliminate_dead_code()
    False
    """
    _side_effectful_functions.add(fn)
    return fn


def map_aggregate(a: Argument, fn: Callable[[Argument], Argument]) -> Argument:
    """Return an argument with a function applied to what lies in its tuples, lists, dicts and slices.

    Lists and dicts become immutable ones.

    Examples
    --------
    >>> from tt.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda value: value + 1)
    (2, [3, {'a': 4}])
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return a._make(items) if hasattr(a, "_make") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(item, fn) for item in a])
    if isinstance(a, dict):
        return immutable_dict((key, map_aggregate(item, fn)) for key, item in a.items())
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a: Argument, fn: Callable[[Node], Argument]) -> Argument:
    """Return an argument with a function applied to its nodes.

    Examples
    --------
    >>> import tt
    >>> graph = tt.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> tt.fx.map_arg(([x, 1], {"y": x}), lambda node: node.name)
    (['x', 1], {'y': 'x'})
    """
    if not callable(fn):
        raise ArgumentError("map_arg", "the second argument must be a function of a node")
    return map_aggregate(a, lambda value: fn(value) if isinstance(value, Node) else value)


def _with_uses(a: Argument, uses: dict[Node, None]) -> Argument:
    """Return an argument that cannot change, and note its nodes: the loop of everything that builds a graph."""
    kind = type(a)
    if kind is Node:
        uses[a] = None
        return a
    if kind is tuple:
        return tuple([_with_uses(item, uses) for item in a])
    if kind is int or kind is str or kind is float or a is None or kind is bool:
        return a

    def note(value: Argument) -> Argument:
        if isinstance(value, Node):
            uses[value] = None
        return value

    return map_aggregate(a, note)


def _type_repr(obj: Any) -> str:
    """Return an annotation as source code has it."""
    if isinstance(obj, types.GenericAlias):
        return repr(obj)
    if isinstance(obj, type):
        return obj.__qualname__ if obj.__module__ == "builtins" else f"{obj.__module__}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return repr(obj)


def _find_module_of_method(method: Callable[..., Any]) -> str:
    name = method.__name__
    for namespace in (tt, tt.nn.functional):
        if getattr(namespace, name, None) is method:
            return namespace.__name__
    raise ValueRangeError(f"no module has the function {name!r}")


def _get_qualified_name(func: Callable[..., Any]) -> str:
    """Return the dotted name by which a program reaches a function."""
    name = getattr(func, "__name__", None)
    if name is None:
        raise ArgumentError("fx", f"the target {func!r} has no name")
    if getattr(builtins, name, None) is func:
        return str(name)
    if isinstance(func, types.MethodDescriptorType | types.WrapperDescriptorType):
        return f"{func.__objclass__.__module__}.{func.__objclass__.__qualname__}.{name}"
    if name == "<lambda>":
        try:
            return inspect.getsource(func).rstrip("\n")
        except Exception as error:
            raise ValueRangeError(
                "a lambda whose source is not there cannot be the target of a node"
            ) from error
    module = getattr(func, "__module__", None) or _find_module_of_method(func)
    root = module.partition(".")[0]
    if root in (tt.__name__, tt.Tensor.__module__.partition(".")[0]) and getattr(tt, name, None) is func:
        return f"{root}.{name}"  # the name by which it is best known, wherever it was defined
    namespace = sys.modules.get(module)
    if namespace is not None and getattr(namespace, name, None) is not func:
        # Operators of a namespace have its name before their own: tt.linalg.norm is `linalg_norm`.
        short = name.removeprefix(f"{module.rpartition('.')[2]}_")
        if short != name and getattr(namespace, short, None) is func:
            return f"{module}.{short}"
        if getattr(tt.Tensor, name, None) is func:
            return f"{tt.Tensor.__module__}.Tensor.{name}"
    return f"{module}.{name}"


def _format_arg(arg: Argument, max_list_len: float = float("inf")) -> str:
    """Return an argument as the text of a graph has it, nodes with a percent sign."""
    if hasattr(arg, "_fields") and isinstance(arg, tuple):
        names: Iterable[str] = getattr(arg, "_fields", ())
        fields = ", ".join(f"{name}={_format_arg(item)}" for name, item in zip(names, arg, strict=True))
        return f"{type(arg).__name__}({fields})"
    if isinstance(arg, list | tuple):
        items = [_format_arg(item) for item in arg[: min(len(arg), int(min(max_list_len, sys.maxsize)))]]
        more = f", ...[total_len={len(arg)}]" if len(items) < len(arg) else ""
        if isinstance(arg, list):
            return f"[{', '.join(items)}{more}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''}{more})"
    if isinstance(arg, dict):
        return f"{{{', '.join(f'{key}: {_format_arg(value)}' for key, value in arg.items())}}}"
    if isinstance(arg, Node):
        return f"%{arg}"
    return str(arg)


class Node:
    """One step of a graph: what it calls, with which arguments.

    Attributes
    ----------
    op : str
        `placeholder` (an input), `get_attr` (a parameter or buffer of the module), `call_function`, `call_module`,
        `call_method`, or `output`.
    name : str
        The name of the result, unique in the graph.
    target : callable or str
        The function; or the name of the input, attribute, module or method.
    args, kwargs : tuple, dict
        The arguments; nodes in them stand for the results of those.  They are changed as a whole.
    users : dict of Node
        The nodes that have this one among their arguments.
    meta : dict
        What passes know of the node; `stack_trace`, `val`, `tensor_meta` have a meaning to tt.
    type : type or None
        The annotation of the result.

    Examples
    --------
    >>> import tt
    >>> graph = tt.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(tt.relu, (x,))
    >>> y.format_node()
    '%relu : [num_users=0] = call_function[target=tt.relu](args = (%x,), kwargs = {})'
    >>> list(x.users), y.all_input_nodes
    ([relu], [x])
    """

    __slots__ = (
        "__dict__", "__weakref__", "_args", "_erased", "_input_nodes", "_kwargs", "_next", "_prev", "_repr_fn",
        "_sort_key", "graph", "meta", "name", "op", "target", "type", "users",
    )  # fmt: skip

    graph: Graph
    name: str
    op: str
    target: Target
    users: dict[Node, None]
    meta: dict[str, Any]
    type: Any
    _args: tuple[Argument, ...]
    _kwargs: dict[str, Argument]
    _input_nodes: dict[Node, None]
    _next: Node
    _prev: Node
    _erased: bool
    _sort_key: tuple[int, ...]
    _repr_fn: Callable[[Node], str] | None

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: Mapping[str, Argument],
        return_type: Any = None,
    ) -> None:
        if op not in _legal_ops:
            raise AssertedError(f"op {op!r} is not in _legal_ops: {', '.join(_legal_ops)}")
        if op == "call_function":
            if not callable(target):
                raise ValueRangeError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {tt.typename(target)} but a "
                    "Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueRangeError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {tt.typename(target)} but a str is "
                "expected"
            )
        self.graph = graph
        self.name = name
        self.op = op
        self.target = target
        self.users = {}
        self.meta = {}
        self.type = return_type
        self._input_nodes = {}
        self._next = self._prev = self
        self._erased = False
        self._sort_key = ()
        self._repr_fn = None
        self._args = ()
        self._kwargs = {}
        self._update_args_kwargs(args, kwargs)

    # --- the order of nodes ---

    @property
    def next(self) -> Node:
        """The node after this one; after the last comes the root, whose `op` is "root"."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node before this one."""
        return self._prev

    def prepend(self, x: Node) -> None:
        """Move a node of the same graph to before this one.

        Raises
        ------
        AssertedError
            The node is of another graph.
        """
        if self.graph is not x.graph:
            raise AssertedError(f"prepend(): {x} is a node of another graph")
        if self is x:
            return
        x._unlink()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x
        x._sort_key = _key_between(before, self)

    def append(self, x: Node) -> None:
        """Move a node of the same graph to after this one."""
        if self is not x:
            self._next.prepend(x)

    def _unlink(self) -> None:
        before, after = self._prev, self._next
        before._next, after._prev = after, before

    _remove_from_list = _unlink

    def __lt__(self, other: Node) -> bool:
        return self._sort_key < other._sort_key

    def __gt__(self, other: Node) -> bool:
        return self._sort_key > other._sort_key

    def __le__(self, other: Node) -> bool:
        return self is other or self < other

    def __ge__(self, other: Node) -> bool:
        return self is other or self > other

    # --- arguments ---

    @property
    def args(self) -> tuple[Argument, ...]:
        """The positional arguments; assigning others updates the users of their nodes."""
        return self._args

    @args.setter
    def args(self, args: tuple[Argument, ...]) -> None:
        if not isinstance(args, tuple | list):
            raise ArgumentError("Node.args", f"arguments are a tuple, not {tt.typename(args)}")
        self._update_args_kwargs(tuple(args), self._kwargs)

    @property
    def kwargs(self) -> dict[str, Argument]:
        """The arguments by keyword; assigning others updates the users of their nodes."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Argument]) -> None:
        if not isinstance(kwargs, Mapping):
            raise ArgumentError("Node.kwargs", f"arguments by keyword are a dict, not {tt.typename(kwargs)}")
        self._update_args_kwargs(self._args, kwargs)

    def _update_args_kwargs(self, args: tuple[Argument, ...], kwargs: Mapping[str, Argument]) -> None:
        uses: dict[Node, None] = {}
        # Both are looked through before anything changes, so that what cannot be an argument leaves the node whole.
        args = tuple([_with_uses(item, uses) for item in args])
        kwargs = (
            immutable_dict((key, _with_uses(item, uses)) for key, item in kwargs.items())
            if kwargs
            else _NO_KWARGS
        )
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._args, self._kwargs, self._input_nodes = args, kwargs, uses
        for node in uses:
            node.users[self] = None

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among the arguments, each once, in the order in which they stand there."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Argument) -> None:
        """Put another argument in a position."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx: int, arg: Argument) -> None:
        """Insert an argument before a position.

        Raises
        ------
        AssertedError
            The position is none from 0 to the number of arguments.
        """
        if not 0 <= idx <= len(self._args):
            raise AssertedError(
                f"insert_args index must be between 0 and len(self.args) = {len(self._args)}, not {idx}"
            )
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key: str, arg: Argument) -> None:
        """Give an argument by keyword."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Put another node in the place of this one in the arguments of its users.

        Parameters
        ----------
        replace_with : Node
            The node that they use from then on.
        delete_user_cb : callable, optional
            Says of a user whether it changes; all do by default.
        propagate_meta : bool
            Copy `meta` to the other node, which must have none.

        Returns
        -------
        list of Node
            The users that changed.
        """
        if propagate_meta:
            if replace_with.meta:
                raise AssertedError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already "
                    "has .meta keys"
                )
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb is None or delete_user_cb(user)]
        for user in users:
            user._replace(self, replace_with)
        return users

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Put another node in the place of one in the arguments of this node."""
        self._replace(old_input, new_input)

    def _replace(self, old: Node, new: Node) -> None:
        for hook in getattr(self.graph.owning_module, "_replace_hooks", ()):
            hook(old=old, new=new.name, user=self)

        def choose(node: Node) -> Node:
            return new if node is old else node

        self._update_args_kwargs(map_arg(self._args, choose), map_arg(self._kwargs, choose))

    # --- texts ---

    @property
    def stack_trace(self) -> str | None:
        """The lines of the program that made the node, where the tracer recorded them."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name

    @staticmethod
    def _pretty_print_target(target: object) -> str:
        """Return a target as texts of graphs have it."""
        if isinstance(target, str):
            return target
        if hasattr(target, "__module__"):
            name = getattr(target, "__name__", None)
            if name is None:
                return repr(target)
            if target.__module__ == "builtins":
                return f"builtins.{name}"
            if target.__module__ == "_operator":
                return f"operator.{name}"
        return _get_qualified_name(target)  # type: ignore[arg-type] # a node has checked that it can be called

    def format_node(
        self,
        placeholder_names: list[str] | None = None,
        maybe_return_typename: list[str] | None = None,
        *,
        include_tensor_metadata: bool = False,
    ) -> str | None:
        """Return the line that a printed graph has for the node.

        Parameters
        ----------
        placeholder_names : list of str, optional
            Where it is not empty, an input is appended to it and has no line.
        maybe_return_typename : list of str, optional
            Where it is not empty, its first element becomes the annotation of the output.
        include_tensor_metadata : bool
            Add dtype and shape, where `meta` has them.
        """
        of_type = f"{_type_repr(self.type)} " if self.type else ""
        about = f"%{self.name} : {of_type}[num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            if placeholder_names:
                placeholder_names.append(
                    f"{self.target}: {_type_repr(self.type)}" if self.type else str(self.target)
                )
                return None
            default = f"(default={self._args[0]})" if self._args else ""
            return f"{about}[target={self.target}]{default}"
        target = self._pretty_print_target(self.target)
        if self.op == "get_attr":
            return f"{about}[target={target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self._args[0]}"
        line = f"{about}[target={target}](args = {_format_arg(self._args)}, kwargs = {_format_arg(self._kwargs)})"
        value = self.meta.get("val", self.meta.get("tensor_meta")) if include_tensor_metadata else None
        if value is not None and hasattr(value, "dtype"):
            line += f"  # {value.dtype}{list(value.shape)}"
        return line

    # --- what a node does ---

    def is_impure(self, impure_random: bool = True) -> bool:
        """Return whether the node does more than give a result, so that it stays where nothing uses that.

        Inputs and outputs do, calls that change an argument, functions of `has_side_effect`, modules with
        `_is_impure`, and, unless `impure_random` is false, calls that draw random numbers.
        """
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _side_effectful_functions or changes_argument(self.target, self._kwargs):
                return True
            return impure_random and _is_random(self.target)
        if self.op == "call_method":
            name = str(self.target)
            return name.endswith("_") and not name.endswith("__")
        if self.op == "call_module":
            module = self.graph.owning_module
            if module is None:
                raise AssertedError("is_impure(): the graph belongs to no module, so the target is not known")
            return bool(getattr(module.get_submodule(str(self.target)), "_is_impure", False))
        return False

    def normalized_arguments(
        self,
        root: tt.nn.Module,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
        normalize_to_only_use_kwargs: bool = False,
    ) -> Any:
        """Return the arguments as the signature of the target has them, defaults included; None where it is unknown."""
        from tt.fx.operator_schemas import normalize_function, normalize_module

        if self.op == "call_function":
            return normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return normalize_module(
                root, str(self.target), self._args, self._kwargs, normalize_to_only_use_kwargs
            )
        return None

    def _rename(self, candidate: str) -> None:
        """Take another name, or one like it that is free."""
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)
            self.graph._graph_namespace._rename_object(self, self.name)


def changes_argument(target: Any, kwargs: Mapping[str, Argument]) -> bool:
    """Return whether a call of a function writes into an argument: its schema says so, or `out=` or `inplace=True`."""
    return kwargs.get("out") is not None or kwargs.get("inplace") is True or _is_mutable(target)


@cache
def _is_mutable(target: Any) -> bool:
    schema = getattr(target, "schema", None)
    return any("!" in str(argument) for argument in getattr(schema, "arguments", ()))


@cache
def _is_random(target: Any) -> bool:
    overloads = getattr(target, "op_overloads", {"": target}).values()
    return any(
        "random" in getattr(getattr(overload, "definition", None), "tags", ()) for overload in overloads
    )


_NO_KWARGS: Final[dict[str, Argument]] = immutable_dict()


def _key_between(before: Node, after: Node) -> tuple[int, ...]:
    """Return a key that sorts after one node and before another; the root has an empty one, at both ends."""
    low, high = before._sort_key, after._sort_key
    if not high:
        return (low[0] + 1,) if low else (0,)
    if not low:
        return (high[0] - 1,)
    if high[: len(low)] == low:
        return (*high[:-1], high[-1] - 1)
    following = (*low[:-1], low[-1] + 1)
    return following if following < high else (*low, 0)


def nodes_of(values: Iterable[Argument]) -> list[Node]:
    """Return the nodes in arguments, each once, in order."""
    uses: dict[Node, None] = {}
    for value in values:
        _with_uses(value, uses)
    return list(uses)
