import pytest

import tt
from tt.core.dispatch.registry.registry import REGISTRY


def test_an_operator_has_an_overload_for_each_form():
    operator = REGISTRY.operator("add")
    assert operator.overload() is tt.add
    assert operator.overload("inplace") is tt.Tensor.add_
    assert [operator.overload(form).form for form in ("functional", "inplace", "out")] == [
        "functional",
        "inplace",
        "out",
    ]


def test_the_old_name_of_overload_warns_where_it_is_used():
    with pytest.warns(DeprecationWarning, match=r"use Operator\.overload") as caught:
        assert REGISTRY.operator("add").caller("inplace") is tt.Tensor.add_
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match=r"use Registry\.overload"):
        assert REGISTRY.caller("add") is tt.add
