"""Patterns are found wherever they occur, and replaced where nothing outside needs what they have inside."""

from __future__ import annotations

from typing import Any

import pytest

import tt
from tt import fx
from tt.fx.subgraph_rewriter import replace_pattern_with_filters


def relu_of_sum(a: Any, b: Any) -> Any:
    return tt.relu(a + b)


def difference(a: Any, b: Any) -> Any:
    return tt.abs(a - b)


def test_every_occurrence_is_replaced() -> None:
    module = fx.symbolic_trace(lambda x, y: relu_of_sum(relu_of_sum(x, y), y) * relu_of_sum(y, 2))
    matches = fx.replace_pattern(module, relu_of_sum, difference)
    assert len(matches) == 3
    x, y = tt.tensor(5.0), tt.tensor(3.0)
    assert module(x, y).item() == abs(abs(5 - 3) - 3) * abs(3 - 2)
    assert not module.graph.find_nodes(op="call_function", target=tt.relu)
    module.graph.lint()


def test_values_that_are_used_elsewhere_are_not_taken_away() -> None:
    def program(x: Any, y: Any) -> Any:
        total = x + y
        return tt.relu(total) + total

    module = fx.symbolic_trace(program)
    assert fx.replace_pattern(module, relu_of_sum, difference) == []
    assert module(1, tt.tensor(2.0)).item() == 6


def test_literals_must_agree_unless_they_are_ignored() -> None:
    module = fx.symbolic_trace(lambda x: tt.sum(x, dim=1) + tt.sum(x, dim=0))
    assert len(fx.replace_pattern(module, lambda x: tt.sum(x, dim=1), lambda x: tt.mean(x, dim=1))) == 1
    assert module.code.count("tt.mean") == 1
    replaced = replace_pattern_with_filters(
        module, lambda x: tt.sum(x, dim=5), lambda x: tt.amax(x, dim=0), ignore_literals=True
    )
    assert len(replaced) == 1 and replaced[0].replacements[0].target is tt.amax


def test_filters_and_callbacks_decide() -> None:
    module = fx.symbolic_trace(lambda x, y: relu_of_sum(x, 1) + relu_of_sum(x, y))

    def second_is_input(match: Any, graph: fx.Graph, pattern: fx.Graph) -> bool:
        return (
            all(isinstance(node, fx.Node) and node.op == "placeholder" for node in match.placeholder_nodes)
            and len(match.placeholder_nodes) == 2
        )

    replaced = replace_pattern_with_filters(module, relu_of_sum, difference, [second_is_input])
    assert len(replaced) == 1
    with pytest.raises(ValueError, match="takes one of replacement and replacement_callback"):
        replace_pattern_with_filters(module, relu_of_sum)


def test_several_outputs_and_an_identity() -> None:
    module = fx.symbolic_trace(lambda x: (tt.sin(x) + tt.cos(x), tt.neg(tt.neg(x))))
    both = fx.replace_pattern(module, lambda x: (tt.sin(x), tt.cos(x)), lambda x: (x, x))
    assert len(both) == 1
    assert len(fx.replace_pattern(module, lambda x: tt.neg(tt.neg(x)), lambda x: x)) == 1
    assert [float(value) for value in module(tt.tensor(3.0))] == [6.0, 3.0]


def test_replacements_bring_their_modules() -> None:
    class Scale(tt.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tt.nn.Parameter(tt.tensor(3.0))
            self.act = tt.nn.Tanh()

        def forward(self, x: tt.Tensor) -> tt.Tensor:
            return self.act(x) * self.factor

    module = fx.symbolic_trace(lambda x: tt.relu(x) + 1)
    fx.replace_pattern(module, lambda x: tt.relu(x), fx.symbolic_trace(Scale()))
    assert isinstance(module.act, tt.nn.Tanh)
    assert module(tt.zeros(1)).tolist() == [1.0]
    assert "factor" in module.state_dict() or isinstance(module.factor, tt.nn.Parameter)
