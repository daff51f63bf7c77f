"""Overloads: callables such as `tt.add`, and the path of every call.

An `OpOverload` is one form (functional, in-place, out=) of one operator.  A call with one or two tensors and nothing
else packs no arguments, binds no signature, touches no thread-local state and walks no list: `one` and `two`.
`introspection` subclasses the class and adds its name, documentation and pickling.  This is a hot module: plain Python
that Cython compiles with the C types of `callers.pxd`.

Note [The path of a call]
-------------------------
1. OR the keys (level 1) and promotion bits (level 2) of the arguments.
2. Compare with the cached call of the previous call; the comparison covers settings and modes, too (see Note [Epochs
   and the guard] in `state`).  On a miss look the pair up; on the first call resolve it.
3. Run the cached call: call the kernel on the handles and wrap its result, or run a composite, or a layer's rule.

Note [The fast path]
--------------------
Most calls give each parameter a value of the exact type in the schema.  `fast_path` checks the types, adds the defaults
and makes keys and bits on the way, without calling any Python function.  It returns FALL_THROUGH for calls that need a
conversion, an error, a mode or an override, and `general` takes these.  It accepts only arguments that the binder would
accept unchanged, so both paths give the same results.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.call import codes
from tt.core.dispatch.call.argument_kinds import FALL_THROUGH
from tt.core.dispatch.call.call_cache import CallCache
from tt.core.dispatch.call.entry import EMPTY
from tt.core.dispatch.call.kernel_errors import failed_direct
from tt.core.dispatch.call.signature_plan import SignaturePlan
from tt.core.dispatch.intercept.modes import call_with_modes, entry_with_modes
from tt.core.dispatch.intercept.tt_function import call_refused, call_with_overrides
from tt.core.errors import ArgumentError
from tt.core.schema.factors import refuse_factors
from tt.core.tensor import blank
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import LAST_SHIFT, SCALAR_WORDS, WORD, numbered
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.binding import Binder
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition, Signature

SCALARS = SCALAR_WORDS

# The bit of tensors whose class has `__tt_function__`.
OVERRIDDEN = FUNCTION


class OpOverload(CallCache):
    """One form of one operator; calling it dispatches.

    Attributes
    ----------
    plan : SignaturePlan
        The arguments according to the signature.
    leading : int
        The number of tensors of the shortest call, as in the plan; 0 for forms other than the functional one.
    target_shift : int
        Position of the target's dtype in the second word of the bits; 0 for forms other than the in-place one.
    binder : callable or None
        Turns a user's arguments into the full tuple; generated at first use.
    functional : bool
        Whether the form is the functional one.
    out_caller : OpOverload or None
        The form with `out=`, after its first call.
    home : int
        The keys of a call without tensors on the CPU when no other default device is set; 0: not known yet.
    """

    plan: SignaturePlan
    name: str
    leading: int
    target_shift: int
    binder: Binder | None
    functional: bool
    out_caller: OpOverload | None
    home: int

    def __init__(self, operator: Operator, form: str, plan: SignaturePlan, name: str) -> None:
        self.operator = operator
        self.form = form
        self.last = EMPTY
        self.tables = {}
        self.generation = 0
        self.plan = plan
        self.name = name
        self.functional = form == "functional"
        self.leading = plan.leading if self.functional else 0
        self.target_shift = operator.target_shift - WORD if form == "inplace" else 0
        self.binder = None
        self.out_caller = None
        self.home = 0

    @property
    def definition(self) -> OpDefinition:
        """The operator's entry in ops.yaml."""
        return self.operator.definition

    @property
    def schema(self) -> Signature:
        """The signature of this form."""
        return self.operator.signature(self.form)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

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

    def execute(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for what stands above the layers already: plain modes do not see it."""
        if STATE.modes != 0:
            return entry_with_modes(self, args).run(args)
        keys, bits, positions = self.scan(args)
        entry = self.entry(keys, bits, positions, args)
        return entry.run(args)

    def dispatch(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for code of tt's own: only a user's calls are seen by `__tt_function__`."""
        if STATE.modes != 0:
            return call_with_modes(self, args)
        return self.execute(args)

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
        changed: list[Any] | None = None
        for place in range(count):
            value = args[place]
            kind = kinds[place]
            if kind == codes.INT and type(value) is int:  # the most frequent after tensors
                if blank.is_long(value):
                    return FALL_THROUGH
                continue
            if value is None:
                if kind < codes.NONE_TAKEN:
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
                bit = SCALARS.get(type(value))
                if bit is None:
                    return FALL_THROUGH
                if shifts[place] == 0:
                    positions |= bit
            elif kind == codes.INT:
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
                if plan.factors:  # which `called` compares with the dtype, once it has been found
                    if type(value) is float:
                        number = value
                        if number > 65504.0 or number < -65504.0:
                            return FALL_THROUGH
                    elif type(value) is int and blank.is_long(value):
                        return FALL_THROUGH
                if shifts[place] == 0:
                    positions |= bit
            elif kind == codes.FLOAT:
                if type(value) is int:
                    if changed is None:
                        changed = list(args)
                    changed[place] = float(value)
                elif type(value) is not float:
                    return FALL_THROUGH
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
        entry = self.last
        if (
            entry.keys != keys
            or entry.promotion != bits
            or entry.positions != positions
            or entry.epoch != STATE.guard
        ):
            entry = self.find(keys, bits, positions)
            if entry is EMPTY:
                return FALL_THROUGH
        return entry.run(args)

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
        entry = self.last
        if (
            entry.keys != keys
            or entry.promotion != bits
            or entry.positions != positions
            or entry.epoch != STATE.guard
        ):
            entry = self.find(keys, bits, positions)
            if entry is EMPTY:
                return FALL_THROUGH
        return entry.run(args)

    def fast_path_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Dispatch a call with `out=`, or return FALL_THROUGH."""
        out = kwargs["out"]
        caller = self.out_caller
        if caller is None:
            if not self.functional or not self.operator.writes_out:
                return FALL_THROUGH
            caller = self.operator.caller("out")
            self.out_caller = caller
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
        return caller.fast_path(args + (out,), None)  # noqa: RUF005

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Bind a user's arguments and dispatch them."""
        if kwargs and ("out" in kwargs or "requires_grad" in kwargs or "pin_memory" in kwargs):
            return self.operator.call_with_options(self, args, kwargs)
        binder = self.binder
        if binder is None:
            binder = self.operator.binder(self)
        bound = None
        try:
            bound = binder(args, kwargs)
        except ArgumentError as error:
            refused = error
        if bound is None:
            return call_refused(self, refused, args, kwargs)
        return self.called(bound, self, args, kwargs)

    def called(
        self, bound: tuple[Any, ...], function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
    ) -> Any:
        """Dispatch a full argument tuple that the user passed to `function`."""
        if STATE.modes != 0:
            return call_with_modes(self, bound, function, args, kwargs)
        keys, bits, positions = self.scan(bound)
        if keys & OVERRIDDEN:
            return call_with_overrides(self, bound, function, args, kwargs)
        entry = self.entry(keys, bits, positions, bound)
        if self.plan.factors:
            # Composites have no spec.
            refuse_factors(self.operator.definition.signature, getattr(entry.spec, "dtype", None), bound)
        return entry.run(bound)

    def one(self, value: Any) -> Any:
        """Call with one argument."""
        if self.leading == 1 and isinstance(value, TensorBase):
            tensor = value
            entry = self.last
            if (
                entry.keys != tensor._keys
                or entry.promotion != tensor._promotion
                or entry.positions != 0
                or entry.epoch != STATE.guard
            ):
                entry = self.find(tensor._keys, tensor._promotion, 0)
                if entry is EMPTY:
                    return self.general((value,), None)
            if entry.direct:
                try:
                    handle = entry.plain(tensor._handle)
                except Exception as error:
                    handle = failed_direct(entry, error, (value,), self.plan.tail)
                return entry.wrap_direct(handle)
            # Concatenated, because unpacking would make a list first.
            return entry.run((value,) + self.plan.tail)  # noqa: RUF005
        return self.general((value,), None)

    def two(self, left: Any, right: Any) -> Any:
        """Call with two arguments."""
        if self.leading != 2:
            return self.general((left, right), None)
        try:
            first: TensorBase = left
            keys = first._keys
            bits = first._promotion
        except (AttributeError, TypeError):  # no tensor; the compiled form already refuses the assignment
            return self.general((left, right), None)
        positions = 0
        if isinstance(right, TensorBase):
            second = right
            keys |= second._keys
            bits |= second._promotion
            operand = second._handle
        else:
            bit = SCALARS.get(type(right))
            if bit is None:
                return self.general((left, right), None)
            positions = bit
            operand = right
        entry = self.last
        if (
            entry.keys != keys
            or entry.promotion != bits
            or entry.positions != positions
            or entry.epoch != STATE.guard
        ):
            entry = self.find(keys, bits, positions)
            if entry is EMPTY:
                return self.general((left, right), None)
        if entry.direct:
            try:
                handle = entry.plain(first._handle, operand)
            except Exception as error:
                handle = failed_direct(entry, error, (left, right), self.plan.tail)
            return entry.wrap_direct(handle)
        return entry.run((left, right) + self.plan.tail)  # noqa: RUF005  # as in `one`

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        if self.leading != 0 and len(args) == self.leading and not kwargs:
            # By way of the class: a direct call where this is compiled.
            return self.one(args[0]) if self.leading == 1 else OpOverload.two(self, args[0], args[1])
        result = OpOverload.fast_path(self, args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result
