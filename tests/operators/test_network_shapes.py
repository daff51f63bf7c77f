"""Shapes of neural-network operators."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")
F = torch.nn.functional


def test_layers(agree):
    x = torch.zeros(2, 4, 3)
    for weight, bias in (((5, 3), None), ((5, 3), (5,)), ((5, 3), (4,)), ((5, 4), None)):
        b = None if bias is None else torch.zeros(bias)
        agree("linear", F.linear, strides=False, input=x, weight=torch.zeros(weight), bias=b)
    index = torch.zeros(2, 3, dtype=torch.int64)
    agree("embedding", torch.embedding, weight=torch.zeros(5, 4), indices=index)
    agree("embedding", torch.embedding, weight=torch.zeros(5), indices=index)
    agree("one_hot", F.one_hot, self=index, num_classes=4)
    for dim in (-1, 1, 0, 4):
        agree("glu", F.glu, strides=False, self=x, dim=dim)
        for grad in ((2, 4, 3), (2, 2, 3), (1, 3), (3, 2, 2, 3)):
            slope = {"grad_output": torch.zeros(grad), "self": x, "dim": dim}
            agree("glu_backward", torch.ops.aten.glu_backward, strides=False, **slope)
        agree("softmax", torch.softmax, self=x, dim=dim)
        agree("softmax", torch.log_softmax, self=x.transpose(0, 2), dim=dim)
    agree("softmax", torch.softmax, self=torch.zeros(()), dim=0)
    for factor in (2, 3):
        agree(
            "pixel_shuffle",
            F.pixel_shuffle,
            strides=False,
            self=torch.zeros(2, 4, 3, 2),
            upscale_factor=factor,
        )
        agree(
            "pixel_unshuffle",
            F.pixel_unshuffle,
            strides=False,
            self=torch.zeros(2, 4, 6, 2),
            downscale_factor=factor,
        )


def test_normalisation(agree):
    x = torch.zeros(2, 6, 4)
    for parameter in (None, torch.zeros(6), torch.zeros(4)):
        agree(
            "channel_norm",
            lambda x, w: F.batch_norm(x, None, None, w, training=True),
            input=x,
            weight=parameter,
        )
        for groups in (1, 2, 4):
            agree("group_norm", F.group_norm, input=x, num_groups=groups, weight=parameter)
        for shape in ([4], [6, 4], [6], []):
            agree("layer_norm", F.layer_norm, input=x, normalized_shape=shape, weight=parameter)


def test_attention(agree):
    for q, k, v in (
        ((2, 3, 4), (2, 5, 4), (2, 5, 6)),
        ((2, 3, 4), (2, 5, 3), (2, 5, 6)),
        ((3, 4), (5, 4), (5, 2)),
    ):
        agree("attention", F.scaled_dot_product_attention, strides=False,
              query=torch.zeros(q), key=torch.zeros(k), value=torch.zeros(v))  # fmt: skip
