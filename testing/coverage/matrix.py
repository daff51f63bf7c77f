"""The matrix: every operator against every backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import UnknownNameError, UnknownOpError
from tt.core.schema.classes import dtype_names
from tt.core.types.dtype import to_dtype
from tt.testing.coverage.served import Coverage, How, Place, compute_dtype, coverage, places

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition
    from tt.core.types.dtype import dtype as Dtype

__all__ = ["Matrix", "Row", "family_of", "matching", "matrix"]


def family_of(definition: OpDefinition) -> str:
    """Return the family of an operator; without one its namespace.

    Examples
    --------
    >>> from tt.testing.coverage import definitions_of, family_of
    >>> family_of(definitions_of("softmax")[0])
    'activation'
    """
    return definition.family or definition.signature.namespace


@dataclass(frozen=True)
class Row:
    """An operator, and how each backend serves it.

    Attributes
    ----------
    definition : OpDefinition
        The operator.
    family : str
        Its family.
    cells : tuple of Coverage
        In the order of the matrix's places.
    """

    definition: OpDefinition
    family: str
    cells: tuple[Coverage, ...]

    @cached_property
    def promised(self) -> tuple[str, ...]:
        """The dtypes that a full implementation serves."""
        return dtype_names(self.definition.dtypes)

    def part(self, cell: Coverage) -> tuple[str, ...]:
        """Return the promised dtypes that kernels serve, where those are not all of them; else nothing."""
        if cell.how != "kernel":
            return ()
        operator = REGISTRY.operator(self.definition.name)
        needs = {name: compute_dtype(operator, to_dtype(name)) for name in self.promised}
        served = tuple(n for n, compute in needs.items() if compute is None or compute.name in cell.dtypes)
        return () if len(served) == len(needs) else served

    def elsewhere(self, cell: Coverage) -> dict[str, How]:
        """Return how the promised dtypes are served that the kernels do not serve, where they serve not all."""
        served = self.part(cell)
        missing = [name for name in self.promised if name not in served] if served else []
        return {name: coverage(self.definition, cell.place, to_dtype(name)).how for name in missing}


@dataclass(frozen=True)
class Matrix:
    """Operators in the order of their families, against backends.

    Attributes
    ----------
    places : tuple of Place
        The backends.
    rows : tuple of Row
        The operators.
    dtype : str
        The requested dtype, or an empty text.
    """

    places: tuple[Place, ...]
    rows: tuple[Row, ...]
    dtype: str = ""

    def families(self) -> list[str]:
        """Return the families in the order of the rows."""
        return list(dict.fromkeys(row.family for row in self.rows))

    def counts(self, place: Place, family: str | None = None) -> Counter[How]:
        """Return how many operators, of a family or of all, a backend serves in which way."""
        column = self.places.index(place)
        return Counter(row.cells[column].how for row in self.rows if family in (None, row.family))

    def served(self, place: Place, family: str | None = None) -> tuple[int, int]:
        """Return how many operators a backend serves, and how many there are for its layout."""
        counts = self.counts(place, family)
        # Operators for another layout are no gap of this one.
        whole = counts.total() - counts["other layout"]
        return whole - counts["missing"], whole

    def _repr_html_(self) -> str:
        from tt.testing.coverage.html import fragment  # which imports this module

        return fragment(self)

    def as_data(self) -> dict[str, Any]:
        """Return all of it in lists and dicts, for JSON."""
        return {
            "dtype": self.dtype or None,
            "backends": [
                {
                    "name": str(backend),
                    "brought_by": str(REGISTRY.backend_sources[backend.device, backend.layout]),
                    "served": self.served(backend)[0],
                    "operators": self.served(backend)[1],
                    "counts": dict(self.counts(backend)),
                }
                for backend in self.places
            ],
            "families": {
                family: {str(backend): dict(self.counts(backend, family)) for backend in self.places}
                for family in self.families()
            },
            "operators": [
                {
                    "name": row.definition.name,
                    "family": row.family,
                    "kind": row.definition.kind,
                    "core": row.definition.core,
                    "dtypes": list(row.promised),
                    "backends": {
                        str(cell.place): {
                            "how": cell.how,
                            "dtypes": list(cell.dtypes),
                            "sources": list(cell.sources),
                        }
                        for cell in row.cells
                    },
                }
                for row in self.rows
            ],
        }


def matrix(
    backends: Sequence[Place] | None = None,
    *,
    ops: Sequence[str] = (),
    namespace: str = "",
    dtype: Dtype | str | None = None,
    missing: bool = False,
) -> Matrix:
    """Return how backends serve operators.

    Parameters
    ----------
    backends : sequence of Place, optional
        Which backends; by default all but meta, which serves every operator without data.
    ops : sequence of str
        Only operators whose name, with or without overload, one of these patterns with `*` wildcards matches.
    namespace : str
        Only the operators of a namespace: tt, or a plugin's.
    dtype : dtype or str, optional
        Only operators that promise this dtype, and how arguments of it are served.
    missing : bool
        Only operators that one of the backends does not serve.

    Raises
    ------
    UnknownOpError, UnknownNameError
        When nothing matches a pattern or the namespace.

    Examples
    --------
    >>> from tt.testing.coverage import Place, matrix
    >>> found = matrix([Place("cpu")], ops=["exp", "softmax"])
    >>> [(row.definition.name, row.cells[0].how) for row in found.rows]
    [('exp', 'kernel'), ('softmax', 'kernel'), ('softmax.implicit', 'composite')]
    """
    known = places()
    chosen = (
        tuple(backend for backend in known if backend.device != "meta")
        if backends is None
        else tuple(backends)
    )
    asked = None if dtype is None else to_dtype(dtype)
    definitions = matching(list(REGISTRY.definitions()), ops)
    if namespace:
        definitions = [d for d in definitions if d.signature.namespace == _known_namespace(namespace)]
    if asked is not None:
        definitions = [d for d in definitions if asked.name in dtype_names(d.dtypes)]
    rows = [
        Row(d, family_of(d), tuple(coverage(d, backend, asked) for backend in chosen)) for d in definitions
    ]
    if missing:
        rows = [row for row in rows if any(cell.missing for cell in row.cells)]
    order = {family: i for i, family in enumerate(dict.fromkeys(row.family for row in rows))}
    # The sort is stable: within a family the operators stay in the schema's order.
    rows.sort(key=lambda row: order[row.family])
    return Matrix(chosen, tuple(rows), "" if asked is None else asked.name)


def matching(definitions: list[OpDefinition], patterns: Sequence[str]) -> list[OpDefinition]:
    """Return the operators that one of the patterns matches, with or without overload; all without patterns.

    Raises
    ------
    UnknownOpError
        When a pattern matches none.
    """
    if not patterns:
        return definitions
    tests: list[Callable[[str], bool]] = [_test(pattern) for pattern in patterns]
    for pattern, matches in zip(patterns, tests, strict=True):
        if not any(matches(d.name) for d in definitions):
            raise UnknownOpError(pattern, [d.name for d in definitions])
    return [d for d in definitions if any(matches(d.name) for matches in tests)]


def _test(pattern: str) -> Callable[[str], bool]:
    return lambda name: fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[0], pattern)


def _known_namespace(namespace: str) -> str:
    known = sorted({d.signature.namespace for d in REGISTRY.definitions()})
    if namespace not in known:
        raise UnknownNameError("namespace", namespace, known)
    return namespace
