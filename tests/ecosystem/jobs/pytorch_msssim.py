"""pytorch-msssim: SSIM and MS-SSIM as functions and modules, in two and three dimensions, with gradients."""

from __future__ import annotations

from pytorch_msssim import MS_SSIM, SSIM, ms_ssim, ssim

from tests.ecosystem import kit

REQUIRES = ("pytorch-msssim==1.0.0",)


def _images(*shape, grad=False):
    x = kit.tensor(*shape, positive=True)
    return x.clone().requires_grad_(grad), x + 0.1 * kit.tensor(*shape)


def functions():
    x, y = _images(2, 3, 32, 32)
    return ssim(x, y, data_range=1.0), ssim(
        x, y, data_range=1.0, size_average=False, nonnegative_ssim=True, win_size=7
    )


def multi_scale():
    x, y = _images(1, 1, 176, 176)
    return ms_ssim(x, y, data_range=1.0), ms_ssim(x, y, data_range=1.0, win_size=7, weights=[0.3, 0.7])


def volumes():
    return ssim(*_images(1, 1, 14, 14, 14), data_range=1.0)


def modules_and_gradients():
    x, y = _images(1, 3, 32, 32, grad=True)
    loss = 1 - SSIM(data_range=1.0, channel=3)(x, y)
    loss.backward()
    return loss, x.grad, MS_SSIM(data_range=1.0, channel=1)(*_images(1, 1, 176, 176))
