"""`tt.FloatStorage` and its like: how they are made, and which objects are instances."""

from __future__ import annotations

import warnings

import pytest

import tt
from tt._late.typed_storages import NAMES

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


@pytest.mark.parametrize(("name", "dtype"), NAMES.items())
def test_each_has_elements_of_its_dtype(name, dtype):
    made = getattr(tt, name)([1, 0, 1])
    assert isinstance(made, tt.TypedStorage) and made.dtype is getattr(tt, dtype)
    assert getattr(tt, name).dtype is made.dtype
    assert made.tolist() == [1, 0, 1] and len(getattr(tt, name)(4)) == 4 and len(getattr(tt, name)()) == 0
    kinds = [n for n in NAMES if isinstance(made, getattr(tt, n))]
    assert kinds == [name]


@pytest.mark.torch
@pytest.mark.parametrize("name", NAMES)
def test_they_are_made_and_refused_as_in_torch(name):
    torch = pytest.importorskip("torch")
    calls = (
        lambda t, make: make([1, 0]).tolist(),
        lambda t, make: make((1, 1)).nbytes(),
        lambda t, make: make(3).size(),
        lambda t, make: make().tolist(),
        lambda t, make: make(2, 3),
        lambda t, make: make(1.5),
        lambda t, make: make(wrap_storage=3),
        lambda t, make: make([1], wrap_storage=t.ones(1).untyped_storage()),
        lambda t, make: make(wrap_storage=t.zeros(4, dtype=t.float64).untyped_storage()).tolist(),
        lambda t, make: isinstance(t.ones(2).storage(), make),
        lambda t, make: isinstance(t.ones(2).untyped_storage(), make),
    )
    for k, call in enumerate(calls):
        found = []
        for library in (tt, torch):
            try:
                found.append(call(library, getattr(library, name)))
            except (TypeError, RuntimeError, ValueError):
                found.append("refused")
        assert found[0] == found[1], f"call {k}"


def test_wrapping_shares_the_memory():
    x = tt.tensor([1.0, 2.0])
    memory = tt.FloatStorage(wrap_storage=x.untyped_storage())
    memory[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    assert tt.Storage is tt.FloatStorage


def test_a_call_warns_that_they_are_deprecated():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tt.FloatStorage(1)
    assert [str(each.message).split(":")[0] for each in seen] == ["TypedStorage is deprecated"]


def test_every_memory_is_a_storage_base_and_the_base_makes_none():
    assert isinstance(tt.ones(1).untyped_storage(), tt.StorageBase)
    assert not isinstance(tt.ones(1), tt.StorageBase)
    assert not isinstance(tt.FloatStorage(1), tt.StorageBase)
    with pytest.raises((TypeError, RuntimeError), match="UntypedStorage"):
        tt.StorageBase()


def test_negative_sizes_are_refused():
    with pytest.raises((TypeError, RuntimeError), match="negative"):
        tt.FloatStorage(-1)
