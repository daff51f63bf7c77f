"""The samples on which operators are checked."""

from __future__ import annotations

import numpy as np
import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import UnknownNameError
from tt.operators._samples.registry import find_family
from tt.testing.references import as_array
from tt.testing.samples import Inputs, families, samples

DEFINITIONS = [d for d in REGISTRY.definitions() if "::" not in d.name]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_every_operator_has_samples_that_fit_its_signature(definition):
    from tt.core.schema.classes import dtype_names

    names = dtype_names(definition.dtypes)
    dtype = tt.float32 if "float32" in names else getattr(tt, names[0])
    form = "inplace" if "inplace_only" in definition.tags else "functional"
    operator = REGISTRY.operator(definition.name)
    caller = operator.overload(form)
    bind = caller.binder or operator.binder(caller)
    found = list(samples(definition, "cpu", dtype))
    assert any(sample.error is None for sample in found)
    assert len({sample.name for sample in found}) == len(found), "two samples have one name"
    for sample in found:
        if sample.name == "error: no tensor":
            with pytest.raises(TypeError, match="Tensor"):
                bind(sample.args, dict(sample.kwargs))
            continue
        assert len(bind(sample.args, dict(sample.kwargs))) == len(operator.arguments)
        assert sample.name.startswith("error") == (sample.error is not None)


def test_every_family_is_used():
    assert set(families()) == {d.samples for d in DEFINITIONS}


def test_an_unknown_family_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'reduction'"):
        find_family("reductions")
    assert find_family("tt.operators.pointwise.samples:unary") is not None


def test_the_same_seed_gives_the_same_values():
    definition = REGISTRY.operator("add").definition

    def values(seed):
        return [[as_array(a) for a in s.args] for s in samples(definition, "cpu", tt.float32, seed)]

    for one, other in zip(values(3), values(3), strict=True):
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))
    assert any(not np.array_equal(a[0], b[0]) for a, b in zip(values(3), values(4), strict=True))


def test_pointwise_samples_cover_shapes_layouts_and_dtypes():
    found = [s for s in samples(REGISTRY.operator("add").definition, "cpu", tt.int64) if s.error is None]
    shapes = {s.args[0].shape for s in found}
    assert {len(shape) for shape in shapes} == {0, 1, 2, 3, 4}
    assert any(0 in shape for shape in shapes)
    tensors = [s.args[0] for s in found]
    assert any(not t.is_contiguous() for t in tensors)
    assert any(t.storage_offset() for t in tensors)
    assert any(0 in t.stride() for t in tensors)
    assert {a.dtype for s in found for a in s.args if isinstance(a, tt.Tensor)} >= {
        tt.int64,
        tt.float32,
        tt.bool,
    }


def test_layouts_differ_in_memory_not_in_shape():
    make = Inputs(REGISTRY.operator("neg").definition, "cpu", tt.float32)
    strides = {
        layout: make.tensor(2, 3, layout=layout).stride()
        for layout in ("contiguous", "transposed", "strided")
    }
    assert strides == {"contiguous": (3, 1), "transposed": (1, 2), "strided": (6, 2)}
    assert make.tensor(2, 3, layout="offset").storage_offset() == 3
    assert make.tensor(2, 3, layout="expanded").stride() == (0, 1)
