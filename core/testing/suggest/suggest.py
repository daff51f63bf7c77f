"""suggest_fake: proposes a fake implementation from observed calls, tries to refute it, and says what was verified."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tt.core.errors import ArgumentError
from tt.core.testing.opcheck.call import Call, find, in_words
from tt.core.testing.suggest.code import ResultRules, environment, run, write
from tt.core.testing.suggest.observe import (
    Looks,
    Observation,
    calls_of_script,
    calls_of_signature,
    calls_of_text,
    observe,
)
from tt.core.testing.suggest.rules import dtype_rule, number_rule, order_of, shape_rule, solve
from tt.core.testing.suggest.vary import variations

__all__ = ["Suggestion", "suggest_fake"]

ROUNDS = 8
"""How often a refuted proposal is replaced."""
LEARNED = 60
"""From how many further calls the first proposal is made."""
COUNTEREXAMPLES = 12
"""How many of the calls that refute a proposal are kept for the next one."""


@dataclass
class Suggestion:
    """What was found.

    Attributes
    ----------
    op : str
        The operator.
    signature : str
        Its signature.
    kind : str
        "fake": code that fits; "data_dependent_shape": shapes depend on values; "data_dependent": a Python value does;
        "nothing": no rule fits; "no_calls": no call succeeded.
    code : str
        The function.
    observed : int
        From how many calls it was made.
    verified : int
        On how many further calls shapes and dtypes were compared with those of the operator.
    strides : int
        On how many of these the strides were, too: those whose arguments are row-major.
    refused : int
        How many further calls the operator refused.
    source : str
        Where the first calls came from.
    contradictions : list of str
        Calls that the nearest rule does not fit, or that contradict each other.
    why : str
        What has no rule.
    nearest : str
        The rule that fits the most calls, where none fits all.
    has_fake : bool
        Whether the operator has a fake implementation or a shape rule already.
    left_out : str
        Which calls the proposal is not for.
    """

    op: str
    signature: str
    kind: str = "nothing"
    code: str = ""
    observed: int = 0
    verified: int = 0
    strides: int = 0
    refused: int = 0
    source: str = ""
    contradictions: list[str] = field(default_factory=list)
    why: str = ""
    nearest: str = ""
    has_fake: bool = False
    left_out: str = ""

    @property
    def found(self) -> bool:
        """Whether there is something to do: code, or a tag."""
        return self.kind in ("fake", "data_dependent_shape", "data_dependent")

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {**asdict(self), "found": self.found}


def suggest_fake(
    name: str,
    *,
    calls: Sequence[str] = (),
    script: str | None = None,
    verify: int = 200,
    seed: int = 0,
    progress: Callable[[int, str], None] | None = None,
) -> Suggestion:
    """Propose a fake implementation of an operator.

    Parameters
    ----------
    name : str
        "namespace::name".
    calls : sequence of str
        Expressions that call it: "ops.acme.twice(tt.ones(2, 3))".
    script : str, optional
        A Python file; the calls that it makes are recorded.  It may define the operator, too.
    verify : int
        With how many further calls the proposal is compared.
    seed : int
        Of the further calls.
    progress : callable, optional
        Called with the number of calls made, and what happens.

    Raises
    ------
    UnknownOpError
        When there is no such operator.
    ArgumentError
        When an expression makes no call of the operator.

    Examples
    --------
    >>> from tt.core.testing.suggest import suggest_fake
    >>> print(suggest_fake("mm", calls=["tt.mm(tt.ones(2, 3), tt.ones(3, 4))"]).code)
    def mm_without_data(self, mat2):
        return self.new_empty(self.shape[:-1] + mat2.shape[-1:])
    """
    recorded = calls_of_script(name, script) if script is not None else []
    caller = _only_caller(name)
    suggestion = Suggestion(caller.operator.name, str(caller.operator.signature(caller.form)))
    suggestion.has_fake = bool(caller.operator.definition.meta) or bool(
        caller.operator.registry.kernels_of(caller.operator.name, "meta", ("strided",))
    )
    given = [*recorded, *calls_of_text(name, calls)]
    suggestion.source = "the given calls"
    if not given and not calls and script is None:
        given, suggestion.source = _own_calls(caller)
    step = progress or (lambda done, note: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of calls that nobody chose
        found = _search(replace(suggestion), given, verify, seed, step)
        least = _least(given)
        if found.kind == "nothing" and least is not None:
            # A kernel that does not refuse a stride of -1 does something with it, which is hardly meant.
            second = _search(replace(suggestion), given, verify, seed, step, least)
            if second.kind == "fake":
                second.left_out = f"calls with a number below {least}, for which another rule holds"
                return second
        return found


def _numbers(call: Call) -> list[int]:
    """Return all ints of a call."""
    found = []
    for _, value in call.named():
        items = value if isinstance(value, list | tuple) else [value]
        found += [v for v in items if isinstance(v, int) and not isinstance(v, bool)]
    return found


def _least(calls: Sequence[Call]) -> int | None:
    """Return 1 or 0, whatever no number of the given calls is below; None where there are others, or no numbers."""
    numbers = [n for call in calls for n in _numbers(call)]
    return None if not numbers or min(numbers) < 0 else min(1, min(numbers))


def _only_caller(name: str) -> Any:
    found = find(name)
    if hasattr(found, "callers"):
        exact = [c for c in found.callers.values() if c.operator.name == name.removeprefix("tt::")]
        if exact:
            return exact[0]
        if len(found.callers) > 1:
            known = ", ".join(c.operator.name for c in found.callers.values())
            raise ArgumentError("suggest-fake", f"{name} has several overloads", hint=f"name one: {known}")
        found = next(iter(found.callers.values()))
    return found


def _own_calls(caller: Any) -> tuple[list[Call], str]:
    """Return calls of the operator's samples, or ones made up from its signature."""
    from tt.core.testing.opcheck.call import bind
    from tt.core.testing.samples import samples

    definition = caller.operator.definition
    if definition.samples:
        found = [bind(caller, s.args, s.kwargs) for s in samples(definition) if s.error is None]
        return found, "its samples"
    return list(calls_of_signature(caller)), "calls made up from the signature"


# --- searching -------------------------------------------------------------------------------------------------


class _Pool:
    """The observations so far: those that rules are made from."""

    def __init__(self, suggestion: Suggestion, least: int | None) -> None:
        self.suggestion, self.least = suggestion, least
        self.observations: dict[str, Observation] = {}
        self.conflict: tuple[Observation, Observation] | None = None

    def look(self, call: Call) -> Observation | None:
        """Make a call; None if the operator refuses it, or a number is below the least that is looked at."""
        if self.least is not None and min(_numbers(call), default=self.least) < self.least:
            return None
        try:
            new = observe(call)
        except Exception:  # arguments that nobody chose need not be what the operator takes
            self.suggestion.refused += 1
            return None
        return new

    def learn(self, new: Observation) -> None:
        """Keep an observation to make rules from."""
        old = self.observations.setdefault(new.key, new)
        if _comparable(old.result) != _comparable(new.result) and self.conflict is None:
            self.conflict = old, new


def _comparable(result: Any) -> Any:
    """Return a result without the strides, which need not be the same for all arguments that look the same."""
    if isinstance(result, Looks):
        return result.shape, result.dtype
    return [_comparable(r) for r in result] if isinstance(result, list) else result


def _search(
    suggestion: Suggestion,
    given: Sequence[Call],
    verify: int,
    seed: int,
    progress: Callable[[int, str], None],
    least: int | None = None,
) -> Suggestion:
    pool = _Pool(suggestion, least)
    bases: list[Call] = []
    for call in given:
        new = pool.look(call)
        if new is not None:
            bases.append(call)
            pool.learn(new)
    if not bases:
        suggestion.kind = "no_calls"
        suggestion.contradictions = [_why(call) for call in given[:3]]
        return suggestion
    suggestion.refused = 0
    for call in variations(bases, LEARNED, seed):
        new = pool.look(call)
        if new is not None:
            pool.learn(new)
    for number in range(ROUNDS):
        if pool.conflict is not None:
            return _depends_on_data(suggestion, pool)
        observations = list(pool.observations.values())
        suggestion.observed = len(observations)
        progress(number + 1, f"{len(observations)} calls")
        rules = _rules(observations)
        if isinstance(rules, str):
            return _nothing(suggestion, observations, rules)
        code = write(observations[0].call, rules)
        wrong = _refute(suggestion, pool, bases, code, verify, seed + 1 + number)
        if not wrong:
            suggestion.kind, suggestion.code = "fake", code
            return suggestion
        for new in wrong[:COUNTEREXAMPLES]:
            pool.learn(new)
    return _nothing(suggestion, list(pool.observations.values()), "each rule was refuted by further calls")


def _why(call: Call) -> str:
    try:
        observe(call)
    except Exception as error:  # whatever the operator raises is what is to be told
        return f"({Observation(call, None).key}): {in_words(error)}"
    return ""


def _refute(
    suggestion: Suggestion, pool: _Pool, bases: Sequence[Call], code: str, verify: int, seed: int
) -> list[Observation]:
    """Return calls for which the code does not give what the operator gives."""
    wrong: list[Observation] = []
    suggestion.verified = suggestion.strides = 0
    seen: set[str] = set()
    for call in variations(bases, max(4 * verify, 400), seed):
        if suggestion.verified >= verify or len(wrong) >= COUNTEREXAMPLES:
            break
        new = pool.look(call)
        if new is None:
            continue
        old = pool.observations.get(new.key)
        if old is not None and _comparable(old.result) != _comparable(new.result):
            pool.conflict = old, new
            return [new]
        if new.key in seen or old is not None:
            continue
        seen.add(new.key)
        suggestion.verified += 1
        suggestion.strides += new.contiguous
        if not agrees(code, new):
            wrong.append(new)
    return wrong or [o for o in pool.observations.values() if not agrees(code, o)]


def agrees(code: str, observation: Observation) -> bool:
    """Tell whether code gives what was observed; strides count for row-major arguments."""
    try:
        found = run(code, environment(observation.call))
    except Exception:  # the code makes no sense for these arguments
        return False
    return _alike(_flat(found), _flat(observation.result), observation.contiguous)


def _flat(result: Any) -> list[Any]:
    if not isinstance(result, list):
        return [result]
    return [item for part in result for item in _flat(part)]


def _alike(found: list[Any], expected: list[Any], exact: bool) -> bool:
    if len(found) != len(expected):
        return False
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, Looks) and isinstance(other, Looks):
            if (one.shape, one.dtype) != (other.shape, other.dtype):
                return False
            if exact and 0 not in one.shape and not _same_strides(one, other):
                return False
        elif one != other:
            return False
    return True


def _same_strides(one: Looks, other: Looks) -> bool:
    pairs = zip(one.shape, one.strides, other.strides, strict=True)
    return all(a == b for size, a, b in pairs if size != 1)


def _rules(observations: Sequence[Observation]) -> list[ResultRules] | str:
    """Return the rules of every result, or in words what has none."""
    environments = [environment(o.call) for o in observations]
    returns = observations[0].call.signature.returns
    if not returns:
        return []
    found: list[ResultRules] = []
    for number, returned in enumerate(returns):
        values = [o.result if len(returns) == 1 else o.result[number] for o in observations]
        where = "the result" if len(returns) == 1 else f"result {number}"
        rules = (
            _list_rules(environments, values, where)
            if returned.type.list
            else _one(environments, values, observations, where)
        )
        if isinstance(rules, str):
            return rules
        found.append(rules)
    return found


def _one(
    environments: Sequence[Any], values: Sequence[Any], observations: Sequence[Observation], where: str
) -> ResultRules | str:
    if not all(isinstance(v, Looks) for v in values):
        value = solve(number_rule, environments, values)
        return ResultRules("value", value=value) if value else f"{where}: no rule for its value"
    shape = solve(shape_rule, environments, [v.shape for v in values])
    if shape is None:
        return f"{where}: no rule for its shape"
    dtype = solve(dtype_rule, environments, [v.dtype for v in values])
    if dtype is None:
        return f"{where}: no rule for its dtype"
    orders = {
        order_of(v.shape, v.strides)
        for v, o in zip(values, observations, strict=True)
        if o.contiguous and 0 not in v.shape
    }
    special = {o for o in orders if o is None or o != tuple(range(len(o)))}
    if not special:
        return ResultRules("tensor", shape, dtype)
    if (
        len(special) > 1
        or None in special
        or any(len(o or ()) != len(next(iter(special)) or ()) for o in orders)
    ):
        return f"{where}: no rule for its strides"
    return ResultRules("tensor", shape, dtype, order=special.pop() or ())


def _list_rules(environments: Sequence[Any], values: Sequence[Any], where: str) -> ResultRules | str:
    count = solve(number_rule, environments, [len(v) for v in values])
    if count is None:
        return f"{where}: no rule for how many tensors it has"
    items = [
        ({**e, "i": i}, v) for e, row in zip(environments, values, strict=True) for i, v in enumerate(row)
    ]
    shape = solve(shape_rule, [e for e, _ in items], [v.shape for _, v in items])
    dtype = solve(dtype_rule, [e for e, _ in items], [v.dtype for _, v in items])
    if shape is None or dtype is None:
        return f"{where}: no rule for its tensors"
    return ResultRules("list", shape, dtype, count)


# --- when nothing fits -----------------------------------------------------------------------------------------


def _depends_on_data(suggestion: Suggestion, pool: _Pool) -> Suggestion:
    old, new = _required(pool.conflict)
    tensors = any(isinstance(r, Looks) for r in _flat(old.result))
    suggestion.kind = "data_dependent_shape" if tensors else "data_dependent"
    suggestion.observed = len(pool.observations)
    suggestion.contradictions = [str(old), str(new)]
    return suggestion


def _nothing(suggestion: Suggestion, observations: Sequence[Observation], why: str) -> Suggestion:
    """Say which rule fits the most observations, and which do not fit it."""
    suggestion.kind, suggestion.observed = "nothing", len(observations)
    best: tuple[int, str, list[Observation]] = (-1, "", [])
    for start in range(min(6, len(observations))):
        kind = type(observations[start].result)
        few = [o for o in observations[start:] if type(o.result) is kind][:3]
        rules = _rules(few)
        if isinstance(rules, str):
            continue
        code = write(few[0].call, rules)
        wrong = [o for o in observations if not agrees(code, o)]
        if len(observations) - len(wrong) > best[0]:
            best = (len(observations) - len(wrong), code, wrong)
    suggestion.nearest = best[1]
    simplest = sorted(best[2] or observations, key=lambda o: len(o.key))
    suggestion.why = why
    suggestion.contradictions = [str(o) for o in simplest[:4]]
    if any(r.alias is not None for r in observations[0].call.signature.returns):
        suggestion.why += "; the result is a view: write the fake with the operators that make such views"
    return suggestion


def _required(conflict: tuple[Observation, Observation] | None) -> tuple[Observation, Observation]:
    if conflict is None:
        raise ValueError("no two calls contradict each other")
    return conflict
