"""timm: a dozen architectures, features, optimizers, schedulers, transforms, averaged weights, train steps."""

from __future__ import annotations

import numpy as np
import timm
import torch
from PIL import Image
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import create_scheduler_v2
from timm.utils import ModelEmaV3, accuracy, dispatch_clip_grad

from tests.ecosystem import kit

REQUIRES = ("timm==1.0.31", "torchvision==0.28.0", "huggingface-hub", "safetensors", "pyyaml", "pillow")


def _forward(name, size=64, **keywords):
    model = kit.fill(timm.create_model(name, pretrained=False, num_classes=10, **keywords)).eval()
    with torch.no_grad():
        return model(kit.tensor(1, 3, size, size))


def residual_networks():
    return [_forward(name) for name in ("resnet18", "resnetv2_50x1_bit", "seresnet18", "resnext26ts")]


def mobile_networks():
    return [
        _forward(name)
        for name in ("mobilenetv3_small_050", "efficientnet_b0", "ghostnet_050", "mnasnet_small")
    ]


def transformers():
    return [
        _forward("vit_tiny_patch16_224", img_size=64, depth=2),
        _forward("deit_tiny_distilled_patch16_224", img_size=64, depth=2),
        _forward("swin_tiny_patch4_window7_224", img_size=56, size=56, depths=(1, 1, 1, 1)),
        _forward("xcit_nano_12_p16_224"),
        _forward("beit_base_patch16_224", img_size=64, depth=1, embed_dim=48, num_heads=3),
    ]


def convolutional_networks():
    return [
        _forward(name)
        for name in ("convnext_atto", "regnetx_002", "densenet121", "dla34", "repvgg_a0", "edgenext_xx_small")
    ]


def features():
    model = kit.fill(timm.create_model("resnet18", features_only=True, out_indices=(1, 2, 3))).eval()
    x = kit.tensor(1, 3, 64, 64)
    with torch.no_grad():
        maps = model(x)
        whole = kit.fill(
            timm.create_model("vit_tiny_patch16_224", img_size=64, depth=3, num_classes=10)
        ).eval()
        tokens = whole.forward_features(x)
        final, between = whole.forward_intermediates(x, indices=2)
    return {
        "channels": model.feature_info.channels(),
        "reduction": model.feature_info.reduction(),
        "maps": maps,
        "tokens": tokens,
        "pooled": whole.forward_head(tokens, pre_logits=True),
        "final": final,
        "between": between,
    }


def registry():
    names = timm.list_models("convnext_*atto*")
    model = timm.create_model("convnext_atto", num_classes=0)
    config = resolve_data_config({}, model=model)
    model.reset_classifier(7)
    return {
        "names": names,
        "is_model": timm.is_model("resnet18"),
        "features": model.num_features,
        "config": {key: config[key] for key in ("input_size", "interpolation", "mean", "std", "crop_pct")},
        "head": list(model.get_classifier().weight.shape),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def transforms():
    image = Image.fromarray(kit.rng().integers(0, 256, (40, 48, 3)).astype(np.uint8))
    plain = create_transform((3, 32, 32), is_training=False, interpolation="bicubic", crop_pct=0.9)
    return plain(image), str(type(plain).__name__)


def optimizers():
    results = {}
    for name in (
        "sgd",
        "adamw",
        "lamb",
        "lion",
        "adafactor",
        "adabelief",
        "nadamw",
        "madgrad",
        "lars",
        "adopt",
    ):
        net = kit.fill(
            torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))
        )
        optimizer = create_optimizer_v2(net, opt=name, lr=0.01, weight_decay=0.05)
        x = kit.tensor(5, 6)
        for _ in range(3):
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
        results[name] = [len(optimizer.param_groups), net[2].weight]
    return results


def schedulers():
    results = {}
    for name in ("cosine", "step", "poly", "tanh", "plateau"):
        weight = torch.nn.Parameter(torch.zeros(2))
        scheduler, epochs = create_scheduler_v2(
            torch.optim.SGD([weight], lr=0.1), sched=name, num_epochs=8, warmup_epochs=2, decay_epochs=3
        )
        rates = []
        for epoch in range(6):
            scheduler.step(epoch + 1, metric=1.0)
            rates.append(scheduler.optimizer.param_groups[0]["lr"])
        results[name] = [epochs, rates]
    return results


def train_step():
    net = kit.fill(
        timm.create_model("convnext_atto", num_classes=10, depths=(1, 1, 1, 1), dims=(8, 16, 24, 32))
    )
    optimizer = create_optimizer_v2(net, opt="adamw", lr=1e-3)
    average = ModelEmaV3(net, decay=0.9)
    mixup = Mixup(mixup_alpha=0.2, cutmix_alpha=0.0, label_smoothing=0.1, num_classes=10)
    losses = []
    for step in range(3):
        x, y = kit.tensor(4, 3, 32, 32), kit.integers(0, 10, (4,))
        smooth = LabelSmoothingCrossEntropy(0.1)(net(x), y)
        x, soft = mixup(x.clone(), y)
        logits = net(x)
        loss = SoftTargetCrossEntropy()(logits, soft) + smooth
        optimizer.zero_grad()
        loss.backward()
        dispatch_clip_grad(net.parameters(), 1.0)
        optimizer.step()
        average.update(net, step=step)
        losses.append([loss, *accuracy(logits, y, topk=(1, 5))])
    return losses, average.module.head.fc.weight


def gradients():
    results = {}
    for name in ("resnet18", "mobilenetv3_small_050", "vit_tiny_patch16_224"):
        keywords = {"img_size": 32, "depth": 2} if name.startswith("vit") else {}
        net = kit.fill(timm.create_model(name, num_classes=4, **keywords))
        net.eval()
        net(kit.tensor(2, 3, 32, 32)).square().sum().backward()
        results[name] = [p.grad.norm() for _, p in list(net.named_parameters())[:6]]
    return results
