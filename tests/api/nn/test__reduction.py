"""The reductions of losses, as numbers and by their deprecated arguments."""

from __future__ import annotations

import pytest

from tt.nn import _reduction


def test_reductions_are_numbers():
    assert [_reduction.get_enum(name) for name in ("none", "mean", "sum")] == [0, 1, 2]
    with pytest.raises(ValueError, match="middle is not a valid value for reduction"):
        _reduction.get_enum("middle")


@pytest.mark.parametrize(
    ("size_average", "reduce", "expected"),
    [
        (None, None, "mean"),
        (True, True, "mean"),
        (False, None, "sum"),
        (None, False, "none"),
        (True, False, "none"),
    ],
)
def test_deprecated_arguments_mean_a_reduction(size_average, reduce, expected):
    with pytest.warns(UserWarning, match=f"reduction='{expected}'"):
        assert _reduction.legacy_get_string(size_average, reduce) == expected
    number = _reduction.legacy_get_enum(size_average, reduce, emit_warning=False)
    assert number == _reduction.get_enum(expected)
