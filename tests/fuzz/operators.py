"""Calls of operators: samples of the conformance checks, mutated."""

from __future__ import annotations

import random
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, Final

from tests.fuzz.comparison import comparable
from tests.fuzz.drafts import FLOATING, Draft, Leaf, Program
from tests.fuzz.mutations import MUTATIONS
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.tensor.base import TensorBase
from tt.core.types.dtype import to_dtype
from tt.testing.conformance.run import Target, targets
from tt.testing.samples import Sample, samples
from tt.testing.snippets import code_of

__all__ = ["prepare", "program"]

MOST: Final = 4
"""Mutations of a call, at most."""
GROWING: Final = ("combinations", "cartesian_prod", "block_diag")
"""Operators whose results rightly have hundreds of millions of elements where an argument has a thousand."""


@cache
def subjects(pattern: str) -> dict[str, list[Target]]:
    """Return the operators whose names fit one of some patterns, in order, with a target for each dtype."""
    patterns = pattern.split(",")
    found: dict[str, list[Target]] = {}
    for target in targets(dtypes=None):
        if any(fnmatchcase(target.op, one) for one in patterns):
            found.setdefault(target.op, []).append(target)
    return dict(sorted(found.items()))


def prepare() -> None:
    """List all operators."""
    subjects("*")


@cache
def samples_of(target: Target, seed: int) -> list[Sample]:
    """Return the samples of an operator and a dtype."""
    operator = REGISTRY.operator(target.op)
    return list(samples(operator.definition, "cpu", to_dtype(target.dtype), seed))


def program(
    seed: int,
    number: int,
    pattern: str = "*",
    dropped: frozenset[int] = frozenset(),
    excluded: frozenset[str] = frozenset(),
) -> Program:
    """Return a call.

    Parameters
    ----------
    seed, number : int
        Of the run, and of the call in it: the same ones give the same call.
    pattern : str
        Which operators.
    dropped : frozenset of int
        Which of the call's parts are left out.
    excluded : frozenset of str
        Names of mutations that are left out wherever they are drawn.

    Raises
    ------
    LookupError
        When no operator has a name that fits.
    """
    chance = random.Random(f"{seed}/{number}")
    found = subjects(pattern)
    if not found:
        raise LookupError(f"no operator fits {pattern!r}")
    # Operators first: one with many dtypes is not drawn more often.
    name = chance.choice(list(found))
    target = chance.choice(found[name])
    sample = chance.choice(samples_of(target, seed % 4))
    form = _form(name, chance)
    draft = _draft(name, form, sample)
    names = chance.choices(list(MUTATIONS), [weight for _, weight in MUTATIONS.values()], k=_count(chance))
    parts = [*names]
    seeds = [chance.getrandbits(32) for _ in names]
    for index, (name_of, own) in enumerate(zip(names, seeds, strict=True)):
        if index not in dropped and name_of not in excluded:
            MUTATIONS[name_of][0](draft, random.Random(own))
    backward = chance.random() < 0.4
    how = chance.choice(
        ("tt.ones_like(r)", "tt.ones((), dtype=r.dtype).expand(r.shape)", "r.detach().clone()")
    )
    if backward and any(leaf.dtype in FLOATING for leaf in draft.leaves()):
        parts.append("backward")
        if len(names) not in dropped:
            _differentiate(draft, how)
    compared = form == "functional" and not draft.patient and comparable(name)
    patient = draft.patient or name in GROWING
    return Program(draft.text(), tuple(parts), name, patient, draft.comparison() if compared else "")


def _count(chance: random.Random) -> int:
    return min(int(chance.expovariate(0.6)), MOST)


def _form(name: str, chance: random.Random) -> str:
    definition = REGISTRY.operator(name).definition
    if "inplace_only" in definition.tags:
        return "inplace"
    forms = ["functional", "functional"]
    forms += ["inplace"] * definition.has_inplace + ["out"] * definition.has_out
    return chance.choice(forms)


def _draft(name: str, form: str, sample: Sample) -> Draft:
    signature = REGISTRY.operator(name).definition.signature
    space, _, path = name.rpartition("::")
    if form == "inplace":
        short, _, overload = path.partition(".")
        path = f"{short}_" + (f".{overload}" if overload else "")
    leaves: list[Leaf] = []
    del signature

    def taken(value: Any) -> Any:
        if isinstance(value, TensorBase):
            leaf = Leaf("abcdefghijklmnopqrstuvwxyz"[len(leaves) % 26] + "_" * (len(leaves) // 26), code_of(value),
                        tuple(value.shape), value.dtype.name)  # fmt: skip
            leaves.append(leaf)
            return leaf
        if isinstance(value, list):
            return [taken(item) for item in value]
        if isinstance(value, tuple) and any(isinstance(item, TensorBase) for item in value):
            return [taken(item) for item in value]
        return value

    args = [taken(value) for value in sample.args]
    kwargs: Mapping[str, Any] = {key: taken(value) for key, value in sample.kwargs.items()}
    return Draft(f"{space}.{path}" if space else path, name, form, args, dict(kwargs))


def _differentiate(draft: Draft, how: str) -> None:
    draft.backward = how
    for index, leaf in enumerate(draft.leaves()):
        if leaf.dtype in FLOATING:
            # In-place calls need a tensor that is not a leaf of the graph.
            clone = ".mul(1)" if draft.form == "inplace" and index == 0 else ""
            leaf.code = f"{leaf.code}.detach().requires_grad_(){clone}"
