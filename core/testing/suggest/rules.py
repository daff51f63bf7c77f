"""Rules: the simplest code that gives what was observed, with a condition where one expression does not do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Final

from tt.core.testing.suggest.numbers import Expression, Table, atoms_of, windows

__all__ = ["Rule", "dtype_rule", "evaluate", "number_rule", "shape_rule", "solve"]

Environment = Mapping[str, Any]
Solver = Callable[[Sequence[Environment], Sequence[Any]], Expression | None]


@dataclass(frozen=True)
class Rule:
    """Code that gives a value; with a condition, one of two.

    Attributes
    ----------
    code : str
        The expression, or the condition.
    cost : float
        The simpler, the lower.
    then, otherwise : Rule or None
        What holds if the condition does, and if not.
    """

    code: str
    cost: float
    then: Rule | None = None
    otherwise: Rule | None = None

    @property
    def inline(self) -> str:
        """The rule as one expression."""
        if self.then is None or self.otherwise is None:
            return self.code
        return f"({self.then.inline} if {self.code} else {self.otherwise.inline})"

    def statements(self, name: str) -> list[str]:
        """Return the lines that give the value to a name."""
        if self.then is None or self.otherwise is None:
            return [f"{name} = {self.code}"]
        then, other = self.then.statements(name), self.otherwise.statements(name)
        lines = [f"if {self.code}:", *(f"    {line}" for line in then)]
        if other[0].startswith("if "):
            return [*lines, f"el{other[0]}", *other[1:]]
        return [*lines, "else:", *(f"    {line}" for line in other)]


def evaluate(code: str, environment: Environment) -> Any:
    """Return the value of an expression for some arguments."""
    import tt

    return eval(code, {"tt": tt, "functools": functools, **environment})


def fits(code: str, environments: Sequence[Environment], targets: Sequence[Any]) -> bool:
    """Tell whether an expression gives every target."""
    try:
        return all(evaluate(code, e) == t for e, t in zip(environments, targets, strict=True))
    except Exception:  # an expression may make no sense for some arguments
        return False


# --- conditions ------------------------------------------------------------------------------------------------


BUDGET: Final = 80
"""How many sets of observations are searched for one rule before giving up."""


def solve(solver: Solver, environments: Sequence[Environment], targets: Sequence[Any]) -> Rule | None:
    """Return the simplest rule that gives every target, with conditions one within another where there must be some."""
    return _Conditions(solver, environments, targets).solve()


class _Conditions:
    """The search for a rule with conditions.

    Parameters
    ----------
    solver : callable
        Finds the simplest expression for some observations.
    environments, targets : sequence
        The observations.
    """

    def __init__(self, solver: Solver, environments: Sequence[Environment], targets: Sequence[Any]) -> None:
        self.solver, self.environments, self.targets = solver, environments, targets
        self.known: dict[frozenset[int], Expression | None] = {}

    def solve(self) -> Rule | None:
        """Return the rule, or None."""
        everything = frozenset(range(len(self.targets)))
        found = self._solve(everything, 2, dims=True)
        return found or self._solve(everything, 3, dims=False)

    def _find(self, chosen: frozenset[int]) -> Expression | None:
        """Return the simplest expression for some observations; what fits none of a part fits not the whole."""
        if chosen not in self.known:
            hopeless = any(found is None and part <= chosen for part, found in self.known.items())
            if hopeless or len(self.known) >= BUDGET:
                return None
            rows = sorted(chosen)
            self.known[chosen] = self.solver(
                [self.environments[i] for i in rows], [self.targets[i] for i in rows]
            )
        return self.known[chosen]

    def _solve(self, chosen: frozenset[int], depth: int, *, dims: bool) -> Rule | None:
        found = self._find(chosen)
        if found is not None:
            return Rule(found.code, found.cost)
        if not depth or len(self.known) >= BUDGET:
            return None
        best: Rule | None = None
        for condition in conditions([self.environments[i] for i in sorted(chosen)]):
            if not dims and ".ndim" in condition:
                continue
            holds = frozenset(i for i in chosen if evaluate(condition, self.environments[i]))
            if not holds or holds == chosen:
                continue
            then = self._solve(holds, depth - 1, dims=dims)
            other = None if then is None else self._solve(chosen - holds, depth - 1, dims=dims)
            if then is not None and other is not None:
                cost = 4 + then.cost + other.cost
                if best is None or cost < best.cost:
                    best = Rule(condition, cost, then, other)
                if depth == 1 or cost < 12:
                    return best
        return best


def conditions(environments: Sequence[Environment]) -> Iterator[str]:
    """Yield what the arguments may be asked: flags, words, whether something is given, the number of dims."""
    for name in environments[0]:
        values = [e[name] for e in environments]
        if any(v is None for v in values) and any(v is not None for v in values):
            yield f"{name} is None"
        elif all(isinstance(v, bool) for v in values):
            yield name
        elif all(isinstance(v, str) for v in values):
            yield from (f"{name} == {v!r}" for v in sorted(set(values))[:-1])
        elif any(hasattr(v, "ndim") for v in values) and any(
            isinstance(v, int | float | complex) for v in values
        ):
            yield f"isinstance({name}, tt.Tensor)"
        elif all(hasattr(v, "ndim") for v in values):
            yield from (f"{name}.ndim == {n}" for n in sorted({v.ndim for v in values})[:3])
        elif all(isinstance(v, list | tuple) for v in values):
            yield f"len({name}) == 0"


# --- shapes ----------------------------------------------------------------------------------------------------


def shape_rule(environments: Sequence[Environment], targets: Sequence[Any]) -> Expression | None:
    """Return the simplest code for shapes, or None."""
    found = None
    for cost, code in sorted(templates(environments)):
        if fits(f"tuple({code})", environments, targets):
            found = Expression(cost, code)
            break
    if found is not None and found.cost <= 3:
        return found
    candidates = [c for c in composed(environments, targets) if c is not None]
    return min([*candidates, *([found] if found else [])], default=None)


def tensors(environments: Sequence[Environment]) -> list[str]:
    """Return the code of the tensors that are there in every observation."""
    found = []
    for name in environments[0]:
        values = [e[name] for e in environments]
        if all(hasattr(v, "shape") for v in values):
            found.append(name)
        elif all(isinstance(v, list | tuple) and v and hasattr(v[0], "shape") for v in values):
            found.append(f"{name}[0]")
    return found


def integers(environments: Sequence[Environment]) -> list[str]:
    """Return the arguments that are an int in every observation."""
    return [
        n
        for n in environments[0]
        if all(isinstance(e[n], int) and not isinstance(e[n], bool) for e in environments)
    ]


def int_lists(environments: Sequence[Environment]) -> list[str]:
    """Return the arguments that are a list of ints, or None, in every observation."""
    found = []
    for name in environments[0]:
        values = [e[name] for e in environments if e[name] is not None]
        lists = all(isinstance(v, list | tuple) and all(type(i) is int for i in v) for v in values)
        if values and lists:
            found.append(name)
    return found


def templates(environments: Sequence[Environment]) -> Iterator[tuple[float, str]]:
    """Yield whole shapes: like an argument, broadcast, reduced, transposed, joined, given."""
    yield 1.0, "()"
    names, ints, lists = tensors(environments), integers(environments), int_lists(environments)
    for x in names:
        yield 1.0 + 0.1 * names.index(x), f"{x}.shape"
        yield 2.5, f"{x}.shape[::-1]"
        yield 2.6, f"(1,) * {x}.ndim"
        for d in ints:
            yield 3.0, f"tuple(n for i, n in enumerate({x}.shape) if i != {d} % {x}.ndim)"
            yield 3.1, f"tuple(1 if i == {d} % {x}.ndim else n for i, n in enumerate({x}.shape))"
            for other in ints:
                if other != d:
                    swapped = f"{x}.shape[{d}] if i == {other} % {x}.ndim else n"
                    yield (
                        5.0,
                        (
                            f"tuple({x}.shape[{other}] if i == {d} % {x}.ndim else {swapped} "
                            f"for i, n in enumerate({x}.shape))"
                        ),
                    )
        for dims in lists:
            for given, cost in ((dims, 0.0), (f"({dims} or range({x}.ndim))", 0.5)):  # none often means all
                among = f"[d % {x}.ndim for d in {given}]"
                yield 4.0 + cost, f"tuple(n for i, n in enumerate({x}.shape) if i not in {among})"
                yield 4.1 + cost, f"tuple(1 if i in {among} else n for i, n in enumerate({x}.shape))"
            for operation in "+*-":
                yield 4.5, f"tuple(n {operation} m for n, m in zip({x}.shape, {dims}, strict=True))"
            yield 3.0, f"tuple({x}.shape[d] for d in {dims})"
            yield 3.5, f"{x}.shape + tuple({dims})"
            yield 3.5, f"tuple({dims}) + {x}.shape"
        for y in names:
            for d in ints if x != y else ():
                at = f"{d} % {x}.ndim"
                yield 4.0, f"{x}.shape[: {at}] + {y}.shape + {x}.shape[{at} + 1 :]"
            if x != y:
                yield 3.0, f"{x}.shape + {y}.shape"
                for operation in "+*-":
                    yield 4.5, f"tuple(n {operation} m for n, m in zip({x}.shape, {y}.shape, strict=True))"
    for size in lists:
        yield 1.5, f"tuple({size})"
    for i, x in enumerate(names):
        for y in names[i + 1 :]:
            yield 2.0, f"tt.broadcast_shapes({x}.shape, {y}.shape)"
            yield 3.5, f"tt.broadcast_shapes({x}.shape[:-2], {y}.shape[:-2]) + ({x}.shape[-2], {y}.shape[-1])"
            yield 3.0, f"{x}.shape[:-1] + {y}.shape[-1:]"
    if len(names) > 2:
        yield 2.5, f"tt.broadcast_shapes({', '.join(f'{x}.shape' for x in names)})"
    for name in (n.removesuffix("[0]") for n in names if n.endswith("[0]")):
        yield 2.5, f"tt.broadcast_shapes(*[t.shape for t in {name}])"


def composed(environments: Sequence[Environment], targets: Sequence[Any]) -> Iterator[Expression | None]:
    """Yield shapes of which a part is that of an argument, and the other sizes are calculated one by one."""
    names, ints = tensors(environments), integers(environments)
    table: Table | None = None
    atoms, sizes = atoms_of(environments)

    def number(values: tuple[int, ...]) -> Expression | None:
        nonlocal table
        table = table or Table(atoms)
        found = table.find(values)
        if found is None:
            found = windows(
                values,
                [(c, v) for c, v, _ in atoms if c in sizes and ".shape[" in c],
                [(c, v) for c, v, _ in atoms if c in ints or c.partition("[")[0] in int_lists(environments)],
            )
        if found is None and len({*values}) == 1:
            found = Expression(6.0, str(values[0]))
        return found

    bases = [(f"{x}.shape", 1.0) for x in names]
    for i, x in enumerate(names):
        bases += [(f"tt.broadcast_shapes({x}.shape[:-2], {y}.shape[:-2])", 3.0) for y in names[i + 1 :]]
        bases += [(f"tt.broadcast_shapes({x}.shape[:-1], {y}.shape[:-1])", 3.0) for y in names[i + 1 :]]
    best: Expression | None = None
    for code, cost in [*bases, ("()", 0.0)]:
        try:
            shapes = [tuple(evaluate(code, e)) for e in environments]
        except Exception:  # the shapes need not broadcast
            continue
        for keep in range(4 if cost == 1.0 else 1):
            for front in (True, False):
                new = _extended(code, cost, shapes, targets, keep, front, number, best)
                best = new if best is None or (new is not None and new < best) else best
    yield best
    for x in names:
        for d in [*ints, "0", "1", "-1", "-2"]:
            yield _replaced(x, d, environments, targets, atoms)
            yield _inserted(x, d, environments, targets, atoms)


def _extended(
    code: str,
    cost: float,
    shapes: Sequence[tuple[int, ...]],
    targets: Sequence[tuple[int, ...]],
    keep: int,
    front: bool,
    number: Callable[[tuple[int, ...]], Expression | None],
    best: Expression | None,
) -> Expression | None:
    """Return the shape without its last (or first) `keep` dims, with calculated sizes behind (or before) it."""
    if any(len(s) < keep for s in shapes) or (not keep and not front and code == "()"):
        return None
    kept = [s[: len(s) - keep] if front else s[keep:] for s in shapes]
    more = {len(t) - len(k) for t, k in zip(targets, kept, strict=True)}
    if len(more) != 1 or (count := more.pop()) < 0 or count > 6:
        return None
    for t, k in zip(targets, kept, strict=True):
        if (t[: len(k)] if front else t[count:]) != k:
            return None
    parts: list[Expression] = []
    total = cost + 0.3 * keep
    for i in range(count):
        values = tuple(t[len(k) + i] if front else t[i] for t, k in zip(targets, kept, strict=True))
        if best is not None and total >= best.cost:
            return None
        part = number(values)
        if part is None:
            return None
        parts.append(part)
        total += part.cost
    numbers = f"({', '.join(p.code for p in parts)}{',' if count == 1 else ''})"
    slice_ = (f"[:-{keep}]" if front else f"[{keep}:]") if keep else ""
    if code == "()":
        return Expression(total + 0.5, numbers)
    base = f"{code}{slice_}"
    if not count:
        return Expression(total + 0.5, base)
    return Expression(total + 0.5, f"{base} + {numbers}" if front else f"{numbers} + {base}")


def _replaced(
    x: str, d: str, environments: Sequence[Environment], targets: Sequence[Any], atoms: Any
) -> Expression | None:
    """Return the shape with one size, along a dim that an argument names, replaced by a calculated one."""
    values, sizes, sums = [], [], []
    for e, target in zip(environments, targets, strict=True):
        shape, dim = tuple(evaluate(x, e).shape), evaluate(d, e)
        if not shape or len(target) != len(shape) or not -len(shape) <= dim < len(shape):
            return None
        if any(a != b for i, (a, b) in enumerate(zip(shape, target, strict=True)) if i != dim % len(shape)):
            return None
        values.append(target[dim])
        sizes.append(shape[dim])
        if x.endswith("[0]"):
            sums.append(sum(t.shape[dim] for t in e[x[:-3]]))
    more = [(f"{x}.shape[{d}]", tuple(sizes), 1.0)]
    if sums:
        more.append((f"sum(t.shape[{d}] for t in {x[:-3]})", tuple(sums), 1.5))
    found = Table([*more, *atoms]).find(tuple(values))
    if found is None:
        return None
    at = d if d.isdigit() else f"{d} % {x}.ndim"
    return Expression(
        3.0 + found.cost, f"tuple({found.code} if i == {at} else n for i, n in enumerate({x}.shape))"
    )


def _inserted(
    x: str, d: str, environments: Sequence[Environment], targets: Sequence[Any], atoms: Any
) -> Expression | None:
    """Return the shape with a calculated size put in at a dim that an argument names."""
    values = []
    for e, target in zip(environments, targets, strict=True):
        shape, dim = tuple(evaluate(x, e).shape), evaluate(d, e)
        count = len(shape) + 1
        if len(target) != count or not -count <= dim < count:
            return None
        dim %= count
        if (*target[:dim], *target[dim + 1 :]) != shape:
            return None
        values.append(target[dim])
    found = Table(atoms).find(tuple(values))
    if found is None:
        return None
    at = d if d.isdigit() else f"{d} % ({x}.ndim + 1)"
    return Expression(3.2 + found.cost, f"{x}.shape[: {at}] + ({found.code},) + {x}.shape[{at} :]")


# --- dtypes, numbers, strides ----------------------------------------------------------------------------------


def dtype_rule(environments: Sequence[Environment], targets: Sequence[Any]) -> Expression | None:
    """Return the simplest code for dtypes, or None."""
    for cost, code in sorted(_dtype_templates(environments, targets)):
        if fits(code, environments, targets):
            return Expression(cost, code)
    return None


def _dtype_templates(
    environments: Sequence[Environment], targets: Sequence[Any]
) -> Iterator[tuple[float, str]]:
    names = tensors(environments)
    for name in environments[0]:
        if all(type(e[name]) is type(targets[0]) for e in environments):
            yield 1.0, name
    for place, x in enumerate(names):
        d = f"{x}.dtype"
        yield 1.0 + 0.1 * place, d
        wide = f"{d}.is_floating_point or {d}.is_complex"
        yield 2.5, f"{d}.to_real()"
        yield 2.5, f"{d}.to_complex()"
        yield 3.0, f"{d} if {wide} else tt.get_default_dtype()"
        yield 3.1, f"{d} if {wide} else tt.int64"
        yield 3.2, f"tt.int64 if {d} is tt.bool else {d}"
    for x in names:
        if x.endswith("[0]"):
            yield 2.4, f"functools.reduce(tt.promote_types, [t.dtype for t in {x[:-3]}])"
    if len(names) > 1:
        yield 2.0, f"tt.result_type({names[0]}, {names[1]})"
        for i, x in enumerate(names):
            yield from ((2.1, f"tt.promote_types({x}.dtype, {y}.dtype)") for y in names[i + 1 :])
    for name, value in environments[0].items():
        if names and isinstance(value, int | float | complex):
            yield 2.3, f"tt.result_type({names[0]}, {name})"
    yield 1.8, str(targets[0])


def number_rule(environments: Sequence[Environment], targets: Sequence[Any]) -> Expression | None:
    """Return the simplest code for Python values, or None."""
    if all(t == targets[0] and type(t) is type(targets[0]) for t in targets):
        return Expression(1.5, repr(targets[0]))
    if all(isinstance(t, int) and not isinstance(t, bool) for t in targets):
        atoms, _ = atoms_of(environments)
        return Table(atoms).find(tuple(targets))
    return None


ORDERS: Final = 4
"""Up to how many dims an order other than row-major is looked for."""


def order_of(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """Return the order of dims in which memory is dense: the identity for row-major; None if in none."""
    from tt.core.backend import contiguous_strides

    if 0 in shape or tuple(strides) == contiguous_strides(shape):
        return tuple(range(len(shape)))
    if len(shape) > ORDERS:
        return None
    for order in permutations(range(len(shape))):
        dense = contiguous_strides([shape[i] for i in order])
        if all(strides[i] == s or shape[i] == 1 for i, s in zip(order, dense, strict=True)):
            return order
    return None
