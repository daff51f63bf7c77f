"""Written-out calls: where the hot modules are interpreted, each operator is called by a function made for it.

Note [Written-out calls]
------------------------
Interpreted, a look at a description (`Caller.quick`) costs many times what the thing described costs.  So the loop over
the parameters, the table of choices and the wrapping of results are written out as Python functions: one for each
shape of a signature and one for each shape of an entry, compiled once for all operators of the same shape.  They do
what `Caller.quick` and `Entry.run` do, compare the same numbers (keys, bits, epoch) with the same entry, and leave
what those leave.  An operator gets its function when it is resolved first.  Compiled modules never come here.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, Final

from tt.core import compiled
from tt.core.dispatch import quick as q
from tt.core.dispatch.callers import Caller
from tt.core.dispatch.packets import Packet
from tt.core.dispatch.quick import MISSED
from tt.core.dispatch.short_callers import BinaryCaller, UnaryCaller
from tt.core.dispatch.state import STATE
from tt.core.dispatch.written_entries import write_entry
from tt.core.dtype import dtype as Dtype
from tt.core.promotion import SCALAR_BITS
from tt.core.tensor import Tensor
from tt.core.tensor_base import TensorBase

__all__ = ["ACTIVE", "make", "take_over", "take_over_packet", "written"]

ACTIVE: Final = not compiled.status().active
"""Whether calls are written out: where nothing is compiled."""

ABSENT: Final[Any] = object()
"""The default of every parameter: what a call did not give."""

_CODES: Final = 16  # dtypes, and some room

_TYPES: Final[dict[int, type]] = {q.INT: int, q.BOOL: bool, q.STRING: str}
"""The kinds of parameters that take one type as it is."""

_PLAIN_CALLS: Final = tuple(kind.__call__ for kind in (Caller, UnaryCaller, BinaryCaller))


@cache
def _code(text: str) -> CodeType:
    name = f"<written-out call {_code.cache_info().misses}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return compile(text, name, "exec")


def make(head: str, lines: list[str], constants: dict[str, Any]) -> Callable[..., Any]:
    """Return a function of the given head and lines, to which the constants are known.

    Functions of the same text share their code.
    """
    names = ", ".join(constants)
    body = "\n".join(f"        {line}" for line in lines)
    text = f"def maker({names}):\n    def written_out({head}):\n{body}\n    return written_out\n"
    space: dict[str, Any] = {}
    exec(_code(text), space)
    made: Callable[..., Any] = space["maker"](**constants)
    return made


def _given(values: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the positional arguments as they were written."""
    return (*[value for value in values if value is not ABSENT], *more)


# --- one operator ------------------------------------------------------------------------------------------------


def written(
    caller: Caller, missed: Callable[..., Any], types: tuple[type | None, ...] | None = None
) -> Callable[..., Any] | None:
    """Return the function that dispatches calls of an operator; None where it has none.

    Parameters
    ----------
    caller : Caller
        The form of the operator.
    missed : callable
        Gets the arguments as they were written, positional and named, of calls that the function leaves.
    types : tuple, optional
        Says that calls have exactly as many arguments, all by position, and of which type each is, or None.  Such a
        function costs a tenth less, since it has no place for others.
    """
    if caller.kinds is None:
        caller.operator.describe_parameters(caller)
    last = caller.positional - 1
    count = len(caller.defaults)
    if caller.form == "out":
        if caller.variadic >= 0 or caller.operator.out_count != 1:
            return None
        last = count - 1
    if caller.looks_at_all or caller.variadic not in (-1, last):
        return None
    if any(caller.defaults[i] is q.UNLIKE_ANY for i in range(caller.positional, count)):
        return None
    if types is not None:
        sizes = types[caller.variadic :] if caller.variadic >= 0 else ()
        single = len(types) <= caller.positional
        if len(types) < caller.required or not (single or all(kind is int for kind in sizes)):
            return None
    writer = _Writer(caller, missed, types)
    return make(writer.head, writer.lines, writer.constants)


class _Writer:
    """Writes the function of an operator's signature.

    Attributes
    ----------
    head : str
        Its parameters.
    lines : list of str
        Its body.
    constants : dict
        What the body refers to.
    """

    def __init__(
        self, caller: Caller, missed: Callable[..., Any], types: tuple[type | None, ...] | None = None
    ) -> None:
        self.caller, self.types = caller, types
        self.tables: dict[str, tuple[int, ...]] = {}
        positional = caller.positional
        variadic = caller.variadic >= 0 and types is None
        takes_out = caller.functional and caller.operator.writes_out and types is None
        names = [f"p{i}" for i in range(positional if types is None else len(types))]
        fixed = names[:-1] if variadic else names
        given = f"({''.join(f'{name}, ' for name in fixed)})"
        if types is not None:
            self.head = ", ".join([*names, "/"] if names else [])
            self.leave = f"return missed({given}, {{}})"
        else:
            head = [f"{name}=ABSENT" for name in fixed] + ["/"] * bool(fixed)
            self.head = ", ".join([*head, "*more", *["out=None"] * takes_out, "**named"])
            given = f"(*given({given}, ()), *more)" if variadic else f"given({given}, more)"
            self.leave = f"return missed({given}, named)"
        self.looked_up = False
        self.lines: list[str] = []
        self.values = [f"p{i}" for i in range(positional)]
        looks = {i: self._parameter(i) for i in range(positional)}
        self.constants: dict[str, Any] = {}
        tensors = [i for i in looks if looks[i] and self._tells(i)]
        plain = bool(tensors) and all(self._is_plain(i) for i in tensors)
        reads = [line for i in (tensors if plain else looks) for line in looks[i]]
        if caller.target_shift:
            reads.append(f"bits |= {self._codes(caller.target_shift)}[p0.spec.code]")
        if not self.looked_up:
            reads.insert(0, "keys = bits = 0")
        if not self._has_tensor():
            # As in `Caller.quick`: the place is known, and nobody has set another device.
            reads += ["if keys == 0:", "    keys = caller.home", "    if STATE.placed or not keys:"]
            reads += ["        raise TypeError"]
        reads += [
            "entry = caller.last",
            "if entry.keys != keys or entry.bits != bits or entry.epoch != STATE.guard:",
            "    entry = find(keys, bits)",
        ]
        if plain:
            reads = self._unless_same(tensors, reads)
            reads += [line for i in looks if i not in tensors for line in looks[i]]
        rest = [f"d{i}" for i in range(positional, len(caller.defaults))]
        if types is None:
            self.lines.append("if named:" if variadic else "if named or more:")
            if takes_out:
                self.lines += _in(["if out is not None:", "    named['out'] = out"])
            self.lines += _in([self.leave])
        if takes_out:
            filled = [
                name if i < caller.required else f"d{i} if {name} is ABSENT else {name}"
                for i, name in enumerate(names)
            ]
            fill = [
                "    fill = filling[0] or learn_to_fill()",
                f"    result = fill({', '.join([*filled, *rest])}, out)",
                "    if result is not MISSED:",
                "        return result",
            ]
            # What may be one number or several has no parameter of its own.
            self.lines += ["if out is not None:", *([] if variadic else fill)]
            self.lines += ["    named['out'] = out", f"    {self.leave}"]
        self.lines += [
            "try:",
            *_in(reads),
            "except (AttributeError, TypeError):",
            "    entry = None",
            "if entry is None:",
            f"    {self.leave}",
            "serve = entry.serve",
            "if serve is None:",
            "    serve = write_entry(entry, caller)",
            f"return serve({', '.join([*self.values, *rest])})",
        ]
        self.constants |= {
            **self.tables,
            **{f"d{i}": default for i, default in enumerate(caller.defaults)},
            "ABSENT": ABSENT,
            "Dtype": Dtype,
            "MISSED": MISSED,
            "SCALARS": SCALAR_BITS,
            "STATE": STATE,
            "Tensor": Tensor,
            "TensorBase": TensorBase,
            "caller": caller,
            "find": caller.find,
            "filling": (filling := [None]),
            "given": _given,
            "learn_to_fill": _learning(caller, filling),
            "missed": missed,
            "write_entry": write_entry,
        }

    def _tells(self, i: int) -> bool:
        """Tell whether an argument has a part in the keys or bits."""
        caller = self.caller
        assert caller.kinds is not None
        kind, shift = caller.kinds[i] & 15, caller.shifts[i]
        return kind in (q.TENSOR, q.OPERAND, q.TENSORS) or (kind in (q.NUMBER, q.DTYPE_OBJECT) and shift >= 0)

    def _is_plain(self, i: int) -> bool:
        """Tell whether an argument is a tensor, or a tensor or number, in each call."""
        caller = self.caller
        assert caller.kinds is not None
        return self.values[i] == f"p{i}" and caller.kinds[i] in (q.TENSOR, q.OPERAND)

    def _unless_same(self, tensors: list[int], reads: list[str]) -> list[str]:
        """Return lines that find the entry only where keys or bits are other objects than in the last call.

        Tensors of one kind share these objects, so that comparing identities nearly always suffices.  The entry tells
        by its epoch whether it is still right.
        """
        assert self.caller.kinds is not None
        names, differ, note, values = [], [], [], []
        for i in tensors:
            names += [f"k{i}", f"b{i}"]
            read = f"p{i}.keys is not k{i} or p{i}.promotion is not b{i}"
            if self.caller.kinds[i] == q.TENSOR:
                differ.append(read)
                values += [f"p{i}.keys", f"p{i}.promotion"]
            else:
                names.append(f"t{i}")
                differ.append(f"type(p{i}) is not t{i} or (t{i} is Tensor and ({read}))")
                values += [f"k{i}", f"b{i}", f"t{i}"]
                note += [
                    f"k{i} = b{i} = None",
                    f"t{i} = type(p{i})",
                    f"if t{i} is Tensor:",
                    f"    k{i}, b{i} = p{i}.keys, p{i}.promotion",
                    f"elif isinstance(p{i}, TensorBase):",
                    f"    t{i} = None",  # instances of one subclass may have different keys
                ]
        self.constants["last"] = (ABSENT,) * (len(names) + 1)
        self.lines.append("nonlocal last")
        return [
            f"{', '.join(names)}, entry = last",
            f"if {' or '.join(differ)} or entry.epoch != STATE.guard:",
            *_in(reads),
            "    if entry is not None:",
            *_in(_in(note)),
            f"        last = ({', '.join(values)}, entry)",
            "elif caller.last is not entry:",
            "    caller.last = entry",
        ]

    def _has_tensor(self) -> bool:
        """Tell whether a call that gets as far has keys: its first argument is a tensor."""
        kinds = self.caller.kinds
        return bool(kinds and self.caller.required and kinds[0] == q.TENSOR)

    def _codes(self, shift: int) -> str:
        """Return the name of the table of the bits of each dtype at one position."""
        name = f"codes{len(self.tables)}"
        self.tables[name] = tuple((code + 1) << shift for code in range(_CODES))
        return name

    def _parameter(self, i: int) -> list[str]:
        """Return the lines that look at an argument: what `Caller.quick` does for its kind."""
        caller = self.caller
        assert caller.kinds is not None
        kind = caller.kinds[i]
        optional, kind = kind >= q.NONE_TAKEN, kind & 15
        types = self.types
        if types is not None:
            return self._given_parameter(i, optional, kind) if i < len(types) else self._left_out(i)
        # What is completed or converted gets another name: `leave` hands on the arguments as they were written.
        required = i < caller.required and caller.defaults[i] is q.UNLIKE_ANY
        if i == caller.variadic or not required:
            self.values[i] = f"v{i}"
        if i == caller.variadic:
            lines = self._checks(i, kind)
            if optional:
                lines = ["if more[0] is not None:", *_in(lines)]
            return [
                "if len(more) == 1 and type(more[0]) is not int:",
                f"    v{i} = more[0]",
                *_in(lines),
                "else:",
                f"    v{i} = more",
                "    for item in more:",
                "        if type(item) is not int:",
                "            raise TypeError",
                "    if not more:",  # none are given, or the default is meant
                "        raise TypeError",
            ]
        lines = self._given_parameter(i, optional, kind)
        return lines if required else [f"if p{i} is ABSENT:", f"    v{i} = d{i}", "else:", *_in(lines)]

    def _left_out(self, i: int) -> list[str]:
        self.values[i] = f"d{i}"
        return []

    def _given_parameter(self, i: int, optional: bool, kind: int) -> list[str]:
        """Return the lines for an argument that is there."""
        types = self.types
        if types is not None and i == self.caller.variadic and types[i] is int:
            self.values[i] = f"v{i}"
            return [f"v{i} = ({''.join(f'p{k}, ' for k in range(i, len(types)))})"]
        known = None if types is None else types[i]
        if known is not None and known is _TYPES.get(kind):
            return []
        if kind in (q.SIZES, q.FLOAT, q.TENSORS):
            self.values[i] = f"v{i}"
        lines = self._checks(i, kind)
        if optional:
            lines = [f"if p{i} is not None:", *_in(lines)]
        if self.values[i] == f"v{i}":
            lines.insert(0, f"v{i} = p{i}")
        return lines

    def _checks(self, i: int, kind: int) -> list[str]:
        caller, name = self.caller, self.values[i]
        shift, length = caller.shifts[i], caller.lengths[i]
        leave = _in(["raise TypeError"])
        if kind == q.TENSOR:
            first = i == 0 and self._has_tensor()
            self.looked_up = self.looked_up or first
            join = "=" if first else "|="
            lines = [f"keys {join} {name}.keys"]
            if shift == 0:
                lines.append(f"bits {join} {name}.promotion")
            elif shift > 0:
                lines.append(f"bits {join} {self._codes(shift)}[{name}.spec.code]")
            else:
                lines.append(f"bits {join} {name}.promotion & 0")  # of a tensor, as `keys` alone is not
            return lines
        if kind == q.OPERAND:
            number = [f"bit = SCALARS.get(type({name}))", "if bit is None:", *leave]
            if shift == 0:
                number.append("bits |= bit")
            tensor = [f"keys |= {name}.keys"]
            if shift == 0:
                tensor.append(f"bits |= {name}.promotion")
            elif shift > 0:
                tensor.append(f"bits |= {self._codes(shift)}[{name}.spec.code]")
            test = f"if type({name}) is Tensor or isinstance({name}, TensorBase):"
            return [test, *_in(tensor), "else:", *_in(number)]
        if kind == q.TENSORS:
            lines = [f"if type({name}) is not list and type({name}) is not tuple:", *leave]
            each = ["keys |= item.keys"]
            if shift == 0:
                each.append("bits |= item.promotion")
            elif shift < 0:
                each.append("item.promotion")
            if length < 0:
                each = ["if item is not None:", *_in(each)]
            if shift > 0:  # the first one tells
                leading = f"{name}[0]" if length >= 0 else f"next((v for v in {name} if v is not None), None)"
                lines += [f"item = {leading} if {name} else None", "if item is not None:"]
                lines.append(f"    bits |= {self._codes(shift)}[item.spec.code]")
            return [*lines, f"for item in {name}:", *_in(each), f"{name} = list({name})"]
        if kind == q.SIZES:
            several = [
                f"elif type({name}) is tuple or type({name}) is list:",
                f"    for item in {name}:",
                "        if type(item) is not int:",
                "            raise TypeError",
                f"    if type({name}) is list:",
                f"        {name} = tuple({name})",
                "else:",
                *leave,
            ]
            one = f"    {name} = ({', '.join([name] * length)},)" if length else "    raise TypeError"
            return [f"if type({name}) is int:", one, *several]
        if kind == q.FLOAT:
            return [
                f"if type({name}) is not float:",
                f"    if type({name}) is not int:",
                "        raise TypeError",
                f"    {name} = float({name})",
            ]
        if kind == q.NUMBER:
            lines = [f"bit = SCALARS.get(type({name}))", "if bit is None:", *leave]
            return [*lines, "bits |= bit"] if shift == 0 else lines
        if kind == q.DTYPE_OBJECT:
            lines = [f"if type({name}) is not Dtype:", *leave]
            return [*lines, f"bits |= {self._codes(shift)}[{name}.code]"] if shift > 0 else lines
        if kind in _TYPES:
            return [f"if type({name}) is not {_TYPES[kind].__name__}:", *leave]
        return [f"if {name} is not d{i}:", *leave]


def _leave(*args: Any) -> Any:
    return MISSED


def _learning(caller: Caller, filling: list[Any]) -> Callable[[], Callable[..., Any]]:
    """Return what returns the function of the form with `out=`; it is written after `Caller.quick_out` met a call."""

    def learn_to_fill() -> Callable[..., Any]:
        filler = caller.out_caller
        if filler is None:
            return _leave
        function = written(filler, lambda args, named: MISSED, (None,) * len(filler.defaults)) or _leave
        filling[0] = function
        return function

    return learn_to_fill


def _in(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# --- taking over -------------------------------------------------------------------------------------------------


def take_over(caller: Caller) -> None:
    """Let calls of an operator go to its written-out function."""
    kind = type(caller)
    if kind.__call__ not in _PLAIN_CALLS:
        return

    def missed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = caller.quick(args, kwargs)
        return caller.general(args, kwargs) if result is MISSED else result

    function = written(caller, missed)
    if function is not None:
        _become(caller, function)


def take_over_packet(packet: Packet) -> None:
    """Let calls of several overloads under one name go to the function of the one that takes the arguments."""
    if type(packet).__call__ is not Packet.__call__:
        return
    functions: dict[Any, Callable[..., Any] | None] = {}
    find = functions.get
    general = packet.call

    def learn(args: tuple[Any, ...]) -> Any:
        """Make a call, and write out what took arguments of these types."""
        result = general(args, {})
        types = tuple(map(type, args))
        caller = packet.choices.get(types)
        if caller is None and len(args) == 1 and isinstance(args[0], TensorBase):
            caller = packet.unary
        if types not in functions and caller is not None and caller.last.epoch >= 0:
            functions[types] = written(caller, general, types)
        return result

    # The types and the function of the last call, for one, two and three arguments; each is replaced as a whole.
    last1: Any = (ABSENT, None)
    last2: Any = (ABSENT, None, None)
    last3: Any = (ABSENT, None, None, None)

    def call(p0: Any = ABSENT, p1: Any = ABSENT, p2: Any = ABSENT, /, *more: Any, **named: Any) -> Any:
        nonlocal last1, last2, last3
        if named or more or p0 is ABSENT:
            args = _given((p0, p1, p2), more)
            return general(args, named) if named or not more else further(args)
        if p1 is ABSENT:
            t0, function = last1
            if type(p0) is not t0:
                function = find((type(p0),))
                if function is None:
                    return learn((p0,))
                last1 = type(p0), function
            return function(p0)
        if p2 is ABSENT:
            t0, t1, function = last2
            if type(p0) is not t0 or type(p1) is not t1:
                function = find((type(p0), type(p1)))
                if function is None:
                    return learn((p0, p1))
                last2 = type(p0), type(p1), function
            return function(p0, p1)
        t0, t1, t2, function = last3
        if type(p0) is not t0 or type(p1) is not t1 or type(p2) is not t2:
            function = find((type(p0), type(p1), type(p2)))
            if function is None:
                return learn((p0, p1, p2))
            last3 = type(p0), type(p1), type(p2), function
        return function(p0, p1, p2)

    def further(args: tuple[Any, ...]) -> Any:
        function = find(tuple(map(type, args)))
        return learn(args) if function is None else function(*args)

    _become(packet, call)


def _become(thing: Any, function: Callable[..., Any]) -> None:
    """Make a function what an object does when it is called: the object's class gets it as `__call__`."""
    kind = type(thing)
    names = {"__call__": staticmethod(function), "__slots__": (), "__qualname__": kind.__qualname__}
    names |= {name: vars(kind)[name] for name in ("__doc__", "__module__") if name in vars(kind)}
    thing.__class__ = type(kind.__name__, (kind,), names)
