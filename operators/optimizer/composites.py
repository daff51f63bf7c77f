"""Composites over lists of tensors: arithmetic, the steps of optimizers, and scales of losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.dispatch.registry.tables import CompositeTable
from tt.core.errors import DtypeError, ShapeError, ValueRangeError
from tt.core.types.dtype import bool_
from tt.core.types.dtype import dtype as Dtype
from tt.operators.helpers import python_value, widened
from tt.operators.optimizer.shapes import amp_unscale as check_amp_unscale
from tt.operators.optimizer.shapes import amp_update_scale as check_amp_update_scale
from tt.operators.optimizer.shapes import fused_rule as check_fused_rule

if TYPE_CHECKING:
    from tt.core.tensor.tensor import Tensor

composites: Final = CompositeTable()
composite = composites.composite

# --- tensor by tensor ------------------------------------------------------------------------------------------


def expect_lengths(op: str, lists: Sequence[Sequence[Any]], scalars: Tensor | None = None) -> None:
    """Raise unless lists of tensors, and a vector of numbers, are of one length, and not empty."""
    if scalars is not None and scalars.ndim != 1:
        raise ShapeError(
            f"{op}(): Expected packed scalar Tensor to be of dimension 1. Got {scalars.ndim} instead."
        )
    if scalars is not None and scalars.shape[0] != len(lists[0]):
        raise ShapeError(
            f"{op}(): Expected length of scalars to match input of length {len(lists[0])} but got "
            f"{scalars.shape[0]} instead."
        )
    for tensors in lists[1:]:
        if len(tensors) != len(lists[0]):
            raise ValueRangeError(
                f"{op}(): Tensor lists must have the same number of tensors, got {len(lists[0])} and {len(tensors)}"
            )
    if not lists[0]:
        raise ValueRangeError(f"{op}(): Tensor list must have at least one tensor.")


def _expect_numbers(op: str, tensors: Sequence[Any], numbers: Sequence[Any]) -> None:
    if len(tensors) != len(numbers):
        raise ValueRangeError(
            f"{op}(): Tensor list must have same number of elements as scalar list. "
            f"There are {len(tensors)} tensors and {len(numbers)} numbers"
        )


def _number_of(op: str, other: Tensor) -> Tensor:
    if other.ndim:
        raise ShapeError(
            f"{op}(): scalar tensor expected to be 0 dim but it has {other.ndim} dimensions and "
            f"{other.numel()} elements."
        )
    return other


def _numbers_of(scalars: Tensor) -> list[Any]:
    """Return the numbers that a vector holds."""
    # Without data (meta) any number serves: only shapes count.
    values = [python_value(number) for number in ops.unbind(scalars)]
    return [1 if value is None else value for value in values]


# Take a number in place of a tensor, and have in-place forms.
_WITH_NUMBERS: Final = {"maximum": "clamp_min", "minimum": "clamp_max"}
_SCALES: Final = ("alpha", "value", "memory_format", "non_blocking")
"""Arguments that are keywords of the operators on tensors, and the same for all of a list."""


def _define(name: str) -> None:
    """Define an operator that does to the tensors of lists what the operator of its name does to tensors."""
    definition = REGISTRY.operator(name).definition
    signature = definition.signature
    packet = signature.name
    function = packet.removeprefix("_foreach_")
    if signature.overload != "List" or packet.endswith("_"):
        function = _WITH_NUMBERS.get(function.rstrip("_"), function.rstrip("_")) + "_" * function.endswith(
            "_"
        )
    arguments = signature.arguments
    # What is different for each tensor, and what is the same for all.
    lists = [i for i, a in enumerate(arguments) if a.type.is_tensor and a.type.list]
    numbers = [i for i, a in enumerate(arguments) if a.type.base == "Scalar" and a.type.list]
    packed = [i for i, a in enumerate(arguments) if a.name == "scalars" and a.type.is_tensor]
    single = [i for i, a in enumerate(arguments) if a.name == "other" and not a.type.list]
    keywords = {i: a.name for i, a in enumerate(arguments) if a.name in _SCALES}
    if function.rstrip("_") in ("addcmul", "addcdiv"):
        keywords |= dict.fromkeys((*numbers, *packed), "value")

    def composed(*args: Any) -> list[Any]:
        op = getattr(ops, function)
        expect_lengths(packet, [args[i] for i in lists], args[packed[0]] if packed else None)
        count = len(args[lists[0]])
        columns = [args[i] if i in lists else repeat(args[i], count) for i in range(len(args))]
        for i in numbers:
            _expect_numbers(packet, args[lists[0]], args[i])
            columns[i] = args[i]
        for i in packed:
            columns[i] = _numbers_of(args[i])
        for i in single:
            _number_of(packet, args[i])
        return [
            op(
                *[value for i, value in enumerate(values) if i not in keywords],
                **{keyword: values[i] for i, keyword in keywords.items()},
            )
            for values in zip(*columns, strict=True)
        ]

    def inplace(*args: Any) -> None:
        composed(*args)

    composite(name, inplace if packet.endswith("_") else composed)


# Those whose names say which operator they apply; the others follow.
_OWN: Final = (
    "_foreach_add.Tensor",
    "_foreach_norm.Scalar",
    "_foreach_powsum.Scalar",
    "_foreach_max",
    "_foreach_mm",
)
for _name in tuple(REGISTRY.names()):
    if _name.startswith("_foreach_") and _name not in _OWN:
        _define(_name)


@composite("_foreach_add.Tensor")
def foreach_add_tensor(self: Sequence[Tensor], other: Tensor, alpha: Any) -> list[Any]:
    expect_lengths("_foreach_add", [self])
    _number_of("_foreach_add", other)
    # As a number, other lifts no dtype of its own kind, not even that of a tensor without dimensions.
    return [
        ops.add(tensor, other, alpha=alpha)
        if tensor.ndim
        else ops.squeeze(ops.add(ops.unsqueeze(tensor, 0), other, alpha=alpha))
        for tensor in self
    ]


@composite("_foreach_norm.Scalar")
def foreach_norm(self: Sequence[Tensor], ord: Any, dtype: Dtype | None) -> list[Any]:
    expect_lengths("_foreach_norm", [self])
    if ord == math.inf and any(0 in tensor.shape for tensor in self):
        raise ShapeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
            "identity"
        )
    return [ops.linalg_vector_norm(tensor, ord, dtype=dtype) for tensor in self]


@composite("_foreach_powsum.Scalar")
def foreach_powsum(self: Sequence[Tensor], ord: Any, dtype: Dtype | None) -> list[Any]:
    expect_lengths("_foreach_powsum", [self])
    for tensor in self:
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            raise DtypeError(
                f"_foreach_powsum(): powers of floating or complex tensors are added up, not of {tensor.dtype}"
            )
    return [_powers(tensor, ord, dtype) for tensor in self]


def _powers(tensor: Tensor, order: Any, dtype: Dtype | None) -> Tensor:
    sizes = ops.abs(tensor if dtype is None else ops._to_copy(tensor, dtype=dtype))
    return ops.sum(sizes if order == 1 else ops.pow(sizes, order))


@composite("_foreach_max")
def foreach_max(self: Sequence[Tensor]) -> list[Any]:
    expect_lengths("_foreach_max", [self])
    if any(0 in tensor.shape for tensor in self):
        raise ShapeError(
            "_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined."
        )
    return [ops.max(tensor) for tensor in self]


@composite("_foreach_mm")
def foreach_mm(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Any]:
    if not self and not mat2:
        raise ValueRangeError("_foreach_mm requires non-empty tensor lists")
    if len(self) != len(mat2):
        raise ValueRangeError("_foreach_mm: self and mat2 must have the same number of tensors")
    return [ops.mm(one, two) for one, two in zip(self, mat2, strict=True)]


# --- steps of optimizers ---------------------------------------------------------------------------------------
#
# As PyTorch's fused optimizers compute: in the dtype of the tensors, of half dtypes in float32.


def _stops(found_inf: Tensor | None) -> bool:
    """Return whether a gradient was found that is not finite, so that the step is left out."""
    return found_inf is not None and python_value(found_inf) == 1


def _scalar(value: Any) -> Any:
    """Return a learning rate or the number of a step as a Python number."""
    result = value if isinstance(value, bool | int | float | complex) else python_value(value)
    if isinstance(result, complex):
        raise DtypeError(f"a learning rate and the number of a step are real numbers, not {result}")
    # Without data (meta) any number serves: only shapes count.
    return 1.0 if result is None else result


def _gradient(
    param: Tensor, grad: Tensor, grad_scale: Tensor | None, maximize: bool, weight_decay: float
) -> Tensor:
    """Return the gradient with which a step is taken; unscaled in place."""
    if grad_scale is not None:
        # In place, as PyTorch's fused optimizers do: the program finds its gradients unscaled after the step.
        ops.copy_(grad, ops.div(widened(grad), _scalar(grad_scale)))
    grad = widened(grad)
    if maximize:
        grad = ops.neg(grad)
    return ops.add(grad, widened(param), alpha=weight_decay) if weight_decay else grad


@composite("_fused_sgd_")
def fused_sgd(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    weight_decay: float,
    momentum: float,
    lr: Any,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    expect_lengths("_fused_sgd_", [self, grads, *([momentum_buffer_list] if momentum else [])])
    if _stops(found_inf):
        return
    rate = _scalar(lr)
    for number, (param, raw) in enumerate(zip(self, grads, strict=True)):
        grad = _gradient(param, raw, grad_scale, maximize, weight_decay)
        if momentum:
            buffer = momentum_buffer_list[number]
            moved = (
                grad
                if is_first_step
                else ops.add(ops.mul(widened(buffer), momentum), grad, alpha=1 - dampening)
            )
            ops.copy_(buffer, moved)
            grad = ops.add(grad, moved, alpha=momentum) if nesterov else moved
        ops.copy_(param, ops.sub(widened(param), grad, alpha=rate))


def _adam(op: str, decoupled: bool) -> None:
    def step(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        lr: Any,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None,
        found_inf: Tensor | None,
    ) -> None:
        largest = [max_exp_avg_sqs] if amsgrad else []
        expect_lengths(op, [self, grads, exp_avgs, exp_avg_sqs, state_steps, *largest])
        if _stops(found_inf):
            return
        rate = _scalar(lr)
        for number, param in enumerate(self):
            grad = _gradient(param, grads[number], grad_scale, maximize, 0 if decoupled else weight_decay)
            start = widened(param)
            # AdamW shrinks the parameter itself; Adam has added the decay to the gradient.
            if decoupled and weight_decay:
                start = ops.mul(start, 1 - rate * weight_decay)
            count = _scalar(state_steps[number])
            first, second = widened(exp_avgs[number]), widened(exp_avg_sqs[number])
            first = ops.add(first, ops.sub(grad, first), alpha=1 - beta1)
            second = ops.add(ops.mul(second, beta2), ops.mul(grad, grad), alpha=1 - beta2)
            ops.copy_(exp_avgs[number], first)
            ops.copy_(exp_avg_sqs[number], second)
            if amsgrad:
                second = ops.maximum(widened(max_exp_avg_sqs[number]), second)
                ops.copy_(max_exp_avg_sqs[number], second)
            # Both averages start at 0; divided by 1 - beta^t they have no bias towards it.
            scale = math.sqrt(1 - beta2**count)
            divisor = ops.add(ops.div(ops.sqrt(second), scale), eps)
            ops.copy_(param, ops.addcdiv(start, first, divisor, value=-rate / (1 - beta1**count)))

    composite(op, step)


_adam("_fused_adam_", decoupled=False)
_adam("_fused_adamw_", decoupled=True)


@composite("_fused_adagrad_")
def fused_adagrad(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    lr: Any,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None,
    found_inf: Tensor | None,
) -> None:
    expect_lengths("_fused_adagrad_", [self, grads, state_sums, state_steps])
    if _stops(found_inf):
        return
    for param, raw, total, count in zip(self, grads, state_sums, state_steps, strict=True):
        rate = _scalar(lr) / (1 + (_scalar(count) - 1) * lr_decay)
        grad = _gradient(param, raw, grad_scale, maximize, weight_decay)
        summed = ops.add(widened(total), ops.mul(grad, grad))
        ops.copy_(total, summed)
        ops.copy_(param, ops.addcdiv(widened(param), grad, ops.add(ops.sqrt(summed), eps), value=-rate))


# --- steps by rule ---------------------------------------------------------------------------------------------
#
# Each returns parameter and states after the step.


def _moments(grad: Tensor, first: Any, second: Any, beta1: float, beta2: float) -> tuple[Any, Any]:
    square = ops.add(ops.mul(second, beta2), ops.mul(grad, grad), alpha=1 - beta2)
    return ops.lerp(first, grad, 1 - beta1), square


def _adamax(
    param: Tensor, grad: Any, states: Any, beta1: float, beta2: float, eps: float, rate: float
) -> Any:
    mean = ops.lerp(states[0], grad, 1 - beta1)
    # With eps inside of the maximum the divisor is never 0.
    largest = ops.maximum(ops.mul(states[1], beta2), ops.add(ops.abs(grad), eps))
    return ops.addcdiv(param, mean, largest, value=rate), mean, largest


def _nadam(
    param: Tensor, grad: Tensor, states: Sequence[Tensor | None],
    beta1: float, beta2: float, eps: float, bias: float, of_grad: float, of_mean: float,
) -> Any:  # fmt: skip
    mean, square = _moments(grad, states[0], states[1], beta1, beta2)
    divisor = ops.add(ops.sqrt(ops.div(square, bias)), eps)
    param = ops.addcdiv(param, grad, divisor, value=of_grad)
    return ops.addcdiv(param, mean, divisor, value=of_mean), mean, square


def _radam(
    param: Tensor,
    grad: Tensor,
    states: Sequence[Tensor | None],
    beta1: float,
    beta2: float,
    eps: float,
    plain: float,
    divided: float,
) -> Any:
    mean, square = _moments(grad, states[0], states[1], beta1, beta2)
    if divided:
        return ops.addcdiv(param, mean, ops.add(ops.sqrt(square), eps), value=divided), mean, square
    return ops.add(param, mean, alpha=plain), mean, square


def _adadelta(param: Tensor, grad: Any, states: Any, rho: float, eps: float, rate: float) -> Any:
    square = ops.add(ops.mul(states[0], rho), ops.mul(grad, grad), alpha=1 - rho)
    delta = ops.mul(ops.sqrt(ops.div(ops.add(states[1], eps), ops.add(square, eps))), grad)
    moved = ops.add(ops.mul(states[1], rho), ops.mul(delta, delta), alpha=1 - rho)
    return ops.add(param, delta, alpha=rate), square, moved


def _rmsprop(
    param: Tensor, grad: Any, states: Any, alpha: float, eps: float, rate: float, momentum: float
) -> Any:
    square = ops.add(ops.mul(states[0], alpha), ops.mul(grad, grad), alpha=1 - alpha)
    spread, mean = square, states[2]
    if mean is not None:
        mean = ops.lerp(mean, grad, 1 - alpha)
        spread = ops.sub(square, ops.mul(mean, mean))
    divisor = ops.add(ops.sqrt(spread), eps)
    if states[1] is None:
        return ops.addcdiv(param, grad, divisor, value=rate), square, None, mean
    velocity = ops.addcdiv(ops.mul(states[1], momentum), grad, divisor)
    return ops.add(param, velocity, alpha=rate), square, velocity, mean


def _rprop(param: Any, grad: Any, states: Any, shrink: float, grow: float, least: float, most: float) -> Any:
    before, size = states[:2]
    agreement = ops.mul(grad, before)
    turned = ops.lt(agreement, 0)
    grown = ops.where(ops.gt(agreement, 0), ops.mul(size, grow), size)
    size = ops.clamp(ops.where(turned, ops.mul(size, shrink), grown), least, most)
    # After a change of sign there is no step, and the next one counts as a first (PyTorch's Rprop).
    grad = ops.where(turned, ops.zeros_like(grad), grad)
    return ops.sub(param, ops.mul(ops.sign(grad), size)), grad, size


def _asgd(param: Tensor, grad: Tensor, states: Any, lambd: float, eta: float, mu: float) -> Any:
    param = ops.add(ops.mul(param, 1 - lambd * eta), grad, alpha=-eta)
    mean = param if mu == 1 else ops.add(states[0], ops.sub(param, states[0]), alpha=mu)
    return param, mean


FUSED: Final[dict[str, Callable[..., Any]]] = {
    "adamax": _adamax,
    "nadam": _nadam,
    "radam": _radam,
    "adadelta": _adadelta,
    "rmsprop": _rmsprop,
    "rprop": _rprop,
    "asgd": _asgd,
}


@composite("_fused_step_")
def fused_step(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    third: Any,
    rule: str,
    numbers: Sequence[float],
    maximize: bool,
) -> None:
    check_fused_rule(self, grads, first, second, third, rule, numbers, op="_fused_step_")
    decay, kept, *rest = numbers
    for number, param in enumerate(self):
        stored = [state[number] if state else None for state in (first, second, third)]
        grad = _gradient(param, grads[number], None, maximize, decay)
        start = widened(param) if kept == 1 else ops.mul(widened(param), kept)
        states = [None if state is None else widened(state) for state in stored]
        after = FUSED[rule](start, grad, states, *rest)
        for target, value in zip([param, *stored], after, strict=False):
            if target is not None and value is not None:
                ops.copy_(target, value)


# --- scales of losses ------------------------------------------------------------------------------------------
#
# Without reading a number: what is found decides by `where` on the device, and nobody waits for it.


@composite("_amp_foreach_non_finite_check_and_unscale_")
def amp_unscale(self: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    check_amp_unscale(self, found_inf, inv_scale, op="_amp_foreach_non_finite_check_and_unscale_")
    factor, overflows = ops.reshape(inv_scale, ()), ops.zeros_like(found_inf, dtype=bool_)
    for grad in self:
        overflows = ops.logical_or(overflows, ops.logical_not(ops.all(ops.isfinite(grad))))
        # Half precision would round the factor, too, which lies below float16's least number for a large scale.
        ops.copy_(grad, ops.mul(widened(grad), factor))
    ops.copy_(found_inf, ops.where(overflows, ops.ones_like(found_inf), found_inf))


@composite("_amp_update_scale_")
def amp_update_scale(
    self: Tensor,
    growth_tracker: Tensor,
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor:
    check_amp_update_scale(self, growth_tracker, found_inf, op="_amp_update_scale_")
    overflowed = ops.reshape(ops.ne(found_inf, 0), self.shape)
    tracker = ops.reshape(growth_tracker, self.shape)
    successful = ops.add(tracker, 1)
    grows = ops.logical_and(ops.eq(successful, growth_interval), ops.logical_not(overflowed))
    grown, shrunk = ops.mul(self, scale_growth_factor), ops.mul(self, scale_backoff_factor)
    # A scale that overflows would make every loss infinite, for good.
    grown = ops.where(ops.isfinite(grown), grown, self)
    kept = ops.where(ops.logical_or(overflowed, grows), ops.zeros_like(successful), successful)
    ops.copy_(growth_tracker, ops.reshape(kept, growth_tracker.shape))
    return ops.copy_(self, ops.where(overflowed, shrunk, ops.where(grows, grown, self)))
