"""Meta tensors: every operator without data."""

from __future__ import annotations

import pytest

import tt
from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import BroadcastError, DataDependentError, InplaceError
from tt.core.meta import MetaHandle, bound_rule, run_rule


def meta(*shape, dtype=tt.float32):
    return tt.empty(shape, dtype=dtype, device="meta")


def test_every_operator_with_a_shape_rule_can_bind_it():
    definitions = [d for d in REGISTRY.definitions() if d.meta]
    assert len(definitions) > 100
    for definition in definitions:
        assert callable(bound_rule(definition))


def test_a_result_has_the_promoted_dtype_and_the_broadcast_shape():
    x = meta(2, 1, dtype=tt.int32) + meta(3, dtype=tt.float16)
    assert (x.shape, x.dtype, x.device.type) == ((2, 3), tt.float16, "meta")
    assert (meta(2, dtype=tt.int64) / 2).dtype is tt.float32
    assert (meta(2) > 0).dtype is tt.bool


def test_several_results_keep_their_names():
    found = meta(2, 3).max(1)
    assert (found.values.shape, found.indices.dtype) == ((2,), tt.int64)


def test_views_keep_offset_strides_and_memory():
    x = meta(4, 6)
    y = x[1:, 2:].t()
    assert (y.shape, y.stride(), y.storage_offset()) == ((4, 3), (1, 6), 8)
    assert y.unflatten(0, (2, 2)).stride() == (2, 1, 6) if hasattr(y, "unflatten") else True
    assert [part.storage_offset() for part in x.split(2)] == [0, 12]
    y.zero_()
    assert x._version == y._version == 1


def test_a_view_must_stay_in_its_memory():
    x = meta(2, 3)
    assert x.as_strided((3, 2), (1, 3)).stride() == (1, 3)
    with pytest.raises(RuntimeError, match="into a memory of 24"):
        x.as_strided((3, 3), (1, 3))
    with pytest.raises(RuntimeError, match="without a copy"):
        x.t().view(6)


def test_in_place_operators_check_the_shape_and_count_the_change():
    x = meta(2, 3)
    assert x.add_(meta(3)) is x
    assert x._version == 1
    with pytest.raises((InplaceError, BroadcastError)):
        meta(3).add_(x)
    x.t_()
    assert x.shape == (3, 2)


def test_a_reshape_is_a_view_where_it_can_be():
    x = meta(2, 3)
    assert x.reshape(6).untyped_storage() is x.untyped_storage()
    assert x.t().reshape(6).untyped_storage() is not x.untyped_storage()


@pytest.mark.parametrize(
    "call",
    [lambda x: x.nonzero(), lambda x: x.sum().item(), lambda x: bool(x.sum()), lambda x: x.tolist(),
     lambda x: x.numpy(), lambda x: x[x > 0], lambda x: x.masked_select(x > 0), lambda x: tt.equal(x, x)],
)  # fmt: skip
def test_what_needs_values_is_refused(call):
    with pytest.raises(DataDependentError, match="meta tensor has none"):
        call(meta(2, 3))


def test_random_and_other_factories_make_shapes():
    assert tt.randn(2, 3, device="meta").shape == (2, 3)
    assert tt.randint(5, (4,), device="meta").dtype is tt.int64
    assert tt.arange(2, 7, 2, device="meta").shape == (3,)
    assert tt.full_like(meta(3, 2).t(), 1).stride() == (1, 2)
    assert tt.empty_strided((2, 3), (1, 2), device="meta").stride() == (1, 2)


def test_data_can_go_to_meta_but_not_back():
    x = tt.tensor([[1.0, 2.0]], device="meta")
    assert (x.shape, x.is_meta) == ((1, 2), True)
    with pytest.raises(RuntimeError, match="no data"):
        x.to("cpu")


def test_a_rule_describes_native_arrays_too():
    import numpy as np

    definition = REGISTRY.operator("transpose").definition
    found = run_rule(definition, (np.zeros((2, 3), np.int16), 0, 1))
    assert found == MetaHandle((3, 2), tt.int16, (1, 3), 0)
    several = run_rule(REGISTRY.operator("max.dim").definition, (np.zeros((2, 3)), 0, False))
    assert [h.dtype for h in several] == [tt.float64, tt.int64]


def test_rules_are_imported_when_first_needed():
    code = "import tt, sys; print(any(m.startswith('tt.core.shapes') for m in sys.modules))"
    assert printed_by(code) == "False\n"
