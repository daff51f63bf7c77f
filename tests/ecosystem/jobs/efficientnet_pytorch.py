"""efficientnet-pytorch: models by name and by own parameters, features, endpoints, a train step."""

from __future__ import annotations

import torch
from efficientnet_pytorch import EfficientNet
from efficientnet_pytorch.utils import BlockArgs, GlobalParams, MemoryEfficientSwish, get_same_padding_conv2d

from tests.ecosystem import kit

REQUIRES = ("efficientnet-pytorch==0.7.1",)


def by_name():
    model = kit.fill(EfficientNet.from_name("efficientnet-b0", num_classes=10)).eval()
    x = kit.tensor(1, 3, 64, 64)
    with torch.no_grad():
        return (
            model(x),
            model.extract_features(x),
            {k: list(v.shape) for k, v in model.extract_endpoints(x).items()},
        )


def sizes():
    model = EfficientNet.from_name("efficientnet-b1", in_channels=1, image_size=48)
    return EfficientNet.get_image_size("efficientnet-b3"), sum(p.numel() for p in model.parameters())


def _small():
    blocks = [
        BlockArgs(
            num_repeat=1,
            kernel_size=3,
            stride=[2],
            expand_ratio=1,
            input_filters=32,
            output_filters=8,
            se_ratio=0.25,
            id_skip=True,
        ),
        BlockArgs(
            num_repeat=2,
            kernel_size=5,
            stride=[1],
            expand_ratio=4,
            input_filters=8,
            output_filters=8,
            se_ratio=0.25,
            id_skip=True,
        ),
    ]
    return EfficientNet(
        blocks,
        GlobalParams(
            width_coefficient=1.0,
            depth_coefficient=1.0,
            image_size=32,
            dropout_rate=0.0,
            num_classes=4,
            batch_norm_momentum=0.99,
            batch_norm_epsilon=1e-3,
            drop_connect_rate=0.0,
            depth_divisor=8,
            min_depth=None,
            include_top=True,
        ),
    )


def train_steps():
    model = kit.fill(_small())
    optimizer = torch.optim.RMSprop(model.parameters(), 1e-3, alpha=0.9, momentum=0.9)
    losses = []
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(model(kit.tensor(4, 3, 32, 32)), kit.integers(0, 4, (4,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def swishes():
    x = kit.tensor(2, 8, grad=True)
    model = kit.fill(_small()).eval()
    model.set_swish(memory_efficient=False)
    y = MemoryEfficientSwish()(x)
    y.sum().backward()
    conv = kit.fill(get_same_padding_conv2d(image_size=15)(3, 4, 3, stride=2))
    return y, x.grad, model(kit.tensor(1, 3, 32, 32)), conv(kit.tensor(1, 3, 15, 15))
