"""Interpreters run graphs node by node; transformers make others of them."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import tt
from tests.api.fx.test_tracing import Block
from tt import fx
from tt.fx import traceback as fx_traceback


def test_an_interpreter_computes_what_the_module_does() -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(Block(), tt.nn.Tanh()))
    x = tt.randn(2, 3)
    assert tt.equal(fx.Interpreter(module).run(x), module(x))
    arguments = [x]
    assert tt.equal(fx.Interpreter(module).boxed_run(arguments), module(x))
    assert not arguments


def test_known_values_are_not_computed() -> None:
    module = fx.symbolic_trace(lambda x: tt.exp(x) + 1)
    exp = module.graph.find_nodes(op="call_function", target=tt.exp)[0]
    assert fx.Interpreter(module).run(tt.ones(1), initial_env={exp: tt.zeros(1)}).tolist() == [1.0]


def test_values_go_after_their_last_use() -> None:
    kept: list[Any] = []

    class Watching(fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            result = super().call_function(target, args, kwargs)
            kept.append(weakref.ref(result))
            gc.collect()
            self.alive = [reference() is not None for reference in kept]
            return result

    interpreter = Watching(fx.symbolic_trace(lambda x: tt.sin(tt.exp(tt.neg(x)))))
    interpreter.run(tt.ones(2))
    assert interpreter.alive == [False, True, True]


def test_defaults_and_missing_arguments() -> None:
    module = fx.symbolic_trace(lambda x, y=2: x + y)
    assert fx.Interpreter(module).run(1) == 3
    with pytest.raises(
        RuntimeError, match="Expected positional argument for parameter x, but one was not passed in"
    ):
        fx.Interpreter(module).run()


def test_errors_say_which_node_was_executed() -> None:
    module = fx.symbolic_trace(lambda x: x.nothing())
    with pytest.raises(AttributeError, match="While executing %nothing"):
        fx.Interpreter(module).run(tt.ones(1))


def test_containers_are_taken_apart_as_the_module_does() -> None:
    module = fx.symbolic_trace(
        lambda x: {"sum": x["a"] + x["b"]}, concrete_args={"x": {"a": fx.PH, "b": fx.PH}}
    )
    assert fx.Interpreter(module).run({"a": 1, "b": 2}) == module({"a": 1, "b": 2}) == {"sum": 3}


def test_a_transformer_exchanges_functions_and_keeps_what_is_known() -> None:
    class NegToExp(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(tt.exp if target is tt.neg else target, args, kwargs)

    module = fx.symbolic_trace(lambda x: tt.neg(x) + 1)
    for node in module.graph.nodes:
        node.meta["note"] = node.name
    new = NegToExp(module).transform()
    assert new(tt.zeros(1)).tolist() == [2.0]
    assert [node.meta["note"] for node in new.graph.nodes if node.op == "call_function"] == ["neg", "add"]
    assert module(tt.zeros(1)).tolist() == [1.0]


def test_what_is_known_of_a_node_is_there_while_it_runs() -> None:
    module = fx.symbolic_trace(lambda x: x + 1)
    module.graph.find_nodes(
        op="call_function", target=next(iter(module.graph.find_nodes(op="output"))).args[0].target
    )[0].meta["note"] = "here"
    seen: list[Any] = []

    class Watching(fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            seen.append(fx_traceback.get_current_meta().get("note"))
            return super().call_function(target, args, kwargs)

    Watching(module).run(1)
    with fx_traceback.preserve_node_meta():
        Watching(module).run(1)
    assert seen == [None, "here"]
    assert not fx_traceback.has_preserved_node_meta()
