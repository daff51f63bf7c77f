"""`cpu.get_capabilities`, compared with PyTorch's."""

from __future__ import annotations

import platform

import pytest

import tt


@pytest.mark.torch
def test_instruction_sets_are_those_that_pytorch_finds():
    import torch

    ours, theirs = tt.cpu.get_capabilities(), torch.cpu.get_capabilities()
    assert ours["architecture"] == theirs["architecture"] == platform.machine()
    common = ours.keys() & theirs.keys()
    assert {name: ours[name] for name in common} == {name: theirs[name] for name in common}
    if platform.machine() == "x86_64":
        assert len(common) > 40 and ours["sse2"] is True


def test_the_mapping_cannot_be_changed():
    with pytest.raises(TypeError):
        tt.cpu.get_capabilities()["avx2"] = True
