"""Shape rules of the steps of optimizers: what their lists must have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.registry import RuleTable

rule = RuleTable()


@rule("fused_step")
def fused_step(
    self: Any,
    grads: Any,
    momentum_buffer_list: Any = (),
    exp_avgs: Any = (),
    exp_avg_sqs: Any = (),
    max_exp_avg_sqs: Any = (),
    state_sums: Any = (),
    *,
    op: str,
) -> list[Any]:
    """Nothing; raises unless every list that is given has a tensor of the shape and dtype of each parameter."""
    others = {
        "grads": grads,
        "momentum_buffer_list": momentum_buffer_list,
        "exp_avgs": exp_avgs,
        "exp_avg_sqs": exp_avg_sqs,
        "max_exp_avg_sqs": max_exp_avg_sqs,
        "state_sums": state_sums,
    }
    return _expect_alike(op, self, others)


FUSED_RULES: Final = {"adamax": 4, "nadam": 6, "radam": 5, "adadelta": 3, "rmsprop": 4, "rprop": 4, "asgd": 3}
"""The number of numbers that a rule takes in addition to the two factors of the parameters."""

FUSED_STATES: Final = {
    "adamax": 2,
    "nadam": 2,
    "radam": 2,
    "adadelta": 2,
    "rmsprop": 1,
    "rprop": 2,
    "asgd": 1,
}
"""The number of lists of states that a rule requires."""


@rule("fused_rule")
def fused_rule(
    self: Any,
    grads: Any,
    first: Any,
    second: Any,
    third: Sequence[float],
    rule: str,
    numbers: Sequence[float],
    *,
    op: str,
) -> list[Any]:
    """Nothing; raises unless rule, lists and numbers fit together."""
    if rule not in FUSED_RULES:
        raise ValueRangeError(f"{op}(): rule must be one of {', '.join(FUSED_RULES)}, not {rule!r}")
    if len(numbers) != FUSED_RULES[rule] + 2:
        raise ValueRangeError(f"{op}(): {rule} has {FUSED_RULES[rule] + 2} numbers, got {len(numbers)}")
    states = {"first": first, "second": second, "third": third}
    for name in list(states)[: FUSED_STATES[rule]]:
        if not states[name]:
            raise ValueRangeError(f"{op}(): {rule} needs the list {name}")
    return _expect_alike(op, self, {"grads": grads, **states})


def _expect_alike(op: str, self: Any, others: dict[str, Any]) -> list[Any]:
    """Return nothing; raise unless each list has a tensor of the shape and dtype of each parameter."""
    if not self:
        raise ValueRangeError(f"{op}(): tensor list must have at least one tensor")
    for name, tensors in others.items():
        if not tensors and name != "grads":
            continue
        if len(tensors) != len(self):
            raise ValueRangeError(
                f"{op}(): tensor lists must have the same number of tensors: there are {len(self)} parameters, and "
                f"{len(tensors)} in {name}"
            )
        for number, (param, tensor) in enumerate(zip(self, tensors, strict=True)):
            if tuple(param.shape) != tuple(tensor.shape):
                raise ShapeError(
                    f"{op}(): {name}[{number}] has the shape {list(tensor.shape)}, and its parameter has "
                    f"{list(param.shape)}"
                )
            if param.dtype is not tensor.dtype:
                raise DtypeError(
                    f"{op}(): {name}[{number}] is {tensor.dtype}, and its parameter {param.dtype}"
                )
    return []
