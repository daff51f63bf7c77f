"""rotary_embedding_torch: queries and keys, cached keys, xpos, interpolation, pixels, learned angles."""

from __future__ import annotations

import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

from tests.ecosystem import kit

REQUIRES = ("rotary-embedding-torch==0.9.1", "einops")


def queries():
    rotary = RotaryEmbedding(dim=8)
    x = kit.tensor(1, 2, 10, 16, grad=True)
    out = rotary.rotate_queries_or_keys(x)
    out.square().sum().backward()
    return out, x.grad, rotary.rotate_queries_or_keys(x, offset=3)


def cached_keys():
    return RotaryEmbedding(dim=8).rotate_queries_with_cached_keys(
        kit.tensor(1, 2, 1, 16), kit.tensor(1, 2, 10, 16)
    )


def xpos():
    return RotaryEmbedding(dim=8, use_xpos=True).rotate_queries_and_keys(
        kit.tensor(1, 2, 10, 16), kit.tensor(1, 2, 10, 16)
    )


def interpolation():
    return RotaryEmbedding(dim=8, interpolate_factor=2.0).rotate_queries_or_keys(kit.tensor(1, 2, 10, 16))


def pixels():
    rotary = RotaryEmbedding(dim=4, freqs_for="pixel", max_freq=256)
    freqs = rotary.get_axial_freqs(4, 5)
    return freqs, apply_rotary_emb(freqs, kit.tensor(1, 4, 5, 16))


def learned_angles():
    rotary = RotaryEmbedding(dim=8, learned_freq=True)
    rotary.rotate_queries_or_keys(kit.tensor(1, 2, 10, 8)).sin().sum().backward()
    return rotary.freqs.grad, rotary(torch.arange(5.0))
