"""PIQ: full-reference, no-reference and distribution measures of images, as functions and losses."""

from __future__ import annotations

import piq

from tests.ecosystem import kit

REQUIRES = ("piq==0.8.0", "torchvision")


def _images(size=48, grad=False):
    x = kit.tensor(2, 3, size, size, positive=True).clamp(0, 1)
    y = (x + 0.1 * kit.tensor(2, 3, size, size)).clamp(0, 1)
    return x.requires_grad_(grad), y


def full_reference():
    x, y = _images()
    return {
        name: getattr(piq, name)(x, y, data_range=1.0)
        for name in ("psnr", "ssim", "gmsd", "fsim", "vsi", "mdsi", "haarpsi", "vif_p", "srsim", "dss")
    }


def multi_scale():
    x, y = _images(176)
    return piq.multi_scale_ssim(x, y, data_range=1.0), piq.multi_scale_gmsd(
        x, y, data_range=1.0, chromatic=True
    )


def losses():
    x, y = _images(grad=True)
    loss = sum(
        loss(data_range=1.0)(x, y)
        for loss in (piq.SSIMLoss, piq.GMSDLoss, piq.HaarPSILoss, piq.VIFLoss, piq.FSIMLoss)
    ) + piq.TVLoss()(x)
    loss.backward()
    return loss, x.grad


def no_reference():
    x, _ = _images()
    return (
        piq.total_variation(x),
        piq.brisque.__name__,
        piq.information_weighted_ssim(*_images(176), data_range=1.0),
    )


def distributions():
    x, y = kit.tensor(24, 8), kit.tensor(24, 8) + 0.5
    return {
        "fid": piq.FID()(x, y),
        "kid": piq.KID(subset_size=24, n_subsets=1)(x, y),
        "is": piq.IS(num_splits=2, distance="l1")(x, y),
        "pr": piq.PR(nearest_k=3)(x, y),
    }
