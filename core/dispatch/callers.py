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
"""

from tt.core.dispatch.entry import EMPTY
from tt.core.dispatch.failure import failed_direct
from tt.core.dispatch.modes import call_with_modes, entry_with_modes
from tt.core.dispatch.overrides import call_refused, call_with_overrides
from tt.core.dispatch.state import STATE
from tt.core.errors import ArgumentError
from tt.core.keys import FUNCTION
from tt.core.promotion import SCALAR_BITS
from tt.core.tensor import Tensor
from tt.core.tensor_base import TensorBase

SCALARS = SCALAR_BITS

# The epoch of entries that serve no further call.
RETIRED = -3

# The bit of tensors whose class has `__tt_function__`, and all others.
OVERRIDDEN = FUNCTION
NOT_OVERRIDDEN = ~FUNCTION

# How an argument contributes to the keys and to the level-2 bits.
GROUP_TENSOR = 0
GROUP_LIST = 1
OTHER_TENSOR = 2
OTHER_LIST = 3
DTYPE = 4
DEVICE = 5
LAYOUT = 6
SCALAR_IN_GROUP = 7


class Caller:
    """One form of one operator; calling it dispatches.

    Attributes
    ----------
    operator : Operator
        The operator.
    form : str
        "functional", "inplace" or "out".
    last : Entry
        The entry of the previous call.
    tables : dict
        epoch -> keys -> bits -> Entry.
    generation : int
        Counts how often the entries were forgotten.
    plan : tuple of (position, how, shift)
        How the arguments make the keys and bits.
    tail : tuple
        Defaults of the arguments behind the leading tensors.
    binder : callable or None
        Turns a user's arguments into the full tuple; generated at first use.
    """

    def __init__(self, operator, form, plan, tail, name):
        self.operator = operator
        self.form = form
        self.plan = plan
        self.tail = tail
        self.last = EMPTY
        self.tables = {}
        self.generation = 0
        self.binder = None
        self.name = name

    def find(self, keys, bits):
        """Return the entry of a combination met before in these settings, or None."""
        epoch = STATE.guard
        if epoch < 0:
            return None
        table = self.tables.get(epoch)
        if table is None:
            return None
        table = table.get(keys)
        if table is None:
            return None
        entry = table.get(bits)
        if entry is None or entry.epoch != epoch:
            return None
        self.last = entry
        return entry

    def invalidate(self):
        """Forget all entries, because something that they depend on was registered or unregistered.

        Other threads may hold entries at this moment, or be resolving one: those that are known retire, and a thread
        that resolves sees by the generation that its entry is out of date.
        """
        self.generation += 1
        tables = self.tables
        self.tables = {}
        self.last = EMPTY
        for table in list(tables.values()):
            for entries in list(table.values()):
                for entry in list(entries.values()):
                    entry.epoch = RETIRED

    def entry(self, keys, bits, args):
        """Return the entry of a combination, resolving it if it is new."""
        keys &= NOT_OVERRIDDEN
        epoch = STATE.epoch
        entry = self.last
        if entry.keys == keys and entry.bits == bits and entry.epoch == epoch:
            return entry
        table = self.tables.get(epoch)
        if table is not None:
            table = table.get(keys)
            if table is not None:
                entry = table.get(bits)
                if entry is not None and entry.epoch == epoch:
                    self.last = entry
                    return entry
        generation = self.generation
        entry = self.operator.resolve(self.form, keys, bits, args)
        self.tables.setdefault(epoch, {}).setdefault(keys, {})[bits] = entry
        self.last = entry
        if self.generation != generation:
            entry.epoch = RETIRED  # right for this call, which began before; for no later one
        return entry

    def scan(self, args):
        """Return the keys and the level-2 bits of a full argument tuple."""
        keys = 0
        bits = 0
        place = 0
        for position, how, shift in self.plan:
            value = args[position]
            if value is None:
                continue
            if how == 0:  # GROUP_TENSOR
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor.keys
                    bits |= tensor.promotion
                else:
                    bits |= SCALARS[type(value)]
            elif how == 2:  # OTHER_TENSOR
                if isinstance(value, TensorBase):
                    tensor = value
                    keys |= tensor.keys
                    code = tensor.spec.code + 1
                    bits |= code << shift
            elif how == 1 or how == 3:  # GROUP_LIST, OTHER_LIST
                for item in value:
                    if isinstance(item, TensorBase):
                        tensor = item
                        keys |= tensor.keys
                        if how == 1:
                            bits |= tensor.promotion
                        elif shift != 0:  # the first one of the list tells
                            code = tensor.spec.code + 1
                            bits |= code << shift
                            shift = 0
            elif how == 7:  # SCALAR_IN_GROUP
                bits |= SCALARS[type(value)]
            elif how == 4:  # DTYPE
                code = value.code + 1
                bits |= code << shift
            else:  # DEVICE, LAYOUT
                place = 1
        if place or keys == 0:
            keys = self.operator.place(keys, args)
        return keys, bits

    def execute(self, args):
        """Dispatch a full argument tuple for what stands above the layers already: plain modes do not see it."""
        if STATE.modes != 0:
            return entry_with_modes(self, args).run(args)
        keys, bits = self.scan(args)
        entry = self.entry(keys, bits, args)
        return entry.run(args)

    def dispatch(self, args):
        """Dispatch a full argument tuple for code of tt's own: only a user's calls are seen by `__tt_function__`."""
        if STATE.modes != 0:
            return call_with_modes(self, args)
        return self.execute(args)

    def general(self, args, kwargs):
        """Bind a user's arguments and dispatch them."""
        if kwargs and ("out" in kwargs or "requires_grad" in kwargs):
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

    def called(self, bound, function, args, kwargs):
        """Dispatch the full argument tuple of what a user called `function` with."""
        if STATE.modes != 0:
            return call_with_modes(self, bound, function, args, kwargs)
        keys, bits = self.scan(bound)
        if keys & OVERRIDDEN:
            return call_with_overrides(self, bound, function, args, kwargs)
        entry = self.entry(keys, bits, bound)
        return entry.run(bound)

    def one(self, value):
        """Call with one argument."""
        return self.general((value,), None)

    def two(self, left, right):
        """Call with two arguments."""
        return self.general((left, right), None)

    def __call__(self, *args, **kwargs):
        """Call the operator with what its signature takes."""
        return self.general(args, kwargs)


class UnaryCaller(Caller):
    """An operator whose arguments behind the first tensor all have defaults: `exp(x)`, `x.sum()`."""

    def one(self, value):
        """Call with the tensor alone."""
        if isinstance(value, TensorBase):
            tensor = value
            entry = self.last
            if entry.keys != tensor.keys or entry.bits != tensor.promotion or entry.epoch != STATE.guard:
                entry = self.find(tensor.keys, tensor.promotion)
            if entry is not None:
                if entry.direct:
                    try:
                        handle = entry.plain(tensor.handle)
                    except Exception as error:
                        handle = failed_direct(entry, error, (value,), self.tail)
                    # See Note [Written out twice].
                    spec = entry.spec
                    bits = entry.result_bits
                    if bits == 0:
                        if type(handle) is not entry.handle_type:
                            handle = entry.backend.normalise(handle)
                        bits = spec.dim_bit if handle.ndim else spec.zero_dim_bit
                    new = Tensor()
                    new.handle = handle
                    new.spec = spec
                    new.keys = spec.keys
                    new.promotion = bits
                    new.storage = None
                    new.record = None
                    new.base = None
                    return new
                return entry.run((value, *self.tail))
        return self.general((value,), None)

    def __call__(self, *args, **kwargs):
        """Call the operator with what its signature takes."""
        if len(args) == 1 and not kwargs:
            return self.one(args[0])
        return self.general(args, kwargs)


class BinaryCaller(Caller):
    """An operator on two tensors, or a tensor and a number, whose further arguments have defaults."""

    def two(self, left, right):
        """Call with the two operands alone."""
        try:
            first = left
            keys = first.keys
            bits = first.promotion
        except (AttributeError, TypeError):  # no tensor; the compiled form already refuses the assignment
            return self.general((left, right), None)
        if isinstance(right, TensorBase):
            second = right
            keys |= second.keys
            bits |= second.promotion
            operand = second.handle
        else:
            bit = SCALARS.get(type(right))
            if bit is None:
                return self.general((left, right), None)
            bits |= bit
            operand = right
        entry = self.last
        if entry.keys != keys or entry.bits != bits or entry.epoch != STATE.guard:
            entry = self.find(keys, bits)
        if entry is not None:
            if entry.direct:
                try:
                    handle = entry.plain(first.handle, operand)
                except Exception as error:
                    handle = failed_direct(entry, error, (left, right), self.tail)
                # See Note [Written out twice].
                spec = entry.spec
                bits = entry.result_bits
                if bits == 0:
                    if type(handle) is not entry.handle_type:
                        handle = entry.backend.normalise(handle)
                    bits = spec.dim_bit if handle.ndim else spec.zero_dim_bit
                new = Tensor()
                new.handle = handle
                new.spec = spec
                new.keys = spec.keys
                new.promotion = bits
                new.storage = None
                new.record = None
                new.base = None
                return new
            return entry.run((left, right, *self.tail))
        return self.general((left, right), None)

    def __call__(self, *args, **kwargs):
        """Call the operator with what its signature takes."""
        if len(args) == 2 and not kwargs:
            return self.two(args[0], args[1])
        return self.general(args, kwargs)
