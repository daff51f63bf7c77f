"""Graphs are cut into submodules that compute the same."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tests.api.fx.test_tracing import Block
from tt import fx
from tt.fx.passes.split_module import split_module


def test_parts_compute_what_the_whole_does() -> None:
    module = fx.symbolic_trace(tt.nn.Sequential(Block(), tt.nn.ReLU(), Block(), tt.nn.Linear(3, 2)))
    x = tt.randn(2, 3)
    calls = [node for node in module.graph.nodes if node.op.startswith("call")]
    for size in (1, 3, len(calls)):
        numbers = {node: index // size for index, node in enumerate(calls)}
        names: dict[str, str] = {}
        parts = split_module(module, module, numbers.__getitem__, names)
        assert tt.equal(parts(x), module(x))
        parts.graph.lint()
        for new, old in names.items():
            assert parts.get_submodule(new.rpartition(".")[0]) is not None and old


def test_parts_with_several_results_and_none() -> None:
    def program(x: Any, y: Any) -> Any:
        a, b = x + 1, y * 2
        return a * b, a - b, x

    module = fx.symbolic_trace(program)
    parts = split_module(module, module, lambda node: 0 if node.name in ("add", "mul") else 1)
    assert parts(3, 4) == module(3, 4) == (32, -4, 3)


def test_parts_that_need_each_other_are_refused() -> None:
    module = fx.symbolic_trace(lambda x: tt.neg(tt.exp(tt.neg(x))))
    with pytest.raises(RuntimeError, match="cycle exists between partitions"):
        split_module(module, module, lambda node: int(node.name == "exp"))
