"""einops: rearrange, reduce, repeat, einsum, pack, and layers."""

from __future__ import annotations

import einops
import torch
from einops.layers.torch import EinMix, Rearrange, Reduce

from tests.ecosystem import kit

REQUIRES = ("einops==0.8.2",)


def functions():
    x = kit.tensor(2, 3, 4, 6, grad=True)
    moved = einops.rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=3)
    pooled = einops.reduce(x, "b c h w -> b c", "mean") + einops.reduce(x, "b c h w -> b c", "max")
    repeated = einops.repeat(pooled, "b c -> b c n", n=4)
    (moved.square().sum() + repeated.sum()).backward()
    return moved, pooled, repeated, x.grad


def packing():
    packed, shapes = einops.pack([kit.tensor(2, 3), kit.tensor(2, 5, 3)], "b * c")
    return packed, einops.unpack(packed, shapes, "b * c"), einops.parse_shape(packed, "b n c")


def einsum():
    return einops.einsum(kit.tensor(2, 3, 4), kit.tensor(4, 5), "b i k, k j -> b i j")


def layers():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1),
        Reduce("b c (h p) (w q) -> b c h w", "max", p=2, q=2),
        Rearrange("b c h w -> b (c h w)"),
        EinMix("b (c n) -> b c k", "c n k", c=4, n=4, k=3),
    )
    kit.fill(net)
    out = net(kit.tensor(2, 3, 4, 4))
    out.square().sum().backward()
    return out, [parameter.grad for parameter in net.parameters()]
