"""Random operators on tensors that require gradients: the numbers of others, and no gradient of what was there."""

from __future__ import annotations

import pytest

import tt

FILLS = {
    "uniform": lambda x, g: x.uniform_(-1.7, 1.7, generator=g),
    "normal": lambda x, g: x.normal_(1, 2, generator=g),
    "exponential": lambda x, g: x.exponential_(generator=g),
    "bernoulli": lambda x, g: x.bernoulli_(0.3, generator=g),
}


@pytest.mark.parametrize("dtype", [tt.bfloat16, tt.float16, tt.float32])
@pytest.mark.parametrize("name", FILLS)
def test_a_parameter_is_filled_with_the_numbers_of_a_tensor_without_gradients(name, dtype):
    tensor, parameter = tt.zeros(5, 9, dtype=dtype), tt.nn.Parameter(tt.zeros(5, 9, dtype=dtype))
    FILLS[name](tensor, tt.Generator().manual_seed(1))
    with tt.no_grad():
        FILLS[name](parameter, tt.Generator().manual_seed(1))
    assert tt.equal(tensor, parameter)


@pytest.mark.parametrize("name", FILLS)
def test_what_was_there_before_gets_no_gradient(name):
    x = tt.ones(3, requires_grad=True)
    y = x * 2
    FILLS[name](y, None)
    (y + x).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
