"""Rules of operators: what their results are to a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tt
from tt.core.library import REGISTRY
from tt.core.schema.classes import dtype_names
from tt.testing.samples import samples

DEFINITIONS = [
    d
    for d in REGISTRY.definitions()
    if "::" not in d.name and d.samples and d.kind != "view" and "float32" in dtype_names(d.dtypes)
]


def requiring(value: Any) -> Any:
    """Return arguments of their own memory, whose floating-point tensors require gradients."""
    if isinstance(value, tt.Tensor):
        copy = value.detach().clone()
        return copy.requires_grad_() if copy.is_floating_point() else copy
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(requiring, value))
    return value


def tensors(value: Any) -> Iterator[tt.Tensor]:
    if isinstance(value, tt.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors(item)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda definition: definition.name)
def test_results_that_are_no_views_can_be_changed_in_place(definition: Any) -> None:
    for sample in samples(definition, "cpu", tt.float32):
        if sample.error is not None:
            continue
        args = [requiring(value) for value in sample.args]
        kwargs = {name: requiring(value) for name, value in sample.kwargs.items()}
        try:
            results = REGISTRY.operator(definition.name).overload()(*args, **kwargs)
        except RuntimeError:  # an in-place operator of leaves that require gradients
            continue
        inputs = {
            x.untyped_storage().data_ptr()
            for x in tensors([*args, *kwargs.values()])
            if x.layout is tt.strided
        }
        for result in tensors(results):
            own = result.layout is tt.strided and result.untyped_storage().data_ptr() not in inputs
            if own and result.numel() and result.requires_grad and not result.is_leaf:
                result.add_(1)  # refused where autograd takes it for a view of a leaf
