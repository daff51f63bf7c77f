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
