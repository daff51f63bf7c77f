"""The table of all laws, and the check that applies them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tt.testing.checks.case import Case
from tt.testing.conformance.laws.base import Law
from tt.testing.conformance.laws.kinds import KIND_LAWS
from tt.testing.conformance.laws.results import RESULT_LAWS
from tt.testing.conformance.laws.tags import TAG_LAWS
from tt.testing.conformance.laws.variants import VARIANT_LAWS

__all__ = ["LAWS", "check_laws", "laws_of"]

LAWS: Final[dict[str, dict[str, Law]]] = {
    "kind": KIND_LAWS,
    "result": RESULT_LAWS,
    "variants": VARIANT_LAWS,
    "tags": TAG_LAWS,
}
"""Key of an entry of the schema -> word -> law."""


def laws_of(definition: Any) -> dict[str, Law]:
    """Return the laws that bind an operator, by word."""
    results = definition.result if isinstance(definition.result, tuple) else (definition.result,)
    # The dtypes of composites follow from their parts; an entry without `promote` or `result` says nothing of them.
    says = definition.kind != "composite" and (definition.promote or definition.result != "default")
    words = {
        "kind": (definition.kind,),
        "result": results if says else (),
        "variants": definition.variants,
        "tags": definition.tags,
    }
    return {word: LAWS[key][word] for key, listed in words.items() for word in listed if word in LAWS[key]}


def check_laws(case: Case) -> Iterator[str]:
    """Apply the laws of the words in the operator's entry, those that need only one sample to the first that serves."""
    if case.inplace_only and case.definition.kind != "other":
        words = {w: law for w, law in laws_of(case.definition).items() if w not in LAWS["kind"]}
    else:
        words = laws_of(case.definition)
    for word, law in words.items():
        yield from law.broken(word, case)
