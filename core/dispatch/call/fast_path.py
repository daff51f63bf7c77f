"""The fast path: calls whose arguments need no conversion, and the keys and bits of calls.

This is a hot module: plain Python that Cython compiles with the C types of `fast_path.pxd`.

Note [The fast path]
--------------------
Most calls give each parameter a value of the exact type in the schema.  `fast_path` checks the types, adds the defaults
and makes keys and bits on the way, without calling any Python function.  It returns FALL_THROUGH for calls that need a
conversion, an error, a mode or an override, and `OpOverload.general` takes these.  It accepts only arguments that the
binder would accept unchanged, so both paths give the same results.

The first call of a combination is resolved here, too: an operator that is only called like this needs no binder, whose
code would have to be compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.argument_kinds import ABSENT, FALL_THROUGH
from tt.core.dispatch.call.cached_call import EMPTY
from tt.core.dispatch.call.call_cache import CallCache
from tt.core.dispatch.call.signature_plan import SignaturePlan
from tt.core.schema.number_ranges import refuse_out_of_range
from tt.core.tensor import blank
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import LAST_SHIFT, SCALAR_WORDS, WORD, numbered
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator

SCALARS = SCALAR_WORDS

# The bit of tensors whose class has `__tt_function__`.
OVERRIDDEN = FUNCTION


class FastPath(CallCache):
    """The part of an `OpOverload` that reads arguments without converting any.

    Attributes
    ----------
    plan : SignaturePlan
        The arguments according to the signature.
    leading : int
        The number of tensors of the shortest call, as in the plan; 0 for forms other than the functional one.
    target_shift : int
        Position of the target's dtype in the second word of the bits; 0 for forms other than the in-place one.
    ranged_operand : bool
        Whether the second argument has to be in the range of the dtype where it is a number.
    functional : bool
        Whether the form is the functional one.
    out_overload : FastPath or None
        The form with `out=`, after its first call.
    home : int
        The keys of a call without tensors on the CPU when no other default device is set; 0: not known yet.
    """

    plan: SignaturePlan
    leading: int
    target_shift: int
    ranged_operand: bool
    functional: bool
    out_overload: FastPath | None
    home: int

    def __init__(self, operator: Operator, form: str, plan: SignaturePlan) -> None:
        self.operator = operator
        self.form = form
        self.last = EMPTY
        self.tables = {}
        self.generation = 0
        self.plan = plan
        self.functional = form == "functional"
        self.leading = plan.leading if self.functional else 0
        self.target_shift = operator.target_shift - WORD if form == "inplace" else 0
        self.ranged_operand = len(plan.kinds) > 1 and plan.kinds[1] & codes.IN_RANGE != 0
        self.out_overload = None
        self.home = 0

    def scan(self, args: tuple[Any, ...]) -> tuple[int, int, int]:
        """Return the keys and the two words of level-2 bits of a full argument tuple."""
        keys = 0
        bits = 0
        positions = 0
        place = 0
        beyond: Any = [] if self.plan.wide else None
        for at, how, shift in self.plan.steps:
            value = args[at]
            if value is None:
                continue
            if how == codes.GROUP_TENSOR:
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor._keys
                    bits |= tensor._promotion
                else:
                    positions |= SCALARS[type(value)]
            elif how == codes.OTHER_TENSOR:
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor._keys
                    code = tensor._spec.code + 1
                    if shift > LAST_SHIFT:
                        beyond.append((code, shift))
                    else:
                        positions |= code << shift
            elif how == codes.GROUP_LIST or how == codes.OTHER_LIST:
                for item in value:
                    if isinstance(item, TensorBase):
                        tensor = item
                        keys |= tensor._keys
                        if how == codes.GROUP_LIST:
                            bits |= tensor._promotion
                        elif shift != 0:  # the first one of the list decides
                            code = tensor._spec.code + 1
                            if shift > LAST_SHIFT:
                                beyond.append((code, shift))
                            else:
                                positions |= code << shift
                            shift = 0
            elif how == codes.SCALAR_IN_GROUP:
                positions |= SCALARS[type(value)]
            elif how == codes.DTYPE:
                code = value.code + 1
                if shift > LAST_SHIFT:
                    beyond.append((code, shift))
                else:
                    positions |= code << shift
            else:  # DEVICE, LAYOUT
                place = 1
        if self.target_shift != 0:
            tensor = args[0]
            code = tensor._spec.code + 1
            if self.target_shift > LAST_SHIFT:
                beyond.append((code, self.target_shift))
            else:
                positions |= code << self.target_shift
        if place or keys == 0:
            keys = self.operator.place(keys, args)
        if beyond:
            positions = numbered(positions, beyond)
        return keys, bits, positions

    def fast_path(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Dispatch a call whose arguments need no conversion, else FALL_THROUGH; see Note [The fast path]."""
        if STATE.guard < 0:
            return FALL_THROUGH
        plan = self.plan
        kinds = plan.kinds
        shifts = plan.shifts
        count = len(args)
        variadic = plan.variadic
        if variadic >= 0 and count > variadic and type(args[variadic]) is int:
            # Concatenated, because unpacking would make a list first.
            args = args[:variadic] + (args[variadic:],)  # noqa: RUF005
            count = variadic + 1
        if kwargs:
            if "out" in kwargs:
                return self.fast_path_out(args, kwargs)
            placed = plan.placed(args, kwargs)
            if placed is None:
                return FALL_THROUGH
            args = placed
            count = len(args)
        else:
            if count < plan.required or count > plan.positional:
                return FALL_THROUGH
            if count != len(plan.defaults):
                args = args + plan.tails[count]
                if plan.looks_at_all:
                    count = len(args)
        keys = 0
        bits = 0
        positions = 0
        largest = 0.0
        changed: list[Any] | None = None
        for place in range(count):
            value = args[place]
            kind = kinds[place]
            if kind == codes.INT and type(value) is int:  # the most frequent after tensors
                if blank.is_long(value):
                    return FALL_THROUGH
                continue
            if value is None:
                if not kind & codes.NONE_TAKEN:
                    return FALL_THROUGH
                continue
            kind &= codes.KIND_MASK
            if kind <= codes.OPERAND:  # UNUSUAL, TENSOR, OPERAND
                if isinstance(value, TensorBase) and kind != codes.UNUSUAL:
                    tensor = value
                    keys |= tensor._keys
                    shift = shifts[place]
                    if shift == 0:
                        bits |= tensor._promotion
                    elif shift > 0:
                        code = tensor._spec.code + 1
                        positions |= code << shift
                    continue
                if kind != codes.OPERAND:
                    if kind == codes.TENSOR or value is not plan.defaults[place]:
                        return FALL_THROUGH
                    continue
                kind = codes.NUMBER
            if kind == codes.INT:
                if type(value) is not int or blank.is_long(value):
                    return FALL_THROUGH
            elif kind == codes.SIZES:
                if type(value) is int:
                    if plan.lengths[place] == 0 or blank.is_long(value):
                        return FALL_THROUGH
                    if changed is None:
                        changed = list(args)
                    changed[place] = (value,) * plan.lengths[place]
                    continue
                if type(value) is not tuple and type(value) is not list:
                    return FALL_THROUGH
                for item in value:
                    if type(item) is not int or blank.is_long(item):
                        return FALL_THROUGH
                if type(value) is list:
                    if changed is None:
                        changed = list(args)
                    changed[place] = tuple(value)
            elif kind == codes.BOOL:
                if type(value) is not bool:
                    return FALL_THROUGH
            elif kind == codes.TENSORS:
                if type(value) is not list and type(value) is not tuple:
                    return FALL_THROUGH
                shift = shifts[place]
                for item in value:
                    if not isinstance(item, TensorBase):
                        if item is None and plan.lengths[place] < 0:
                            continue
                        return FALL_THROUGH
                    tensor = item
                    keys |= tensor._keys
                    if shift == 0:
                        bits |= tensor._promotion
                    elif shift > 0:  # the first one decides
                        code = tensor._spec.code + 1
                        positions |= code << shift
                        shift = -1
                if changed is None:
                    changed = list(args)
                changed[place] = list(value)
            elif kind == codes.NUMBER:
                bit = SCALARS.get(type(value))
                if bit is None:
                    return FALL_THROUGH
                if kinds[place] & codes.IN_RANGE:
                    if type(value) is int and blank.is_long(value):
                        return FALL_THROUGH
                    if type(value) is not complex:
                        number = value
                        if number < 0.0:
                            number = -number
                        if number > largest:
                            largest = number
                if shifts[place] == 0:
                    positions |= bit
            elif kind == codes.FLOAT:
                if type(value) is int:
                    if changed is None:
                        changed = list(args)
                    changed[place] = float(value)
                elif type(value) is not float:
                    return FALL_THROUGH
                if kinds[place] & codes.IN_RANGE:
                    number = value
                    if number < 0.0:
                        number = -number
                    if number > largest:
                        largest = number
            elif kind == codes.DTYPE_OBJECT:
                if type(value) is not Dtype:
                    return FALL_THROUGH
                if shifts[place] > 0:
                    code = value.code + 1
                    positions |= code << shifts[place]
            elif type(value) is not str:  # STRING
                return FALL_THROUGH
        if changed is not None:
            args = tuple(changed)
        if keys == 0:
            if STATE.placed != 0:
                return FALL_THROUGH
            keys = self.home
            if keys == 0:
                keys = self.operator.place(0, args)
                self.home = keys
        elif keys & OVERRIDDEN:
            return FALL_THROUGH
        if plan.wide:
            keys, bits, positions = self.scan(args)
        elif self.target_shift != 0:
            tensor = args[0]
            code = tensor._spec.code + 1
            positions |= code << self.target_shift
        cached = self.last
        if (
            cached.keys != keys
            or cached.promotion != bits
            or cached.positions != positions
            or cached.epoch != STATE.guard
        ):
            cached = self.find(keys, bits, positions)
            if cached is EMPTY:
                return self.first_call(args)
        if largest > cached.limit:
            self.refuse_out_of_range(cached, args)
        return cached.run(args)

    def first_call(self, args: tuple[Any, ...]) -> Any:
        """Resolve and dispatch a full argument tuple that needs no conversion, or return FALL_THROUGH."""
        if self.form == "out":  # which `call_with_out` prepares
            return FALL_THROUGH
        keys, bits, positions = self.scan(args)
        cached = self.cached_call(keys, bits, positions, args)
        if self.plan.ranged:
            self.refuse_out_of_range(cached, args)
        return cached.run(args)

    def of_one(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple whose first item is the only tensor, or FALL_THROUGH as in `fast_path`."""
        tensor = args[0]
        keys = tensor._keys
        bits = tensor._promotion
        positions = 0
        shift = self.plan.shifts[0]
        if shift > 0:
            bits = 0
            positions = tensor._spec.code + 1
            positions = positions << shift
        cached = self.last
        if (
            cached.keys != keys
            or cached.promotion != bits
            or cached.positions != positions
            or cached.epoch != STATE.guard
        ):
            cached = self.find(keys, bits, positions)
            if cached is EMPTY:
                return FALL_THROUGH
        return cached.run(args)

    def fast_path_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Dispatch a call with `out=`, or return FALL_THROUGH."""
        out = kwargs["out"]
        overload = self.out_overload
        if overload is None:
            if not self.functional or not self.operator.writes_out:
                return FALL_THROUGH
            overload = self.operator.overload("out")
            self.out_overload = overload
        if not isinstance(out, TensorBase):
            return FALL_THROUGH
        plan = self.plan
        count = len(args)
        if len(kwargs) == 1:
            if count < plan.required or count > plan.positional:
                return FALL_THROUGH
            args = args + plan.tails[count]
        else:
            placed = plan.placed(args, {name: value for name, value in kwargs.items() if name != "out"})
            if placed is None:
                return FALL_THROUGH
            args = placed
        # Concatenated, because unpacking would make a list first.
        return overload.fast_path(args + (out,), None)  # noqa: RUF005

    def refuse_out_of_range(self, cached: CachedCall, args: tuple[Any, ...]) -> None:
        """Refuse a number beyond the range of the dtype of a call."""
        below = cached
        while below.kind == codes.LAYER and below.below is not ABSENT:  # fake tensors have a rule alone
            below = below.below
        spec = getattr(
            below, "spec", None
        )  # absent where the call is a composite, which has no dtype of its own
        dtype = None if spec is None else spec.dtype
        cached.limit = refuse_out_of_range(self.operator.definition, dtype, args)
