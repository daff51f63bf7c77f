"""GraphModule: a module whose `forward` is the code of a graph."""

from __future__ import annotations

import contextlib
import copy
import itertools
import linecache
import os
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType
from typing import Any, Final

import tt
from tt.errors import ArgumentError, ValueRangeError
from tt.fx._codegen import PythonCode, PyTreeCodeGen
from tt.fx._namespace import CUSTOM_BUILTINS
from tt.fx.graph import Graph
from tt.fx.node import Node

__all__ = ["GraphModule"]

_numbers: Final = itertools.count()


def _compiled(source: str, namespace: dict[str, Any], co_fields: Mapping[str, Any], owner: type) -> Any:
    """Return the function `forward` of generated code, whose lines tracebacks show."""
    number = next(_numbers)
    filename = f"<eval_with_key>.{number}"
    if co_fields:
        filename = f"{filename} from {co_fields['co_filename']}:{co_fields['co_firstlineno']} in {co_fields['co_name']}"
    # No time of change: the lines are of no file, and `linecache.checkcache` keeps them.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    weakref.finalize(owner, linecache.cache.pop, filename, None)
    code: CodeType = compile(source, filename, "exec")
    exec(code, namespace)  # the code of a graph in memory, whose texts are escaped; never of a file
    return namespace["forward"]


def _method_from_src(
    method_name: str, src: str, globals: dict[str, Any], co_fields: Any = None
) -> Callable[..., Any]:
    """Return a method of generated source."""
    namespace = dict(globals)
    exec(compile(src, "<method>", "exec"), namespace)
    method: Callable[..., Any] = namespace[method_name]
    return method


def _copy_attr(source: tt.nn.Module, target: tt.nn.Module, name: str) -> None:
    """Copy an attribute by its dotted name, with empty modules for those on its way."""
    *path, field = name.split(".")
    for item in path:
        below = getattr(source, item)
        if below is getattr(target, item, None):
            return
        if item not in target._modules:
            setattr(target, item, tt.nn.Module())
        source, target = below, getattr(target, item)
    value = getattr(source, field)
    if isinstance(value, tt.Tensor) and not isinstance(value, tt.nn.Parameter):
        target.register_buffer(field, value)
    else:
        setattr(target, field, value)


def _assign_attr(value: Any, target: tt.nn.Module, name: str) -> None:
    """Assign a value to an attribute by its dotted name, with empty modules for those on its way."""
    *path, field = name.split(".")
    for item in path:
        below = getattr(target, item, None)
        if below is None:
            below = tt.nn.Module()
            setattr(target, item, below)
        target = below
    if isinstance(value, tt.Tensor) and not isinstance(value, tt.nn.Parameter):
        target.register_buffer(field, value)
    else:
        setattr(target, field, value)


class GraphModule(tt.nn.Module):
    """A module whose `forward` is the code of a graph.

    Each instance has a class of its own, in which `forward` is defined anew when the graph has changed.

    Parameters
    ----------
    root : Module or dict
        Where the attributes are that the graph names; those are taken over. A dict has them by their dotted names.
    graph : Graph
        The graph; a copy of it, where it belongs to another module.
    class_name : str
        The name of the class.

    Raises
    ------
    ValueRangeError
        `root` is neither, or a dict that lacks a name.

    Examples
    --------
    >>> import tt
    >>> module = tt.fx.symbolic_trace(tt.nn.Sequential(tt.nn.Linear(2, 2), tt.nn.ReLU()))
    >>> print(module.code.strip())
    def forward(self, input):
        input_1 = input
        _0 = getattr(self, "0")(input_1);  input_1 = None
        _1 = getattr(self, "1")(_0);  _0 = None
        return _1
    >>> for node in module.graph.find_nodes(op="call_module", target="1"):
    ...     with module.graph.inserting_after(node):
    ...         node.replace_all_uses_with(new := module.graph.call_function(tt.tanh, node.args))
    ...     module.graph.erase_node(node)
    [output]
    >>> module.recompile().src == module.code, module(tt.ones(1, 2)).shape
    (True, tt.Size([1, 2]))
    """

    _graph: Graph
    _code: str
    _lineno_map: dict[int, int | None] | None

    def __new__(cls, *args: Any, **kwargs: Any) -> GraphModule:
        """Make an instance of a new class below this one."""
        # A class for each instance: `forward` is looked up in classes.
        for base in cls.__mro__:
            if base.__qualname__.rpartition(".")[2] != "GraphModuleImpl":
                cls = base
                break

        class GraphModuleImpl(cls):  # type: ignore[valid-type, misc]
            pass

        new: GraphModule = super().__new__(GraphModuleImpl)
        return new

    def __init__(
        self, root: tt.nn.Module | Mapping[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        self.__class__.__name__ = class_name
        names = [str(node.target) for node in graph.nodes if node.op in ("get_attr", "call_module")]
        if isinstance(root, tt.nn.Module):
            if hasattr(root, "training"):
                self.training = root.training
            for name in names:
                _copy_attr(root, self, name)
        elif isinstance(root, Mapping):
            for name in names:
                if name not in root:
                    raise ValueRangeError(
                        f"Node target {name} of the graph was not provided in targets_to_copy of root: it has "
                        f"{', '.join(root) or 'nothing'}"
                    )
            # Longer names last: what lies in a module is assigned after the module.
            for name in sorted(dict.fromkeys(names), key=lambda name: name.count(".")):
                _assign_attr(root[name], self, name)
        else:
            raise ValueRangeError(f"Unsupported type {root} passed for root!")
        if graph._tracer_cls is not None and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[str, Any] = {}
        self._replace_hooks: list[Callable[..., Any]] = []
        self._create_node_hooks: list[Callable[[Node], Any]] = []
        self._erase_node_hooks: list[Callable[[Node], Any]] = []
        self._deepcopy_hooks: list[Callable[[GraphModule], Any]] = []
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The graph; after changes to it call `recompile`. Assigning another one does."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise ArgumentError("GraphModule.graph", f"takes a Graph, not {tt.typename(g)}")
        if g._owners:
            g = copy.deepcopy(g)
        g._owners += 1
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The code of `forward`."""
        if not hasattr(self, "_code"):
            raise ValueRangeError("Code has not been generated! Please report a bug")
        return self._code

    def recompile(self) -> PythonCode:
        """Make `forward` from the graph as it is now.

        Returns
        -------
        PythonCode
            The code.
        """
        codegen = self._graph._codegen
        if isinstance(codegen, PyTreeCodeGen):
            self._in_spec = codegen.pytree_info.in_spec
            self._out_spec = codegen.pytree_info.out_spec
        python_code = self._graph.python_code(root_module="self")
        self._code, self._lineno_map = python_code.src, python_code._lineno_map
        cls = type(self)
        cls.forward = _compiled(self._code, dict(python_code.globals), self._graph._co_fields, cls)  # type: ignore[method-assign]
        cls._graph_call_installed = True  # type: ignore[attr-defined]
        return python_code

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call `forward`; an error in it says at which line of the code."""
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            self._explain(error)
            raise

    def _explain(self, error: Exception) -> None:
        """Print where in generated code an error was raised, if that is its innermost code of Python."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename.startswith("<eval_with_key>")]
        if own and frames[-1] is own[-1]:
            lines = linecache.getlines(own[-1].filename)
            at = own[-1].lineno or 0
            around = (
                "".join(lines[max(at - 3, 0) : at]) + "    ~~~~~~~ <--- HERE\n" + "".join(lines[at : at + 2])
            )
            print(
                f"Call using an FX-traced Module, line {at} of the traced Module's generated forward function:\n"
                f"{around}",
                file=sys.stderr,
            )

    # --- submodules ---

    def add_submodule(self, target: str, m: tt.nn.Module) -> bool:
        """Add a module under a dotted name, with empty modules for those on its way.

        Returns
        -------
        bool
            Whether it could be added: what lies on the way must be modules.
        """
        *path, field = target.split(".")
        module: tt.nn.Module = self
        for item in path:
            below = getattr(module, item, None)
            if below is None:
                below = tt.nn.Module()
                setattr(module, item, below)
            if not isinstance(below, tt.nn.Module):
                return False
            module = below
        module.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Delete the module of a dotted name; return whether there was one."""
        *path, field = target.split(".")
        module: Any = self
        for item in path:
            module = getattr(module, item, None)
            if not isinstance(module, tt.nn.Module):
                return False
        if not isinstance(getattr(module, field, None), tt.nn.Module):
            return False
        delattr(module, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Delete the modules that no node names, or lies above one that is named."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                path = str(node.target).split(".")
                used.update(".".join(path[:end]) for end in range(1, len(path) + 1))
                if node.op == "call_module":
                    # What a module that is called has below it, it may use.
                    with contextlib.suppress(AttributeError):
                        module = self.get_submodule(str(node.target))
                        used.update(f"{node.target}.{name}" for name, _ in module.named_modules() if name)
        for name in [name for name, _ in self.named_modules() if name and name not in used]:
            self.delete_submodule(name)

    # --- copies and files ---

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__dict__.copy()
        graph = state.pop("_graph")
        for name in ("_code", "_lineno_map", "_in_spec", "_out_spec"):
            state.pop(name, None)
        cls = next(
            base for base in type(self).__mro__ if base.__qualname__.rpartition(".")[2] != "GraphModuleImpl"
        )
        return _restored, (cls, type(self).__name__, graph, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        new = _bare(type(self), type(self).__name__)
        memo[id(self)] = new  # before the members, which may hold the module itself
        new.__dict__.update(
            {name: copy.deepcopy(value, memo) for name, value in self.__dict__.items() if name != "_graph"}
        )
        new.graph = copy.deepcopy(self._graph, memo)
        for hook in self._deepcopy_hooks:
            hook(new)
        return new

    def __copy__(self) -> GraphModule:
        new = GraphModule(self, self.graph, type(self).__name__)
        new.meta = dict(self.meta)
        return new

    def _replicate_for_data_parallel(self) -> GraphModule:
        new = copy.copy(self)
        new._is_replica = True
        return new

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a package of Python and a file of its parameters, to read and to import.

        Parameters
        ----------
        folder : path
            The folder; it is made.
        module_name : str
            The name of the class.
        """
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        tt.save(self.state_dict(), path / "state_dict.pt")
        code = self._graph.python_code(root_module="self")
        imports = [custom.import_str for name, custom in CUSTOM_BUILTINS.items() if name in code.globals]
        lines = ["import tt", "from math import inf, nan", "from tt import device", *_imports(code.globals)]
        lines = list(dict.fromkeys([*imports, *lines]))
        body = [
            f"class {module_name}(tt.nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
        ]
        for name, module in self.named_children():
            file = path / f"{name}.pt"
            tt.save(module, file)
            about = repr(module).split("\n")[0]
            body.append(
                f"        self.add_module({name!r}, tt.load(r'{file}', weights_only=False))  # {about}"
            )
        for kind, members in (("buffer", self._buffers), ("parameter", self._parameters)):
            for name, tensor in members.items():
                if tensor is not None:
                    value = f"tt.empty({list(tensor.shape)}, dtype={tensor.dtype})"
                    value = value if kind == "buffer" else f"tt.nn.Parameter({value})"
                    body.append(f"        self.register_{kind}('{name}', {value})")
        body.append("        self.load_state_dict(tt.load(r'" + str(path / "state_dict.pt") + "'))")
        body += [f"    {line}" for line in code.src.strip("\n").split("\n")]
        (path / "module.py").write_text("\n".join([*lines, "", "", *body]).rstrip() + "\n")
        (path / "__init__.py").write_text(f"from .module import {module_name}\n")

    # --- texts ---

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        *,
        fast_sympy_print: bool = False,
        expanded_def: bool = False,
        additional_meta: list[str] | None = None,
    ) -> str:
        """Return, and print, the code with the lines of the program, dtypes and shapes, and with that of submodules.

        Parameters
        ----------
        print_output : bool
            Print it.
        include_stride, include_device : bool
            With shapes, also strides and devices.
        colored, fast_sympy_print, expanded_def, additional_meta
            PyTorch's; they change nothing here.
        """
        text = _readable(self, type(self).__name__, include_stride, include_device)
        if print_output:
            print(text)
        return text

    def __str__(self) -> str:
        original = super().__str__()
        hint = "# To see more debug info, please use `graph_module.print_readable()`"
        return "\n".join([original, self._code, hint])

    # --- hooks of changes ---

    def _register_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.append(f)

    def _unregister_replace_node_hook(self, f: Callable[..., Any]) -> None:
        self._replace_hooks.remove(f)

    @contextlib.contextmanager
    def _set_replace_hook(self, f: Callable[..., Any]) -> Iterator[None]:
        self._register_replace_node_hook(f)
        try:
            yield
        finally:
            self._unregister_replace_node_hook(f)

    def _register_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._create_node_hooks.append(f)

    def _unregister_create_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._create_node_hooks.remove(f)

    def _register_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._erase_node_hooks.append(f)

    def _unregister_erase_node_hook(self, f: Callable[[Node], Any]) -> None:
        self._erase_node_hooks.remove(f)

    def _register_deepcopy_hook(self, f: Callable[[GraphModule], Any]) -> None:
        self._deepcopy_hooks.append(f)

    def _unregister_deepcopy_hook(self, f: Callable[[GraphModule], Any]) -> None:
        self._deepcopy_hooks.remove(f)


def _restored(cls: type[GraphModule], name: str, graph: Graph, state: dict[str, Any]) -> GraphModule:
    """Return a graph module with members and a graph that nobody else has."""
    new = _bare(cls, name)
    new.__dict__.update(state)
    new.graph = graph
    return new


def _bare(cls: type[GraphModule], name: str) -> GraphModule:
    new = GraphModule.__new__(cls)
    tt.nn.Module.__init__(new)
    type(new).__name__ = name
    return new


def _readable(module: tt.nn.Module, name: str, include_stride: bool, include_device: bool) -> str:
    graph = getattr(module, "graph", None)
    if not isinstance(graph, Graph):
        raise ArgumentError("print_readable", f"{name} has no graph")
    code = graph.python_code(
        "self", verbose=True, include_stride=include_stride, include_device=include_device
    ).src
    body = "\n".join(f"    {line}".rstrip() for line in code.strip("\n").rstrip().split("\n"))
    parts = [f"class {name}({tt.typename(tt.nn.Module)}):\n{body}\n"]
    for below, child in module.named_children():
        if isinstance(getattr(child, "graph", None), Graph):
            inner = _readable(child, below, include_stride, include_device)
            parts.append("\n".join(f"    {line}".rstrip() for line in inner.split("\n")))
    return "\n".join(parts)


def _imports(names: Mapping[str, Any]) -> list[str]:
    """Return the lines that import what code uses by name."""
    lines = []
    for name, value in names.items():
        if name in CUSTOM_BUILTINS:
            continue
        module, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if module and own and module != "builtins":
            lines.append(f"from {module} import {own}" + (f" as {name}" if own != name else ""))
        elif own and own != name:
            lines.append(f"{name} = {own}")
    return lines
