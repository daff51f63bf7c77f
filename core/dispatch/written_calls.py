"""The function of an operator: it looks at the arguments, finds the entry and serves the call.

See Note [Written-out calls] in `written`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from tt.core.dispatch import quick as q
from tt.core.dispatch.callers import Caller
from tt.core.dispatch.entry import EMPTY, LAYER, Entry
from tt.core.dispatch.quick import MISSED
from tt.core.dispatch.state import STATE
from tt.core.dispatch.written_entries import write_entry, write_inline
from tt.core.dispatch.written_parameters import ParameterWriter
from tt.core.dispatch.written_text import ABSENT, indented, open_function, rewrite
from tt.core.dtype import dtype as Dtype
from tt.core.promotion import SCALAR_BITS
from tt.core.tensor import Tensor
from tt.core.tensor_base import TensorBase

__all__ = ["PLACES", "as_written", "written"]

PLACES: Final = 3
"""How many arguments by position have a place of their own in the function of several overloads."""

_TRIES: Final = 8
"""After so many calls that no text of their own suits, a function stops asking."""

_LEARNING: Final = threading.RLock()


def as_written(values: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the positional arguments as they were written."""
    return (*[value for value in values if value is not ABSENT], *more)


def written(
    caller: Caller,
    missed: Callable[..., Any],
    types: tuple[type | None, ...] | None = None,
    *,
    settled: Callable[[], None] | None = None,
    otherwise: Callable[..., Any] | None = None,
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
    settled : callable, optional
        Called once the function has its last text.
    otherwise : callable, optional
        Says that calls may have other arguments, all with the default ABSENT; it gets those.
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
    return _Writer(caller, missed, types, settled, otherwise).function


class _Writer:
    """Writes the function of an operator's signature, and once more when it serves the first entry.

    Attributes
    ----------
    function : callable
        The function.
    """

    def __init__(
        self,
        caller: Caller,
        missed: Callable[..., Any],
        types: tuple[type | None, ...] | None,
        settled: Callable[[], None] | None,
        otherwise: Callable[..., Any] | None,
    ) -> None:
        self.caller, self.settled = caller, settled
        self.parameters = parameters = ParameterWriter(caller, types)
        self.tries, self.learnt = 0, False
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
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        if otherwise is not None and types is not None:
            self._or_else(types, otherwise)
        reads = self._reads(positional)
        rest = [f"d{i}" for i in range(positional, len(caller.defaults))]
        if types is None:
            self.lines.append("if named:" if variadic else "if named or more:")
            if takes_out:
                self.lines += indented(["if out is not None:", "    named['out'] = out"])
            self.lines += indented([self.leave])
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
        self.lines += ["try:", *indented(reads), "except (AttributeError, TypeError):", "    entry = None"]
        self.arguments = [*parameters.values, *rest]
        self.ending = [
            "if entry is None:",
            f"    {self.leave}",
            "serve = entry.serve",
            "if serve is None:",
            "    serve = write_entry(entry, caller)",
            f"return serve({', '.join(self.arguments)})",
        ]
        self.constants |= {
            **parameters.tables,
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
            "given": as_written,
            "learn": self.learn,
            "learn_to_fill": _learning(caller, filling),
            "missed": missed,
            "recent": EMPTY,
            "write_entry": write_entry,
        }
        learning = [*self.ending[:-1], "learn(entry)", self.ending[-1]]
        self.function = open_function(self.head, [*self.lines, *learning], self.constants)

    def _or_else(self, types: tuple[type | None, ...], otherwise: Callable[..., Any]) -> None:
        """Begin with a look whether these are the arguments, as `take_over_packet` takes them."""
        count = len(types)
        differ = [f"p{count} is not ABSENT" if count < PLACES else "more", "named"]
        differ += [f"type(p{i}) is not type{i}" for i in range(count)]
        places = [f"p{i}" for i in range(PLACES)]
        self.head = ", ".join([*(f"{place}=ABSENT" for place in places), "/", "*more", "**named"])
        self.lines += [
            f"if {' or '.join(differ)}:",
            f"    return otherwise({', '.join(places)}, *more, **named)",
        ]
        self.constants |= {"otherwise": otherwise, **{f"type{i}": kind for i, kind in enumerate(types)}}

    def learn(self, entry: Entry) -> None:
        """Write the function again: what the first entry does stands in it from then on, at the cost of no call.

        Other entries keep functions of their own, and so does the first one where it cannot be written so.
        """
        with _LEARNING:
            if self.learnt:
                return
            self.tries += 1
            settled = entry.serve is not None and entry.kind != LAYER
            if not settled and self.tries < _TRIES:
                return
            self.learnt = True
            lines, constants = (settled and write_inline(entry, self.caller, self.arguments)) or ([], {})
            if lines:
                lines, constants = ["if entry is first:", *indented(lines)], {**constants, "first": entry}
            rewrite(self.function, self.head, [*self.lines, *lines, *self.ending], constants)
        if self.settled is not None:
            self.settled()

    def _reads(self, positional: int) -> list[str]:
        """Return the lines that look at the arguments and find the entry."""
        caller, parameters = self.caller, self.parameters
        looks = {i: parameters.lines(i) for i in range(positional)}
        tensors = [i for i in looks if looks[i] and parameters.tells(i)]
        plain = bool(tensors) and all(parameters.is_plain(i) for i in tensors)
        reads = [line for i in (tensors if plain else looks) for line in looks[i]]
        if caller.target_shift:
            reads.append(f"bits |= {parameters.codes(caller.target_shift)}[p0.spec.code]")
        if not parameters.looked_up:
            reads.insert(0, "keys = bits = 0")
        if not parameters.has_tensor():
            # As in `Caller.quick`: the place is known, and nobody has set another device.
            reads += ["if keys == 0:", "    keys = caller.home", "    if STATE.placed or not keys:"]
            reads += ["        raise TypeError"]
        reads += [
            "entry = recent",
            "if entry.keys != keys or entry.bits != bits or entry.epoch != STATE.guard:",
            "    entry = find(keys, bits)",
            "    if entry is not None:",
            "        recent = entry",
        ]
        self.lines.append("global recent")
        if plain:
            reads = self._unless_same(tensors, reads)
            reads += [line for i in looks if i not in tensors for line in looks[i]]
        return reads

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
        self.lines.append("global last")
        return [
            f"{', '.join(names)}, entry = last",
            f"if {' or '.join(differ)} or entry.epoch != STATE.guard:",
            *indented(reads),
            "    if entry is not None:",
            *indented(indented(note)),
            f"        last = ({', '.join(values)}, entry)",
        ]


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
