"""ParameterList and ParameterDict."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_tensors_become_parameters_and_other_values_stay():
    params = nn.ParameterList([tt.zeros(2), nn.Parameter(tt.ones(1)), 5])
    assert [name for name, _ in params.named_parameters()] == ["0", "1"]
    assert len(params) == 3 and params[-1] == 5
    params[0] = tt.ones(4)
    assert params[0].shape == (4,) and isinstance(params[0], nn.Parameter)
    params += [tt.ones(1)]
    assert len(params.append(tt.ones(1))) == 5 and len(params[1:3]) == 2
    assert "(0): Parameter containing: [tt.float32 of size 4]" in repr(params)
    assert "(0): Parameter containing: [tt.float32 of size 4]" in repr(params.to("meta"))
    assert "(2): Object of type: int" in repr(params)


def test_what_cannot_be_appended_leaves_the_list_as_it_was():
    params = nn.ParameterList()
    with pytest.raises(RuntimeError):
        params.append(tt.zeros(2, dtype=tt.int64))
    assert len(params) == 0
    with pytest.raises(TypeError):
        params.extend(tt.zeros(2))
    with pytest.raises(IndexError):
        params[0]
    with pytest.raises(RuntimeError, match="called"):
        params(1)


def test_a_dictionary_of_parameters():
    assert list(nn.ParameterDict({"b": tt.ones(1), "a": 3})) == [
        "a",
        "b",
    ]  # a plain dictionary, as in PyTorch
    params = nn.ParameterDict([("b", tt.ones(1)), ("a", 3)])
    assert list(params) == ["b", "a"] and list(reversed(params)) == ["a", "b"]
    assert [name for name, _ in params.named_parameters()] == ["b"]
    assert params.get("x", 7) == 7 and params.setdefault("c", tt.ones(2)).shape == (2,)
    assert list(params.copy().keys()) == ["b", "a", "c"] and params.copy()["b"] is params["b"]
    assert params.pop("a") == 3 and params.popitem()[0] == "c" and len(params) == 1
    assert list((params | nn.ParameterDict({"z": tt.ones(1)})).keys()) == ["b", "z"]
    params |= nn.ParameterDict({"y": tt.ones(1)})
    assert [key for key, _ in params.items()] == ["b", "y"]
    assert list(params.fromkeys(["p", "q"], 1).values()) == [1, 1]
    assert "(b): Parameter containing" in repr(params)
    with pytest.raises(TypeError):
        params[1] = tt.ones(1)
    with pytest.raises(AttributeError):
        params["none"]
    params.clear()
    assert len(params) == 0
