"""Lazy modules: parameters without a shape, the call that gives them one, state dicts."""

from __future__ import annotations

import copy
import pickle

import pytest

import tt
from tt import nn
from tt.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy


def test_the_first_call_gives_the_shape_and_the_class():
    layer = nn.LazyLinear(3)
    assert layer.has_uninitialized_params()
    assert layer(tt.ones(2, 5)).shape == (2, 3)
    assert type(layer) is nn.Linear
    assert type(layer.weight) is nn.Parameter
    assert layer.in_features == 5
    assert layer.weight.shape == (3, 5)
    assert layer.weight.abs().max() > 0


def test_a_shape_is_refused_until_then():
    param = UninitializedParameter()
    with pytest.raises(RuntimeError, match="shape"):
        _ = param.shape
    with pytest.raises(ValueError, match="uninitialized"):
        param + 1
    with pytest.raises(ValueError, match="uninitialized"):
        param.sum()
    assert param.dtype == tt.float32
    assert param.requires_grad


@pytest.mark.parametrize("kind", [UninitializedParameter, UninitializedBuffer])
def test_what_does_not_need_the_shape_is_that_of_a_tensor_without_elements(kind):
    x = kind()
    assert (x.ndim, x.nbytes, x.itemsize, x.size(), x.size(0), x.get_device()) == (1, 0, 4, (0,), 0, -1)
    assert not x.is_nested
    assert not x.is_quantized
    with pytest.raises(RuntimeError, match="share memory"):
        x.share_memory_()
    with pytest.raises(RuntimeError, match="share memory"):
        nn.LazyLinear(3).share_memory()


@pytest.mark.parametrize("kind", [UninitializedParameter, UninitializedBuffer])
@pytest.mark.parametrize(
    ("shape", "expected"), [(10, (10,)), ((3, 4), (3, 4)), ([2], (2,)), (tt.Size([2, 1]), (2, 1)), ((), ())]
)
def test_the_shape_may_be_one_number(kind, shape, expected):
    x = kind()
    x.materialize(shape)
    assert x.shape == expected
    assert type(x) is kind.cls_to_become


def test_conversion_before_the_first_call_counts():
    layer = nn.LazyLinear(3).double()
    assert layer(tt.ones(2, 5, dtype=tt.float64)).dtype == tt.float64


def test_a_state_dict_gives_the_shape():
    source = nn.Linear(4, 3)
    layer = nn.LazyLinear(3)
    layer.load_state_dict(source.state_dict())
    assert tt.equal(layer.weight, source.weight)
    x = tt.randn(2, 4)
    assert tt.equal(layer(x), source(x))


def test_a_lazy_state_dict_stays_lazy_and_cannot_be_loaded_into_an_ordinary_module():
    lazy = nn.LazyLinear(3)
    state = lazy.state_dict()
    assert all(is_lazy(value) for value in state.values())
    nn.LazyLinear(3).load_state_dict(state)
    with pytest.raises(RuntimeError, match="uninitialized"):
        nn.Linear(2, 3).load_state_dict(state)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_lazy_too(duplicate):
    layer = duplicate(nn.LazyLinear(3))
    assert is_lazy(layer.weight)
    assert layer(tt.ones(1, 2)).shape == (1, 3)


def test_a_buffer_materializes():
    buffer = UninitializedBuffer(dtype=tt.float64)
    assert isinstance(buffer, nn.Buffer)
    buffer.materialize((2, 3))
    assert type(buffer) is tt.Tensor
    assert (buffer.shape, buffer.dtype) == ((2, 3), tt.float64)


def test_a_module_that_is_not_initialized_by_its_own_method_is_refused():
    class Forgetful(nn.LazyLinear):
        def initialize_parameters(self, input):
            pass

    with pytest.raises(RuntimeError, match="fully initialized"):
        Forgetful(2)(tt.ones(1, 1))


def test_a_conversion_before_the_first_input_leaves_buffers_without_a_shape():
    norm = nn.LazyBatchNorm1d().double()
    assert type(norm.running_mean) is nn.UninitializedBuffer and norm.running_mean.dtype is tt.float64
    norm(tt.ones(3, 4, dtype=tt.float64))
    assert norm.running_mean.shape == (4,) and norm.weight.dtype is tt.float64
