"""The tables of global hooks, which programs replace."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import tt
from tt import nn


@pytest.mark.torch
def test_the_tables_of_global_hooks_are_replaced_as_in_pytorch():
    import torch

    for library in (tt, torch):
        module = library.nn.modules.module
        calls: list[str] = []
        try:
            library.nn.modules.module.register_module_forward_pre_hook(
                lambda *args, calls=calls: calls.append("pre")
            )
            library.nn.modules.module.register_module_forward_hook(
                lambda *args, calls=calls: calls.append("post")
            )
            assert len(module._global_forward_hooks) == 1
            library.nn.Identity()(1)
            module._global_forward_pre_hooks = OrderedDict()
            library.nn.Identity()(1)
            module._global_forward_hooks = OrderedDict({1: lambda *args, calls=calls: calls.append("own")})
            library.nn.Identity()(1)
        finally:
            module._global_forward_pre_hooks = OrderedDict()
            module._global_forward_hooks = OrderedDict()
        library.nn.Identity()(1)
        assert calls == ["pre", "post", "post", "own"]
    with pytest.raises(AttributeError, match="has no attribute 'anything'"):
        _ = tt.nn.modules.module.anything


def test_full_backward_hooks_are_called_in_gradients_of_functions_and_refused_under_maps():
    model, seen = nn.Linear(2, 1), []
    model.register_full_backward_hook(lambda module, inputs, outputs: seen.append(tuple(outputs[0].shape)))
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def function(x):
        return tt.func.functional_call(model, parameters, (x,)).sum()

    tt.func.grad(function)(tt.ones(3, 2))
    tt.func.jacrev(function)(tt.ones(3, 2))
    assert seen == [(3, 1), (3, 1)]
    for mapped in (
        lambda x: tt.func.vmap(tt.func.grad(function))(x),
        lambda x: tt.func.hessian(function)(x),
        lambda x: tt.func.jvp(tt.func.grad(function), (x,), (x,)),
    ):
        with pytest.raises(
            NotImplementedError, match="full backward hooks of a module are not called where vmap"
        ):
            mapped(tt.ones(3, 2))
    tt.func.vmap(function)(tt.ones(3, 2))
    assert len(seen) == 2
