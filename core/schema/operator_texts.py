"""Documentation of operators that ops.yaml does not have: formulas, the meanings of parameters, related operators.

The texts are YAML files: `texts.yaml` and `examples.yaml` in the folder of each family in `operators/`, and those of
`core/schema/texts` that serve all families.  Of these, `common.yaml` has the meanings of parameters by their names,
`shapes.yaml` and `dtypes.yaml` those of results, `related.yaml` groups of operators that name each other, and
`errors.yaml`, `modules.yaml` and `plots.yaml` more for entries of families.  They are read when documentation is
needed, never by `import tt`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tt.core.by_name import module_named
from tt.core.family_index import OPERATORS, families

if TYPE_CHECKING:
    from tt.core.schema.arguments import Argument
    from tt.core.schema.model import OpDefinition

__all__ = [
    "FIELDS",
    "FOLDER",
    "OF_ENTRIES",
    "SHARED",
    "OperatorText",
    "common_meanings",
    "dtypes",
    "entries",
    "further_examples",
    "groups",
    "meaning",
    "operator_text",
    "result_dtype",
    "result_shape",
    "shapes",
]

FOLDER: Final = Path(__file__).with_name("texts")
OF_ENTRIES: Final = ("errors.yaml", "modules.yaml", "plots.yaml")
"""The files for all families that have more fields for entries."""
FIELDS: Final = ("formula", "parameters", "notes", "errors", "see", "plot")
"""The keys of an operator's entry."""
SHARED: Final = frozenset({
    "dim", "keepdim", "dtype", "device", "layout", "memory_format", "generator", "out", "requires_grad", "pin_memory",
})  # fmt: skip
"""The parameters that mean the same in any operator; the other common meanings are for the public ones of tt."""


@dataclass(frozen=True, slots=True)
class OperatorText:
    """The text of the files about an overload.

    Attributes
    ----------
    formula : str
        The result, in LaTeX.
    parameters : mapping of str to str
        The meanings of the parameters that are not the common ones.
    notes : tuple of str
        Further sentences.
    errors : mapping of str to str
        Errors of `tt.errors`, and when they are raised.
    see : tuple of str
        Related operators, and other public names after `tt.`: those of the entry, then those of the operator's groups.
    plot : tuple of float
        From where to where a function of one variable is drawn, perhaps followed by the range of its values.
    """

    formula: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    see: tuple[str, ...] = ()
    plot: tuple[float, ...] = ()


def _read(file: Path) -> Any:
    import yaml  # for texts alone, which `explain` does without

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(file.read_text(encoding="utf-8"), Loader=loader)


def _in_families(name: str) -> Iterator[Path]:
    """Yield the files of a name in the folders of all families."""
    folder = Path(module_named(OPERATORS).__path__[0])
    for family in families():
        if (file := folder / family / name).is_file():
            yield file


@cache
def common_meanings() -> Mapping[str, Any]:
    """Return the common meanings: a text for each name, or one for each type with `else` for all others."""
    meanings: Mapping[str, Any] = _read(FOLDER / "common.yaml")
    return meanings


def entries() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the entries: file, operator or overload, fields.  A key may name several operators."""
    for file in (*_in_families("texts.yaml"), *(FOLDER / name for name in OF_ENTRIES)):
        for names, fields in _read(file).items():
            for name in names.split(","):
                yield f"{file.parent.name}/{file.name}", name.strip(), fields


@cache
def _by_name() -> Mapping[str, dict[str, Any]]:
    texts: dict[str, dict[str, Any]] = {}
    for _, name, fields in entries():
        _add(texts.setdefault(name, {}), fields)
    return texts


def _add(known: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Add fields of a more special entry: its texts go before, its lists behind."""
    for key, value in fields.items():
        if isinstance(value, dict):
            known[key] = {**known.get(key, {}), **value}
        elif isinstance(value, list):
            known[key] = list(dict.fromkeys([*known.get(key, ()), *value]))
        else:
            known[key] = value


@cache
def groups() -> tuple[tuple[str, ...], ...]:
    """Return the groups of operators that name each other."""
    return tuple(tuple(group) for group in _read(FOLDER / "related.yaml"))


@cache
def _relatives() -> Mapping[str, tuple[str, ...]]:
    related: dict[str, dict[str, None]] = {}
    for group in groups():
        for name in group:
            if not name.startswith("tt."):
                related.setdefault(name, {}).update((other, None) for other in group if other != name)
    return {name: tuple(others) for name, others in related.items()}


@cache
def shapes() -> Mapping[str, str]:
    """Return the shapes of results, by the names of shape rules, operators and overloads."""
    return _by_names("shapes.yaml")


@cache
def dtypes() -> Mapping[str, str]:
    """Return the dtypes of results of composites, by the names of operators and overloads."""
    return _by_names("dtypes.yaml")


def _by_names(file: str) -> dict[str, str]:
    texts: dict[str, str] = {}
    for names, text in _read(FOLDER / file).items():
        texts.update((name.strip(), text) for name in names.split(","))
    return texts


@cache
def further_examples() -> Mapping[str, str]:
    """Return the examples that operators have besides those of ops.yaml, by operator."""
    examples: dict[str, str] = {}
    for file in _in_families("examples.yaml"):
        examples.update(_read(file))
    return examples


def result_shape(definition: OpDefinition) -> str:
    """Return the shape of the result in words; empty where the texts have none.

    Examples
    --------
    >>> from tt.core.schema.operator_texts import result_shape
    >>> from tt.core.schema.snapshot import definitions
    >>> result_shape(definitions()["mm"])
    '(n, p) for matrices (n, m) and (m, p)'
    """
    signature = definition.signature
    if signature.namespace != "tt":
        named: list[str] = []
    else:
        named = [definition.name, signature.name]
    if isinstance(definition.meta, str):
        named.append(definition.meta)
    return next((shapes()[name] for name in named if name in shapes()), "")


def result_dtype(definition: OpDefinition) -> str:
    """Return the dtype of a composite's result in words; empty where the texts have none.

    Examples
    --------
    >>> from tt.core.schema.operator_texts import result_dtype
    >>> from tt.core.schema.snapshot import definitions
    >>> result_dtype(definitions()["isclose"])
    'bool'
    """
    signature = definition.signature
    if signature.namespace != "tt":
        return ""
    return dtypes().get(definition.name, dtypes().get(signature.name, ""))


def operator_text(definition: OpDefinition) -> OperatorText:
    """Return the text of the files about an overload: the entry of its operator, then its own.

    Examples
    --------
    >>> import tt
    >>> from tt.core.schema.operator_texts import operator_text
    >>> from tt.core.schema.snapshot import definitions
    >>> operator_text(definitions()["exp"]).see
    ('expm1', 'exp2', 'log')
    """
    signature = definition.signature
    if signature.namespace != "tt":
        return OperatorText()
    known: dict[str, Any] = {}
    # The operator's entry first, then the overload's, which adds to it or replaces.
    for name in dict.fromkeys((signature.name, definition.name)):
        _add(known, _by_name().get(name, {}))
    return OperatorText(
        known.get("formula", ""),
        known.get("parameters", {}),
        tuple(known.get("notes", ())),
        known.get("errors", {}),
        tuple(dict.fromkeys([*known.get("see", ()), *_relatives().get(signature.name, ())])),
        tuple(known.get("plot", ())),
    )


def meaning(definition: OpDefinition, argument: Argument) -> str:
    """Return the meaning of a parameter; empty for an internal operator, or a plugin's.

    Examples
    --------
    >>> from tt.core.schema.operator_texts import meaning
    >>> from tt.core.schema.snapshot import definitions
    >>> argmax = definitions()["argmax"]
    >>> meaning(argmax, argmax.signature.argument("keepdim"))
    'Whether the reduced dimensions stay, with size 1.'
    """
    own = operator_text(definition).parameters.get(argument.name)
    if own is not None:
        return own
    # A name of another library's argument may mean something else there.
    foreign = definition.signature.namespace != "tt" or "internal" in definition.tags
    if foreign and argument.name not in SHARED:
        return ""
    common = common_meanings().get(argument.name, "")
    if isinstance(common, str):
        return common
    return str(common.get(str(argument.type), common.get("else", "")))
