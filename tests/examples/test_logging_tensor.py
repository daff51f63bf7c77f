"""The tensor that logs writes down the calls that reach kernels, and computes as a plain tensor."""

from __future__ import annotations

import numpy as np

import tt
from tt.examples.logging_tensor.tensor import LoggingMode, LoggingTensor, Transcript


def test_a_program_and_its_backward_pass_are_written_down() -> None:
    x = LoggingTensor(tt.tensor([1.0, 2.0])).requires_grad_()
    y = (x.exp() * 3).sum()
    assert str(x.transcript) == "$1 = exp($0)\n$2 = mul($1, 3)\n$3 = sum($2)"
    forward = len(x.transcript.lines)
    y.backward()
    assert x.transcript.lines[forward:] == [
        "$4 = ones_like($3)", "$5 = expand($4, (2,))", "$6 = mul($5, 3)", "$8 = mul($6, $7)",
    ]  # fmt: skip
    np.testing.assert_allclose(x.grad.elem.numpy(), 3 * np.exp([1.0, 2.0]), rtol=1e-6)


def test_changes_in_place_are_written_down() -> None:
    x = LoggingTensor(tt.zeros(2))
    x.add_(1).mul_(tt.full((2,), 4.0))
    assert x.transcript.lines == ["$0 = add_($0, 1)", "$0 = mul_($0, $1)"] and x.elem.tolist() == [4.0, 4.0]


def test_several_results_and_lists() -> None:
    x = LoggingTensor(tt.tensor([[3.0, 1.0], [2.0, 5.0]]))
    values, indices = x.max(1)
    parts = x.split(1)
    assert x.transcript.lines[0] == "($1, $2) = max($0, 1)" and type(indices) is LoggingTensor
    assert x.transcript.lines[1] == "($3, $4) = split($0, 1)" and len(parts) == 2
    assert values.elem.tolist() == [3.0, 5.0]


def test_the_mode_writes_down_what_plain_tensors_do() -> None:
    with LoggingMode() as mode:
        x = tt.ones(2, requires_grad=True)
        (x * 2).sum().backward()
    assert mode.transcript.lines == [
        "$0 = ones((2,))", "$1 = mul($0, 2)", "$2 = sum($1)", "$3 = ones_like($2)", "$4 = expand($3, (2,))",
        "$5 = mul($4, 2)", "$6 = clone($5)",
    ]  # fmt: skip


def test_numbers_are_not_given_again() -> None:
    transcript = Transcript()
    first = tt.ones(1)
    assert transcript.number(first) == "$0" == transcript.number(first)
    names = {transcript.number(tt.ones(1)) for _ in range(50)}
    assert len(names) == 50 and "$0" not in names


def test_it_prints_what_is_inside() -> None:
    assert repr(LoggingTensor(tt.tensor([1, 2]))) == "LoggingTensor(tensor([1, 2]))"
