"""Weights in eight bits: the rounding, answers on the int8 numbers, the digits network before and after."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tt
import tt.nn.functional as F
from tt.examples.digits.data import load
from tt.examples.digits.train import Network, Settings, accuracy, fit
from tt.examples.quantized.compare import compare, weight_bytes
from tt.examples.quantized.weight import Int8Weight, quantize_


def random(*shape: int, seed: int = 0) -> tt.Tensor:
    return tt.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9))
def test_rounding_errs_by_half_a_step_of_each_channel(seed: int, channels: int, width: int) -> None:
    weight = random(channels, width, seed=seed) * tt.arange(1.0, channels + 1).reshape(-1, 1)
    found = Int8Weight.from_float(weight)
    array = weight.numpy()
    scale = np.abs(array).max(1) / 127
    np.testing.assert_allclose(found.scale.numpy(), scale, rtol=1e-6)
    assert (
        found.numbers.dtype is tt.int8 and np.abs(found.numbers.numpy()).max(1).tolist() == [127] * channels
    )
    assert (np.abs(found.dequantize().numpy() - array) <= scale[:, None] * 0.5001 + 1e-12).all()


def test_a_channel_of_zeros_stays_zero() -> None:
    found = Int8Weight.from_float(tt.tensor([[0.0, 0.0], [1.0, -1.0]]))
    assert found.dequantize().tolist() == [[0.0, 0.0], [1.0, -1.0]]


def test_what_is_no_weight_is_refused() -> None:
    for wrong in (tt.ones(3), tt.ones(2, 2, dtype=tt.int64)):
        with pytest.raises(ValueError, match="a floating point tensor of two dims or more"):
            Int8Weight.from_float(wrong)


def operators_of(program):
    """Return the operators that arrive at the class while a program runs."""
    seen = []
    original = Int8Weight.__dict__["__tt_dispatch__"].__func__

    class Watched(Int8Weight):
        @classmethod
        def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(func.name)
            return original(Int8Weight, func, types, args, kwargs)

    program(Watched)
    return seen


@pytest.mark.parametrize("shape", [(8,), (3, 8), (2, 3, 8)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear_multiplies_by_the_int8_numbers(shape, bias) -> None:
    weight, x = random(5, 8, seed=1), random(*shape, seed=2)
    b = random(5, seed=3) if bias else None
    quantized = Int8Weight.from_float(weight)
    found = F.linear(x, quantized, b)
    expected = F.linear(x, quantized.dequantize(), b)
    assert type(found) is tt.Tensor
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5)
    with tt.count() as counts:
        F.linear(x, quantized, b)
    # Neither the class is asked below autograd nor the weight made floating point with its scale.
    made = {operator for operator, _, served in counts.calls if "python" in served}
    assert not made


@pytest.mark.parametrize("bias", [False, True])
def test_convolutions_use_the_int8_numbers_and_let_gradients_through(bias) -> None:
    weight, b = random(4, 3, 3, 3, seed=1), random(4, seed=2) if bias else None
    quantized = Int8Weight.from_float(weight)
    x, plain = random(2, 3, 6, 6).requires_grad_(), random(2, 3, 6, 6).requires_grad_()
    found = F.conv2d(x, quantized, b, padding=1)
    expected = F.conv2d(plain, quantized.dequantize(), b, padding=1)
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-4)
    found.square().sum().backward()
    expected.square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), plain.grad.numpy(), rtol=1e-4, atol=1e-3)


def test_gradients_flow_through_linear() -> None:
    quantized, x = Int8Weight.from_float(random(5, 8)), random(3, 8, seed=1).requires_grad_()
    F.linear(x, quantized).sum().backward()
    expected = quantized.dequantize().sum(0).expand(3, 8)
    np.testing.assert_allclose(x.grad.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_other_operators_get_the_floating_point_tensor() -> None:
    quantized = Int8Weight.from_float(random(4, 4))
    plain = quantized.dequantize()
    for program in (
        lambda w: w + 1,
        lambda w: w.t() @ w,
        lambda w: w.abs().sum(),
        lambda w: w[1],
        lambda w: tt.cat([w, w]),
    ):
        found, expected = program(quantized), program(plain)
        assert type(found) is tt.Tensor
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6)
    assert operators_of(lambda kind: kind.from_float(random(2, 2)).exp()) == ["exp"]


def test_it_is_copied_moved_and_pickled_as_int8() -> None:
    quantized = Int8Weight.from_float(random(4, 6))
    copies = [
        copy.copy(quantized), copy.deepcopy(quantized), pickle.loads(pickle.dumps(quantized)), quantized.clone(),
        quantized.detach(), quantized.to("cpu", copy=True), tt.nn.Parameter(quantized, requires_grad=False),
    ]  # fmt: skip
    for found in copies:
        assert type(found) is Int8Weight and found.numbers.tolist() == quantized.numbers.tolist()
        assert found.dequantize().tolist() == quantized.dequantize().tolist()
    double = quantized.to(tt.float64)
    assert type(double) is Int8Weight and double.dtype is tt.float64 and double.scale.dtype is tt.float64
    assert type(quantized.to(tt.int64)) is tt.Tensor
    assert quantized.to("meta").numbers.device.type == "meta"
    assert len(pickle.dumps(Int8Weight.from_float(random(64, 64)))) < 64 * 64 * 2


def test_changes_in_place_are_refused_but_for_copy() -> None:
    quantized = Int8Weight.from_float(random(2, 3))
    before = quantized.dequantize().tolist()
    for change in (lambda: quantized.add_(1), lambda: quantized.exp_(), lambda: quantized.clamp_(0)):
        with pytest.raises(NotImplementedError, match="would change a weight in int8"):
            change()
    assert quantized.dequantize().tolist() == before
    quantized.copy_(tt.ones(2, 3))
    assert quantized.dequantize().tolist() == [[1.0] * 3] * 2
    quantized.zero_()  # is made of copy_
    assert quantized.dequantize().tolist() == [[0.0] * 3] * 2
    quantized.copy_(tt.ones(2, 3))
    plain = tt.zeros(2, 3)
    plain.copy_(quantized)
    assert plain.tolist() == [[1.0] * 3] * 2


def test_it_says_what_it_is() -> None:
    assert repr(Int8Weight.from_float(tt.tensor([[1.0, 2.0]]) * 127)) == (
        "Int8Weight(shape=[1, 2], dtype=tt.float32, numbers=tt.int8, scale=[2.0000])"
    )


def test_quantize_replaces_the_weights_that_are_chosen() -> None:
    tt.manual_seed(0)
    network = Network((4, 8), 0.0)
    others = quantize_(network, lambda name, weight: name != "features.1.weight")
    assert others == ["features.4.weight", "scores.weight"]
    assert type(network.features[1].weight) is type(network.scores.bias) is tt.nn.Parameter
    assert isinstance(network.scores.weight, Int8Weight) and isinstance(
        network.scores.weight, tt.nn.Parameter
    )
    assert quantize_(network) == ["features.1.weight"] and quantize_(network) == []


def test_the_weights_of_the_digits_network_take_a_quarter_and_give_the_same_answers() -> None:
    found = compare(seed=0)
    assert found.float_accuracy >= 0.975
    assert abs(found.int8_accuracy - found.float_accuracy) <= 0.005 and found.agreement >= 0.99
    assert found.int8_bytes / found.float_bytes < 0.26


def test_a_network_can_be_tuned_after_its_weights_were_rounded() -> None:
    """The biases still learn: gradients pass the int8 weights on their way."""
    network, held_out, _ = fit(load(), Settings(seed=1, epochs=1))
    quantize_(network)
    before = accuracy(network, held_out)
    bytes_before = weight_bytes(network)
    optimizer = tt.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(network(held_out.images), held_out.labels).backward()
        optimizer.step()
    assert accuracy(network, held_out) >= before and weight_bytes(network) == bytes_before
