"""Registering tables: refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.processes import printed_by
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DuplicateRegistrationError, UnknownNameError


def test_registering_twice_names_both_distributions(probe: Any) -> None:
    probe.kernel("exp", np.exp)
    with pytest.raises(DuplicateRegistrationError) as caught:
        probe.kernel("exp", np.exp, source="other-dist")
    text = str(caught.value)
    assert "first by probe-dist 1.0" in text
    assert "again by other-dist 1.0" in text
    assert "override=True" in text


def test_different_dtypes_of_one_operator_are_no_conflict(probe: Any) -> None:
    probe.kernel("exp", np.exp, dtypes=("float32",))
    probe.kernel("exp", lambda self: np.exp(self) + 1, dtypes=("float64",))
    assert tt.exp(probe.tensor([0.0], tt.float32))._handle.tolist() == [1.0]
    assert tt.exp(probe.tensor([0.0], tt.float64))._handle.tolist() == [2.0]


class ForLayer:
    def __init__(self, layer: Any) -> None:
        self.layer = layer


def test_a_table_for_a_layer_that_is_not_there_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown layer 'fakee'; did you mean 'fake'"):
        REGISTRY.add(ForLayer("fakee"))


def test_a_layer_of_the_core_refuses_tables() -> None:
    with pytest.raises(TypeError, match="the layer 'fake' takes no ForLayer"):
        REGISTRY.add(ForLayer("fake"))


@pytest.mark.parametrize("table", [None, 3, {}, ForLayer(3)])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(TypeError, match=f"not {type(table).__name__}"):
        REGISTRY.add(table)


OVERRIDES = """
from tt.library import REGISTRY, KernelTable
import tt
table = KernelTable(device="cpu")
table.kernel("exp", lambda self: self * 0, override=True)
handle = REGISTRY.add(table)
"""


def test_a_program_overrides_a_kernel_of_a_device_that_was_not_used_before() -> None:
    program = (
        f"{OVERRIDES}print(tt.exp(tt.ones(1)).item()); handle.remove(); print(tt.exp(tt.zeros(1)).item())"
    )
    assert printed_by(program) == "0.0\n1.0\n"


def test_a_kernel_for_a_device_whose_plugin_is_blocked_is_registered() -> None:
    program = f"{OVERRIDES}print(handle.active)\ntry: tt.ones(1)\nexcept tt.errors.PluginError as error: print(error)"
    active, error, *_ = printed_by(program, {"TT_DISABLE_PLUGINS": "cpu"}).splitlines()
    assert active == "True" and "blocked" in error
