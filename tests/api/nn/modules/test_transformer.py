"""Transformers: copies of layers, and masks."""

from __future__ import annotations

import pytest

import tt
from tt import nn


def test_an_encoder_is_its_layers_in_a_row():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 3, nn.LayerNorm(8))
    x = tt.randn(4, 2, 8)
    expected = x
    for copy in encoder.layers:
        expected = copy(expected)
    tt.testing.assert_close(encoder(x), encoder.norm(expected))
    assert encoder.layers[0] is not layer and tt.equal(encoder.layers[2].linear1.weight, layer.linear1.weight)


def test_a_transformer_encodes_and_decodes():
    model = nn.Transformer(8, 2, 1, 2, 16, dropout=0.0, batch_first=True)
    source, target = tt.randn(2, 5, 8), tt.randn(2, 3, 8)
    expected = model.decoder(target, model.encoder(source))
    tt.testing.assert_close(model(source, target), expected)
    assert len(model.encoder.layers) == 1 and len(model.decoder.layers) == 2


def test_a_causal_mask_hides_what_comes_later():
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    inf = float("inf")
    assert mask.tolist() == [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]]
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)
    encoder = nn.TransformerEncoder(layer, 2)
    x = tt.randn(3, 1, 8)
    other = x.clone()
    other[2] = 5
    got, changed = (encoder(value, mask=mask, is_causal=True)[:2] for value in (x, other))
    tt.testing.assert_close(got, changed)


def test_sizes_that_do_not_fit_are_refused():
    model = nn.Transformer(8, 2, 1, 1, 16)
    with pytest.raises(RuntimeError, match="batch"):
        model(tt.zeros(5, 2, 8), tt.zeros(3, 1, 8))
    with pytest.raises(RuntimeError, match="feature"):
        model(tt.zeros(5, 2, 6), tt.zeros(3, 2, 6))
