"""Names in files: each library finds its own object by the name that the other wrote."""

from __future__ import annotations

import io

import pytest

import tt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def through(obj, save, load, **options):
    file = io.BytesIO()
    save(obj, file)
    file.seek(0)
    return load(file, **options)


OPERATORS = [
    "add", "nn.functional.gelu", "nn.functional.logsigmoid", "nn.functional.hardswish", "linalg.inv", "fft.rfft",
    "special.ndtr",
]  # fmt: skip


@pytest.mark.parametrize("path", OPERATORS)
def test_operators_of_every_namespace_travel_by_name(path):
    def at(library):
        for part in path.split("."):
            library = getattr(library, part)
        return library

    ours, theirs = at(tt), at(torch)
    assert through(ours, tt.save, torch.load, weights_only=False) is theirs
    assert through(theirs, torch.save, tt.load, weights_only=False) is ours
    with tt.serialization.safe_globals([ours]):
        assert through(ours, tt.save, tt.load) is ours


def test_a_whole_module_with_an_operator_as_its_activation_is_read_where_both_are_allowed():
    layer = tt.nn.TransformerEncoderLayer(8, 2, activation="gelu")
    nn = torch.nn.modules
    with torch.serialization.safe_globals([
        torch.nn.functional.gelu, nn.transformer.TransformerEncoderLayer, nn.activation.MultiheadAttention,
        nn.linear.Linear, nn.linear.NonDynamicallyQuantizableLinear, nn.normalization.LayerNorm, nn.dropout.Dropout,
    ]):  # fmt: skip
        assert through(layer, tt.save, torch.load).activation is torch.nn.functional.gelu
