"""The namespace's information about itself."""

from __future__ import annotations

import array_api_strict as strict
import pytest

import tt
from tests.api.array_api.comparing import DTYPES
from tt import array_api as xp

INFO = xp.__array_namespace_info__()


def test_every_dtype_of_the_standard_is_listed_by_kind():
    theirs = strict.__array_namespace_info__()
    for kind in (
        None,
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "numeric",
        ("bool", "real floating"),
        (),
    ):
        assert set(INFO.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
    assert all(INFO.dtypes()[name] is getattr(xp, name) for name in DTYPES)
    with pytest.raises(ValueError, match="'whole' is not a kind"):
        INFO.dtypes(kind="whole")


def test_defaults_follow_the_settings():
    assert INFO.default_device() == tt.device("cpu") and INFO.devices()[0] == tt.device("cpu")
    with tt.default_dtype(tt.float64):
        assert INFO.default_dtypes() == {
            "real floating": tt.float64, "complex floating": tt.complex128, "integral": tt.int64, "indexing": tt.int64,
        }  # fmt: skip
    assert INFO.default_dtypes(device="cpu")["real floating"] is tt.float32


def test_all_optional_parts_are_there():
    assert INFO.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
