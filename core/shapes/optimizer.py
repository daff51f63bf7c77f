"""Shape rules of the steps of optimizers: what their lists must have in common."""

from __future__ import annotations

from typing import Any

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
