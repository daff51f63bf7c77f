"""Errors of tt say which layer of a model they come from."""

from __future__ import annotations

import pytest

import tt
from tt import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Linear(3, 4))])

    def forward(self, x):
        for part in self.body:
            x = part(x)
        return x


def notes(module, *args):
    with pytest.raises(tt.errors.TTError) as caught:
        module(*args)
    return caught.value.__notes__


LINEAR = "Linear(in_features=3, out_features=4, bias=True)"


def test_a_layer_alone_is_named():
    assert notes(nn.Linear(3, 4), tt.ones(2, 5)) == [f"in {LINEAR}"]


def test_the_path_from_the_outermost_module_is_given_once():
    assert notes(Model(), tt.ones(2, 5)) == [f"in layer body.0.1 of Model: {LINEAR}"]


def test_hooks_change_nothing():
    model = Model()
    model.body[0].register_forward_hook(lambda *args: None)
    assert notes(model, tt.ones(2, 5)) == [f"in layer body.0.1 of Model: {LINEAR}"]


def test_an_error_of_forward_itself_names_the_outer_module():
    class Doubled(nn.Linear):
        def forward(self, x):
            return super().forward(x) @ tt.ones(7)

    assert notes(nn.Sequential(Doubled(3, 4)), tt.ones(2, 3)) == [
        "in layer 0 of Sequential: Doubled(in_features=3, out_features=4, bias=True)"
    ]


def test_a_module_that_is_not_registered_is_named_alone():
    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = [nn.Linear(3, 4)]

        def forward(self, x):
            return self.parts[0](x)

    assert notes(nn.Sequential(Hidden()), tt.ones(2, 5)) == [f"in {LINEAR}"]


def test_errors_of_the_program_are_left_alone():
    class Wrong(nn.Module):
        def forward(self, x):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as caught:
        Wrong()(tt.ones(2))
    assert not hasattr(caught.value, "__notes__")
