"""The tables of global hooks, which programs replace."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import tt


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
