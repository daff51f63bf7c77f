"""Tracer: runs a module or function on proxies, and records what it calls.

Note [What tracing replaces]
----------------------------
While a root is traced, calls of modules and reads of parameters go to the tracer: `Module.__call__` and
`Module.__getattr__` are replaced for that time, in this thread and, as in PyTorch, in all others, so other threads
must not run modules meanwhile.  Functions of `wrap`, and those of the modules in `autowrap_modules`, are replaced in
the global names of the program by ones that record a call when an argument is a proxy.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import operator
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeVar

import tt
from tt.errors import AssertedError, ValueRangeError
from tt.fx._codegen import PyTreeCodeGen, PyTreeInfo
from tt.fx.graph import Graph
from tt.fx.graph_module import GraphModule
from tt.fx.node import Argument, Node, base_types
from tt.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from tt.library import warn_user
from tt.nn.modules import attribute_slot
from tt.utils import _pytree as pytree

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

F = TypeVar("F")

# Global names of programs that `wrap` has marked: (dictionary's id, name) -> the dictionary.
_wrapped_fns_to_patch: Final[dict[tuple[int, str], dict[str, Any]]] = {}
_wrapped_methods_to_patch: Final[list[tuple[type, str]]] = []


class _Tracing:
    """Whether some root is being traced."""

    depth = 0


def is_fx_tracing() -> bool:
    """Return whether a program is being traced by a `Tracer`.

    Examples
    --------
    >>> import tt
    >>> tt.fx._symbolic_trace.is_fx_tracing()
    False
    """
    return _Tracing.depth > 0


class ProxyableClassMeta(type):
    """Lets instances of a class be made while tracing: making one with proxies becomes a node.

    Examples
    --------
    >>> import tt
    >>> class Pair(metaclass=tt.fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> def f(x, y):
    ...     pair = Pair(x, y)
    ...     return pair.left + pair.right
    >>> tt.fx.symbolic_trace(f)(1, 2)
    3
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        instance: Any = cls.__new__(cls)  # type: ignore[call-overload]
        if not is_fx_tracing():
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        proxies = [value for value in pytree.arg_tree_leaves(*args, **kwargs) if isinstance(value, Proxy)]
        if not proxies:
            cls.__init__(instance, *args, **kwargs)  # type: ignore[misc]
            return instance
        return proxies[0].tracer.create_proxy("call_function", cls, args, kwargs)


class PHBase:
    """The class of placeholders in concrete arguments: what a container has where a value is traced."""

    def __repr__(self) -> str:
        return "PH"


PH: Final = PHBase()
"""Stands in concrete arguments where a value is traced."""


class PHWithMeta(PHBase):
    """A placeholder that says more of its input."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key

    def transfer_attrs(self, to: Node) -> None:
        """Give a node what is known of the input."""
        for name, value in vars(self).items():
            if name == "ph_key" or not hasattr(to, name):
                setattr(to, name, value)


def wrap(fn_or_name: Any) -> Any:
    """Let calls of a global function become nodes when an argument is a proxy.

    Called at module level, with the function or its name, or as a decorator there. It serves for functions of Python
    (`len`), and those of the program that cannot be traced.

    Parameters
    ----------
    fn_or_name : callable or str
        The function, or the name that it has among the global names of the module.

    Raises
    ------
    ValueRangeError
        It is neither.
    UnsupportedError
        The call is not at module level.

    Examples
    --------
    >>> import tt
    >>> @tt.fx.wrap
    ... def clip(x, low):
    ...     return max(x, low)
    >>> [node.name for node in tt.fx.symbolic_trace(lambda x: clip(x, 0)).graph.nodes]
    ['x', 'clip', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise ValueRangeError(
            "Unsupported type for global function! Must be either a callable or string name, not "
            f"{tt.typename(fn_or_name)}"
        )
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise ValueRangeError("wrap(): takes a function or its name")
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise tt.errors.UnsupportedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _find_proxy(*values: Any) -> Proxy | None:
    """Return the first proxy in values."""
    for value in pytree.tree_leaves(values):
        if isinstance(value, Proxy):
            return value
    return None


def _recording(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that records a call with a proxy, and calls the original with other values."""

    @functools.wraps(function)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return record


def _recording_method(cls: type, name: str) -> Callable[..., Any]:
    original = getattr(cls, name)

    @functools.wraps(original)
    def record(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return record


class _Patches:
    """Names that are replaced while something is traced, and get back what they were."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []
        self._visited: set[int] = set()

    def attribute(self, owner: Any, name: str, value: Any) -> None:
        if name in vars(owner):
            before = vars(owner)[name]
            self._undo.append(lambda: setattr(owner, name, before))
        else:
            self._undo.append(lambda: delattr(owner, name))
        setattr(owner, name, value)

    def item(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        if name in namespace:
            before = namespace[name]
            self._undo.append(lambda: namespace.__setitem__(name, before))
        else:
            self._undo.append(lambda: namespace.pop(name, None))
        namespace[name] = value

    def visit_once(self, namespace: Any) -> bool:
        """Return whether this is the first time that a namespace is looked at."""
        first = id(namespace) not in self._visited
        self._visited.add(id(namespace))
        return first

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()


@contextmanager
def _module_hooks(call: Callable[..., Any], read: Callable[..., Any]) -> Iterator[_Patches]:
    """Let calls of modules and reads of their members go elsewhere for a block."""
    patches = _Patches()
    patches.attribute(tt.nn.Module, "__call__", call)
    patches.attribute(tt.nn.Module, "__getattr__", read)
    _Tracing.depth += 1
    try:
        yield patches
    finally:
        _Tracing.depth -= 1
        patches.undo()
        # Replacing `__getattr__` took the fast slot out of all classes, see Note [Reading parameters].
        _restore_slots(tt.nn.Module)


def _restore_slots(kind: Any) -> None:
    base: Any = tt.nn.Module.__mro__[1]
    if kind.__getattr__ is base.__getattr__ and kind.__getattribute__ is object.__getattribute__:
        attribute_slot.install_slot(kind)
    for below in type.__subclasses__(kind):
        _restore_slots(below)


class Tracer(TracerBase):
    """Makes the graph of a module or function by running it on proxies.

    A subclass says which modules are leaves, or what becomes of arguments.

    Parameters
    ----------
    autowrap_modules : tuple of module
        Python modules whose functions become nodes when they get a proxy.
    autowrap_functions : tuple of callable
        Further functions for which it is so.
    param_shapes_constant : bool
        Take the shapes of parameters as constants, so that a program may branch on them.

    Examples
    --------
    >>> import tt
    >>> class Flat(tt.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> module = tt.nn.Sequential(tt.nn.Linear(2, 3), tt.nn.ReLU())
    >>> [node.op for node in Flat().trace(module).nodes]
    ['placeholder', 'get_attr', 'get_attr', 'call_function', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        functions = [
            value
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        ]
        self._autowrap_function_ids = {id(value) for value in (*functions, *autowrap_functions)}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[tt.nn.Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = {}
        self.num_calls: dict[str, int] = {}
        self.node_name_to_scope = {}
        self._names: dict[str, int] = {}

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return the name of a new attribute of the root: the prefix and a number."""
        number = self._names.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._names[prefix] = number + 1
        return f"{prefix}{number}"

    # --- values ---

    def create_arg(self, a: Any) -> Argument:
        """Return a value as the argument of a node; parameters and tensors become attributes that a node reads."""
        if isinstance(a, Proxy):
            return a.node
        if isinstance(a, tt.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if a is parameter:
                    return self.create_node("get_attr", name, (), {})
            raise ValueRangeError("parameter is not a member of this module")
        if isinstance(a, tt.Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            if id(a) in self.tensor_attrs:
                name = self.tensor_attrs[id(a)][0]
            else:
                name = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[id(a)] = (name, a)
                setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, tt.nn.Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            # Made by a call, so that the code names the class.
            return self.create_node("call_function", type(a), tuple(self.create_arg(item) for item in a), {})
        try:
            return super().create_arg(a)
        except tt.errors.UnsupportedError:
            if type(a).__module__ == "builtins":
                raise
            # A constant of any class becomes an attribute of the root.
            held = next((name for name, value in vars(self.root).items() if value is a), None)
            name = held or self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})

    # --- modules ---

    def is_leaf_module(self, m: tt.nn.Module, module_qualified_name: str) -> bool:
        """Return whether a call of a module becomes one node; by default modules of `tt.nn` do, but `Sequential`."""
        return _is_of_nn(type(m)) and not isinstance(m, tt.nn.Sequential)

    def path_of_module(self, mod: tt.nn.Module) -> str:
        """Return the dotted name of a submodule of the root.

        Raises
        ------
        UnknownNameError
            It is none.
        """
        paths = self.submodule_paths
        if paths is not None and mod in paths:
            return paths[mod]
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: tt.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Record the call of a leaf, or trace through the module.

        Parameters
        ----------
        m : Module
            The module that is called.
        forward : callable
            Calls it.
        args, kwargs : tuple, dict
            The arguments.
        """
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            times = self.num_calls.get(path, 0)
            self.num_calls[path] = times + 1
            key = f"{path}@{times}" if times else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Return what a program reads as an attribute of a module: a proxy for parameters."""
        if isinstance(attr_val, tt.nn.Parameter):
            for name, parameter in self.root.named_parameters():
                if attr_val is parameter:
                    return self._attribute_proxy(name, attr_val, parameter_proxy_cache)
        elif self.proxy_buffer_attributes and isinstance(attr_val, tt.Tensor):
            for name, buffer in self.root.named_buffers():
                if attr_val is buffer:
                    return self._attribute_proxy(name, attr_val, parameter_proxy_cache)
        return attr_val

    def _attribute_proxy(self, name: str, value: tt.Tensor, cache: dict[str, Any]) -> Any:
        if name not in cache:
            factory = None
            if self.param_shapes_constant and isinstance(value, tt.nn.Parameter):

                def factory(node: Node) -> Proxy:
                    return ParameterProxy(self, node, name, value)

            cache[name] = self.create_proxy("get_attr", name, (), {}, proxy_factory_fn=factory)
        return cache[name]

    # --- tracing ---

    def create_args_for_root(
        self,
        root_fn: Callable[..., Any],
        is_module: bool,
        concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Make the inputs of the graph for the arguments of a function.

        Returns
        -------
        function, list
            What is called, and with which arguments.
        """
        analysed = inspect.unwrap(root_fn)
        code = analysed.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames)
        parameters, annotations = inspect.signature(analysed).parameters, _annotations(analysed)
        first = 1 if is_module else 0
        has_rest, has_keywords = (
            bool(code.co_flags & inspect.CO_VARARGS),
            bool(code.co_flags & inspect.CO_VARKEYWORDS),
        )
        if is_module and count == 0:
            raise ValueRangeError("``self`` argument cannot be part of *args expansion!")
        concrete: dict[str, Any] = {}
        rest: tuple[Any, ...] = ()  # values for `*args`
        if isinstance(concrete_args, tuple):
            own = count - first
            if len(concrete_args) < own or (len(concrete_args) > own and not has_rest):
                raise ValueRangeError(
                    f"Tracing expected {own} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete, rest = dict(zip(names[first:count], concrete_args, strict=False)), concrete_args[own:]
        elif concrete_args is not None:
            concrete = dict(concrete_args)
            unknown = [name for name in concrete if name not in names[first:count]]
            if unknown:
                raise ValueRangeError(f"concrete_args: the function has no argument {', '.join(unknown)}")
        used: list[int] = [0]

        def input_named(name: str) -> Any:
            parameter = parameters.get(name)
            default = (
                ()
                if parameter is None or parameter.default is inspect.Parameter.empty
                else (parameter.default,)
            )
            if name in concrete:
                used[0] = 0
                return self._concrete_input(name, concrete[name], used, default)
            return self.create_proxy("placeholder", name, default, {}, type_expr=annotations.get(name))

        args: list[Any] = [self.root] if is_module else []
        args += [input_named(name) for name in names[first:count]]
        called = root_fn
        if rest:
            args += [self._concrete_input(names[count], value, used, ()) for value in rest]
        elif code.co_kwonlyargcount or has_rest or has_keywords:
            stars = ["*"] * has_rest + ["**"] * has_keywords
            args += [
                self.create_proxy("placeholder", star + name, (), {})
                for star, name in zip(stars, names[count:], strict=False)
            ]
            called = _without_kinds(root_fn)
        if any(not pytree.tree_structure(value).is_leaf() for value in concrete.values()):
            return self._with_trees(called, args, names[first : code.co_argcount])
        return called, args

    def _concrete_input(self, name: str, value: Any, used: list[int], default: tuple[Any, ...]) -> Any:
        """Return what the program gets for an argument whose value is given: placeholders in it become inputs."""

        def leaf(item: Any) -> Any:
            used[0] += 1
            if isinstance(item, PHBase):
                proxy = self.create_proxy("placeholder", f"{name}_{used[0]}", default, {})
                if isinstance(item, PHWithMeta):
                    item.transfer_attrs(proxy.node)
                return proxy
            # The input stays, and must have this value when the graph is called.
            proxy = self.create_proxy("placeholder", f"{name}_{used[0]}", default, {})
            if item is None:
                message = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
            elif isinstance(item, base_types) and not isinstance(item, tt.Tensor):
                message = f"{name} has been specialized to have value {item} but got another value"
                self.create_proxy("call_function", tt._assert, (operator.eq(proxy, item), message), {})
            else:
                warn_user(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is "
                    "up to the user to make sure that your inputs match the inputs you specialized the function with."
                )
            return item

        return pytree.tree_map(leaf, value)

    def _with_trees(
        self, function: Callable[..., Any], args: list[Any], names: list[str]
    ) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function of the leaves of arguments, and tell the code of the graph about their containers."""
        leaves, structure = pytree.tree_flatten(tuple(args))

        def flat(*values: Any) -> Any:
            result = function(*pytree.tree_unflatten(list(values), structure))
            out, out_spec = pytree.tree_flatten(result)
            codegen = self.graph._codegen
            if isinstance(codegen, PyTreeCodeGen):
                codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        own = args[1:] if args and args[0] is self.root else args
        in_spec = pytree.tree_structure(tuple(pytree.tree_map(lambda leaf: 0, value) for value in own))
        self.graph._codegen = PyTreeCodeGen(PyTreeInfo(names, in_spec, None))
        return flat, leaves

    def trace(
        self,
        root: tt.nn.Module | Callable[..., Any],
        concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """Run a module or function on proxies, and return the graph of what it called.

        Parameters
        ----------
        root : Module or callable
            What is traced.
        concrete_args : dict, optional
            Values of arguments that are constants of the graph.

        Raises
        ------
        TraceError
            The program does something that depends on a value.
        """
        if isinstance(root, tt.nn.Module):
            self.root = root
            if not hasattr(type(root), self.traced_func_name):
                raise AssertedError(
                    f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                )
            fn: Callable[..., Any] = getattr(type(root), self.traced_func_name)
            self.root_module_name = type(root).__name__
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            if not callable(root):
                raise AssertedError(f"trace(): takes a module or a function, not {tt.typename(root)}")
            self.root = tt.nn.Module()
            fn = root
        self.graph = Graph(tracer_cls=type(self))
        function = inspect.unwrap(fn)
        code: CodeType | None = getattr(function, "__code__", None)
        if code is None:
            raise AssertedError(f"Expected FunctionType, got {tt.typename(root)}")
        self.graph._co_fields = {
            "co_name": code.co_name, "co_filename": code.co_filename, "co_firstlineno": code.co_firstlineno,
        }  # fmt: skip
        self.tensor_attrs: dict[int, tuple[str, Any]] = {}
        self._collect_tensors(self.root, [])
        cache: dict[str, Any] = {}
        original_read, original_call = tt.nn.Module.__getattr__, tt.nn.Module.__call__

        def read(module: tt.nn.Module, name: str) -> Any:
            return self.getattr(name, original_read(module, name), cache)

        def call(module: tt.nn.Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return original_call(module, *args, **kwargs)

            self._autowrap(patches, getattr(getattr(module, "forward", None), "__globals__", {}))
            return self.call_module(module, forward, args, kwargs)

        is_module = isinstance(root, tt.nn.Module)
        called, args = self.create_args_for_root(fn, is_module, concrete_args)
        with _module_hooks(call, read) as patches:
            for (_, name), namespace in list(_wrapped_fns_to_patch.items()):
                original = namespace.get(name, getattr(builtins, name, None))
                if original is not None and not hasattr(original, "__fx_already_patched"):
                    patches.item(namespace, name, _recording(original))
            for cls, name in _wrapped_methods_to_patch:
                patches.attribute(cls, name, _recording_method(cls, name))
            self._autowrap(patches, getattr(function, "__globals__", {}))
            for module in self._autowrap_search:
                if module is not math:
                    self._autowrap(patches, vars(module))
            result = called(*args)
            self.create_node(
                "output",
                "output",
                (self.create_arg(result),),
                {},
                type_expr=_annotations(function).get("return"),
            )
        self.submodule_paths = None
        return self.graph

    def _autowrap(self, patches: _Patches, namespace: dict[str, Any]) -> None:
        """Replace the functions of `autowrap_modules` among global names."""
        if not patches.visit_once(namespace):
            return
        for name, value in list(namespace.items()):
            if not name.startswith("_") and callable(value) and id(value) in self._autowrap_function_ids:
                patches.item(namespace, name, _recording(value))
                continue
            if not isinstance(value, ModuleType) or value not in self._autowrap_search:
                continue
            if patches.visit_once(vars(value)):
                for inner, function in list(vars(value).items()):
                    if callable(function) and id(function) in self._autowrap_function_ids:
                        patches.attribute(value, inner, _recording(function))

    def _collect_tensors(self, module: tt.nn.Module, path: list[str]) -> None:
        """Note the tensors that are plain attributes of modules, so that nodes read them by name."""
        for name, value in vars(module).items():
            if isinstance(value, tt.Tensor):
                self.tensor_attrs[id(value)] = (".".join([*path, name]), value)
        for name, below in module.named_children():
            self._collect_tensors(below, [*path, name])

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        # The maps are of objects of one trace, and a copy traces anew.
        new = type(self).__new__(type(self))
        memo[id(self)] = new
        new.__dict__.update(self.__dict__)
        return new


def _assert_is_none(value: object, message: str) -> None:
    """Refuse a value of an argument for which a graph was made with None."""
    if value is not None:
        raise AssertedError(message)


def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function as values; none that is a text which means nothing here, and no `Any`."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # a name that exists for type checkers alone
        hints = {name: hint for name, hint in function.__annotations__.items() if not isinstance(hint, str)}
    written = {name: hints.get(name) for name, hint in function.__annotations__.items()}
    # `None` is an annotation of its own: get_type_hints gives its class.
    kept = {name: None if hint is type(None) else hint for name, hint in written.items() if hint is not Any}
    return {name: hint for name, hint in kept.items() if hint is not None}


def _is_of_nn(kind: type) -> bool:
    module = kind.__module__
    return module.startswith(("tt.nn", "tt.ao.nn", "torch.nn", "torch.ao.nn"))


def _without_kinds(function: Any) -> Any:
    """Return a function that takes `*args`, `**kwargs` and what is after a star as ordinary arguments."""
    if not isinstance(function, FunctionType):  # a bound method, whose first argument is given
        return functools.partial(_without_kinds(function.__func__), function.__self__)
    code = function.__code__
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    flat = code.replace(
        co_argcount=code.co_argcount + code.co_kwonlyargcount + stars,
        co_kwonlyargcount=0,
        co_posonlyargcount=0,
        co_flags=code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS),
    )
    new = FunctionType(
        flat, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    new.__annotations__ = function.__annotations__
    return new


def symbolic_trace(
    root: tt.nn.Module | Callable[..., Any], concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None
) -> GraphModule:
    """Return a module with the graph of a module or function.

    The program runs once, on proxies. What depends on values cannot be traced; what does not (loops over a fixed
    number of layers, options) is done, and leaves no trace.

    Parameters
    ----------
    root : Module or callable
        What is traced. Modules of `tt.nn` become one node each, others are traced through.
    concrete_args : dict, optional
        Values of arguments that are constants of the graph.

    Raises
    ------
    TraceError
        The program does something that depends on a value; the error says where.

    Examples
    --------
    >>> import tt
    >>> class Net(tt.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = tt.nn.Linear(2, 2)
    ...     def forward(self, x):
    ...         return self.linear(x).relu() + 1
    >>> print(tt.fx.symbolic_trace(Net()).code.strip())
    def forward(self, x):
        linear = self.linear(x);  x = None
        relu = linear.relu();  linear = None
        add = relu + 1;  relu = None
        return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, tt.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
