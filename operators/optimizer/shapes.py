"""Shape rules of the steps of optimizers and of scales of losses: what their arguments must have in common."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Final

from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.shapes.registry import RuleTable
from tt.core.types.dtype import bfloat16, float16, float32, float64, int32

if TYPE_CHECKING:
    from tt.core.shapes.geometry import Shape
    from tt.core.types.dtype import dtype as Dtype

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
    third: Any,
    rule: str,
    numbers: Sequence[float],
    *,
    op: str,
) -> list[Any]:
    """Nothing; raises unless rule, lists and numbers fit together."""
    if rule not in FUSED_RULES:
        raise ValueRangeError(f"{op}(): rule must be one of {', '.join(FUSED_RULES)}, not {rule!r}")
    # Two numbers that every rule has come on top.
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
        # A state that the rule does not keep is an empty list.
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


# --- scales of losses ------------------------------------------------------------------------------------------

SCALED_DTYPES: Final = (float16, bfloat16, float32, float64)
"""The dtypes of gradients that can be unscaled."""


@rule("amp_unscale")
def amp_unscale(self: Any, found_inf: Any, inv_scale: Any, *, op: str) -> list[Any]:
    """Nothing; raises unless the gradients are real floating-point numbers, and the others single numbers."""
    for number, grad in enumerate(self):
        if grad.dtype not in SCALED_DTYPES:
            raise DtypeError(
                f"{op}(): self[{number}] is {grad.dtype}; gradients that can be unscaled are float16, bfloat16, "
                "float32 or float64"
            )
    _expect_number(op, "found_inf", found_inf, float32)
    _expect_number(op, "inv_scale", inv_scale, float32)
    return []


@rule("amp_update_scale")
def amp_update_scale(self: Any, growth_tracker: Any, found_inf: Any, *, op: str) -> Shape:
    """The shape of self; raises unless all are single numbers of the right dtype."""
    _expect_number(op, "self", self, float32)
    _expect_number(op, "growth_tracker", growth_tracker, int32)
    _expect_number(op, "found_inf", found_inf, float32)
    return tuple(self.shape)


def _expect_number(op: str, name: str, tensor: Any, dtype: Dtype) -> None:
    """Raise unless a tensor has one element of a dtype."""
    if prod(tensor.shape) != 1:
        raise ShapeError(f"{op}(): {name} must have one element, but it has the shape {list(tensor.shape)}")
    if tensor.dtype is not dtype:
        raise DtypeError(f"{op}(): {name} must be {dtype}, not {tensor.dtype}")
