"""Tensors of a module by name, exchanged where they lie."""

from __future__ import annotations

import pytest

import tt
from tt.nn.utils._named_member_accessor import NamedMemberAccessor, swap_tensor
from tt.nn.utils.stateless import _reparametrize_module


def model():
    return tt.nn.Sequential(tt.nn.Linear(1, 1), tt.nn.BatchNorm1d(1))


def test_a_tensor_takes_the_place_of_a_parameter_or_a_buffer_as_it_is():
    net = model()
    weight, mean = tt.full((1, 1), 3.0), tt.ones(1)
    before = swap_tensor(net[0], "weight", weight)
    assert isinstance(before, tt.nn.Parameter)
    assert net[0].weight is weight
    swap_tensor(net[1], "running_mean", mean)
    assert net[1].running_mean is mean
    assert swap_tensor(net[0], "extra", mean, allow_missing=True) is None
    assert net[0].extra is mean


def test_wrong_names_and_values_are_refused():
    layer = model()[0]
    for error, args in (
        (TypeError, (3, "weight", tt.ones(1))),
        (TypeError, (layer, "weight", 3)),
        (TypeError, (layer, "in_features", tt.ones(1))),
        (KeyError, (layer, "a.b", tt.ones(1))),
        (KeyError, (layer, "", tt.ones(1))),
        (AttributeError, (layer, "nonsense", tt.ones(1))),
    ):
        with pytest.raises(error):
            swap_tensor(*args)


def test_an_accessor_reads_exchanges_and_deletes_by_dotted_names():
    net = model()
    accessor = NamedMemberAccessor(net)
    value = tt.zeros(1)
    accessor.set_tensors_dict({"0.bias": value})
    assert accessor.get_tensor("0.bias") is value
    assert [t is value for t in accessor.get_tensors(["0.bias", "0.weight"])] == [True, False]
    assert accessor.get_submodule("") is net
    with pytest.raises(TypeError):
        accessor.get_tensor("0.in_features")
    missing, surplus = accessor.check_keys(["0.weight", "other"])
    assert "1.running_var" in missing
    assert surplus == ["other"]
    accessor.del_tensor("1.running_mean")
    assert "running_mean" not in net[1]._buffers


def test_tensors_that_are_not_all_there_are_not_exchanged():
    net = model()
    before = net[0].weight
    accessor = NamedMemberAccessor(net)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\): '0.nonsense'"):
        accessor.swap_tensors_dict({"0.weight": tt.zeros(1, 1), "0.nonsense": tt.zeros(1)})
    assert net[0].weight is before
    assert not hasattr(net[0], "nonsense")
    old, missing = accessor.swap_tensors_dict({"0.weight": tt.zeros(1, 1)})
    assert old["0.weight"] is before
    assert missing == []


def test_a_module_has_other_parameters_inside_a_block():
    net = model()
    before = net[0].weight
    with _reparametrize_module(net, {"0.weight": tt.full((1, 1), 2.0)}):
        assert net[0].weight.item() == 2
    assert net[0].weight is before
