"""The table of all sample families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from tt.core.by_name import module_named, object_named
from tt.core.errors import KernelContractError, UnknownNameError
from tt.core.family_index import OPERATORS, FamilyIndex
from tt.core.types.dtype import float32
from tt.operators._samples.base import Family, Inputs, Sample
from tt.operators._samples.completion import completion

if TYPE_CHECKING:
    from tt.core.schema.model import OpDefinition
    from tt.core.types.device import Device
    from tt.core.types.dtype import dtype as Dtype

__all__ = ["families", "samples"]

INDEX: Final = FamilyIndex(OPERATORS, lambda module: module.family.families, "samples")
"""Which modules of `operators` have a sample family."""


@cache
def families() -> Mapping[str, Family]:
    """Return all sample families by name.

    Examples
    --------
    >>> from tt.testing.samples import families
    >>> "unary_pointwise" in families()
    True
    """
    result: dict[str, Family] = {}
    for module in INDEX.modules():
        table = module_named(module).family.families
        # A second one would silently replace the first, and its operators go unchecked.
        if twice := result.keys() & table.keys():
            raise KernelContractError(f"sample families are defined twice: {', '.join(sorted(twice))}")
        result.update(table)
    return result


def find_family(name: str) -> Family:
    """Return the family that ops.yaml calls `name`: a named one, or "module:function".

    Raises
    ------
    UnknownNameError
        When there is none.
    """
    if ":" in name:
        try:
            family: Family = object_named(name)
        except (ImportError, AttributeError) as error:
            raise UnknownNameError("sample family", name, families(), note=str(error)) from error
        return family
    if name not in families():
        raise UnknownNameError("sample family", name, families())
    return families()[name]


def samples(
    definition: OpDefinition, device: Device | str = "cpu", dtype: Dtype | None = None, seed: int = 0
) -> Iterator[Sample]:
    """Yield the calls on which an operator is checked.

    Parameters
    ----------
    definition : OpDefinition
        The operator.
    device : Device or str
        Where the tensors are.
    dtype : dtype, optional
        Of the tensors; float32 by default.
    seed : int
        Of the values.

    Raises
    ------
    UnknownNameError
        When nothing has the name of the operator's family.

    Examples
    --------
    >>> import tt
    >>> from tt.core.dispatch.registry.registry import REGISTRY
    >>> from tt.testing.samples import samples
    >>> next(samples(REGISTRY.operator("neg").definition)).name
    'shape ()'
    """
    if definition.samples:
        make, family = Inputs(definition, device, dtype or float32, seed), find_family(definition.samples)
        # All of them first: what is missing depends on what there is.
        own = list(family(make))
        yield from own
        yield from completion(make, own, family.__module__.split(".")[-2])
