"""Callers: what `tt.add` is, and the path of every call.

One caller stands for one form (functional, in-place, out=) of one operator.  The classes differ by the shape of the
signature, so that a call with plain tensors packs no arguments, binds no signature, touches no thread-local state
and walks no list.  `described` subclasses them with what makes them good Python objects (names, documentation,
pickling).  This is a hot module: plain Python that Cython compiles with the C types of `callers.pxd`.

Note [The path of a call]
-------------------------
1. OR the keys (level 1) and promotion bits (level 2) of the arguments.
2. Compare with the entry of the previous call, which also answers for the settings and for modes (see Note [Epochs
   and the guard] in `state`); on a miss look the pair up; on the first call resolve it.
3. Run the entry: call the kernel on the handles and wrap its result, or run a composite, or a layer's rule.

Note [The fast path]
--------------------
Most calls give each parameter a value of the very type that its schema names.  `fast_path` checks the types, adds the
defaults and makes keys and bits on the way; it calls nothing that is written in Python.  What needs a conversion, a
message, a mode or an override it leaves to `general`, by returning FALL_THROUGH.  It accepts only what the binder
would accept unchanged, so that both ways mean the same.

Note [One entry of a combination]
---------------------------------
Functions and callers remember entries, and look at nothing but their epoch before they use one again.  So an entry
that is out of date must retire, and what retires entries finds them in the tables: an entry that serves must be in its
table, and stay there.  Where two threads resolve a combination at the same time, the second one's entry is dropped, and
what was resolved while something was registered retires at once.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, Final

from tt.core.dispatch.call.argument_kinds import FALL_THROUGH, NO_DEFAULT
from tt.core.dispatch.call.entry import EMPTY
from tt.core.dispatch.intercept.modes import call_with_modes, entry_with_modes
from tt.core.dispatch.intercept.tt_function import call_refused, call_with_overrides
from tt.core.errors import ArgumentError
from tt.core.forks import fork_safe_lock
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.keys import FUNCTION
from tt.core.types.promotion import LAST_SHIFT, SCALAR_WORDS, join_bits, numbered, split_bits
from tt.core.types.state import STATE

if TYPE_CHECKING:
    from tt.core.dispatch.call.binding import Binder
    from tt.core.dispatch.call.entry import CachedCall
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition, Signature

SCALARS = SCALAR_WORDS

# The epoch of entries that serve no further call.
RETIRED = -3

# Held by whoever enters or retires entries.  A lock that one thread may take twice: entering may collect garbage, and
# what is collected may have been registered.
ENTERING = fork_safe_lock(rank=1)

# The bit of tensors whose class has `__tt_function__`, and all others.
OVERRIDDEN = FUNCTION
NOT_OVERRIDDEN = ~FUNCTION

# How an argument contributes to the keys and to the level-2 bits.
GROUP_TENSOR: Final = 0
GROUP_LIST: Final = 1
OTHER_TENSOR: Final = 2
OTHER_LIST: Final = 3
DTYPE: Final = 4
DEVICE: Final = 5
LAYOUT: Final = 6
SCALAR_IN_GROUP: Final = 7


def table_key(bits: int, positions: int) -> Any:
    """Return what stands for the bits of a call in a table: a number where both words are small."""
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
        The entry of the previous call.
    tables : dict
        epoch -> keys -> `table_key` of the bits -> CachedCall.
    generation : int
        Counts how often the entries were forgotten.
    plan : tuple of (position, how, shift)
        How the arguments make the keys and bits; shifts are those in the second word.
    tail : tuple
        Defaults of the arguments behind the leading tensors.
    binder : callable or None
        Turns a user's arguments into the full tuple; generated at first use.
    kinds : bytes or None
        What each parameter takes as it is; None before the first call.
    shifts : tuple of int
        Where the dtype of each tensor stands in the second word; 0: it promotes; -1: it does not count.
    lengths : tuple of int
        N for each parameter `int[N]`, which takes one number for all, else 0.
    required, positional : int
        How many arguments a call must have, and may give by position.
    variadic : int
        Position of the sizes that may be given one by one, or -1.
    defaults : tuple
        Of each parameter; NO_DEFAULT where there is none.
    tails : tuple of tuple
        The defaults of what a call leaves out, for each number of arguments.
    names : dict of str to int
        The positions of the parameters.
    looks_at_all : bool
        Whether some default promotes with the tensors.
    target_shift : int
        Where the dtype of the target stands in the second word; 0 for other forms than the in-place one.
    wide : bool
        Whether the positions of the signature do not all fit into the second word: then `scan` makes it.
    functional : bool
        Whether the form is the functional one.
    out_caller : OpOverload or None
        The caller of the form with `out=`, after its first call.
    home : int
        The keys of a call without tensors on the CPU, where nobody has set another device; 0: not known yet.
    """

    operator: Operator
    form: str
    last: CachedCall
    tables: dict[int, dict[int, dict[Any, CachedCall]]]
    generation: int
    plan: tuple[tuple[int, int, int], ...]
    tail: tuple[Any, ...]
    binder: Binder | None
    name: str
    kinds: bytes | None
    shifts: tuple[int, ...]
    lengths: tuple[int, ...]
    required: int
    positional: int
    variadic: int
    defaults: tuple[Any, ...]
    tails: tuple[tuple[Any, ...], ...]
    names: dict[str, int]
    looks_at_all: bool
    target_shift: int
    wide: bool
    home: int
    functional: bool
    out_caller: OpOverload | None

    def __init__(
        self,
        operator: Operator,
        form: str,
        plan: tuple[tuple[int, int, int], ...],
        tail: tuple[Any, ...],
        name: str,
    ) -> None:
        self.operator = operator
        self.form = form
        self.plan = plan
        self.tail = tail
        self.last = EMPTY
        self.tables = {}
        self.generation = 0
        self.binder = None
        self.name = name
        self.kinds = None
        self.shifts = ()
        self.lengths = ()
        self.required = 0
        self.positional = 0
        self.variadic = -1
        self.defaults = ()
        self.tails = ()
        self.names = {}
        self.looks_at_all = False
        self.target_shift = 0
        self.wide = any(shift > LAST_SHIFT for _, _, shift in plan)
        self.home = 0
        self.functional = form == "functional"
        self.out_caller = None

    @property
    def definition(self) -> OpDefinition:
        """The operator's entry of ops.yaml."""
        return self.operator.definition

    @property
    def schema(self) -> Signature:
        """The signature of this form."""
        return self.operator.signature(self.form)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def find(self, keys: int, bits: int, positions: int) -> CachedCall:
        """Return the entry of a combination met before in these settings, or EMPTY."""
        epoch = STATE.guard
        if epoch < 0:
            return EMPTY
        tables = self.tables.get(epoch)
        if tables is None:
            return EMPTY
        table = tables.get(keys)
        if table is None:
            return EMPTY
        entry = table.get(table_key(bits, positions))
        if entry is None or entry.epoch != epoch:
            return EMPTY
        self.last = entry
        return entry

    def invalidate(self) -> None:
        """Forget all entries, because something that they depend on was registered or unregistered.

        Other threads may hold entries at this moment, or be resolving one: those that are known retire, and a thread
        that resolves sees by the generation that its entry is out of date.
        """
        with ENTERING:
            self.generation += 1
            tables = self.tables
            self.tables = {}
            self.last = EMPTY
            for table in tables.values():
                for entries in table.values():
                    for entry in entries.values():
                        entry.epoch = RETIRED

    def entry(self, keys: int, bits: int, positions: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the entry of a combination, resolving it if it is new."""
        keys &= NOT_OVERRIDDEN
        epoch = STATE.epoch
        last = self.last
        if (
            last.keys == keys
            and last.promotion == bits
            and last.positions == positions
            and last.epoch == epoch
        ):
            return last
        tables = self.tables.get(epoch)
        if tables is not None:
            table = tables.get(keys)
            if table is not None:
                entry = table.get(table_key(bits, positions))
                if entry is not None and entry.epoch == epoch:
                    self.last = entry
                    return entry
        generation = self.generation
        found = self.operator.resolve(self.form, keys, join_bits(bits, positions), args)
        return self.enter(found, epoch, generation)

    def entry_of(self, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall:
        """Return the entry of a combination whose bits are one integer."""
        promotion, positions = split_bits(bits)
        return self.entry(keys, promotion, positions, args)

    def enter(self, entry: CachedCall, epoch: int, generation: int) -> CachedCall:
        """Return the entry that serves a combination: a new one, or another thread's.

        See Note [One entry of a combination].
        """
        with ENTERING:
            if self.generation != generation or entry.epoch != epoch:
                entry.epoch = RETIRED  # right for this call, which began before; for no later one
                return entry
            table = self.tables.setdefault(epoch, {}).setdefault(entry.keys, {})
            key = table_key(entry.promotion, entry.positions)
            known = table.get(key)
            if known is not None:
                entry = known
            else:
                table[key] = entry
                for bits in self.operator.short_bits(entry):
                    key = table_key(bits, 0)
                    if key not in table:
                        table[key] = entry.with_bits(bits)
            self.last = entry
        return entry

    def scan(self, args: tuple[Any, ...]) -> tuple[int, int, int]:
        """Return the keys and the two words of level-2 bits of a full argument tuple."""
        keys = 0
        bits = 0
        positions = 0
        place = 0
        beyond: Any = [] if self.wide else None
        for at, how, shift in self.plan:
            value = args[at]
            if value is None:
                continue
            if how == 0:  # GROUP_TENSOR
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor._keys
                    bits |= tensor._promotion
                else:
                    positions |= SCALARS[type(value)]
            elif how == 2:  # OTHER_TENSOR
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor._keys
                    code = tensor._spec.code + 1
                    if shift > LAST_SHIFT:
                        beyond.append((code, shift))
                    else:
                        positions |= code << shift
            elif how == 1 or how == 3:  # GROUP_LIST, OTHER_LIST
                for item in value:
                    if isinstance(item, TensorBase):
                        tensor = item
                        keys |= tensor._keys
                        if how == 1:
                            bits |= tensor._promotion
                        elif shift != 0:  # the first one of the list tells
                            code = tensor._spec.code + 1
                            if shift > LAST_SHIFT:
                                beyond.append((code, shift))
                            else:
                                positions |= code << shift
                            shift = 0
            elif how == 7:  # SCALAR_IN_GROUP
                positions |= SCALARS[type(value)]
            elif how == 4:  # DTYPE
                code = value.code + 1
                if shift > LAST_SHIFT:
                    beyond.append((code, shift))
                else:
                    positions |= code << shift
            else:  # DEVICE, LAYOUT
                place = 1
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
        kinds = self.kinds
        if kinds is None:
            kinds = self.operator.describe_parameters(self)
        count = len(args)
        variadic = self.variadic
        if variadic >= 0 and count > variadic and type(args[variadic]) is int:
            # Concatenated, because unpacking would make a list first.
            args = args[:variadic] + (args[variadic:],)  # noqa: RUF005
            count = variadic + 1
        if kwargs:
            if "out" in kwargs:
                return self.fast_path_out(args, kwargs)
            placed = self.placed(args, kwargs)
            if placed is None:
                return FALL_THROUGH
            args = placed
            count = len(args)
        else:
            if count < self.required or count > self.positional:
                return FALL_THROUGH
            if count != len(self.defaults):
                args = args + self.tails[count]
                if self.looks_at_all:
                    count = len(args)
        keys = 0
        bits = 0
        positions = 0
        changed: list[Any] | None = None
        for place in range(count):
            value = args[place]
            kind = kinds[place]
            if kind == 4 and type(value) is int:  # INT, the most frequent after tensors
                continue
            if value is None:
                if kind < 16:  # NONE_TAKEN
                    return FALL_THROUGH
                continue
            kind &= 15
            if kind <= 2:  # TENSOR, OPERAND
                if isinstance(value, TensorBase) and kind != 0:
                    tensor = value
                    keys |= tensor._keys
                    shift = self.shifts[place]
                    if shift == 0:
                        bits |= tensor._promotion
                    elif shift > 0:
                        code = tensor._spec.code + 1
                        positions |= code << shift
                    continue
                if kind != 2:
                    if kind == 1 or value is not self.defaults[place]:
                        return FALL_THROUGH
                    continue
                bit = SCALARS.get(type(value))
                if bit is None:
                    return FALL_THROUGH
                if self.shifts[place] == 0:
                    positions |= bit
            elif kind == 4:  # INT
                if type(value) is not int:
                    return FALL_THROUGH
            elif kind == 5:  # SIZES
                if type(value) is int:
                    if self.lengths[place] == 0:
                        return FALL_THROUGH
                    if changed is None:
                        changed = list(args)
                    changed[place] = (value,) * self.lengths[place]
                    continue
                if type(value) is not tuple and type(value) is not list:
                    return FALL_THROUGH
                for item in value:
                    if type(item) is not int:
                        return FALL_THROUGH
                if type(value) is list:
                    if changed is None:
                        changed = list(args)
                    changed[place] = tuple(value)
            elif kind == 6:  # BOOL
                if type(value) is not bool:
                    return FALL_THROUGH
            elif kind == 3:  # TENSORS
                if type(value) is not list and type(value) is not tuple:
                    return FALL_THROUGH
                shift = self.shifts[place]
                for item in value:
                    if not isinstance(item, TensorBase):
                        if item is None and self.lengths[place] < 0:
                            continue
                        return FALL_THROUGH
                    tensor = item
                    keys |= tensor._keys
                    if shift == 0:
                        bits |= tensor._promotion
                    elif shift > 0:  # the first one tells
                        code = tensor._spec.code + 1
                        positions |= code << shift
                        shift = -1
                if changed is None:
                    changed = list(args)
                changed[place] = list(value)
            elif kind == 7:  # NUMBER
                bit = SCALARS.get(type(value))
                if bit is None:
                    return FALL_THROUGH
                if self.shifts[place] == 0:
                    positions |= bit
            elif kind == 8:  # FLOAT
                if type(value) is int:
                    if changed is None:
                        changed = list(args)
                    changed[place] = float(value)
                elif type(value) is not float:
                    return FALL_THROUGH
            elif kind == 9:  # DTYPE_OBJECT
                if type(value) is not Dtype:
                    return FALL_THROUGH
                if self.shifts[place] > 0:
                    code = value.code + 1
                    positions |= code << self.shifts[place]
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
        if self.target_shift != 0:
            tensor = args[0]
            code = tensor._spec.code + 1
            positions |= code << self.target_shift
        if self.wide:
            keys, bits, positions = self.scan(args)
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
        if self.kinds is None:
            self.operator.describe_parameters(self)
        shift = self.shifts[0]
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

    def placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return all arguments in order, defaults in the place of what is not given; None if they do not fit."""
        count = len(args)
        if count > self.positional:
            return None
        placed = list(args)
        placed.extend(self.tails[count])
        names = self.names
        for name, value in kwargs.items():
            found = names.get(name)
            if found is None:
                return None
            position = found
            if position < count:
                return None
            placed[position] = value
        if count < self.required:
            defaults = self.defaults
            missing = 0
            for position in range(count, len(placed)):
                if defaults[position] is NO_DEFAULT and placed[position] is NO_DEFAULT:
                    missing = 1
            if missing != 0:
                return None
        return tuple(placed)

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
        count = len(args)
        if len(kwargs) == 1:
            if count < self.required or count > self.positional:
                return FALL_THROUGH
            args = args + self.tails[count]
        else:
            placed = self.placed(args, {name: value for name, value in kwargs.items() if name != "out"})
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
        """Dispatch the full argument tuple of what a user called `function` with."""
        if STATE.modes != 0:
            return call_with_modes(self, bound, function, args, kwargs)
        keys, bits, positions = self.scan(bound)
        if keys & OVERRIDDEN:
            return call_with_overrides(self, bound, function, args, kwargs)
        entry = self.entry(keys, bits, positions, bound)
        return entry.run(bound)

    def one(self, value: Any) -> Any:
        """Call with one argument."""
        return self.general((value,), None)

    def two(self, left: Any, right: Any) -> Any:
        """Call with two arguments."""
        return self.general((left, right), None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator with what its signature takes."""
        result = self.fast_path(args, kwargs)
        return self.general(args, kwargs) if result is FALL_THROUGH else result
