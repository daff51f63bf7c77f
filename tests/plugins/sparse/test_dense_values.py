"""Operators on sparse tensors give the same as on dense ones, or refuse: on the samples of all operators."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import tt
from tt.core.library import REGISTRY, OpDefinition
from tt.errors import TTError
from tt.testing.samples import samples

# They keep the pattern, as in PyTorch: elements that are not stored stay zero.
PATTERN = {"fill", "ones_like", "full_like"}
# Quotients of such elements, and their products with infinities, are zero, as in PyTorch; -0.0 is not stored.
UNSTORED = {"div", "div.mode", "div.optional_mode", "addcdiv", "trapezoid.x", "signbit"}
# Memory that is not written; solutions that are not unique.
OPEN = {"empty_like", "new_empty", "new_empty_strided", "resize", "linalg_lstsq"}
DEFINITIONS = [
    d
    for d in REGISTRY.definitions()
    if "::" not in d.name
    and d.samples
    and "random" not in d.tags
    and d.name not in PATTERN | UNSTORED | OPEN
    and any(a.type.is_tensor for a in d.signature.arguments)
]


def thinned(value: Any, numbers: np.random.Generator) -> Any:
    """Return a tensor with zeros at half of its places."""
    if not isinstance(value, tt.Tensor) or not value.is_floating_point():
        return value
    return tt.where(tt.tensor(numbers.random(tuple(value.shape)) < 0.5), value, 0)


def with_sparse(args: tuple[Any, ...], layout: tt.layout) -> Iterator[list[Any]]:
    """Give the first tensor, or all of them, a layout."""
    places = [place for place, value in enumerate(args) if isinstance(value, tt.Tensor)]
    for chosen in {tuple(places[:1]), tuple(places)} - {()}:
        try:
            yield [v.to_sparse(layout=layout) if i in chosen else v for i, v in enumerate(args)]
        except TTError:
            continue  # too few dimensions


def dense(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [dense(item) for item in value]
    return value if not isinstance(value, tt.Tensor) or value.layout is tt.strided else value.to_dense()


def assert_same(found: Any, wanted: Any, what: str) -> None:
    if isinstance(wanted, list | tuple):
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, what)
    elif isinstance(wanted, tt.Tensor):
        assert found.dtype is wanted.dtype, what
        wide = tt.complex128 if wanted.is_complex() else tt.float64
        np.testing.assert_allclose(
            found.detach().to(wide).numpy(),
            wanted.detach().to(wide).numpy(),
            rtol=1e-4,
            atol=1e-4,
            err_msg=what,
        )
    else:
        assert found == wanted, what


@pytest.mark.sampled(3)
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_a_sparse_argument_is_refused_or_gives_what_a_dense_one_gives(definition: OpDefinition) -> None:
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload("inplace" if "inplace_only" in definition.tags else "functional")
    numbers = np.random.default_rng(0)
    for sample in islice(samples(definition, "cpu", tt.float32), 8):
        if sample.error is not None:
            continue
        args = tuple(thinned(value, numbers) for value in sample.args)
        for layout in (tt.sparse_coo, tt.sparse_csr):
            for given in with_sparse(args, layout):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        found = caller(*given, **sample.kwargs)
                    except TTError:
                        continue
                    copies = [value.clone() if isinstance(value, tt.Tensor) else value for value in args]
                    assert_same(dense(found), caller(*copies, **sample.kwargs), f"{sample.name}, {layout}")
