"""To which operators a fault applies: tests of definitions."""

from __future__ import annotations

from collections.abc import Callable

from tt.core.library import OpDefinition
from tt.core.schema.classes import dtype_names
from tt.testing.checks.call import UNDEFINED

__all__ = [
    "UNDEFINED",
    "all_of",
    "computed_dtypes",
    "computes",
    "functional",
    "kind",
    "mixes",
    "only",
    "promises",
    "result_is",
    "returns_tensors",
    "rounds",
    "takes_tensors",
    "takes_two",
    "tensors",
]


def all_of(*tests: Callable[[OpDefinition], bool]) -> Callable[[OpDefinition], bool]:
    return lambda d: all(test(d) for test in tests)


def kind(*kinds: str) -> Callable[[OpDefinition], bool]:
    return lambda d: d.kind in kinds


def only(*names: str) -> Callable[[OpDefinition], bool]:
    return lambda d: d.name in names


def promises(*names: str) -> Callable[[OpDefinition], bool]:
    return lambda d: set(names) <= set(computed_dtypes(d))


def computed_dtypes(d: OpDefinition) -> list[str]:
    """Return the dtypes in which a kernel computes, and the argument is not returned as it is."""
    names = dtype_names(d.dtypes)
    return [name for name in names if "real_is_self" not in d.tags or name.startswith("complex")]


def computes(d: OpDefinition) -> bool:
    """Return whether the values are determined, and made by the operator itself."""
    return "random" not in d.tags and d.name not in UNDEFINED and d.kind != "view" and returns_tensors(d)


def returns_tensors(d: OpDefinition) -> bool:
    return bool(d.signature.returns) and d.signature.returns[0].type.is_tensor


def functional(d: OpDefinition) -> bool:
    return "inplace_only" not in d.tags


def tensors(d: OpDefinition) -> int:
    return sum(a.type.is_tensor for a in d.signature.arguments)


def takes_tensors(d: OpDefinition) -> bool:
    return tensors(d) > 0


def takes_two(d: OpDefinition) -> bool:
    return (
        sum(a.type.is_tensor and not a.type.list and not a.type.optional for a in d.signature.arguments) > 1
    )


def result_is(*words: str) -> Callable[[OpDefinition], bool]:
    return lambda d: (d.result if isinstance(d.result, str) else d.result[0]) in words


def rounds(d: OpDefinition) -> bool:
    """Return whether results are floating point numbers that are not copies of the arguments."""
    return result_is("default", "int_to_float")(d) and d.kind in ("pointwise", "reduction")


def mixes(d: OpDefinition) -> bool:
    """Return whether tensors of several dtypes promote, and the result shows to which."""
    promoted = [a for a in d.signature.arguments if a.name in d.promote and a.type.is_tensor]
    return all_of(computes, kind("pointwise"), result_is("default", "int_to_float"))(d) and (
        len(promoted) > 1 and "same_dtype" not in d.tags
    )
