"""Numbers: the smallest expression over sizes and integer arguments that gives a number in every observation.

Expressions are made from the bottom up, and of those that give the same numbers in all observations only the simplest
is kept.  Longer ones are found from both ends: for a half that is known, the other half is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

__all__ = ["Expression", "Table", "atoms_of", "windows"]

Vector = tuple[int, ...]


@dataclass(frozen=True, order=True)
class Expression:
    """Code, and how simple it is.

    Attributes
    ----------
    cost : float
        The simpler, the lower.
    code : str
        Python.
    level : int
        How strongly it binds: 0 an atom or a call, 1 a product, 2 a sum.
    """

    cost: float
    code: str
    level: int = 0

    def within(self, level: int) -> str:
        """Return the code as it is written where nothing may bind less strongly than `level`."""
        return self.code if self.level <= level else f"({self.code})"


def _times(a: Vector, b: Vector) -> Vector | None:
    return tuple(x * y for x, y in zip(a, b, strict=True))


def _plus(a: Vector, b: Vector) -> Vector | None:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _minus(a: Vector, b: Vector) -> Vector | None:
    return tuple(x - y for x, y in zip(a, b, strict=True))


def _divided(a: Vector, b: Vector) -> Vector | None:
    return None if 0 in b else tuple(x // y for x, y in zip(a, b, strict=True))


def _rounded_up(a: Vector, b: Vector) -> Vector | None:
    return None if 0 in b else tuple(-(-x // y) for x, y in zip(a, b, strict=True))


def _largest(a: Vector, b: Vector) -> Vector | None:
    return tuple(map(max, a, b))


def _smallest(a: Vector, b: Vector) -> Vector | None:
    return tuple(map(min, a, b))


@dataclass(frozen=True)
class Operation:
    """Something that is done to two expressions.

    Attributes
    ----------
    code : str
        With {a} and {b} in their places.
    cost : float
        How much less simple the result is.
    levels : tuple of int
        How strongly the result, a and b bind; see `Expression`.
    symmetric : bool
        Whether both orders are the same.
    function : callable
        What it does to the values; None where it cannot be done.
    """

    code: str
    cost: float
    levels: tuple[int, int, int]
    symmetric: bool
    function: Callable[[Vector, Vector], Vector | None]

    def of(self, a: Expression, b: Expression) -> Expression:
        """Return the expression of two others."""
        result, left, right = self.levels
        return Expression(
            a.cost + b.cost + self.cost, self.code.format(a=a.within(left), b=b.within(right)), result
        )


PLUS = Operation("{a} + {b}", 1.0, (2, 2, 2), True, _plus)
TIMES = Operation("{a} * {b}", 1.0, (1, 1, 0), True, _times)
MINUS = Operation("{a} - {b}", 1.1, (2, 2, 1), False, _minus)
DIVIDED = Operation("{a} // {b}", 1.4, (1, 1, 0), False, _divided)
ROUNDED_UP = Operation("-(-{a} // {b})", 1.8, (0, 0, 0), False, _rounded_up)
LARGEST = Operation("max({a}, {b})", 1.8, (0, 2, 2), True, _largest)
SMALLEST = Operation("min({a}, {b})", 1.8, (0, 2, 2), True, _smallest)
OPERATIONS: Final = (PLUS, TIMES, MINUS, DIVIDED, ROUNDED_UP, LARGEST, SMALLEST)
LONGER: Final[tuple[tuple[Operation, Callable[[Any, Any], Any]], ...]] = (
    (DIVIDED, lambda a, b: a // b),
    (ROUNDED_UP, lambda a, b: -(-a // b)),
    (LARGEST, np.maximum),
    (SMALLEST, np.minimum),
)
"""What is done to a longer expression and an atom, for all longer expressions together."""


class Table:
    """All small expressions over some atoms.

    Parameters
    ----------
    atoms : iterable of (code, values, cost)
        What expressions are made of, with its value in each observation.
    """

    def __init__(self, atoms: Iterable[tuple[str, Vector, float]]) -> None:
        self.atoms: dict[Vector, Expression] = {}
        for code, values, cost in atoms:
            self._keep(self.atoms, values, Expression(cost, code))
        self.known = dict(self.atoms)
        self._deeper = False

    @staticmethod
    def _keep(table: dict[Vector, Expression], values: Vector, new: Expression) -> None:
        old = table.get(values)
        if old is None or new < old:
            table[values] = new

    def _deepen(self) -> None:
        """Add all expressions of two atoms."""
        self._deeper = True
        atoms = list(self.atoms.items())
        for i, (a, one) in enumerate(atoms):
            for j, (b, two) in enumerate(atoms):
                for operation in OPERATIONS:
                    if operation.symmetric and j < i:
                        continue
                    values = operation.function(a, b)
                    if values is not None:
                        self._keep(self.known, values, operation.of(one, two))

    def find(self, target: Vector) -> Expression | None:
        """Return the simplest expression that gives the target, or None."""
        found = self.atoms.get(target)
        if found is not None:
            return found
        if not self._deeper:
            self._deepen()
        found = self.known.get(target)
        return found if found is not None else min(self._longer(target), default=None)

    def _longer(self, target: Vector) -> Iterator[Expression]:
        """Yield expressions of three and four atoms that give the target."""
        for a, one in list(self.known.items()):
            rest = self.known.get(_minus(target, a) or ())
            if rest is not None and not one.code.isdigit():  # numbers stand last: x + 3
                yield PLUS.of(one, rest)
            rest = self.known.get(_minus(a, target) or ())
            if rest is not None:
                yield MINUS.of(one, rest)
            if 0 not in a and all(t % x == 0 for t, x in zip(target, a, strict=True)):
                rest = self.known.get(_divided(target, a) or ())
                if rest is not None:
                    yield TIMES.of(one, rest)
        rows, wanted = np.array(list(self.known)), np.array(target)
        expressions = list(self.known.values())
        for b, two in self.atoms.items():
            column = np.array(b)
            for operation, function in LONGER:
                if operation.function(target, b) is None:
                    continue  # a division by zero
                for i in np.flatnonzero((function(rows, column) == wanted).all(1)):
                    yield operation.of(expressions[i], two)


def windows(
    target: Vector, sizes: Sequence[tuple[str, Vector]], numbers: Sequence[tuple[str, Vector]]
) -> Expression | None:
    """Return the number of windows that gives the target, as convolutions and pooling count them."""
    count = len(target)
    one, zero = ("1", (1,) * count), ("0", (0,) * count)
    best: Expression | None = None
    for (n, nv), (k, kv) in product(sizes, [*numbers, *sizes]):
        for (s, sv), (p, pv), (d, dv) in product([one, *numbers], [zero, *numbers], [one, *numbers]):
            # The first observation alone refutes nearly all of them.
            if 0 in sv or (nv[0] + 2 * pv[0] - dv[0] * (kv[0] - 1) - 1) // sv[0] + 1 != target[0]:
                continue
            values = tuple(
                (a + 2 * b - c * (e - 1) - 1) // f + 1
                for a, b, c, e, f in zip(nv, pv, dv, kv, sv, strict=True)
            )
            if values == target:
                cost = 8.0 + (s != "1") + (p != "0") + (d != "1")
                text = n + (f" + 2 * {p}" if p != "0" else "")
                text += f" - {k}" if d == "1" else f" - {d} * ({k} - 1) - 1"
                new = Expression(cost, f"({text}) // {s} + 1" if s != "1" else f"{text} + 1")
                best = new if best is None or new < best else best
    return best


# --- atoms -----------------------------------------------------------------------------------------------------


def atoms_of(environments: Sequence[Mapping[str, Any]]) -> tuple[list[tuple[str, Vector, float]], list[str]]:
    """Return what numbers can be made of: sizes of tensors, integers, lengths, with their values in each observation.

    Parameters
    ----------
    environments : sequence of mapping
        The arguments of each observation by name, tensors without data.
    """
    count = len(environments)
    found: list[tuple[str, Vector, float]] = []
    sizes: list[str] = []
    for name in environments[0]:
        values = [env[name] for env in environments]
        if all(_is_tensor(v) for v in values):
            new = _tensor_atoms(name, values)
            sizes += [code for code, _, _ in new]
            found += new
        elif all(isinstance(v, int) and not isinstance(v, bool) for v in values):
            found.append((name, tuple(values), 1.0))
        elif all(isinstance(v, list | tuple) for v in values):
            found += _list_atoms(name, values)
        elif all(isinstance(v, float) for v in values):
            found += [
                (f"int({code} * {name})", tuple(int(a * b) for a, b in zip(vector, values, strict=True)), 3.0)
                for code, vector, _ in list(found)
                if code in sizes
            ]
    constants = ((1, 1.2), (2, 1.3), (0, 1.3), (3, 2.4), (4, 2.4))
    return [*found, *((str(n), (n,) * count, cost) for n, cost in constants)], sizes


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _tensor_atoms(name: str, values: Sequence[Any]) -> list[tuple[str, Vector, float]]:
    shapes = [tuple(v.shape) for v in values]
    ranks = {len(shape) for shape in shapes}
    found: list[tuple[str, Vector, float]] = []
    for i in range(min(ranks)):
        found.append((f"{name}.shape[{i}]", tuple(shape[i] for shape in shapes), 1.0))
    if len(ranks) > 1:
        found += [
            (f"{name}.shape[{-i}]", tuple(shape[-i] for shape in shapes), 1.0)
            for i in range(1, min(ranks) + 1)
        ]
        found.append((f"{name}.ndim", tuple(map(len, shapes)), 1.5))
    if max(ranks) > 1:
        found.append((f"{name}.numel()", tuple(v.numel() for v in values), 1.4))
    return found


def _list_atoms(name: str, values: Sequence[Any]) -> list[tuple[str, Vector, float]]:
    found: list[tuple[str, Vector, float]] = [(f"len({name})", tuple(map(len, values)), 1.4)]
    numbers = all(isinstance(i, int) and not isinstance(i, bool) for v in values for i in v)
    if numbers:
        found.append((f"sum({name})", tuple(map(sum, values)), 1.8))
        for i in range(min(map(len, values))):
            found.append((f"{name}[{i}]", tuple(v[i] for v in values), 1.0))
    elif all(_is_tensor(i) for v in values for i in v) and all(values):
        for code, vector, cost in _tensor_atoms(f"{name}[0]", [v[0] for v in values]):
            found.append((code, vector, cost + 0.1))
    return found
