"""Shape rules: what one is, and the table of all of them.

A rule is a function of an operator's arguments that returns descriptions of the results, or raises the error that
PyTorch would.  It sees tensors as objects with `shape`, `strides`, `offset`, `ndim` and `dtype`, never their data.
Operators name their rule in ops.yaml (`meta: broadcast`, or `meta: module:function`).

Note [The parameters of a rule]
-------------------------------
A rule lists its inputs, and several operators share it:

- parameters before a `/` take the leading arguments of the operator, whatever their names;
- `*tensors` takes all tensor arguments, lists among them flattened, None omitted; a Python number given instead of a
  tensor is kept;
- all other parameters take the argument of their name; one with a default may be absent from the schema;
- `op` takes the operator's name, for messages.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, TypeVar

from tt.core.by_name import module_named, object_named
from tt.core.errors import KernelContractError, UnknownNameError
from tt.core.family_index import OPERATORS, FamilyIndex
from tt.core.shapes.geometry import Described, contiguous_strides

__all__ = ["Outcome", "Result", "RuleTable", "ShapeRule", "find_rule", "rules"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Result:
    """The description of one result of an operator.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    strides : tuple of int or None
        In elements; None means row-major.
    offset : int or None
        Of the first element in the memory, for views; None means fresh memory.
    dtype : dtype or None
        Where it does not follow from the operator's promotion.

    Examples
    --------
    >>> from tt.library import Result
    >>> def transposed(x):  # the shape rule of an operator that returns a view
    ...     return Result(x.shape[::-1], x.strides[::-1], offset=x.offset)
    >>> Result((2, 3)).full_strides
    (3, 1)
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    offset: int | None = None
    dtype: Any = None

    @property
    def full_strides(self) -> tuple[int, ...]:
        """The strides, row-major ones written out."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def described(self, dtype: Any) -> Described:
        """Return the result as another rule sees it."""
        return _ResultView(self, dtype)


class _ResultView:
    """A result that a rule hands on to another rule."""

    __slots__ = ("dtype", "ndim", "offset", "shape", "strides")

    def __init__(self, result: Result, dtype: Any) -> None:
        self.shape, self.strides = result.shape, result.full_strides
        self.offset, self.ndim, self.dtype = result.offset or 0, len(result.shape), dtype


Outcome = Result | tuple[Result, ...] | list[Result]
"""One result, several (a tuple), or a list of tensors."""


class ShapeRule:
    """A named shape rule.

    Attributes
    ----------
    name : str
        As ops.yaml writes it after `meta:`.
    function : callable
        See Note [The parameters of a rule].
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function

    def __str__(self) -> str:
        return self.name

    @cached_property
    def parameters(self) -> tuple[inspect.Parameter, ...]:
        """The parameters of the function; read when needed, because a family has many rules."""
        return tuple(inspect.signature(self.function).parameters.values())

    @property
    def leading(self) -> int:
        """How many arguments it takes whatever their names."""
        return sum(p.kind is p.POSITIONAL_ONLY for p in self.parameters)

    @property
    def named(self) -> list[inspect.Parameter]:
        """Those that take the argument of their name."""
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        return [p for p in self.parameters if p.kind in kinds and p.name != "op"]

    def missing(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the parameters that an operator with these arguments cannot give."""
        lead = [f"argument {i + 1}" for i in range(len(names), self.leading)]
        return (*lead, *(p.name for p in self.named if p.default is p.empty and p.name not in names))

    def bind(
        self, op: str, names: Sequence[str], tensors: Sequence[int]
    ) -> Callable[[Sequence[Any]], Outcome]:
        """Return the rule as a function of an operator's arguments.

        Parameters
        ----------
        op : str
            The operator's name, for messages.
        names : sequence of str
            Its arguments in schema order.
        tensors : sequence of int
            The positions of those that may be tensors or lists of tensors.

        Raises
        ------
        KernelContractError
            When the operator lacks an argument that the rule needs.
        """
        if absent := self.missing(names):
            raise KernelContractError(
                f"the shape rule {self.name!r} needs {', '.join(absent)}, which {op}({', '.join(names)}) lacks"
            )
        function, leading, positions = self.function, self.leading, tuple(tensors)
        keywords = {p.name: names.index(p.name) for p in self.named if p.name in names}
        fixed = {"op": op} if any(p.name == "op" for p in self.parameters) else {}
        variadic = any(p.kind is p.VAR_POSITIONAL for p in self.parameters)

        def bound(args: Sequence[Any]) -> Outcome:
            arguments = [*args[:leading]]
            if variadic:
                arguments += flatten(args[i] for i in positions)
            return normalise(function(*arguments, **{name: args[i] for name, i in keywords.items()}, **fixed))

        return bound


def flatten(values: Any) -> Iterator[Any]:
    """Yield what lists hold, without None."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from flatten(value)
        elif value is not None:
            yield value


def normalise(outcome: Any) -> Outcome:
    """Return a rule's results with every shape tuple as a `Result`."""
    if isinstance(outcome, Result):
        return outcome
    if isinstance(outcome, list):
        return [value if isinstance(value, Result) else Result(tuple(value)) for value in outcome]
    # An empty tuple is the shape of a zero-dimensional tensor, and not a call without results.
    if isinstance(outcome, tuple) and (not outcome or isinstance(outcome[0], int)):
        return Result(outcome)
    if isinstance(outcome, tuple):
        return tuple(value if isinstance(value, Result) else Result(tuple(value)) for value in outcome)
    raise KernelContractError(f"a shape rule returns shapes or Results, not {type(outcome).__name__}")


class RuleTable:
    """The rules of one module.

    Examples
    --------
    >>> from tt.core.shapes import RuleTable
    >>> rule = RuleTable()
    >>> @rule("doubled")
    ... def doubled(self, /):
    ...     return (2 * self.shape[0], *self.shape[1:])
    >>> list(rule.rules)
    ['doubled']
    """

    def __init__(self) -> None:
        self.rules: dict[str, ShapeRule] = {}

    def __call__(self, *names: str) -> Callable[[F], F]:
        """Register the decorated function under one or more names."""

        def register(function: F) -> F:
            for name in names:
                self.rules[name] = ShapeRule(name, function)
            return function

        return register


INDEX: Final = FamilyIndex(OPERATORS, lambda module: module.rule.rules, "shapes")
"""Which modules of `operators` have a rule, so that it is found without importing the families before its own."""


@cache
def rules() -> Mapping[str, ShapeRule]:
    """Return all named rules; the first call imports the family modules.

    Examples
    --------
    >>> from tt.core.shapes import rules
    >>> rules()["broadcast"].name
    'broadcast'
    """
    collected: dict[str, ShapeRule] = {}
    for module in INDEX.modules():
        table = module_named(module).rule.rules
        # Names are global: two families with one name would depend on the order of imports.
        if twice := collected.keys() & table.keys():
            raise KernelContractError(f"shape rules are defined twice: {', '.join(sorted(twice))}")
        collected.update(table)
    return collected


def find_rule(name: str | ShapeRule) -> ShapeRule:
    """Return the rule that ops.yaml calls `name`: a named one, or "module:function"; a rule itself as it is.

    Raises
    ------
    UnknownNameError
        When there is none.
    """
    return name if isinstance(name, ShapeRule) else _find_rule(name)


@cache
def _find_rule(name: str) -> ShapeRule:
    if ":" not in name:
        home = INDEX.homes().get(name)
        if home:
            table: Mapping[str, ShapeRule] = module_named(home[0]).rule.rules
            return table[name]
        raise UnknownNameError("shape rule", name, rules())
    try:
        return ShapeRule(name, object_named(name))
    except (ImportError, AttributeError) as error:
        raise UnknownNameError("shape rule", name, rules(), note=str(error)) from error
