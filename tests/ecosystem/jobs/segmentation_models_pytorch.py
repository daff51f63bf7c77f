"""Segmentation Models: decoders on encoders, losses, metrics, a train step."""

from __future__ import annotations

import segmentation_models_pytorch as smp
import torch
from segmentation_models_pytorch import losses as L

from tests.ecosystem import kit

REQUIRES = (
    "segmentation-models-pytorch==0.6.0",
    "timm",
    "torchvision",
    "huggingface-hub",
    "safetensors",
    "pillow",
    "tqdm",
)


def _model(name, encoder="resnet18", **keywords):
    return kit.fill(smp.create_model(name, encoder_name=encoder, encoder_weights=None, classes=3, **keywords))


def decoders():
    x = kit.tensor(1, 3, 64, 64)
    with torch.no_grad():
        return {
            name: _model(name).eval()(x)
            for name in (
                "unet",
                "unetplusplus",
                "fpn",
                "linknet",
                "pspnet",
                "deeplabv3plus",
                "manet",
                "upernet",
                "segformer",
            )
        }


def encoders():
    x = kit.tensor(1, 3, 64, 64)
    with torch.no_grad():
        return {
            name: _model("unet", name).eval()(x)
            for name in (
                "mobilenet_v2",
                "efficientnet-b0",
                "mit_b0",
                "vgg11_bn",
                "tu-convnext_atto",
                "densenet121",
            )
        }


def heads():
    model = _model("unet", aux_params={"classes": 4, "dropout": 0.0, "activation": "softmax"}).eval()
    with torch.no_grad():
        return model(kit.tensor(1, 3, 64, 64))


def losses():
    logits, target = kit.tensor(2, 3, 12, 12, grad=True), kit.integers(0, 3, (2, 12, 12))
    values = {
        "dice": L.DiceLoss("multiclass")(logits, target),
        "jaccard": L.JaccardLoss("multiclass")(logits, target),
        "focal": L.FocalLoss("multiclass")(logits, target),
        "lovasz": L.LovaszLoss("multiclass")(logits, target),
        "tversky": L.TverskyLoss("multiclass")(logits, target),
        "soft_ce": L.SoftCrossEntropyLoss(smooth_factor=0.1)(logits, target),
        "soft_bce": L.SoftBCEWithLogitsLoss()(logits[:, :1], (target[:, None] > 0).float()),
        "mcc": L.MCCLoss()(logits[:, :1].sigmoid(), (target[:, None] > 0).float()),
    }
    sum(values.values()).backward()
    return values, logits.grad


def metrics():
    preds, target = kit.integers(0, 3, (2, 10, 10)), kit.integers(0, 3, (2, 10, 10))
    stats = smp.metrics.get_stats(preds, target, mode="multiclass", num_classes=3)
    return {
        "stats": stats,
        "iou": smp.metrics.iou_score(*stats, reduction="micro"),
        "f1": smp.metrics.f1_score(*stats, reduction="macro"),
        "accuracy": smp.metrics.accuracy(*stats, reduction="micro-imagewise"),
        "recall": smp.metrics.recall(*stats, reduction=None),
    }


def train_steps():
    model = _model("unet", encoder_depth=3, decoder_channels=(16, 8, 4))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    loss_function = L.DiceLoss("multiclass")
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_function(model(kit.tensor(2, 3, 32, 32)), kit.integers(0, 3, (2, 32, 32)))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
