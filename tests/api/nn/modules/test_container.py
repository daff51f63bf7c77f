"""Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import tt
from tt import nn


def layers(count):
    return [nn.Linear(number + 1, 1) for number in range(count)]


def test_sequential_calls_in_order():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    x = tt.ones(1, 2)
    assert tt.equal(model(x), model[1](model[0](x)))
    named = nn.Sequential(OrderedDict(a=nn.Identity(), b=nn.Identity()))
    assert list(named._modules) == ["a", "b"] and named.b is named[1]


def test_sequential_is_a_sequence():
    first, second, third = layers(3)
    model = nn.Sequential(first, second)
    assert model.append(third) is model and len(model) == 3
    assert model[-1] is third and list(model[1:]) == [second, third]
    model.insert(0, nn.Identity())
    assert [name for name, _ in model.named_children()] == ["0", "1", "2", "3"] and model[1] is first
    assert model.pop(1) is first and list(model._modules) == ["0", "1", "2"]
    del model[0]
    assert list(model) == [second, third]
    model[0] = first
    assert list(model + nn.Sequential(second)) == [first, third, second]
    assert len(model * 2) == 4 and len(2 * model) == 4
    model *= 3
    assert len(model) == 6
    model += nn.Sequential(second)
    assert len(model) == 7
    assert len(model.extend(layers(2))) == 9


def test_errors_of_sequential():
    model = nn.Sequential(nn.Identity())
    for wrong, error in (
        (lambda: model[5], IndexError),
        (lambda: model["0"], TypeError),
        (lambda: nn.Sequential(3), TypeError),
        (lambda: nn.Sequential({"a": nn.Identity()}), TypeError),
        (lambda: model.insert(7, nn.Identity()), IndexError),
        (lambda: model.insert(0, 3), TypeError),
        (lambda: model.insert(0, 3), AssertionError),  # PyTorch's
        (lambda: model + 3, ValueError),
        (lambda: model * 0, ValueError),
        (lambda: model * 1.5, TypeError),
        (lambda: model.append(3), TypeError),
    ):
        with pytest.raises(error):
            wrong()
    assert len(model) == 1


def test_a_list_of_modules():
    first, second, third = layers(3)
    modules = nn.ModuleList([first])
    modules += [second]
    modules.insert(0, third)
    assert list(modules) == [third, first, second]
    assert type(modules[:2]) is nn.ModuleList and list(modules[:2]) == [third, first]
    assert modules.pop(0) is third and list(modules._modules) == ["0", "1"]
    assert len(modules + nn.ModuleList([third])) == 3
    with pytest.raises(TypeError, match="iterable"):
        modules.extend(3)
    with pytest.raises(IndexError):
        modules[2]
    with pytest.raises(NotImplementedError):
        modules(1)
    assert "0" not in dir(modules)


def test_equal_modules_in_a_row_are_one_line():
    modules = nn.ModuleList([nn.Identity(), nn.Identity(), nn.Linear(1, 1)])
    assert repr(modules) == (
        "ModuleList(\n  (0-1): 2 x Identity()\n  (2): Linear(in_features=1, out_features=1, bias=True)\n)"
    )
    assert repr(nn.ModuleList()) == "ModuleList()"


def test_a_dictionary_of_modules():
    first, second = layers(2)
    modules = nn.ModuleDict({"a": first})
    modules.update([("b", second)])
    modules["c"] = nn.Identity()
    assert list(modules) == list(modules.keys()) == ["a", "b", "c"]
    assert modules.pop("a") is first and "a" not in modules and len(modules) == 2
    assert [k for k, _ in modules.items()] == ["b", "c"] and next(iter(modules.values())) is second
    modules.clear()
    assert len(modules) == 0
    for wrong, error in (
        (lambda: modules.update(3), TypeError),
        (lambda: modules.update([3]), TypeError),
        (lambda: modules.update([(1,)]), ValueError),
        (lambda: modules["x"], KeyError),
        (lambda: modules.__setitem__("keys", nn.Identity()), KeyError),
    ):
        with pytest.raises(error):
            wrong()


def test_a_container_is_deprecated():
    with pytest.warns(FutureWarning, match="deprecated"):
        module = nn.Container(a=nn.Linear(2, 3), b=None)
    assert list(module.state_dict()) == ["a.weight", "a.bias"]
    with pytest.raises(NotImplementedError):
        module(1)


def test_modules_with_several_names_can_be_yielded_several_times():
    layer = nn.ReLU()
    model = nn.Sequential(layer, layer)
    assert list(model.modules()) == [model, layer]
    assert list(model.modules(remove_duplicate=False)) == [model, layer, layer]
    assert nn.ModuleList([layer]).pop(key=0) is layer
