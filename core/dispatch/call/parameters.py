"""Parameters: a signature prepared for `OpOverload.fast_path`; see Note [The fast path] in `op_overload`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call import argument_kinds as q
from tt.core.dispatch.call import codes as c
from tt.core.dispatch.call.binding import takes_variadic_sizes
from tt.core.dispatch.call.signature_plan import SignaturePlan
from tt.core.schema.model import MISSING, Argument, Type
from tt.core.schema.number_ranges import range_places
from tt.core.types.promotion import LAST_SHIFT, WORD

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator

__all__ = ["make_plan"]

_PLAIN: Final = {
    "int": q.INT,
    "bool": q.BOOL,
    "float": q.FLOAT,
    "Scalar": q.NUMBER,
    "dtype": q.DTYPE_OBJECT,
    "str": q.STRING,
}


def make_plan(operator: Operator, form: str) -> SignaturePlan:
    """Return the plan of a form: "out", or "functional" for that and the in-place form."""
    plan = SignaturePlan()
    arguments = operator.arguments
    outs = operator.out_count if form == "out" else 0
    steps = {position: (how, shift) for position, how, shift in operator.steps}
    shifts = [_shift(*steps[i]) if i in steps else -1 for i in range(len(arguments))]
    defaults = [q.NO_DEFAULT if d is MISSING else d for d in operator.defaults]
    # Defaults that promote with the tensors have to be looked at in every call.
    plan.looks_at_all = any(
        shift == 0 and default is not None and default is not q.NO_DEFAULT
        for shift, default in zip(shifts, defaults, strict=True)
    )
    shifts += [shift - WORD for shift in operator.out_shifts[:outs]]
    plan.steps = tuple((at, how, max(shift - WORD, 0)) for at, how, shift in operator.steps)
    plan.steps += tuple((len(arguments) + i, c.OTHER_TENSOR, shifts[len(arguments) + i]) for i in range(outs))
    plan.wide = max([*shifts, operator.target_shift - WORD]) > LAST_SHIFT
    # In a wide signature `scan` makes the second word, so that no position counts here.
    plan.shifts = tuple(-1 if plan.wide and shift else shift for shift in shifts)
    plan.lengths = (*(_length(a.type) for a in arguments), *[0] * outs)
    plan.defaults = (*defaults, *[q.NO_DEFAULT] * outs)
    plan.tails = tuple(plan.defaults[count:] for count in range(len(plan.defaults) + 1))
    plan.required = outs + sum(a.default is MISSING for a in arguments)
    plan.positional = len(arguments) if outs else sum(not a.keyword_only for a in arguments)
    plan.positional += outs
    plan.variadic = -1
    if takes_variadic_sizes(operator.definition.signature):
        plan.variadic = next(i for i, a in enumerate(arguments) if a.type.list)
    plan.names = {a.name: i for i, a in enumerate(arguments)}
    ranged = {place for place, _ in range_places(operator.definition)}
    flags = [q.IN_RANGE if place in ranged else 0 for place in range(len(arguments))]
    plan.kinds = bytes(
        [*(_kind(a) | flag for a, flag in zip(arguments, flags, strict=True)), *[q.TENSOR] * outs]
    )
    plan.leading = _leading(operator)
    plan.ranged = bool(ranged)
    plan.tail = operator.defaults[plan.leading :]
    return plan


def _leading(operator: Operator) -> int:
    """Return with how many tensors a call may do: 1 or 2, if all arguments behind have defaults; else 0."""
    tensors = [a.type.is_tensor and not a.type.list and not a.type.optional for a in operator.arguments]
    count = 2 if tensors[:2] == [True, True] else int(tensors[:1] == [True])
    while count and any(default is MISSING for default in operator.defaults[count:]):
        count -= 1
    return count


def _shift(how: int, shift: int) -> int:
    if how in (c.GROUP_TENSOR, c.GROUP_LIST, c.SCALAR_IN_GROUP):
        return 0
    return shift - WORD if shift else -1


def _length(type_: Type) -> int:
    if type_.is_tensor:
        return -1 if type_.element_optional else 0
    return type_.size or 0


def _kind(argument: Argument) -> int:
    type_ = argument.type
    kind = _kind_of(type_)
    return kind | q.NONE_TAKEN if type_.optional else kind


def _kind_of(type_: Type) -> int:
    if type_.choices or type_.items:
        return q.UNUSUAL
    if type_.is_tensor and type_.list:
        return q.UNUSUAL if type_.or_scalar or type_.size is not None else q.TENSORS
    if type_.is_tensor:
        return q.OPERAND if type_.or_scalar else q.TENSOR
    if type_.list:
        return q.SIZES if type_.base == "int" and not type_.element_optional else q.UNUSUAL
    found: Any = _PLAIN.get(type_.base, q.UNUSUAL)
    return int(found)
