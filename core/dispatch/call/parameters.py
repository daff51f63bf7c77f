"""Parameters: what `OpOverload.fast_path` has to know of a signature; see Note [The fast path] in `callers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call import argument_kinds as q
from tt.core.dispatch.call import callers as c
from tt.core.dispatch.call.binding import takes_variadic_sizes
from tt.core.schema.model import MISSING, Argument, Type
from tt.core.types.promotion import WORD

if TYPE_CHECKING:
    from tt.core.dispatch.call.callers import OpOverload

__all__ = ["describe_parameters"]

_PLAIN: Final = {
    "int": q.INT,
    "bool": q.BOOL,
    "float": q.FLOAT,
    "Scalar": q.NUMBER,
    "dtype": q.DTYPE_OBJECT,
    "str": q.STRING,
}


def describe_parameters(caller: OpOverload) -> bytes:
    """Fill in the fields of a caller that `fast_path` reads, and return its kinds."""
    operator = caller.operator
    arguments = operator.arguments
    outs = operator.out_count if caller.form == "out" else 0
    steps = {position: (how, shift) for position, how, shift in operator.plan}
    shifts = [_shift(*steps[i]) if i in steps else -1 for i in range(len(arguments))]
    defaults = [q.NO_DEFAULT if d is MISSING else d for d in operator.defaults]
    shifts += [shift - WORD for shift in operator.out_shifts[:outs]]
    # In a wide signature `scan` makes the second word, so that no position counts here.
    caller.shifts = tuple(-1 if caller.wide and shift else shift for shift in shifts)
    caller.lengths = (*(_length(a.type) for a in arguments), *[0] * outs)
    caller.defaults = (*defaults, *[q.NO_DEFAULT] * outs)
    caller.tails = tuple(caller.defaults[count:] for count in range(len(caller.defaults) + 1))
    caller.required = outs + sum(a.default is MISSING for a in arguments)
    caller.positional = len(arguments) if outs else sum(not a.keyword_only for a in arguments)
    caller.positional += outs
    caller.variadic = -1
    if takes_variadic_sizes(operator.definition.signature):
        caller.variadic = next(i for i, a in enumerate(arguments) if a.type.list)
    caller.names = {a.name: i for i, a in enumerate(arguments)}
    caller.target_shift = operator.target_shift - WORD if caller.form == "inplace" and not caller.wide else 0
    # Defaults that promote with the tensors have to be looked at in every call.
    caller.looks_at_all = any(
        shift == 0 and default is not None and default is not q.NO_DEFAULT
        for shift, default in zip(shifts, defaults, strict=False)
    )
    # Last: another thread takes a caller with kinds as one that is described.
    kinds = caller.kinds = bytes([*map(_kind, arguments), *[q.TENSOR] * outs])
    return kinds


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
