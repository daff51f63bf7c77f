"""A module that moves to another device keeps its parameters: the same objects, with data on the new device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import tt
from tests.backends.array_api.devices import device
from tests.backends.strict_device import strict_device
from tt import nn


@pytest.fixture(params=["strict", "numpy_arrays"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """A device whose arrays cannot change, and one whose arrays can."""
    with strict_device() if request.param == "strict" else device(np, request.param):
        yield request.param


def tied() -> nn.Sequential:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    return model


def test_parameters_stay_the_same_objects_with_their_ties_hooks_attributes_and_gradients(place: str) -> None:
    model = tied()
    weight = model[0].weight
    weight.note, weight.grad = "kept", tt.ones(2, 2)
    gradient, seen = weight.grad, []
    weight.register_hook(lambda grad: seen.append(grad.device.type))
    model.to(place)
    assert model[0].weight is weight is model[1].weight
    assert (weight.note, weight.device.type, weight.requires_grad, weight.is_leaf) == (
        "kept",
        place,
        True,
        True,
    )
    assert weight.grad is gradient and gradient.device.type == place
    model(tt.ones(1, 2, device=place)).sum().backward()
    assert seen == [place]
    model.cpu()
    assert model[1].weight is weight and weight.device.type == weight.grad.device.type == "cpu"


def test_an_optimizer_made_before_the_move_trains_the_module(place: str) -> None:
    def train(move: bool) -> list[float]:
        tt.manual_seed(0)
        model = tied()
        optimizer = tt.optim.Adam(model.parameters(), lr=0.1)
        where = place if move else "cpu"
        if move:
            model.to(place)
        for _ in range(2):
            optimizer.zero_grad()
            model(tt.ones(1, 2, device=where)).square().sum().backward()
            optimizer.step()
        return [
            value for parameter in model.parameters() for value in parameter.detach().reshape(-1).tolist()
        ]

    assert train(move=True) == pytest.approx(train(move=False), rel=1e-5)


def test_views_of_a_parameter_keep_the_memory_from_before_the_move(place: str) -> None:
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().view(-1)
    layer.to(place)
    layer.weight.data.add_(1)
    assert before.device.type == "cpu"
    assert before.tolist() == pytest.approx((layer.weight.detach().cpu() - 1).reshape(-1).tolist(), abs=1e-6)


def test_parameters_swap_their_contents_across_devices(place: str) -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    tt.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer.to(place)
    finally:
        tt.__future__.set_swap_module_params_on_conversion(False)
    assert layer.weight is weight and weight.device.type == place


def test_parameters_are_new_where_only_one_side_has_data_or_the_user_asks_for_it(place: str) -> None:
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer.to("meta")
    assert layer.weight is not weight and weight.device.type == "cpu" and layer.weight.requires_grad
    layer = nn.Linear(2, 2)
    weight = layer.weight
    tt.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        layer.to(place)
    finally:
        tt.__future__.set_overwrite_module_params_on_conversion(False)
    assert layer.weight is not weight and (weight.device.type, layer.weight.device.type) == ("cpu", place)


@pytest.mark.torch
def test_which_conversions_keep_the_objects_is_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")

    def kept(library, convert):
        layer = library.nn.Linear(2, 2)
        weight, gradient = layer.weight, library.ones(2, 2)
        weight.grad = gradient
        convert(library, layer)
        return layer.weight is weight, layer.weight.grad is gradient, str(layer.weight.dtype)[-7:]

    for convert in (
        lambda library, layer: layer.double(),
        lambda library, layer: layer.to(library.bfloat16),
        lambda library, layer: layer.to("meta"),
        lambda library, layer: layer.to_empty(device="cpu"),
        lambda library, layer: layer.share_memory(),
        lambda library, layer: layer.type(library.float64),
    ):
        assert kept(tt, convert) == kept(torch, convert)


class Wrapped(tt.Tensor):
    """A tensor around another one, whose operators it carries out."""

    @staticmethod
    def __new__(cls, inner):
        new = tt.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)
        new.inner = inner
        return new

    def __init__(self, inner):
        pass

    @classmethod
    def __tt_dispatch__(cls, func, types, args=(), kwargs=None):
        args = [value.inner if isinstance(value, Wrapped) else value for value in args]
        result = func(*args, **(kwargs or {}))
        return Wrapped(result) if func.name in ("detach", "alias") else result


def test_a_parameter_that_becomes_a_tensor_of_another_class_stays_the_same_object() -> None:
    layer = nn.Linear(2, 2)
    weight, expected = layer.weight, layer(tt.ones(1, 2)).tolist()
    layer._apply(lambda t: Wrapped(t) if t.dim() == 2 else t)
    assert layer.weight is weight and type(weight) is Wrapped and isinstance(weight, nn.Parameter)
    assert layer(tt.ones(1, 2)).tolist() == expected


@pytest.mark.torch
def test_what_to_refuses_is_what_pytorch_refuses():
    torch = pytest.importorskip("torch")
    for library in (tt, torch):
        layer, cpu = library.nn.Linear(1, 1), library.device("cpu")
        for args in ((cpu, True), (None, True), (library.int64,)):
            with pytest.raises(TypeError):
                layer.to(*args)
        with pytest.raises(RuntimeError, match="does not accept copy"):
            layer.to("cpu", copy=True)
        assert layer.to(cpu, library.float64, True).weight.dtype == library.float64
        assert layer.to(library.ones(1), True).weight.dtype == library.float32


class Marked(tt.Tensor):
    """A subclass, whose parameters keep it when a state dict is loaded by swapping."""


@pytest.fixture
def swapping() -> Iterator[None]:
    tt.__future__.set_swap_module_params_on_conversion(True)
    yield
    tt.__future__.set_swap_module_params_on_conversion(False)


@pytest.mark.parametrize("assign", [False, True])
def test_a_parameter_of_a_subclass_keeps_it(swapping, assign):
    layer = tt.nn.Linear(2, 2, bias=False)
    layer.weight = tt.nn.Parameter(layer.weight.detach().as_subclass(Marked))
    before, loaded = layer.weight, tt.nn.Linear(2, 2, bias=False).state_dict()
    layer.load_state_dict(loaded, assign=assign)
    assert (
        layer.weight is before and type(layer.weight) is Marked and isinstance(layer.weight, tt.nn.Parameter)
    )
    assert layer.weight.tolist() == loaded["weight"].tolist()


def test_a_replacement_that_is_one_of_the_tensors_is_refused(swapping):
    class Same(tt.Tensor):
        def module_load(self, other, assign=False):
            return other

    layer = tt.nn.Linear(2, 2, bias=False)
    layer.weight = tt.nn.Parameter(layer.weight.detach().as_subclass(Same))
    with pytest.raises(RuntimeError, match="one of its arguments"):
        layer.load_state_dict(tt.nn.Linear(2, 2, bias=False).state_dict())


@pytest.mark.torch
def test_a_module_that_becomes_complex_warns_in_the_words_that_programs_filter_by():
    import torch

    for library in (tt, torch):
        with pytest.warns(UserWarning, match="^Complex modules are a new feature"):
            library.nn.Linear(1, 1).to(library.complex64)
