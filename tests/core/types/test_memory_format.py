"""Memory formats: their names, and other words."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tt.core.types.memory_format import format_name, is_preserve
from tt.errors import UnknownNameError

FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_one_object_that_travels(name):
    format = getattr(tt, name)
    assert format_name(format) == format_name(name) == format_name(f"torch.{name}") == name
    assert pickle.loads(pickle.dumps(format)) is copy.deepcopy(format) is format


def test_nothing_is_asked_for_by_none_and_by_preserve_format():
    assert [is_preserve(getattr(tt, name)) for name in FORMATS] == [False, True, False, False]
    assert is_preserve(None)


def test_other_names_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'channels_last'"):
        format_name("chanels_last")
