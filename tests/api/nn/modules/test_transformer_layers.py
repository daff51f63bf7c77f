"""Layers of transformers: their parts in order."""

from __future__ import annotations

import pytest

import tt
from tt import nn

F = nn.functional


@pytest.fixture
def x():
    return tt.randn(5, 2, 8)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_an_encoder_layer_is_attention_and_two_products(x, norm_first, training):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, norm_first=norm_first).train(training)

    def attend(value):
        return layer.self_attn(value, value, value)[0]

    def feed(value):
        return layer.linear2(F.relu(layer.linear1(value)))

    if norm_first:
        y = x + attend(layer.norm1(x))
        expected = y + feed(layer.norm2(y))
    else:
        y = layer.norm1(x + attend(x))
        expected = layer.norm2(y + feed(y))
    tt.testing.assert_close(layer(x), expected)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_decoder_layer_attends_to_the_memory_too(x, norm_first):
    layer = nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0, activation="gelu", norm_first=norm_first)
    memory = tt.randn(3, 2, 8)

    def feed(value):
        return layer.linear2(F.gelu(layer.linear1(value)))

    def attend(value):
        return layer.self_attn(value, value, value)[0]

    def recall(value):
        return layer.multihead_attn(value, memory, memory)[0]

    if norm_first:
        y = x + attend(layer.norm1(x))
        y = y + recall(layer.norm2(y))
        expected = y + feed(layer.norm3(y))
    else:
        y = layer.norm1(x + attend(x))
        y = layer.norm2(y + recall(y))
        expected = layer.norm3(y + feed(y))
    tt.testing.assert_close(layer(x, memory), expected)


def test_what_is_hidden_changes_nothing(x):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    x = x.transpose(0, 1)
    padding = tt.zeros(2, 5, dtype=tt.bool)
    padding[:, 3:] = True
    other = x.clone()
    other[:, 3:] = 7
    got, changed = (layer(value, src_key_padding_mask=padding)[:, :3] for value in (x, other))
    tt.testing.assert_close(got, changed)


def test_activations_are_relu_gelu_or_a_function():
    assert nn.TransformerEncoderLayer(8, 2, activation=tt.tanh).activation is tt.tanh
    with pytest.raises(RuntimeError, match="relu/gelu"):
        nn.TransformerEncoderLayer(8, 2, activation="selu")
