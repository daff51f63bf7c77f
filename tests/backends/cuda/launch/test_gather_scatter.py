"""Plans of copies from and to places."""

from __future__ import annotations

import pytest

from tt.backends.cuda.launch.gather_scatter import make_plan
from tt.core import errors

pytestmark = pytest.mark.sampled(10)


def test_neighbouring_dimensions_become_one_and_rows_move_in_large_units():
    plan = make_plan((4, 3, 8), (24, 8, 1), (24, 8, 1), (), 2, 16)
    assert (plan.unit, plan.integer, plan.grid) == ("Unit16", "int32", (1,))
    assert plan is make_plan((4, 3, 8), (24, 8, 1), (24, 8, 1), (), 2, 16)
    assert make_plan((4, 3, 8), (24, 8, 1), (24, 8, 1), (), 2, 2).unit == "uint16"  # by where memory begins
    assert make_plan((4, 7), (8, 1), (7, 1), (), 4, 16).unit == "uint32"  # by the length of a row
    assert make_plan((1 << 16, 1 << 15), (0, 1), (1 << 15, 1), (), 1, 1).integer == "int64"


def test_too_many_dimensions_are_an_error_that_says_so():
    strides = tuple(3**d for d in range(13, 0, -1))
    with pytest.raises(errors.UnsupportedError, match="13 dimensions that cannot be joined"):
        make_plan((2,) * 13, strides, strides)
