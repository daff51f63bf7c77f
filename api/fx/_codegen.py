"""Python code of a graph: what a graph module runs, and what a person reads.

Note [Generated code]
---------------------
One line a node, in the node's own name.  Where a node is the last one to use a value, the line ends by setting the
name of that value to None, so that code holds memory no longer than the program did from which it was traced.
Functions of tt stand with their dotted names; what else the code needs (functions, types, named tuples, constants
without a literal) is a global of its own.
"""

from __future__ import annotations

import enum
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import tt
from tt.fx import _pytree as fx_pytree
from tt.fx._namespace import CUSTOM_BUILTINS, Namespace
from tt.fx.node import Argument, Node, _get_qualified_name, _type_repr
from tt.utils import _pytree as pytree

if TYPE_CHECKING:
    from tt.fx.graph import Graph

__all__ = ["CodeGen", "PyTreeCodeGen", "PyTreeInfo", "PythonCode"]

TransformCodeFunc = Callable[[list[str]], list[str]]

magic_methods: Final = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}",
    "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
"""Functions of `operator`, and how code writes them."""

inplace_methods: Final = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip

_DTYPES: Final = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "complex64": "c64", "complex128": "c128",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "bool": "b8", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2",
}  # fmt: skip


@dataclass
class PythonCode:
    """The code of a graph.

    Attributes
    ----------
    src : str
        The definition of `forward`.
    globals : dict
        What the code needs by name.
    _lineno_map : dict or None
        Line of the body, from 1 -> position of the node in the graph.
    _prologue_start : int
        The lines of `src` before the body.
    """

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None
    _prologue_start: int = 0


class PyTreeInfo(NamedTuple):
    """How the arguments and the result of a function become the inputs and outputs of its graph."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


class CodeGen:
    """Writes the code of graphs; a subclass changes the signature, or what happens to arguments and results."""

    def __init__(self, body_transformer: TransformCodeFunc | None = None, func_name: str = "forward") -> None:
        self._body_transformer = body_transformer
        self._func_name = func_name

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the line `def forward(...):` for the names of the inputs, and what follows before the body."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(
        self, output_args: Argument, *, repr_fn: Callable[[Argument], str] | None = None
    ) -> str:
        """Return the line that returns the result."""
        return f"return {(repr_fn or repr)(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """Return the values of the inputs for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """Return the result of a call for the value of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return names that the code needs besides those that the nodes bring."""
        return []

    def _gen_python_code(
        self,
        nodes: Iterable[Node],
        root_module: str,
        namespace: Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
    ) -> PythonCode:
        return _Writer(
            self, list(nodes), root_module, namespace, verbose, include_stride, include_device
        ).write()


class PyTreeCodeGen(CodeGen):
    """Writes code that takes and returns containers, while the graph has a node for each leaf."""

    def __init__(self, pytree_info: PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """Return the leaves of the arguments."""
        return pytree.arg_tree_leaves(*inputs)

    def process_outputs(self, out: Any) -> Any:
        """Return the result with its containers."""
        if self.pytree_info.out_spec is None:
            return out
        leaves = out if isinstance(out, list | tuple) else [out]
        return pytree.tree_unflatten(leaves, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the signature with the arguments of the function, and the line that takes them apart."""
        names = self.pytree_info.orig_args
        if not free_vars:
            return super().gen_fn_def(
                names[1:] if names and names[0] == "self" else list(names), maybe_return_annotation
            )
        own = [name for name in names if name != "self"]
        definition = super().gen_fn_def(list(own), maybe_return_annotation)
        plain = [_name_of(var) for var in free_vars if _name_of(var) != "self"]
        typed = [var.partition("=")[0].strip() for var in free_vars if ":" in var]
        lines = [
            f"{', '.join(plain)}, = fx_pytree.tree_flatten_spec({self._arguments(own)}, self._in_spec)",
            *(f"{var}" for var in typed),
        ]
        return definition + "".join(f"\n    {line}" for line in lines)

    def _arguments(self, names: list[str]) -> str:
        """Return the arguments as one container: a list, or with a dict of those by keyword where there are such."""
        spec = self.pytree_info.in_spec
        parts = [part.type for part in spec.children()]
        if spec.type is not tuple or parts != [tuple, dict]:
            return f"[{', '.join(names)}]"
        count = len(spec.child(0).children())
        by_keyword = ", ".join(
            f"{key!r}:{name}" for key, name in zip(spec.child(1).context, names[count:], strict=True)
        )
        return f"([{', '.join(names[:count])}], {{{by_keyword}}})"

    def generate_output(
        self, output_args: Argument, *, repr_fn: Callable[[Argument], str] | None = None
    ) -> str:
        """Return the line that puts the leaves back into their containers."""
        text = (repr_fn or repr)(output_args)
        if self.pytree_info.out_spec is None:
            return f"return {text}"
        leaves = text if isinstance(output_args, list | tuple) else f"[{text}]"
        return f"return pytree.tree_unflatten({leaves}, self._out_spec)"


def _name_of(variable: str) -> str:
    """Return the name in the declaration of an input."""
    return re.split(r"[:=]", variable, maxsplit=1)[0].strip()


class _Writer:
    """Writes the code of one graph."""

    def __init__(
        self,
        codegen: CodeGen,
        nodes: list[Node],
        root_module: str,
        namespace: Namespace,
        verbose: bool,
        include_stride: bool,
        include_device: bool,
    ) -> None:
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root_module, namespace
        self.verbose, self.include_stride, self.include_device = verbose, include_stride, include_device
        self.inputs: list[str] = []
        self.body: list[str] = []
        self.globals: dict[str, Any] = {}
        self.wrapped: dict[str, None] = {}
        self.return_annotation = ""
        self.names: dict[Node, str] = {}
        self.qualified: dict[Any, str] = {}
        self.last_trace: str | None = ""

    def write(self) -> PythonCode:
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        for name, custom in CUSTOM_BUILTINS.items():
            value = _CODE_MODULES[name]() if name in _CODE_MODULES else custom.obj
            if value is not None:
                self.namespace._rename_object(value, name)
                self.globals[name] = value
        unused = _last_uses(self.nodes)
        lines: list[str] = []
        counts: list[int] = []  # the lines before that of each node
        for node in self.nodes:
            counts.append(len(lines))
            if self.verbose:
                lines += self._about(node)
            statement = self.statement(node)
            if statement is None:
                continue
            deleted = unused.get(node, ()) if node.op not in ("placeholder", "output") else ()
            if deleted:
                statement += f";  {' = '.join(map(self.name, deleted))} = None"
            lines += statement.split("\n")
        if not lines:
            lines = ["pass"]  # a graph with no output
        body = [f"{line}\n" for line in lines]
        transform = self.codegen._body_transformer
        if transform is not None:
            body = transform(body)
        definition = self.codegen.gen_fn_def(self.inputs, self.return_annotation)
        root = tt.Tensor.__module__.partition(".")[0]
        wraps = "\n".join(f'{root}.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        code = "".join(f"    {line}\n" if line else "\n" for line in "".join(body).strip("\n").split("\n"))
        head = f"\n{wraps}\n\n{definition}\n"
        linenos: dict[int, int | None] = {count + 1: index for index, count in enumerate(counts)}
        return PythonCode(f"{head}{code[:-1]}\n    ", self.globals, linenos, head.count("\n"))

    # --- names ---

    def name(self, node: Node) -> str:
        """Return the name of a node in the code."""
        name = self.names.get(node)
        if name is None:
            name = self.names[node] = self.namespace.create_name(node.name, node)
        return name

    def add_global(self, hint: str, value: Any) -> str:
        """Return the name of a value in the code, a global unless it is tt's."""
        if _is_of_tt(value):
            return _get_qualified_name(value)
        name = self.namespace.create_name(hint.replace(".", "_"), value if _can_be_key(value) else None)
        if self.globals.get(name, value) is not value:
            name = self.namespace.create_name(f"{name}_1", None)
        self.globals[name] = value
        return name

    def annotation(self, kind: Any) -> str:
        """Return an annotation in the code."""
        if kind == ():  # in tuple[()]
            return "()"
        text = _type_repr(kind)
        origin = getattr(kind, "__origin__", None)
        if origin is not None and not isinstance(kind, type(None)):
            alias = self.add_global(_type_repr(origin), origin) if not text.startswith("typing.") else None
            if alias is None:
                # The forms of `typing` are named after themselves: typing.List[...] is List of typing.
                special = getattr(sys.modules["typing"], text.partition("[")[0].rpartition(".")[2], origin)
                alias = self.add_global(_type_repr(special), special)
            arguments = getattr(kind, "__args__", None)
            return f"{alias}[{','.join(map(self.annotation, arguments))}]" if arguments else alias
        return self.add_global(text, kind)

    # --- expressions ---

    def value(self, arg: Argument) -> str:
        """Return an argument in the code."""
        if isinstance(arg, Node):
            return self.name(arg)
        if isinstance(arg, tuple):
            if hasattr(arg, "_fields"):
                kind = self.add_global(_get_qualified_name(type(arg)), type(arg))
                fields = [f"{key} = {self.value(item)}" for key, item in zip(arg._fields, arg, strict=True)]
                return f"{kind}({', '.join(fields)})"
            return f"({', '.join(map(self.value, arg))}{',' if len(arg) == 1 else ''})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.value, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        if isinstance(arg, dict):
            return f"{{{', '.join(f'{key!r}: {self.value(item)}' for key, item in arg.items())}}}"
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(_get_qualified_name(type(arg)), type(arg))}.{arg.name}"
        if isinstance(arg, type) or (
            callable(arg) and hasattr(arg, "__name__") and not isinstance(arg, tt.Tensor)
        ):
            return self.add_global(_get_qualified_name(arg), arg)
        if isinstance(arg, range):
            return repr(arg)
        return repr(arg)

    def arguments(self, args: Sequence[Argument], kwargs: dict[str, Argument]) -> str:
        return ", ".join(
            [*map(self.value, args), *(f"{key} = {self.value(item)}" for key, item in kwargs.items())]
        )

    # --- statements ---

    def statement(self, node: Node) -> str | None:
        """Return the code of a node; None for an input that is used as it is."""
        annotation = "" if node.type is None else f" : {self.annotation(node.type)}"
        if self.verbose:
            annotation = self._shape_of(node) or annotation
        match node.op:
            case "placeholder":
                return self._input(node, annotation)
            case "output":
                if node.type is not None:
                    self.return_annotation = f" -> {self.annotation(node.type)}"
                return self._output(node.args[0])
            case "get_attr":
                return f"{self.name(node)}{annotation} = {_attribute(self.root, str(node.target))}"
            case "call_module":
                called = _attribute(self.root, str(node.target))
                return f"{self.name(node)}{annotation} = {called}({self.arguments(node.args, node.kwargs)})"
            case "call_method":
                called = _attribute(self.value(node.args[0]), str(node.target))
                return (
                    f"{self.name(node)}{annotation} = {called}({self.arguments(node.args[1:], node.kwargs)})"
                )
        return self._call(node, annotation)

    def _input(self, node: Node, annotation: str) -> str | None:
        target = str(node.target)
        default = f" = {self.value(node.args[0])}" if node.args else ""
        self.inputs.append(f"{target}{annotation}{default}")
        raw = target.lstrip("*")
        return None if raw == self.name(node) else f"{self.name(node)} = {raw}"

    def _output(self, value: Argument) -> str:
        written = self.codegen.generate_output
        if getattr(written, "__func__", None) in (CodeGen.generate_output, PyTreeCodeGen.generate_output):
            return written(value, repr_fn=self.value)
        # A class of the user's, which writes nodes by their repr.
        for node in self.nodes:
            node._repr_fn = self.name
        try:
            return written(value)
        finally:
            for node in self.nodes:
                node._repr_fn = None

    def _call(self, node: Node, annotation: str) -> str:
        target: Any = node.target
        module, own = getattr(target, "__module__", None), getattr(target, "__name__", "")
        if module == "_operator" and not node.kwargs:
            if own in magic_methods:
                return f"{self.name(node)}{annotation} = {magic_methods[own].format(*map(self.value, node.args))}"
            if own in inplace_methods:
                changed = inplace_methods[own].format(*map(self.value, node.args))
                return f"{changed};  {self.name(node)}{annotation} = {self.value(node.args[0])}"
        qualified = self.qualified.get(target)
        if qualified is None:
            qualified = self.qualified[target] = _get_qualified_name(target)
        if qualified == "getattr" and len(node.args) == 2 and not node.kwargs and _is_attribute(node.args[1]):
            self.add_global(qualified, target)
            return f"{self.name(node)}{annotation} = {_attribute(self.value(node.args[0]), node.args[1])}"
        called = self.add_global(qualified, target)
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(called)
        return f"{self.name(node)}{annotation} = {called}({self.arguments(node.args, node.kwargs)})"

    # --- what verbose code says besides ---

    def _about(self, node: Node) -> list[str]:
        """Return the comment before a node: the line of the program from which it comes, once for all its nodes."""
        if node.op in ("placeholder", "output"):
            return []
        trace = node.stack_trace
        if trace == self.last_trace:
            return []
        self.last_trace = trace
        if not trace:
            return ["", "# No stacktrace found for following nodes"]
        lines = [line.strip() for line in trace.strip().split("\n")]
        for index in range(len(lines) - 1, -1, -1):
            match = re.match(r'File "(.+)", line (\d+), in (.+)', lines[index])
            if match:
                source = lines[index + 1] if index + 1 < len(lines) else ""
                return ["", f"# File: {match.group(1)}:{match.group(2)} in {match.group(3)}, code: {source}"]
        return []

    def _shape_of(self, node: Node) -> str:
        value: Any = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
        if not hasattr(value, "dtype") or not hasattr(value, "shape"):
            return ""
        name = str(value.dtype).rpartition(".")[2]
        text = f"{_DTYPES.get(name, name)}[{', '.join(map(str, value.shape))}]"
        if self.include_stride:
            stride = value.stride() if callable(value.stride) else value.stride
            text += f"[{', '.join(map(str, stride))}]"
        if self.include_device and hasattr(value, "device"):
            text += str(value.device)
        return f': "{text}"'


_CODE_MODULES: Final[dict[str, Callable[[], Any]]] = {
    "torch": lambda: sys.modules.get("torch") if tt.Tensor.__module__.startswith("torch") else None,
    "fx_pytree": lambda: fx_pytree,
    "pytree": lambda: pytree,
}


def _can_be_key(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return value is not None


def _is_of_tt(value: Any) -> bool:
    """Return whether code reaches a value by its dotted name: what is public below tt."""
    if value is tt.device:
        return False  # a name of its own, as its repr writes it
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or (
        not module.startswith(("tt.", "torch.")) and module not in ("tt", "torch")
    ):
        return False
    if not hasattr(value, "__name__"):
        return False
    parent: Any = sys.modules.get(module.partition(".")[0])
    for part in _get_qualified_name(value).split(".")[1:]:
        parent = getattr(parent, part, None)
    return parent is value


def _is_attribute(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier()


def _attribute(base: str, target: str) -> str:
    """Return the expression for a dotted attribute; parts that are no names are read by `getattr`."""
    result = base
    for part in target.split("."):
        result = f"{result}.{part}" if part.isidentifier() else f'getattr({result}, "{part}")'
    return result


def _last_uses(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Return for each node the values that nothing uses after it, its own where nothing uses that at all."""
    seen: set[Node] = set()
    uses: dict[Node, list[Node]] = defaultdict(list)
    for node in reversed(nodes):
        for value in node._input_nodes:
            if value not in seen:
                seen.add(value)
                uses[node].append(value)
    for node in nodes:
        if not node.users and node.op not in ("placeholder", "output"):
            uses[node].append(node)
    return uses


# Functions that a node may call by a Python operator, for those who look them up by name.
reflectable_magic_methods: Final = {
    name: magic_methods[name]
    for name in (
        "add", "sub", "mul", "floordiv", "truediv", "div", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor",
        "getitem", "matmul",
    )
}  # fmt: skip


def code_of(graph: Graph, root_module: str, **options: bool) -> PythonCode:
    """Return the code of a graph."""
    return graph._codegen._gen_python_code(graph.nodes, root_module, Namespace(), **options)
