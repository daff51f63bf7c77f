"""Checks that the operators and what plugins registered for them fit together; `tt ops check` prints the findings.

The schema's own rules (grammar, allowed words, consistent fields) are checked when a file is loaded; here it is
about the whole: rules that do not exist, kernels that do not fit, dtypes that are promised and not served.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tt.core.by_name import object_named
from tt.core.dispatch.registry.registry import REGISTRY, Provider
from tt.core.dispatch.resolve.kernels import taken_positions
from tt.core.errors import (
    DtypeError,
    KernelContractError,
    SchemaError,
    SchemaProblem,
    TTError,
    UnknownNameError,
    did_you_mean,
)
from tt.core.family_index import FamilyIndex, families
from tt.core.host import host
from tt.core.schema import snapshot
from tt.core.schema.classes import dtype_names
from tt.core.schema.load import load
from tt.core.schema.operator_texts import entries
from tt.core.shapes import find_rule
from tt.core.types.dtype import DTYPES, to_dtype
from tt.testing.coverage import Place, compute_dtype, coverage, dtypes_in_words, places

if TYPE_CHECKING:
    from tt.core.dispatch.call.operator import Operator
    from tt.core.schema.model import OpDefinition
    from tt.core.tensor.backend import Backend

__all__ = [
    "INDICES", "MAX_CORE", "Problem", "check_all", "check_backend", "check_backends", "check_families", "check_files",
    "is_concern_of",
]  # fmt: skip

INDICES: Final = {
    "composite": "tt.core.dispatch.registry.composites:INDEX",
    "formula": "tt.plugins.autograd.formulas.families:INDEX",
    "batching rule": "tt.plugins.autograd.transforms.batching.table:INDEX",
    "CPU kernel": "tt.backends.cpu.tables:INDEX",
    "native kernel": "tt.backends.cpu.tables:NATIVE_INDEX",
    "kernel over the array API": "tt.backends.cpu.general:INDEX",
    "CUDA kernel": "tt.backends.cuda.kernels:INDEX",
}
"""What implements an operator -> the index of its modules."""

MAX_CORE: Final = 100
"""The limit for the number of operators that a new backend must implement."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be.

    Attributes
    ----------
    check : str
        Which check found it.
    subject : str
        The operator, plugin or file that it is about.
    message : str
        A description of the problem.
    file, line, column : str, int, int
        Where, for a mistake in a file; otherwise empty and 0.
    source : str
        The text of that line.
    hint : str
        A remedy, if one is known.
    """

    check: str
    subject: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    source: str = ""
    hint: str = ""

    def __str__(self) -> str:
        if self.file:
            return str(SchemaProblem(self.file, self.line, self.column, self.message, self.source, self.hint))
        return f"{self.subject}: {self.message}" + (f"\n    {self.hint}" if self.hint else "")


def check_files(files: Iterable[str]) -> list[Problem]:
    """Check schema files on their own, without registering anything."""
    problems = []
    for file in files:
        try:
            load([file])
        except SchemaError as error:
            problems += [
                Problem("schema", p.file, p.message, p.file, p.line, p.column, p.source, p.hint)
                for p in error.problems
            ]
    return problems


def check_all(backends: Iterable[Place] | None = None) -> list[Problem]:
    """Check the schema, every registration, and that some backends keep the schema's promises.

    Parameters
    ----------
    backends : iterable of Place, optional
        Those that are expected to be complete; the CPU if its plugin works (one that does not is a problem itself).
    """
    broken = check_own_schema()
    if broken:
        return broken  # nothing else can be checked without the operators
    known = places()
    if backends is None:
        backends = [backend for backend in known if backend == Place("cpu")]
    definitions = list(REGISTRY.definitions())
    problems = [
        *check_plugins(),
        *check_core_size(definitions),
        *check_families(definitions),
        *check_unknown_operators(),
        *check_layers(definitions),
    ]
    for definition in definitions:
        for check in PER_OPERATOR:
            problems += check(definition)
    for backend in backends:
        problems += check_backend(backend)
    return problems


def check_families(definitions: Iterable[OpDefinition]) -> Iterator[Problem]:
    """Check that all that tt has for an operator lies in modules and folders whose path has its family.

    A text is demanded of every operator with a page of its own: of none that is internal, by its tag or its name.
    """
    own = {d.name: d for d in definitions if d.signature.namespace == "tt"}
    for name, definition in own.items():
        if definition.family not in families():
            message = f"ops.yaml has it under {definition.family!r}, which is no folder of operators/"
            yield Problem("family", name, message, hint=f"there are: {', '.join(families())}")
    for what, reference in INDICES.items():
        index: FamilyIndex = object_named(reference)
        homes = index.homes()
        for name, definition in own.items():
            for module in homes.get(name, ()):
                if definition.family not in module.split("."):
                    yield _misplaced(what, name, module, definition.family)
    yield from _check_texts(own.values())
    rules, samples = "tt.core.shapes.registry:INDEX", "tt.operators._samples.registry:INDEX"
    yield from _check_shared(own.values(), "shape rule", rules, lambda d: d.meta)
    yield from _check_shared(own.values(), "sample family", samples, lambda d: d.samples)


def _check_texts(definitions: Collection[OpDefinition]) -> Iterator[Problem]:
    """Check that operators have a text in the folder of their family, and none in another."""
    families_of: dict[str, set[str]] = {}
    for definition in definitions:
        for name in (definition.name, definition.signature.name):
            families_of.setdefault(name, set()).add(definition.family)
    texts: set[tuple[str, str]] = set()
    misplaced: set[str] = set()
    for file, name, _ in entries():
        family, _, of_texts = file.partition("/")
        if of_texts == "texts.yaml" and name in families_of:
            texts.add((family, name))
            if family not in families_of[name]:
                misplaced.add(name)
                yield _misplaced("text", name, f"operators/{file}", *sorted(families_of[name]))
    for definition in definitions:
        names, family = {definition.name, definition.signature.name}, definition.family
        internal = "internal" in definition.tags or definition.signature.name.startswith("_")
        if not internal and not names & misplaced and not any((family, name) in texts for name in names):
            message = f"has no text in operators/{family}/texts.yaml"
            hint = "write its formula, or what its parameters mean; or tag it as internal"
            yield Problem("family", definition.name, message, hint=hint)


def _check_shared(
    definitions: Iterable[OpDefinition], what: str, index: str, name_of: Callable[[OpDefinition], Any]
) -> Iterator[Problem]:
    """Check that what serves the operators of one family only lies in this family."""
    users: dict[str, set[str]] = {}
    homes = {name: modules[0] for name, modules in object_named(index).homes().items()}
    for definition in definitions:
        name = name_of(definition)
        # A name with a colon is the path of a function, which may be anywhere.
        if isinstance(name, str) and ":" not in name:
            users.setdefault(name, set()).add(definition.family)
            if (
                what == "sample family" and name and name not in homes
            ):  # of a shape rule, another check says so
                yield Problem(
                    "family", definition.name, f"unknown {what} {name!r}{did_you_mean(name, homes)}",
                    hint=f"write it in operators/{definition.family}/samples.py",
                )  # fmt: skip
    for name, named in users.items():
        # What serves several families may be in any of them, or above.
        if len(named) == 1 and name in homes and not named & {*homes[name].split(".")}:
            yield _misplaced(what, name, homes[name], *named)


def _misplaced(what: str, name: str, module: str, *family: str) -> Problem:
    message = f"its {what} lies in {module}, whose path has not its family, {' or '.join(family)}"
    return Problem(
        "family", name, message, hint="move it to a module or folder of that name, or change ops.yaml"
    )


def is_concern_of(op: str, backends: Iterable[Place]) -> bool:
    """Return whether the authors of backends are concerned with an operator: tt's, their own, or the program's."""
    # The operators of tt have no namespace in their names.
    return op.partition("::")[1] == "" or _brought_by(backends)(REGISTRY.definition_source(op))


def _brought_by(backends: Iterable[Place]) -> Callable[[Provider], bool]:
    """Return a predicate for registrations from the packages of some backends, or from the program."""
    sources = [REGISTRY.backend_sources.get((backend.device, backend.layout)) for backend in backends]
    owners = {source.distribution for source in sources if source is not None}
    return lambda source: source.is_program or source.distribution in owners


def check_backends(backends: Iterable[Place], ops: Collection[str] | None = None) -> list[Problem]:
    """Check some backends, and what else their packages brought; nothing that other packages are to blame for.

    Parameters
    ----------
    backends : iterable of Place
        The backends.
    ops : collection of str, optional
        Only these operators, from any provider.
    """
    broken = check_own_schema()
    if broken:
        return broken
    backends = list(backends)
    theirs = _brought_by(backends)
    definitions = list(REGISTRY.definitions())
    own = (
        {d.name for d in definitions if theirs(REGISTRY.definition_source(d.name))} if ops is None else {*ops}
    )
    problems = [
        *check_plugins(theirs),
        *check_unknown_operators(theirs),
        *(problem for problem in check_layers(definitions) if problem.subject in own),
    ]
    for definition in definitions:
        # A package may bring kernels for operators that are not its own.
        problems += check_kernel_signatures(definition, theirs if ops is None else _anybody)
        if definition.name in own:
            for check in PER_OPERATOR:
                if check is not check_kernel_signatures:
                    problems += check(definition)
    for backend in backends:
        problems += check_backend(backend)
    return problems if ops is None else [problem for problem in problems if problem.subject in own]


def _anybody(source: Provider) -> bool:
    return True


# --- plugins ---------------------------------------------------------------------------------------------------


def check_plugins(theirs: Callable[[Provider], bool] = _anybody) -> Iterator[Problem]:
    """Find plugins that failed."""
    for plugin in host.plugins():
        if plugin.state == "failed" and theirs(Provider(plugin.distribution, plugin.version, plugin.name)):
            yield Problem("plugins", plugin.name, plugin.reason.splitlines()[0], hint="see: tt plugins list")


# --- the schema as a whole -------------------------------------------------------------------------------------


def check_own_schema(path: str | None = None) -> list[Problem]:
    """Find mistakes in ops.yaml.

    Parameters
    ----------
    path : str, optional
        Another file than tt's own.
    """
    path = snapshot.source_path() if path is None else path
    return check_files([path]) if os.path.exists(path) else []


def check_core_size(definitions: list[OpDefinition]) -> Iterator[Problem]:
    # The fewer operators are core, the less work a new backend is.
    """Find a core set that is too large for a backend's author."""
    count = sum(definition.core for definition in definitions)
    if count > MAX_CORE:
        yield Problem(
            "core set", "core", f"{count} operators are core; a new backend may need at most {MAX_CORE}"
        )


def check_description(definition: OpDefinition) -> Iterator[Problem]:
    """Find operators without description; tt's own also need an example and inputs for the checks."""
    needed = {"doc": "description"}
    if definition.signature.namespace == "tt":
        needed |= {"example": "example", "samples": "samples for the checks"}
    for field, what in needed.items():
        if not getattr(definition, field):
            yield Problem(
                "description", definition.name, f"has no {what}", hint=f"write `{field}:` in its entry"
            )


def check_shape_rule(definition: OpDefinition) -> Iterator[Problem]:
    """Find operators whose shape rule does not exist or needs arguments that they lack."""
    if not definition.meta:
        returns = definition.signature.returns
        if "data_dependent_shape" in definition.tags or not any(r.type.is_tensor for r in returns):
            return  # no shape follows from the arguments, or there is none
        if all(r.alias is not None and r.alias.write for r in returns):
            return  # the results are arguments
        # A custom operator's fake implementation is a kernel for meta tensors.
        fake = REGISTRY.kernels_of(definition.name, "meta", ("strided",))
        if not fake and REGISTRY.composite(definition.name) is None:
            yield Problem("shape rule", definition.name, "has neither a shape rule nor a composite")
        return
    try:
        rule = find_rule(definition.meta)
    except (TTError, ImportError, AttributeError) as error:
        yield Problem("shape rule", definition.name, str(error).splitlines()[0])
        return
    absent = rule.missing([argument.name for argument in definition.signature.arguments])
    if absent:
        yield Problem(
            "shape rule", definition.name, f"its rule {str(definition.meta)!r} needs {', '.join(absent)}"
        )


# --- registrations ---------------------------------------------------------------------------------------------


def check_unknown_operators(theirs: Callable[[Provider], bool] = _anybody) -> Iterator[Problem]:
    """Find kernels and composites for operators that no schema defines."""
    known = set(REGISTRY.names())
    REGISTRY.composites.load_all()
    for what, table in (("kernel", REGISTRY.kernels), ("composite", REGISTRY.composites)):
        for name, registrations in table.items():
            if name in known:
                continue
            for registration in registrations:
                if not theirs(registration.source):
                    continue
                if (
                    registration.eligibility().refusal
                ):  # its namespace belongs to another plugin, or to none yet
                    continue
                error = UnknownNameError("operator", name, known)
                yield Problem(
                    "registrations", name, f"{what} by {registration}: {str(error).splitlines()[0]}"
                )


def check_kernel_signatures(
    definition: OpDefinition, theirs: Callable[[Provider], bool] = _anybody
) -> Iterator[Problem]:
    """Find kernels whose parameters are not arguments of the operator."""
    operator = REGISTRY.operator(definition.name)
    for registration in REGISTRY.kernels.get(definition.name, ()):
        if not theirs(registration.source):
            continue
        try:
            taken_positions(operator, registration)
        except KernelContractError as error:
            yield Problem(
                "kernel signature",
                definition.name,
                str(error).splitlines()[0],
                hint=str(definition.signature),
            )
        except (TypeError, ValueError):
            yield Problem(
                "kernel signature",
                definition.name,
                f"the parameters of the kernel by {registration} cannot be read",
                hint="register it with takes=(...)",
            )


def check_composite_signature(definition: OpDefinition) -> Iterator[Problem]:
    """Find composites that do not take as many arguments by position as the schema gives them."""
    registration = REGISTRY.composite(definition.name)
    if registration is None:
        return
    parameters = list(inspect.signature(registration.function).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    expected = [argument.name for argument in definition.signature.arguments]
    if len(names) != len(expected):
        yield Problem(
            "composite signature",
            definition.name,
            f"the composite by {registration} takes ({', '.join(names)}), the schema ({', '.join(expected)})",
        )


def check_served(definition: OpDefinition) -> Iterator[Problem]:
    """Find plugins' operators without any implementation; tt's own are checked for each backend."""
    if definition.signature.namespace == "tt":
        return
    served = REGISTRY.kernels.get(definition.name) or REGISTRY.composite(definition.name)
    if not served:
        yield Problem("kernels", definition.name, "has no kernel on any backend and no composite")


def check_layers(definitions: list[OpDefinition]) -> Iterator[Problem]:
    """Find problems that the layers report for their tables: formulas that are missing or do not fit, for instance."""
    for name, layer in list(REGISTRY.layers.items()):  # a check may bring layers
        for operator, message in layer.check(definitions):
            yield Problem(f"layer {name}", operator, message)


PER_OPERATOR: Final[tuple[Callable[[OpDefinition], Iterator[Problem]], ...]] = (
    check_description,
    check_shape_rule,
    check_kernel_signatures,
    check_composite_signature,
    check_served,
)


# --- a backend -------------------------------------------------------------------------------------------------


def promises_nothing(definition: OpDefinition) -> bool:
    """Return whether an operator was defined in Python without dtypes: then it has its kernels' dtypes."""
    return not definition.location[0] and definition.dtypes == "all"


def check_backend(place: Place) -> list[Problem]:
    """Find the gaps of a backend: operators, core kernels, and dtypes that the schema promises."""
    backend: Any = REGISTRY.backend(place.device, place.layout)
    problems = []
    for definition in REGISTRY.definitions():
        how_served = coverage(definition, place)
        if how_served.missing:
            # A plugin's own operators may be for its own device or layout only.
            if definition.signature.namespace == "tt":
                problems.append(
                    Problem(f"backend {place}", definition.name, "has no kernel and no composite")
                )
        elif definition.core and how_served.how == "composite":
            problems.append(Problem(f"backend {place}", definition.name, "is core and has no kernel"))
        elif how_served.how == "kernel" and backend is not None and not promises_nothing(definition):
            absent = unserved_dtypes(REGISTRY.operator(definition.name), set(how_served.dtypes), backend)
            if absent:
                problems.append(
                    Problem(
                        f"backend {place}",
                        definition.name,
                        f"promises dtypes that no kernel serves: {dtypes_in_words(absent)}",
                        hint="register a kernel for them, or correct `dtypes:` of the operator",
                    )
                )
    return problems


def unserved_dtypes(operator: Operator, served: set[str], backend: Backend) -> list[str]:
    """Return the promised dtypes whose compute dtype no kernel serves, without dtypes that a backend may lack."""
    if REGISTRY.composite(operator.name) is not None:
        return []
    absent = []
    for name in dtype_names(operator.definition.dtypes):
        if to_dtype(name) not in DTYPES and not has_stored(backend, name):
            continue
        if name == "complex32" and operator.group and "complex64" in served:
            continue  # the dispatcher computes it in complex64
        compute = compute_dtype(operator, to_dtype(name))
        if compute is not None and compute.name not in served:
            absent.append(name)
    return absent


def has_stored(backend: Backend, name: str) -> bool:
    """Return whether the arrays of a backend can have a dtype that tensors only store."""
    try:
        backend.native_dtype(to_dtype(name))
    except (DtypeError, KeyError):
        return False
    return True
