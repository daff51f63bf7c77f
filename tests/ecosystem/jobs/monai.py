"""MONAI: transforms of arrays and dictionaries, networks, losses, metrics, inference by windows, a train loop."""

from __future__ import annotations

import numpy as np
import torch
from monai import losses as L
from monai.data import CacheDataset, DataLoader, MetaTensor, decollate_batch
from monai.inferers import sliding_window_inference
from monai.metrics import DiceMetric, HausdorffDistanceMetric, MeanIoU, ROCAUCMetric, compute_surface_dice
from monai.networks import nets
from monai.transforms import (
    AsDiscrete,
    Compose,
    EnsureChannelFirst,
    EnsureChannelFirstd,
    Flip,
    GaussianSmooth,
    NormalizeIntensityd,
    RandFlipd,
    RandGaussianNoise,
    Resize,
    Rotate90,
    ScaleIntensity,
    ScaleIntensityRange,
    Spacing,
    SpatialPad,
    Zoom,
)

from tests.ecosystem import kit

REQUIRES = ("monai==1.6.1", "scipy")


def _volume(*shape):
    return kit.rng().random(shape or (8, 10, 6)).astype("float32")


def array_transforms():
    chain = Compose(
        [
            EnsureChannelFirst(channel_dim="no_channel"),
            ScaleIntensity(),
            Flip(spatial_axis=0),
            Rotate90(k=1, spatial_axes=(0, 1)),
            SpatialPad((12, 12, 8)),
            GaussianSmooth(1.0),
        ]
    )
    image = chain(_volume())
    return {
        "type": type(image).__name__,
        "image": image,
        "affine": image.affine,
        "range": ScaleIntensityRange(0.0, 1.0, -1.0, 2.0, clip=True)(image),
        "resize": Resize((6, 6, 4), mode="trilinear")(image),
        "zoom": Zoom(1.3, mode="nearest")(image),
        "operations": [operation["class"] for operation in image.applied_operations],
    }


def spacing_and_inverse():
    image = MetaTensor(_volume(1, 8, 10, 6), affine=np.diag([2.0, 1.0, 1.5, 1.0]))
    spacing = Spacing(pixdim=(1.0, 1.0, 1.0), mode="bilinear")
    result = spacing(image)
    return result, result.affine, spacing.inverse(result), result.pixdim


def dictionary_transforms():
    chain = Compose(
        [
            EnsureChannelFirstd(["image", "label"], channel_dim="no_channel"),
            NormalizeIntensityd("image"),
            RandFlipd(["image", "label"], prob=0.5, spatial_axis=1),
        ]
    ).set_random_state(seed=1)
    rows = [{"image": _volume(), "label": (_volume() > 0.5).astype("float32")} for _ in range(4)]
    loader = DataLoader(CacheDataset(rows, chain, progress=False), batch_size=2, num_workers=0)
    batches = list(loader)
    noise = RandGaussianNoise(prob=1.0, std=0.1).set_random_state(0)
    return {
        "batches": batches[0]["image"],
        "labels": [batch["label"].sum() for batch in batches],
        "count": len(decollate_batch(batches[0])),
        "noise": noise(_volume(1, 4, 4)),
    }


def networks():
    x = kit.tensor(1, 1, 32, 32)
    results = {}
    for name, net in {
        "unet": nets.UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1),
        "basic": nets.BasicUNet(2, 1, 2, features=(4, 4, 8, 8, 16, 4)),
        "segresnet": nets.SegResNet(2, init_filters=8, in_channels=1, out_channels=2),
        "attention": nets.AttentionUnet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2)),
        "vit": nets.ViT(
            1, (32, 32), (16, 16), hidden_size=24, mlp_dim=48, num_layers=2, num_heads=2, spatial_dims=2
        ),
        "densenet": nets.DenseNet(2, 1, 2, init_features=8, growth_rate=4, block_config=(2, 2)),
        "vnet": nets.VNet(2, 1, 2),
        "resnet": nets.resnet10(spatial_dims=2, n_input_channels=1, num_classes=3),
    }.items():
        kit.fill(net).eval()
        with torch.no_grad():
            result = net(x)
        while isinstance(result, (tuple, list)):
            result = result[0]
        results[name] = result
    swin = kit.fill(nets.SwinUNETR(1, 2, feature_size=12, spatial_dims=2, patch_size=2, window_size=4)).eval()
    with torch.no_grad():
        results["swin"] = swin(kit.tensor(1, 1, 64, 64))
    return results


def losses():
    logits = kit.tensor(2, 3, 8, 8, grad=True)
    target = kit.integers(0, 3, (2, 1, 8, 8))
    values = {
        "dice": L.DiceLoss(to_onehot_y=True, softmax=True)(logits, target),
        "dice_ce": L.DiceCELoss(to_onehot_y=True, softmax=True)(logits, target),
        "focal": L.FocalLoss(to_onehot_y=True)(logits, target),
        "tversky": L.TverskyLoss(to_onehot_y=True, softmax=True)(logits, target),
        "generalized": L.GeneralizedDiceLoss(to_onehot_y=True, softmax=True)(logits, target),
        "ssim": L.SSIMLoss(2, win_size=5)(logits.sigmoid(), target.expand(2, 3, 8, 8).float()),
        "bending": L.BendingEnergyLoss()(kit.tensor(1, 2, 8, 8)),
        "ncc": L.LocalNormalizedCrossCorrelationLoss(2)(logits, target.expand(2, 3, 8, 8).float()),
    }
    sum(values.values()).backward()
    return values, logits.grad


def metrics():
    logits = kit.tensor(2, 3, 12, 12)
    one_hot = AsDiscrete(argmax=True, to_onehot=3)
    target = torch.nn.functional.one_hot(kit.integers(0, 3, (2, 12, 12)), 3).movedim(-1, 1)
    preds = torch.stack([one_hot(row) for row in logits])
    dice, iou = DiceMetric(include_background=False, reduction="mean_batch"), MeanIoU()
    hausdorff, auc = HausdorffDistanceMetric(percentile=95), ROCAUCMetric()
    for metric in (dice, iou, hausdorff):
        metric(preds, target)
    auc(logits[:, :1, 0].softmax(-1).flatten()[:, None], target[:, 0, 0].flatten()[:, None])
    return {
        "dice": dice.aggregate(),
        "iou": iou.aggregate(),
        "hausdorff": hausdorff.aggregate(),
        "auc": auc.aggregate(),
        "surface": compute_surface_dice(preds, target, [1.0, 1.0]),
    }


def sliding_windows():
    net = kit.fill(torch.nn.Conv2d(1, 2, 3, padding=1))
    with torch.no_grad():
        return sliding_window_inference(
            kit.tensor(1, 1, 20, 24), (8, 8), 4, net, overlap=0.25, mode="gaussian"
        )


def train_loop():
    net = kit.fill(nets.UNet(2, 1, 2, channels=(4, 8), strides=(2,)))
    loss_function = L.DiceCELoss(to_onehot_y=True, softmax=True)
    optimizer = torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = loss_function(net(kit.tensor(2, 1, 16, 16)), kit.integers(0, 2, (2, 1, 16, 16)))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
