"""Proxy: stands for a value while a program is traced, and records what is done with it."""

from __future__ import annotations

import dis
import enum
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import tt
from tt.errors import AssertedError, TraceError, UnsupportedError, ValueRangeError
from tt.fx._codegen import magic_methods, reflectable_magic_methods
from tt.fx.graph import Graph
from tt.fx.node import Argument, Node, Target, base_types, changes_argument, map_aggregate

__all__ = [
    "Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError",
    "TracerBase",
]  # fmt: skip


class Scope:
    """Where in the tree of modules tracing is."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Enters a module, and leaves it again."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._before = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *error: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """What a tracer does with values: a subclass changes it.

    Attributes
    ----------
    graph : Graph
        Where nodes go.
    record_stack_traces : bool
        Keep in each node the lines of the program that made it.
    trace_asserts : bool
        Record `assert` of a proxy.
    proxy_buffer_attributes : bool
        Read buffers through proxies, too.
    """

    graph: Graph
    record_stack_traces = False
    _record_forward_stack_traces_only = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"
    scope: Scope
    module_stack: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Target,
        args: tuple[Argument, ...],
        kwargs: dict[str, Argument],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Add a node to the graph.

        Raises
        ------
        ValueRangeError
            `check_mutable_operations` is set, and the call writes into an argument.
        """
        if self.check_mutable_operations and kind == "call_function" and changes_argument(target, kwargs):
            name = f"aten::{getattr(target, '__name__', target)}{'.out' if kwargs.get('out') is not None else ''}"
            raise ValueRangeError(
                f"Tried to trace mutable operation {name}. FX only supports functional code, so operations that mutate "
                "operands in-place (e.g. via `out` arguments) are not supported"
            )
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        scope = getattr(self, "scope", None)
        if scope is not None:
            self.node_name_to_scope[node.name] = (scope.module_path, scope.module_type)
        modules = getattr(self, "module_stack", None)
        if modules:
            node.meta["nn_module_stack"] = dict(modules)
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return a proxy for a node."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Target,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[[Node], Proxy] | None = None,
    ) -> Proxy:
        """Add a node for a call with proxies and constants, and return a proxy for its result."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not node.stack_trace:
            node.stack_trace = _user_lines()
        return proxy

    def create_arg(self, a: Any) -> Argument:
        """Return a value as the argument of a node.

        Raises
        ------
        UnsupportedError
            It can be none.
        ValueRangeError
            A dict has a proxy for a key.
        """
        if isinstance(a, Proxy):
            return a.node
        if a is None or isinstance(a, base_types) or a is ...:
            return a
        to_argument = getattr(a, "__fx_create_arg__", None)
        if to_argument is not None and not isinstance(a, ParameterProxy) and not isinstance(a, type):
            return to_argument(self)
        if isinstance(a, tuple):
            items = [self.create_arg(item) for item in a]
            return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
        if isinstance(a, list):
            return [self.create_arg(item) for item in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(item) for key, item in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, Node | enum.Enum) or (callable(a) and hasattr(a, "__name__")):
            return a
        if hasattr(type(a), "__dataclass_fields__"):
            fields = {name: self.create_arg(getattr(a, name)) for name in type(a).__dataclass_fields__}
            return self.create_node("call_function", type(a), (), fields)
        raise UnsupportedError(f"argument of type: {type(a)}")

    def _key(self, key: Any) -> Any:
        """Return the key of a dict that is an argument, which may not depend on values."""

        def refuse(value: Any) -> Any:
            if isinstance(value, Node):
                raise ValueRangeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {value}"
                )
            return value

        return map_aggregate(self.create_arg(key), refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Return the truth of a proxy; this one refuses.

        Raises
        ------
        TraceError
            Always.
        """
        raise TraceError(
            "symbolically traced variables cannot be used as inputs to control flow"
            + _place()
            + "\n  try: tt.where, or the value as a concrete argument: symbolic_trace(f, concrete_args={...})"
        )

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return an iterator over a proxy; this one refuses.

        Raises
        ------
        TraceError
            Always.
        """
        raise TraceError(
            "Proxy object cannot be iterated: its length is not known. This happens when it is used in a loop, or as "
            "*args or **kwargs of a call" + _place()
        )

    def keys(self, obj: Proxy) -> Any:
        """Return the keys of a proxy, a proxy as well."""
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """A tracer that only adds nodes to a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


def _own_frame(frame: FrameType) -> bool:
    """Return whether a frame is of tt itself, and of no program of a user."""
    name = str(frame.f_globals.get("__name__", ""))
    return name == "tt" or (name.startswith("tt.") and not name.startswith(("tt.examples.", "tt.nn.")))


def _user_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _own_frame(frame):
        frame = frame.f_back
    return frame


def _place() -> str:
    """Return the line of the program that tracing has reached, for an error."""
    frame = _user_frame()
    if frame is None:
        return ""
    summary = traceback.extract_stack(frame, limit=1)[0]
    return f"\n  at {summary.filename}:{summary.lineno}, in {summary.name}: {summary.line}"


def _user_lines() -> str:
    frame = _user_frame()
    lines = traceback.extract_stack(frame) if frame is not None else []
    return "".join(traceback.format_list(lines)).strip()


class Proxy:
    """Stands for a value while a program is traced: operators, methods and functions of it become nodes.

    A proxy has no value, so a program cannot branch on it, loop over it, or ask for its length.

    Parameters
    ----------
    node : Node
        The node whose result it stands for.
    tracer : TracerBase, optional
        What records; by default the nodes are added to the graph of `node`.

    Examples
    --------
    >>> import tt
    >>> graph = tt.fx.Graph()
    >>> x = tt.fx.Proxy(graph.placeholder("x"))
    >>> y = tt.relu(x + 1).sum()
    >>> [node.name for node in graph.nodes]
    ['x', 'add', 'relu', 'sum_1']
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Attribute:
        # No node yet: a method that is called becomes `call_method`.
        if k in ("node", "tracer"):  # of an instance that is being made
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Proxy:
        # Not through `__getattr__`, which has an answer to everything.
        import copy

        new = object.__new__(type(self))
        memo[id(self)] = new
        new.__dict__ = {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()}
        return new

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call of the value."""
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        frame = sys._getframe(1)
        instruction = _instruction(frame)
        # `a, b = proxy` says how many values there are.
        if instruction is not None and instruction.opname == "UNPACK_SEQUENCE":
            return (operator.getitem(self, i) for i in range(int(instruction.arg or 0)))
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts:
            frame = sys._getframe(1)
            if _is_assert(frame):
                self.tracer.create_proxy("call_function", tt._assert, (self, ""), {})
                return True
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """Return the keys, as `**proxy` asks for them."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise ValueRangeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __tt_function__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[TracerBase, None] = {}

        def note(value: Any) -> Any:
            if isinstance(value, Proxy):
                tracers[value.tracer] = None
            return value

        map_aggregate(args, note)
        map_aggregate(kwargs, note)
        if len(tracers) > 1:
            raise ValueRangeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {func}"
            )
        tracer = next(iter(tracers))
        name = getattr(func, "__name__", "")
        if name == "__get__":  # a property, as `Tensor.shape.__get__`
            return Attribute(args[0], func.__self__.__name__)
        if name == "__getitem__":
            return tracer.create_proxy("call_function", operator.getitem, args, kwargs)
        if _is_method(func, name):
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs)


def _is_method(func: Any, name: str) -> bool:
    """Return whether a function can be reached as a method of tensors alone."""
    return getattr(tt.Tensor, name, None) is func and getattr(tt, name, None) is not func


def _instruction(frame: FrameType) -> dis.Instruction | None:
    at = frame.f_lasti
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == at:
            return instruction
    return None


def _is_assert(frame: FrameType) -> bool:
    """Return whether a frame stands at the test of an `assert`."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, instruction in enumerate(instructions) if instruction.offset == frame.f_lasti), None)
    if at is None:
        return False
    following = [
        i.opname
        for i in instructions[at : at + 6]
        if i.opname not in ("CACHE", "NOP", "NOT_TAKEN", "TO_BOOL")
    ]
    return any("JUMP" in name for name in following[:2]) and "LOAD_ASSERTION_ERROR" in following[:4]


class Attribute(Proxy):
    """An attribute of a value that a proxy stands for; calling it is a call of a method.

    Examples
    --------
    >>> import tt
    >>> graph = tt.fx.Graph()
    >>> x = tt.fx.Proxy(graph.placeholder("x"))
    >>> _ = x.t(), x.shape.node
    >>> [(node.op, node.target) for node in graph.nodes]
    [('placeholder', 'x'), ('call_method', 't'), ('call_function', <built-in function getattr>)]
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute, made when it is first asked for."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        """Record a call of the method."""
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter whose shape is a constant of tracing."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: tt.Tensor) -> None:
        super().__init__(node, tracer)
        if not isinstance(param, tt.nn.Parameter):
            raise AssertedError(f"ParameterProxy(): takes a Parameter, not {tt.typename(param)}")
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Any:
        """The sizes of the parameter."""
        return self.param.shape

    def size(self, *args: Any) -> Any:
        """Return the sizes of the parameter, or one."""
        return self.param.size(*args)

    def dim(self) -> int:
        """Return the number of dimensions of the parameter."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        """The number of dimensions of the parameter."""
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements of the parameter."""
        return self.param.numel()

    def nelement(self) -> int:
        """Return the number of elements of the parameter."""
        return self.param.nelement()


def _magic(name: str) -> Callable[..., Proxy]:
    function = getattr(operator, name)

    def record(*args: Any, **kwargs: Any) -> Proxy:
        tracer = args[0].tracer
        result: Proxy = tracer.create_proxy("call_function", function, args, kwargs)
        return result

    record.__name__ = f"__{name.strip('_')}__"
    record.__qualname__ = f"Proxy.{record.__name__}"
    return record


def _reflected(name: str) -> Callable[[Proxy, Any], Proxy]:
    function = getattr(operator, name)

    def record(self: Proxy, other: Any) -> Proxy:
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    record.__name__ = f"__r{name.strip('_')}__"
    record.__qualname__ = f"Proxy.{record.__name__}"
    return record


for _name in magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__{_name.strip('_')}__", _magic(_name))
for _name in reflectable_magic_methods:
    if hasattr(operator, _name):
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected(_name))
# Comparing makes a node, so two proxies are never the same key by value.
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
