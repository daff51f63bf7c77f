"""Laws of the schema alone: required fields of an entry, and words that go together.

The loader refuses malformed schemas; this module finds well-formed entries that make no sense.  `tt ops check` checks
that rules, kernels and formulas exist for the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tt.core.schema.model import OpDefinition, Type

__all__ = ["MAX_CORE", "MAX_POSITIONS", "SchemaProblem", "check_definitions"]

MAX_CORE: Final = 100
"""The largest number of operators that a new backend must implement."""
MAX_POSITIONS: Final = 6
"""The largest number of tensor arguments outside `promote`: each has four bits of its own in a level-2 key."""


@dataclass(frozen=True, slots=True)
class SchemaProblem:
    """Something in the schema that is not as it should be.

    Attributes
    ----------
    name : str
        The operator, or "core" for the set as a whole.
    message : str
        The mistake.
    hint : str
        A suggestion.
    location : (str, int)
        File and line of the entry.
    """

    name: str
    message: str
    hint: str = ""
    location: tuple[str, int] = ("", 0)

    def __str__(self) -> str:
        prefix = f"{self.location[0]}:{self.location[1]}: " if self.location[0] else ""
        return f"{prefix}{self.name}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")


Found = Iterator[tuple[str, str]]


def check_definitions(
    definitions: Mapping[str, OpDefinition] | Iterable[OpDefinition],
) -> list[SchemaProblem]:
    """Return everything that is wrong with a set of operators, in their order."""
    checked = list(definitions.values()) if isinstance(definitions, Mapping) else list(definitions)
    problems = [
        SchemaProblem(definition.name, message, hint, definition.location)
        for definition in checked
        for law in LAWS
        for message, hint in law(definition)
    ]
    problems += _public_names(checked)
    count = sum(definition.core for definition in checked)
    if count > MAX_CORE:
        problems.append(
            SchemaProblem("core", f"{count} operators are core; a new backend may need at most {MAX_CORE}")
        )
    return problems


# --- laws of one operator --------------------------------------------------------------------------------------


def described(d: OpDefinition) -> Found:
    """Every operator has a description, an example and inputs for the checks."""
    for field in ("doc", "example", "samples"):
        if not getattr(d, field):
            yield f"has no {field}", f"write {field}: in its entry"
    if d.example and not d.example.startswith(">>> "):
        yield "its example is not a doctest", "begin it with >>>"


def shaped(d: OpDefinition) -> Found:
    """Every operator has a shape rule, or is a composite."""
    if d.kind != "composite" and not d.meta:
        yield "has no shape rule and is not a composite", "write meta: with the name of a rule"
    if d.kind == "composite" and d.core:
        yield "is core and a composite", "core operators need a kernel; composites need none"


def arguments_exist(d: OpDefinition) -> Found:
    """The arguments in promote, grad and format_of exist and have a dtype."""
    for field in ("promote", "grad", "format_of"):
        for name in getattr(d, field):
            argument = d.signature.argument(name)
            if argument is None:
                yield f"{field} names {name!r}, which is not an argument", str(d.signature)
            # Numbers promote, but have no gradient and no memory format.
            elif not argument.type.is_tensor and (field != "promote" or argument.type.base != "Scalar"):
                yield f"{field} names {name!r}, which is {argument.type}", str(d.signature)


def ranges_are_of_numbers(d: OpDefinition) -> Found:
    """The arguments in in_range and in_compute_range exist and take numbers."""
    for field in ("in_range", "in_compute_range"):
        for name in getattr(d, field):
            argument = d.signature.argument(name)
            if argument is None:
                yield f"{field} names {name!r}, which is not an argument", str(d.signature)
            elif not argument.type.takes_number:
                yield f"{field} names {name!r}, which is {argument.type}", str(d.signature)


def autocast_is_needed(d: OpDefinition) -> Found:
    """Policies of autocast fit the signature, and the CPU's says something else."""
    for word in (d.autocast, d.autocast_cpu):
        if word and not d.signature.tensor_arguments:
            yield f"autocast: {word} is for operators of tensors", str(d.signature)
        if word == "set_dtype" and not any(a.type.base == "dtype" for a in d.signature.arguments):
            yield "autocast: set_dtype is for operators with an argument of the type dtype", str(d.signature)
    # What is said twice could be changed in one place and forgotten in the other.
    if d.autocast_cpu and d.autocast_cpu == (d.autocast or "none"):
        yield f"autocast_cpu: {d.autocast_cpu} says what holds without it", "leave it out"


def few_positions(d: OpDefinition) -> Found:
    """A level-2 key has room for the dtypes outside promote."""
    outside = [a.name for a in d.signature.tensor_arguments if a.name not in d.promote and not a.type.list]
    if len(outside) > MAX_POSITIONS:
        yield (
            f"{len(outside)} tensor arguments are outside promote, at most {MAX_POSITIONS} may be",
            ", ".join(outside),
        )


def results_follow(d: OpDefinition) -> Found:
    """Each result has a rule, and the arguments that the rule needs."""
    # The parts of a composite decide on the dtypes of its results.
    if d.kind == "composite":
        return
    returns = d.signature.returns
    rules = d.result if isinstance(d.result, tuple) else (d.result,) * len(returns)
    if len(rules) != len(returns):
        yield f"returns {len(returns)} results, but result lists {len(rules)}", ""
        return
    for rule, result in zip(rules, returns, strict=True):
        if (rule == "none") == result.type.is_tensor:
            yield (
                f"result: {rule} is for results that are {'not tensors' if result.type.is_tensor else 'tensors'}",
                str(d.signature),
            )
        if rule in ("default", "int_to_float", "int_to_int64", "bool_to_int64") and not d.promote:
            yield f"result: {rule} needs arguments that promote", "write promote:, or result: same"
        if rule == "same" and not d.signature.tensor_arguments:
            yield "result: same needs a tensor argument", ""


def aliases_fit(d: OpDefinition) -> Found:
    """Views alias their argument; other operators with kernels return fresh tensors."""
    # A result that is written to is the argument itself, and no view of it.
    returned = {s for r in d.signature.returns if r.alias and not r.alias.write for s in r.alias.sets}
    if d.kind == "view":
        first = d.signature.arguments[0] if d.signature.arguments else None
        sets = set(first.alias.sets) if first is not None and first.alias else set()
        if not returned or not returned <= sets:
            yield "is a view, but its return does not alias its first argument", "annotate both with (a)"
    elif d.kind != "composite" and "real_is_self" not in d.tags and returned:
        yield "returns an alias, but is not a view", "write kind: view, or take the alias annotation away"


def kind_fits(d: OpDefinition) -> Found:
    """Pointwise operators take tensors, factories take a device and a dtype."""
    if d.kind == "pointwise" and not d.signature.tensor_arguments:
        yield "is pointwise, but takes no tensor", ""
    if d.kind == "factory":
        for base in ("dtype", "device"):
            if not any(a.type == Type(base, optional=True) and a.keyword_only for a in d.signature.arguments):
                yield f"is a factory, but has no {base}", f"add {base}? {base}=None after the *"


def variants_fit(d: OpDefinition) -> Found:
    """The first argument of a method is self; the tags about the in-place form go with one."""
    first = d.signature.arguments[0].name if d.signature.arguments else ""
    if (d.has_method or d.has_property) and first != "self":
        yield "is a method, but its first argument is not called self", str(d.signature)
    if d.has_property and len(d.signature.arguments) != 1:
        yield "is an attribute of tensors, but takes further arguments", str(d.signature)
    if "variadic" in d.tags:
        last = d.signature.positional[-1].type if d.signature.positional else None
        if last is None or not (last.list and (last.is_tensor or last.base == "any")):
            yield "is tagged variadic, but its last positional argument is not a list of tensors", ""
    if "metadata_inplace" in d.tags and not d.has_inplace:
        yield "is tagged metadata_inplace, but has no in-place form", "add inplace to variants"
    if "inplace_only" in d.tags and d.variants != ("inplace",):
        yield "is tagged inplace_only, but has other variants", "write variants: [inplace]"
    if d.kind == "view" and d.has_inplace and "metadata_inplace" not in d.tags:
        yield "is a view with an in-place form, which can only change metadata", "tag it metadata_inplace"


def gradients_fit(d: OpDefinition) -> Found:
    """An operator has a gradient, is nondifferentiable, has a backward that raises, or its composite decides.

    None of these is a gradient of zero that nobody wrote.
    """
    for tag in ("nondifferentiable", "no_derivative"):
        if tag in d.tags and d.grad:
            yield f"is tagged {tag}, but lists grad", ""
    if "nondifferentiable" in d.tags and "no_derivative" in d.tags:
        yield (
            "is tagged both nondifferentiable and no_derivative",
            "a result without a gradient needs no derivative",
        )
    if d.kind != "composite" and not d.grad and not d.undifferentiated and d.signature.tensor_arguments:
        yield (
            "has no gradient and does not say so",
            "list its arguments under grad, or tag it nondifferentiable or no_derivative",
        )
    if "no_derivative" in d.tags and not d.signature.tensor_arguments:
        yield "is tagged no_derivative, but takes no tensors", ""
    if "same_dtype" in d.tags and len(d.promote) < 2:
        yield "is tagged same_dtype, but fewer than two arguments promote", ""


LAWS: Final[tuple[Callable[[OpDefinition], Found], ...]] = (
    described,
    shaped,
    arguments_exist,
    ranges_are_of_numbers,
    autocast_is_needed,
    few_positions,
    results_follow,
    aliases_fit,
    kind_fits,
    variants_fit,
    gradients_fit,
)


# --- laws of all together --------------------------------------------------------------------------------------


def _public_names(definitions: list[OpDefinition]) -> Iterator[SchemaProblem]:
    """Every public name is that of one operator."""
    owners: dict[str, OpDefinition] = {}
    for definition in definitions:
        signature = definition.signature
        for name in definition.public_names:
            if signature.namespace != "tt":
                name = f"{signature.namespace}.{name}"
            # Overloads share their public name; two operators must not.
            owner = owners.setdefault(name, definition)
            if owner.signature.name != signature.name:
                message = f"its public name {name!r} is that of {owner.name} too"
                yield SchemaProblem(definition.name, message, "", definition.location)
