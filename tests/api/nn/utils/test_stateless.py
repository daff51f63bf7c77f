"""functional_call and stack_module_state."""

from __future__ import annotations

import pytest

import tt
from tt import nn
from tt.func import functional_call, grad, stack_module_state, vmap


def weights(value=2.0):
    return {"weight": tt.full((1, 1), value), "bias": tt.ones(1)}


def test_a_call_with_other_parameters_leaves_the_own_ones():
    layer = nn.Linear(1, 1)
    before = dict(layer.named_parameters())
    assert functional_call(layer, weights(), tt.tensor([[3.0]])).item() == 7
    assert functional_call(layer, weights(), (), {"input": tt.tensor([[3.0]])}).item() == 7
    assert (
        functional_call(layer, ({"weight": tt.zeros(1, 1)}, {"bias": tt.ones(1)}), tt.ones(1, 1)).item() == 1
    )
    assert all(layer.get_parameter(name) is param for name, param in before.items())


def test_the_own_ones_return_after_an_error():
    layer = nn.Linear(1, 1)
    weight = layer.weight
    with pytest.raises(RuntimeError):
        functional_call(layer, weights(), tt.ones(1, 5))
    assert layer.weight is weight


def test_gradients_and_vmap_over_parameters():
    layer = nn.Linear(1, 1)
    found = grad(lambda p: functional_call(layer, p, tt.full((1, 1), 3.0)).sum())(weights())
    assert found["weight"].item() == 3 and found["bias"].item() == 1
    layers = [nn.Linear(2, 3) for _ in range(4)]
    params, buffers = stack_module_state(layers)
    assert buffers == {} and params["weight"].requires_grad
    x = tt.randn(5, 2)
    base = nn.Linear(2, 3, device="meta")
    out = vmap(lambda p, x: functional_call(base, p, x), in_dims=(0, None))(params, x)
    assert tt.allclose(out, tt.stack([layer(x) for layer in layers]), atol=1e-6)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(tt.ones(1))
        self.b = self.a
        self.register_buffer("count", tt.zeros(1))

    def forward(self):
        self.count = self.count + 1
        return self.a + self.b


def test_tied_parameters_are_replaced_together():
    module = Tied()
    assert functional_call(module, {"a": tt.full((1,), 5.0)}).item() == 10
    assert functional_call(module, {"a": tt.full((1,), 5.0)}, tie_weights=False).item() == 6
    with pytest.raises(ValueError, match="one tensor"):
        functional_call(module, {"a": tt.ones(1), "b": tt.zeros(1)})


def test_a_buffer_that_forward_assigns_is_the_callers():
    module, given = Tied(), {"count": tt.full((1,), 7.0)}
    functional_call(module, given)
    assert given["count"].item() == 8 and module.count.item() == 0


def test_what_does_not_fit_is_refused():
    layer = nn.Linear(1, 1)
    x = tt.ones(1, 1)
    for wrong, error, text in (
        (lambda: functional_call(layer, {"weight": 3}, x), TypeError, "not an instance"),
        (lambda: functional_call(layer, {"weight": x}, x, strict=True), RuntimeError, "Missing key.*bias"),
        (
            lambda: functional_call(layer, {**weights(), "z": x}, x, strict=True),
            RuntimeError,
            "Unexpected key.*z",
        ),
        (lambda: functional_call(layer, (weights(), weights()), x), ValueError, "multiple dictionaries"),
        (lambda: functional_call(layer, {"in_features": x}, x), TypeError, "in_features"),
        (lambda: functional_call(layer, {"sub.weight": x}, x), AttributeError, "sub"),
        (lambda: stack_module_state([]), RuntimeError, "at least one"),
        (lambda: stack_module_state([layer, nn.Linear(1, 1).eval()]), RuntimeError, "mode"),
        (lambda: stack_module_state([layer, nn.Identity()]), RuntimeError, "class"),
        (
            lambda: stack_module_state([layer, nn.Linear(1, 1).requires_grad_(False)]),
            RuntimeError,
            "requires_grad",
        ),
    ):
        with pytest.raises(error, match=text):
            wrong()


def test_none_leaves_a_parameter_out():
    layer = nn.Linear(2, 1)
    x = tt.ones(1, 2)
    result = functional_call(layer, {"bias": None}, x)
    tt.testing.assert_close(result, x @ layer.weight.T)
    assert layer.bias is not None
