"""How a written-out call looks at one argument: the lines that do what `Caller.quick` does for its kind.

See Note [Written-out calls] in `written`.
"""

from __future__ import annotations

from typing import Final

from tt.core.dispatch import quick as q
from tt.core.dispatch.callers import Caller
from tt.core.dispatch.written_text import indented

__all__ = ["ParameterWriter"]

_CODES: Final = 16  # dtypes, and some room

_TYPES: Final[dict[int, type]] = {q.INT: int, q.BOOL: bool, q.STRING: str}
"""The kinds of parameters that take one type as it is."""


class ParameterWriter:
    """Writes the lines for the parameters of an operator.

    Attributes
    ----------
    caller : Caller
        The form of the operator.
    types : tuple or None
        As for `written`.
    values : list of str
        What stands for each parameter given by position, once it was looked at.
    tables : dict
        The tables of numbers to which the lines refer, by name.
    looked_up : bool
        Whether some line has set `keys` and `bits`.
    """

    def __init__(self, caller: Caller, types: tuple[type | None, ...] | None) -> None:
        self.caller, self.types = caller, types
        self.tables: dict[str, tuple[int, ...]] = {}
        self.looked_up = False
        self.values = [f"p{i}" for i in range(caller.positional)]

    def tells(self, i: int) -> bool:
        """Tell whether an argument has a part in the keys or bits."""
        caller = self.caller
        assert caller.kinds is not None
        kind, shift = caller.kinds[i] & 15, caller.shifts[i]
        return kind in (q.TENSOR, q.OPERAND, q.TENSORS) or (kind in (q.NUMBER, q.DTYPE_OBJECT) and shift >= 0)

    def is_plain(self, i: int) -> bool:
        """Tell whether an argument is a tensor, or a tensor or number, in each call."""
        caller = self.caller
        assert caller.kinds is not None
        return self.values[i] == f"p{i}" and caller.kinds[i] in (q.TENSOR, q.OPERAND)

    def has_tensor(self) -> bool:
        """Tell whether a call that gets as far has keys: its first argument is a tensor."""
        kinds = self.caller.kinds
        return bool(kinds and self.caller.required and kinds[0] == q.TENSOR)

    def codes(self, shift: int) -> str:
        """Return the name of the table of the bits of each dtype at one position."""
        name = f"codes{len(self.tables)}"
        self.tables[name] = tuple((code + 1) << shift for code in range(_CODES))
        return name

    def lines(self, i: int) -> list[str]:
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
                lines = ["if more[0] is not None:", *indented(lines)]
            return [
                "if len(more) == 1 and type(more[0]) is not int:",
                f"    v{i} = more[0]",
                *indented(lines),
                "else:",
                f"    v{i} = more",
                "    for item in more:",
                "        if type(item) is not int:",
                "            raise TypeError",
                "    if not more:",  # none are given, or the default is meant
                "        raise TypeError",
            ]
        lines = self._given_parameter(i, optional, kind)
        return lines if required else [f"if p{i} is ABSENT:", f"    v{i} = d{i}", "else:", *indented(lines)]

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
            lines = [f"if p{i} is not None:", *indented(lines)]
        if self.values[i] == f"v{i}":
            lines.insert(0, f"v{i} = p{i}")
        return lines

    def _checks(self, i: int, kind: int) -> list[str]:
        caller, name = self.caller, self.values[i]
        shift, length = caller.shifts[i], caller.lengths[i]
        leave = indented(["raise TypeError"])
        if kind == q.TENSOR:
            first = i == 0 and self.has_tensor()
            self.looked_up = self.looked_up or first
            join = "=" if first else "|="
            lines = [f"keys {join} {name}.keys"]
            if shift == 0:
                lines.append(f"bits {join} {name}.promotion")
            elif shift > 0:
                lines.append(f"bits {join} {self.codes(shift)}[{name}.spec.code]")
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
                tensor.append(f"bits |= {self.codes(shift)}[{name}.spec.code]")
            test = f"if type({name}) is Tensor or isinstance({name}, TensorBase):"
            return [test, *indented(tensor), "else:", *indented(number)]
        if kind == q.TENSORS:
            lines = [f"if type({name}) is not list and type({name}) is not tuple:", *leave]
            each = ["keys |= item.keys"]
            if shift == 0:
                each.append("bits |= item.promotion")
            elif shift < 0:
                each.append("item.promotion")
            if length < 0:
                each = ["if item is not None:", *indented(each)]
            if shift > 0:  # the first one tells
                leading = f"{name}[0]" if length >= 0 else f"next((v for v in {name} if v is not None), None)"
                lines += [f"item = {leading} if {name} else None", "if item is not None:"]
                lines.append(f"    bits |= {self.codes(shift)}[item.spec.code]")
            return [*lines, f"for item in {name}:", *indented(each), f"{name} = list({name})"]
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
            return [*lines, f"bits |= {self.codes(shift)}[{name}.code]"] if shift > 0 else lines
        if kind in _TYPES:
            return [f"if type({name}) is not {_TYPES[kind].__name__}:", *leave]
        return [f"if {name} is not d{i}:", *leave]
