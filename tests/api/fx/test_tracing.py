"""Tracing: what becomes a node, what is done at once, and what is refused with the line of the program."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import tt
from tests.api.fx.programs import asserting
from tt import fx
from tt.fx.proxy import TraceError


@fx.wrap
def clip(x: Any, low: float) -> Any:
    return x if x > low else low


fx.wrap("len")


class Block(tt.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = tt.nn.Linear(3, 3)
        self.weight = tt.nn.Parameter(tt.ones(3))
        self.register_buffer("shift", tt.zeros(3))
        self.constant = tt.arange(3.0)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        return self.linear(x) * self.weight + self.shift + self.constant + self.weight.sum()


def test_a_traced_module_computes_what_the_module_does() -> None:
    module = tt.nn.Sequential(Block(), tt.nn.ReLU(), Block())
    traced, x = fx.symbolic_trace(module), tt.randn(2, 3)
    assert tt.equal(traced(x), module(x))
    assert {name for name, _ in traced.named_parameters()} == {name for name, _ in module.named_parameters()}
    traced(x).sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())  # they are the same


def test_parameters_that_meet_no_input_are_traced_too() -> None:
    traced = fx.symbolic_trace(Block())
    with tt.no_grad():
        before = traced(tt.ones(1, 3))
        traced.weight += 1
        assert not tt.equal(traced(tt.ones(1, 3)), before)
    assert traced.graph.find_nodes(op="call_method", target="sum")


def test_modules_read_their_members_as_before_once_tracing_is_over() -> None:
    module = Block()
    fx.symbolic_trace(module)
    assert isinstance(module.weight, tt.nn.Parameter)
    assert (
        "__getattr__" not in vars(tt.nn.Module)
        or tt.nn.Module.__getattr__ is tt.nn.Module.__mro__[1].__getattr__
    )
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        module.nothing  # noqa: B018

    def fail(x: Any) -> Any:
        raise RuntimeError("in the program")

    with pytest.raises(RuntimeError, match="in the program"):
        fx.symbolic_trace(fail)
    assert isinstance(module(tt.ones(1, 3)), tt.Tensor)
    assert not fx._symbolic_trace.is_fx_tracing()


@pytest.mark.parametrize(("program", "match"), [
    (lambda x: x if x.sum() > 0 else -x, "inputs to control flow"),
    (lambda x: list(x), "cannot be iterated"),
    (lambda x: max(*x), "cannot be iterated"),
    (lambda x: 1 if not x else 2, "inputs to control flow"),
])  # fmt: skip
def test_what_depends_on_a_value_is_refused_with_its_line(program: Any, match: str) -> None:
    with pytest.raises(TraceError, match=match) as error:
        fx.symbolic_trace(program)
    assert isinstance(error.value, ValueError)
    assert __file__.rpartition("/")[2] in str(error.value)


def test_other_things_that_cannot_be_traced() -> None:
    with pytest.raises(TypeError):
        fx.symbolic_trace(lambda x: int(x))
    with pytest.raises(NotImplementedError, match="argument of type: <class 'object'>"):
        fx.symbolic_trace(lambda x: x.add(object()))
    with pytest.raises(RuntimeError, match="Keys for dictionaries used as an argument cannot contain a Node"):
        fx.symbolic_trace(lambda x: {x: 1})
    with pytest.raises(AssertionError, match="takes a module or a function"):
        fx.symbolic_trace(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        x = fx.Proxy(fx.Graph().placeholder("x"))
        x.__len__()


def test_values_that_are_no_tensors_are_unpacked_by_their_number() -> None:
    def program(x: Any) -> Any:
        a, b, c = x.split(2)
        (d, e), f = x.chunk(2), x.shape
        return a + c, b, d, e, f

    traced, x = fx.symbolic_trace(program), tt.arange(6)
    assert [tuple(r.tolist() if isinstance(r, tt.Tensor) else r) for r in traced(x)] == [
        (4, 6), (2, 3), (0, 1, 2), (3, 4, 5), (6,)
    ]  # fmt: skip


def test_wrapped_functions_become_nodes_where_they_meet_a_proxy() -> None:
    traced = fx.symbolic_trace(lambda x: clip(x, 2) + clip(1, 3) + len(x.shape) + math.sqrt(x.size(0)))
    targets = [node.target for node in traced.graph.nodes if node.op == "call_function"]
    assert clip in targets and len in targets and math.sqrt in targets
    assert traced.graph.find_nodes(op="call_function", target=clip)[0].args[1] == 2
    assert "wrap(" in traced.code
    assert callable(len) and len([1]) == 1  # what it was
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap(clip)
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


def test_asserts_are_recorded_where_the_tracer_says_so() -> None:
    class Asserting(fx.Tracer):
        trace_asserts = True

    graph = Asserting().trace(asserting)
    module = fx.GraphModule({}, graph)
    assert module(tt.ones(1)).item() == 1
    with pytest.raises(AssertionError):
        module(-tt.ones(1))
    with pytest.raises(TraceError):
        fx.symbolic_trace(asserting)


def test_concrete_arguments_are_constants_that_calls_must_have() -> None:
    def program(x: Any, scale: float = 1.0, names: Any = None, flag: bool = True) -> Any:
        return x * scale if flag else x["a"]

    traced = fx.symbolic_trace(program, concrete_args={"flag": True, "names": None})
    assert traced(2, 3) == 6
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        traced(2, 3, None, False)
    tree = fx.symbolic_trace(program, concrete_args={"x": {"a": fx.PH, "b": fx.PH}, "flag": False})
    assert tree({"a": 1, "b": 2}, 3, None, False) == 1
    with pytest.raises(ValueError, match="the function has no argument shape"):
        fx.symbolic_trace(program, concrete_args={"shape": 1})


def test_classes_of_arguments() -> None:
    class Pair(NamedTuple):
        left: Any
        right: Any

    @dataclass
    class Box:
        value: Any
        other: Any = None

    def program(x: Any) -> Any:
        return Pair(x, 1), Box(x + 1), tt.stack([x, x])[..., 0], x[{"a": slice(0, 1)}["a"]]

    pair, box, stacked, part = fx.symbolic_trace(program)(tt.arange(2))
    assert isinstance(pair, Pair) and pair.right == 1 and pair.left.tolist() == [0, 1]
    assert isinstance(box, Box) and box.value.tolist() == [1, 2] and box.other is None
    assert (stacked.tolist(), part.tolist()) == ([0, 0], [0])


def test_a_tracer_chooses_leaves_and_arguments() -> None:
    class Whole(fx.Tracer):
        def is_leaf_module(self, m: tt.nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, Block)

    module = tt.nn.Sequential(Block(), tt.nn.Linear(3, 1))
    graph = Whole().trace(module)
    assert [(node.op, node.target) for node in graph.nodes if node.op != "get_attr"] == [
        ("placeholder", "input"),
        ("call_module", "0"),
        ("call_function", tt.nn.functional.linear),
        ("output", "output"),
    ]
    assert tt.equal(fx.GraphModule(module, graph)(tt.ones(1, 3)), module(tt.ones(1, 3)))


def test_shapes_of_parameters_are_constants_on_request() -> None:
    class Sized(tt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tt.nn.Parameter(tt.ones(4, 2))

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            if self.weight.shape[0] > 3 and self.weight.dim() == 2 and self.weight.numel() == 8:
                return x @ self.weight
            return x

    with pytest.raises(TraceError):
        fx.symbolic_trace(Sized())
    module = Sized()
    tracer = fx.Tracer(param_shapes_constant=True)
    assert fx.GraphModule(module, tracer.trace(module))(tt.ones(1, 4)).tolist() == [[4.0, 4.0]]


def test_nodes_say_which_module_and_line_made_them() -> None:
    tracer = fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(tt.nn.Sequential(Block()))
    node = graph.find_nodes(op="call_module", target="0.linear")[0]
    assert [path for path, _ in node.meta["nn_module_stack"].values()] == ["0", "0.linear"]
    assert "self.linear(x)" in (node.stack_trace or "")
    assert "# File: " in graph.python_code("self", verbose=True).src


def test_other_threads_run_modules_after_a_trace() -> None:
    module, x = Block(), tt.ones(1, 3)
    fx.symbolic_trace(module)
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(module(x).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [module(x).tolist()] * 4
