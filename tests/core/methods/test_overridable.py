"""The lists of functions that `__tt_function__` can override, and their names."""

from __future__ import annotations

import tt
from tt.overrides import resolve_name

from .both_libraries import Duck


def test_one_object_stands_for_function_method_operator_and_alias():
    x = tt.ones(2)
    assert tt.add(x, Duck()) is (x + Duck()) is x.add(Duck()) is tt.add is tt.Tensor.add is tt.ops.add
    assert tt.pow(x, Duck()) is (x ** Duck()) is tt.pow is tt.Tensor.pow
    assert tt.max(Duck()) is tt.max(Duck(), 0) is tt.max is tt.Tensor.max
    assert tt.subtract(Duck(), 1) is tt.sub and tt.ops.max.dim(Duck(), 0) is tt.ops.max.dim
    assert hash(tt.max) == hash(tt.Tensor.max) and x.add_(Duck()) is tt.Tensor.add_


def test_a_function_is_the_same_object_after_operators_were_added():
    before = tt.ops.max, tt.Tensor.pow
    op = tt.library.custom_op("overrides_test::twice", mutates=())(_twice)
    assert (tt.ops.max, tt.Tensor.pow) == before and tt.pow is tt.ops.pow is before[1]
    assert tt.ops.overrides_test.twice(Duck()) is tt.ops.overrides_test.twice
    assert resolve_name(tt.ops.overrides_test.twice) == "tt.ops.overrides_test.twice"
    op.remove()


def _twice(x: tt.Tensor) -> tt.Tensor:
    return x * 2


def test_every_overridable_function_of_a_tensor_arrives():
    reached, missing = 0, []
    for function, dummy in tt.overrides.get_testing_overrides().items():
        overloads = getattr(function, "op_overloads", None)
        overload = next(iter(overloads.values())) if overloads else function
        operator = getattr(overload, "operator", None)
        if operator is None:
            continue
        arguments = operator.arguments
        if not any(a.type.is_tensor for a in arguments):
            continue
        given = []
        for argument in arguments:
            if argument.keyword_only or argument.default is not tt.core.schema.model.MISSING:
                break
            value = (
                Duck()
                if argument.type.is_tensor
                else {"dtype": tt.float32, "str": "i"}.get(argument.type.base, 1)
            )
            given.append([value] if argument.type.list else value)
        if not any(isinstance(v, Duck) for v in tt.utils._pytree.tree_leaves(given)):
            continue
        reached += 1
        if function(*given) is not function:
            missing.append(resolve_name(function))
        assert dummy(*given) == -1
    assert not missing and reached > 350


def test_names_resolve_and_are_found_again():
    for namespace, functions in tt.overrides.get_overridable_functions().items():
        assert functions, namespace
        for function in functions:
            name = resolve_name(function)
            assert name is not None, function
            found = tt
            for part in name.split(".")[1:]:
                found = getattr(found, part)
            assert found == function, name
    assert resolve_name(print) is None


def test_ignored_functions_are_no_overridable_ones():
    listed = {f for functions in tt.overrides.get_overridable_functions().values() for f in functions}
    assert not listed & tt.overrides.get_ignored_functions()


def test_tensor_likes_and_methods_are_told():
    assert tt.overrides.is_tensor_like(Duck()) and tt.overrides.is_tensor_like(tt.nn.Parameter())
    assert not tt.overrides.is_tensor_like(1.0)
    assert tt.overrides.is_tensor_method_or_property(tt.Tensor.size)
    assert not tt.overrides.is_tensor_method_or_property(tt.linalg.inv)
    assert tt.Tensor.grad.__get__ in tt.overrides.get_default_nowrap_functions()
