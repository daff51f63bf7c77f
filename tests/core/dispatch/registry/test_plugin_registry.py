"""A plugin may register the names that its manifest announces."""

from __future__ import annotations

import pytest

import tt
from tests.core.dispatch.resolve.test_candidates import kernels
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import PluginError
from tt.library import OpDefinition, Signature


def test_what_is_not_announced_is_refused(plugin):
    small = plugin("small", ("namespace", "choice"), extends=())
    with pytest.raises(
        PluginError, match=r"a kernel of exp for cpu, both of others.*\n  try: .*extends=\('cpu',\)"
    ):
        small.add(kernels(1))
    with pytest.raises(PluginError, match="the namespace 'elsewhere', which its manifest does not declare"):
        small.add_definitions(OpDefinition(Signature.parse("elsewhere::f(Tensor x) -> Tensor"), "other"))
    with pytest.raises(PluginError, match="a backend of cpu/tiled, but its manifest declares neither"):
        backend = type(REGISTRY.backend("cpu"))()
        backend.layout = "tiled"
        small.add_backend(backend)
    formulas = tt.autograd.Formulas()
    formulas.of("exp", self=lambda g: g)
    with pytest.raises(PluginError, match="the rule of the layer 'autograd' for exp"):
        small.add(formulas)
    small.add(kernels(1, "choice::g"))  # for an operator of its own, on any device
