"""LPIPS: perceptual distances on three networks, spatial maps, gradients."""

from __future__ import annotations

import lpips
import torch

from tests.ecosystem import kit

REQUIRES = ("lpips==0.1.4", "torchvision", "scipy", "tqdm", "numpy")


def _distance(net, **keywords):
    return kit.fill(lpips.LPIPS(net=net, pretrained=False, pnet_rand=True, verbose=False, **keywords)).eval()


def distances():
    x, y = kit.tensor(2, 3, 64, 64).clamp(-1, 1), kit.tensor(2, 3, 64, 64).clamp(-1, 1)
    with torch.no_grad():
        return {net: _distance(net)(x, y) for net in ("alex", "vgg", "squeeze")}


def trained_weights():
    # The linear layers lie in the wheel.
    distance = lpips.LPIPS(net="alex", pretrained=True, pnet_rand=True, verbose=False)
    return [lin.model[-1].weight.flatten()[:10] for lin in distance.lins]


def spatial_map():
    with torch.no_grad():
        return _distance("alex", spatial=True)(kit.tensor(1, 3, 64, 64), kit.tensor(1, 3, 64, 64))


def layers_and_gradient():
    x = kit.tensor(1, 3, 64, 64, grad=True)
    value, parts = _distance("alex")(x, kit.tensor(1, 3, 64, 64), retPerLayer=True, normalize=True)
    value.sum().backward()
    return value, parts, x.grad


def simple_metrics():
    x, y = kit.tensor(1, 3, 16, 16, positive=True), kit.tensor(1, 3, 16, 16, positive=True)
    return (
        lpips.L2(use_gpu=False, colorspace="RGB")(x, y),
        lpips.normalize_tensor(x),
        lpips.upsample(x, (24, 24)),
    )
