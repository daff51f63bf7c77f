"""Overloads: callables such as `tt.add`, and the path of every call.

An `OpOverload` is one form (functional, in-place, out=) of one operator.  A call with one or two tensors and nothing
else packs no arguments, binds no signature, touches no thread-local state and walks no list: `one` and `two`.
This is a hot module: plain Python that Cython compiles with the C types of `op_overload.pxd`.

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
conversion, an error, a mode or an override, and `OpOverload.general` takes these.  It accepts only arguments that the
binder would accept unchanged, so both paths give the same results.

The first call of a combination is resolved here, too: an operator that is only called like this needs no binder, whose
code would have to be compiled.

Note [One cached call per combination]
--------------------------------------
Functions and overloads keep cached calls and compare nothing but the epoch before they use one again, so stale ones
must be retired.  They are retired by walking the tables, so every live cached call must be in one.  If two threads
resolve a combination at the same time, the second one's cached call is dropped; one that was resolved during a
registration retires at once.
"""

from __future__ import annotations

import inspect
from types import MethodType
from typing import TYPE_CHECKING, Any

from tt.core.by_name import object_named
from tt.core.dispatch.call import codes, guard
from tt.core.dispatch.call.cached_call import EMPTY
from tt.core.dispatch.call.codes import ABSENT, FALL_THROUGH
from tt.core.dispatch.call.signature import SignaturePlan
from tt.core.dispatch.intercept.modes import cached_call_with_modes, call_with_modes
from tt.core.dispatch.intercept.tt_function import call_refused, call_with_overrides, overrides
from tt.core.dispatch.registry.registry import REGISTRY, ops
from tt.core.errors import ArgumentError
from tt.core.forks import fork_safe_lock
from tt.core.schema.number_ranges import refuse_out_of_range
from tt.core.tensor import blank
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import LAST_SHIFT, SCALAR_WORDS, WORD, join_bits, numbered, split_bits
from tt.core.types.spelling import SPELLING
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.binding import Binder
    from tt.core.dispatch.call.cached_call import CachedCall
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition, Signature

SCALARS = SCALAR_WORDS

# The bit of tensors whose class has `__tt_function__`.
OVERRIDDEN = FUNCTION
NOT_OVERRIDDEN = ~FUNCTION

# The epoch of cached calls that serve no further call.
RETIRED = -3

# Held while cached calls are added or retired.  Reentrant: adding one may collect garbage, and collecting a
# registration retires cached calls.
ENTERING = fork_safe_lock(rank=1)


def table_key(bits: int, positions: int) -> Any:
    """Return the key of a call's bits in a table: a single number if both words are small."""
    # One int hashes faster than a tuple.  A word below zero, see `numbered`, stays below zero when it is shifted.
    if bits >> 40 == 0 and positions >> 22 == 0:
        return bits | positions << 40
    return bits, positions


class OpOverload:
    """One form of one operator; calling it dispatches.

    Attributes
    ----------
    operator : Operator
        The operator.
    form : str
        "functional", "inplace" or "out".
    last : CachedCall
        The cached call of the previous call.
    tables : dict
        epoch -> keys -> `table_key` of the bits -> CachedCall.
    generation : int
        Counts how often the tables were emptied.
    name : str
        As the user writes it: "add", "add_", "acme::twice".
    binder : callable or None
        Turns a user's arguments into the full tuple; generated at first use.
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
    out_overload : OpOverload or None
        The form with `out=`, after its first call.
    home : int
        The keys of a call without tensors on the CPU when no other default device is set; 0: not known yet.
    """

    operator: Operator
    form: str
    name: str
    binder: Binder | None
    last: CachedCall
    tables: dict[int, dict[int, dict[Any, CachedCall]]]
    generation: int
    plan: SignaturePlan
    leading: int
    target_shift: int
    ranged_operand: bool
    functional: bool
    out_overload: OpOverload | None
    home: int

    def __init__(self, operator: Operator, form: str, plan: SignaturePlan, name: str) -> None:
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
        self.name = name
        self.binder = None

    @property
    def definition(self) -> OpDefinition:
        """The operator's entry in ops.yaml."""
        return self.operator.definition

    @property
    def schema(self) -> Signature:
        """The signature of this form."""
        return self.operator.signature(self.form)

    # A method of tensors, and of what is like one.  As an attribute of any other class, `act = tt.tanh` of a module, it
    # is a plain value, as PyTorch's functions written in C are.
    def __get__(self, instance: Any, owner: Any) -> Any:
        if isinstance(instance, TensorBase) or (instance is not None and overrides(type(instance))):
            return MethodType(self, instance)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        if self.leading != 0 and len(args) == self.leading and not kwargs:
            # By way of the class: a direct call where this is compiled.
            return self.one(args[0]) if self.leading == 1 else OpOverload.two(self, args[0], args[1])
        result = OpOverload.fast_path(self, args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result

    def one(self, value: Any) -> Any:
        """Call with one argument."""
        if self.leading == 1 and isinstance(value, TensorBase):
            tensor = value
            cached = self.last
            if not guard.serves(cached, STATE.guard, tensor._keys, tensor._promotion, 0):
                cached = self.find(STATE.guard, tensor._keys, tensor._promotion, 0)
                if cached is EMPTY:
                    return self.general((value,), None)
            if cached.direct:
                try:
                    handle = cached.plain(tensor._handle)
                except Exception as error:
                    handle = cached.direct_failed(error, (value, *self.plan.tail))
                return cached.wrap_direct(handle)
            # Concatenated, because unpacking would make a list first.
            return cached.run((value,) + self.plan.tail)  # noqa: RUF005
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
            # Exact types: numbers of NumPy and subclasses of int have to be converted by the binder first.
            bit = SCALARS.get(type(right))
            if bit is None:
                return self.general((left, right), None)
            if self.ranged_operand:
                return self.two_apart(left, right)
            positions = bit
            operand = right
        cached = self.last
        if not guard.serves(cached, STATE.guard, keys, bits, positions):
            cached = self.find(STATE.guard, keys, bits, positions)
            if cached is EMPTY:
                # Of arguments that do not promote, like scores and classes, the dtypes are in the second word.
                return self.two_apart(left, right)
        if cached.direct:
            try:
                handle = cached.plain(first._handle, operand)
            except Exception as error:
                handle = cached.direct_failed(error, (left, right, *self.plan.tail))
            return cached.wrap_direct(handle)
        return cached.run((left, right) + self.plan.tail)  # noqa: RUF005  # as in `one`

    def two_apart(self, left: Any, right: Any) -> Any:
        """Call with two arguments whose types, or the number's range, `two` does not look at."""
        result = OpOverload.fast_path(self, (left, right), None)
        return self.general((left, right), None) if result is FALL_THROUGH else result

    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Bind a user's arguments and dispatch them."""
        if kwargs and ("out" in kwargs or "requires_grad" in kwargs or "pin_memory" in kwargs):
            return self.operator.call_with_options(self, args, kwargs)
        binder = self.binder
        if binder is None:
            leading = self.leading
            if (
                0 < leading == len(args)
                and not kwargs
                and isinstance(args[0], TensorBase)
                and isinstance(args[leading - 1], TensorBase)
            ):
                # The first call, of many operators the only one that comes here: later ones find their cached call.
                return self.called(args + self.plan.tail, self, args, kwargs)
            binder = self.operator.binder(self)
        bound = None
        # What follows runs outside of `except`, so that errors of overrides do not have the refusal as their context.
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
        cached = self.cached_call(keys, bits, positions, bound)
        # Only `fast_path` compares with `limit`; here every number is looked at.
        if self.plan.ranged:
            self.refuse_out_of_range(cached, bound)
        return cached.run(bound)

    def execute(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for what stands above the layers already: plain modes do not see it."""
        if STATE.modes != 0:
            return cached_call_with_modes(self, args).run(args)
        keys, bits, positions = self.scan(args)
        cached = self.cached_call(keys, bits, positions, args)
        return cached.run(args)

    def dispatch(self, args: tuple[Any, ...]) -> Any:
        """Dispatch a full argument tuple for code of tt's own: only a user's calls are seen by `__tt_function__`."""
        if STATE.modes != 0:
            return call_with_modes(self, args)
        return self.execute(args)

    # --- arguments that need no conversion, see Note [The fast path] ---
    def fast_path(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any:
        """Dispatch a call whose arguments need no conversion, else FALL_THROUGH; see Note [The fast path]."""
        # A mode sees bound arguments, which the general path makes.
        if STATE.modes != 0:
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
                # Defaults have the right types: only the provided arguments are looked
                # at, unless a default promotes with them.
                if plan.looks_at_all:
                    count = len(args)
        keys = 0
        bits = 0
        positions = 0
        largest = 0.0
        changed: list[Any] | None = None
        for position in range(count):
            value = args[position]
            kind = kinds[position]
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
                    shift = shifts[position]
                    if shift == 0:
                        bits |= tensor._promotion
                    elif shift > 0:
                        code = tensor._spec.code + 1
                        positions |= code << shift
                    continue
                if kind != codes.OPERAND:
                    if kind == codes.TENSOR or value is not plan.defaults[position]:
                        return FALL_THROUGH
                    continue
                kind = codes.NUMBER
            if kind == codes.INT:
                if type(value) is not int or blank.is_long(value):
                    return FALL_THROUGH
            elif kind == codes.SIZES:
                # One number stands for all sizes, as in `kernel_size=3`.
                if type(value) is int:
                    if plan.lengths[position] == 0 or blank.is_long(value):
                        return FALL_THROUGH
                    if changed is None:
                        changed = list(args)
                    changed[position] = (value,) * plan.lengths[position]
                    continue
                if type(value) is not tuple and type(value) is not list:
                    return FALL_THROUGH
                for item in value:
                    if type(item) is not int or blank.is_long(item):
                        return FALL_THROUGH
                if type(value) is list:
                    if changed is None:
                        changed = list(args)
                    changed[position] = tuple(value)
            elif kind == codes.BOOL:
                if type(value) is not bool:
                    return FALL_THROUGH
            elif kind == codes.TENSORS:
                if type(value) is not list and type(value) is not tuple:
                    return FALL_THROUGH
                shift = shifts[position]
                for item in value:
                    if not isinstance(item, TensorBase):
                        if item is None and plan.lengths[position] < 0:
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
                changed[position] = list(value)
            elif kind == codes.NUMBER:
                bit = SCALARS.get(type(value))
                if bit is None:
                    return FALL_THROUGH
                if kinds[position] & codes.IN_RANGE:
                    if type(value) is int and blank.is_long(value):
                        return FALL_THROUGH
                    if type(value) is not complex:
                        number = value
                        if number < 0.0:
                            number = -number
                        if number > largest:
                            largest = number
                if shifts[position] == 0:
                    positions |= bit
            elif kind == codes.FLOAT:
                if type(value) is int:
                    if changed is None:
                        changed = list(args)
                    changed[position] = float(value)
                elif type(value) is not float:
                    return FALL_THROUGH
                if kinds[position] & codes.IN_RANGE:
                    number = value
                    if number < 0.0:
                        number = -number
                    if number > largest:
                        largest = number
            elif kind == codes.DTYPE_OBJECT:
                if type(value) is not Dtype:
                    return FALL_THROUGH
                if shifts[position] > 0:
                    code = value.code + 1
                    positions |= code << shifts[position]
            elif type(value) is not str:  # STRING
                return FALL_THROUGH
        if changed is not None:
            args = tuple(changed)
        if keys == 0:
            if STATE.placed != 0:
                return FALL_THROUGH
            # Without tensors the default device decides: a call with `device=` has fallen through by now.
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
        if not guard.serves(cached, STATE.guard, keys, bits, positions):
            cached = self.find(STATE.guard, keys, bits, positions)
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
        if not guard.serves(cached, STATE.guard, keys, bits, positions):
            cached = self.find(STATE.guard, keys, bits, positions)
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

    def scan(self, args: tuple[Any, ...]) -> tuple[int, int, int]:
        """Return the keys and the two words of level-2 bits of a full argument tuple."""
        keys = 0
        bits = 0
        positions = 0
        placed = 0
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
                    # The value is converted by now, so its exact type is in the table.
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
                placed = 1
        if self.target_shift != 0:
            tensor = args[0]
            code = tensor._spec.code + 1
            if self.target_shift > LAST_SHIFT:
                beyond.append((code, self.target_shift))
            else:
                positions |= code << self.target_shift
        if placed or keys == 0:
            keys = self.operator.place(keys, args)
        if beyond:
            positions = numbered(positions, beyond)
        return keys, bits, positions

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

    # --- the cached calls, see Note [One cached call per combination] ---
    def find(self, epoch: int, keys: int, bits: int, positions: int) -> CachedCall:
        """Return the cached call of a combination met before in the settings of an epoch, or EMPTY."""
        # The guard is no epoch while there are modes or ambient layers; only modes rule out a cached call.
        if epoch < 0:
            if STATE.modes != 0:
                return EMPTY
            epoch = STATE.epoch_here()
            last = self.last
            if guard.serves(last, epoch, keys, bits, positions):
                return last
        tables = self.tables.get(epoch)
        if tables is None:
            return EMPTY
        table = tables.get(keys)
        if table is None:
            return EMPTY
        cached = table.get(table_key(bits, positions))
        # Another thread may have retired it since.
        if cached is None or cached.epoch != epoch:
            return EMPTY
        self.last = cached
        return cached

    def cached_call(self, keys: int, bits: int, positions: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the cached call of a combination, resolving it if it is new."""
        # A subclass is dispatched like a tensor once nothing intercepts, so it shares the cached calls of tensors.
        keys &= NOT_OVERRIDDEN
        epoch = STATE.epoch_here()
        cached = self.last
        if guard.serves(cached, epoch, keys, bits, positions):
            return cached
        cached = self.find(epoch, keys, bits, positions)
        if cached is not EMPTY:
            return cached
        # Read before resolving, so that `enter` notices a registration that took place meanwhile.
        generation = self.generation
        cached = self.operator.resolve(self.form, keys, join_bits(bits, positions), args)
        return self.enter(cached, epoch, generation)

    def cached_call_of(self, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the cached call of a combination whose bits are one integer."""
        promotion, positions = split_bits(bits)
        return self.cached_call(keys, promotion, positions, args)

    def enter(self, cached: CachedCall, epoch: int, generation: int) -> CachedCall:
        """Add a cached call to the tables and return it, or another thread's for the same combination.

        See Note [One cached call per combination].
        """
        with ENTERING:
            if self.generation != generation or cached.epoch != epoch:
                cached.epoch = RETIRED  # right for this call, which began before, and not for later ones
                return cached
            table = self.tables.setdefault(epoch, {}).setdefault(cached.keys, {})
            key = table_key(cached.promotion, cached.positions)
            known = table.get(key)
            if known is not None:
                cached = known
            else:
                table[key] = cached
                for bits in self.operator.short_bits(cached):
                    key = table_key(bits, 0)
                    if key not in table:
                        table[key] = cached.with_bits(bits)
            self.last = cached
        return cached

    def invalidate(self) -> None:
        """Drop all cached calls, because something that they depend on was registered or unregistered.

        Other threads may hold cached calls at this moment, or be resolving one: those in the tables retire, and a
        thread that is resolving detects by the generation that its cached call is stale.
        """
        with ENTERING:
            self.generation += 1
            # Replaced and not cleared: other threads may be looking up in the old one.
            tables = self.tables
            self.tables = {}
            self.last = EMPTY
            for table in tables.values():
                for calls in table.values():
                    for cached in calls.values():
                        cached.epoch = RETIRED


# An extension type has no properties of these names, so an ordinary subclass does.  A call costs nothing more: it
# inherits the compiled `__call__`.
class DescribedOverload(OpOverload):  # noqa: D101 - the docstring is the property: that of the operator
    # A dict with something in it would be looked into by every call of a method; the interpreted base has one already.
    __slots__ = ("__qualname__", *(() if "__dict__" in vars(OpOverload) else ("__dict__",)))

    def __init__(self, operator: Operator, form: str, plan: SignaturePlan, name: str) -> None:
        super().__init__(operator, form, plan, name)
        self.__qualname__ = name

    @property
    def __annotations__(self) -> dict[str, Any]:  # type: ignore[override]
        return {}  # as functions written in C: `typing.get_type_hints` asks for them

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __module__(self) -> str:  # type: ignore[override]  # mypy takes it for an attribute
        return SPELLING.spelled(self.operator.module)

    @property
    def __doc__(self) -> str:  # type: ignore[override]  # mypy takes it for an attribute
        text: str = self.operator.documentation(self)
        return text

    @property
    def __signature__(self) -> inspect.Signature:
        signature: inspect.Signature = self.operator.python_signature(self)
        return signature

    @property
    def default(self) -> Any:
        """The overload of an operator that has only this one: itself, as PyTorch's programs write it."""
        if len(REGISTRY.overloads(self.operator.name.partition(".")[0])) > 1:
            raise AttributeError(f"{self!r} is an overload, and has no others", name="default", obj=self)
        return self

    def overloads(self) -> list[str]:
        """Return the names of the overloads of an operator that has only this one."""
        return [self._overloadname]

    @property
    def _schema(self) -> Any:
        """The schema as PyTorch's programs read it: arguments, returns, the text."""
        return object_named("tt._compat.aten.function_schema:schema_of")(self)

    @property
    def namespace(self) -> str:
        """The namespace: "acme", or that of PyTorch's operator."""
        return str(self._schema.name.partition("::")[0])

    @property
    def _opname(self) -> str:
        return str(self._schema.name.partition("::")[2])

    @property
    def _overloadname(self) -> str:
        return self._schema.overload_name or "default"

    @property
    def tags(self) -> list[Any]:
        """The tags of the operator in the schema."""
        return list(self.operator.definition.tags)

    @property
    def overloadpacket(self) -> Any:
        """The public callable: the packet of an overload, else the operator itself; in `torch` PyTorch's packet."""
        if SPELLING.package != "tt":
            packet = object_named("tt._compat.aten.namespace:packet_of")(self)
            if packet is not None:
                return packet
        namespace, _, name = self.operator.name.partition(".")[0].rpartition("::")
        namespace_ops = getattr(ops, namespace) if namespace else ops
        return getattr(namespace_ops, f"{name}_" if self.form == "inplace" else name)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __str__(self) -> str:
        # Programs of PyTorch look for operators by these texts.
        return (
            repr(self)
            if SPELLING.package == "tt"
            else f"{self.namespace}.{self._opname}.{self._overloadname}"
        )

    def __reduce__(self) -> tuple[Any, tuple[str, str]]:
        return _reload, (self.operator.name, self.form)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _reload(name: str, form: str) -> Any:
    return REGISTRY.overload(name, form)
