"""kornia: color, filters, geometry, morphology, losses, features, augmentation with given parameters."""

from __future__ import annotations

import kornia as K
import torch
from kornia.models.vit import VisionTransformer

from tests.ecosystem import kit

REQUIRES = ("kornia==0.9.0", "kornia-rs", "packaging")


def _image(*shape):
    return kit.tensor(*(shape or (1, 3, 16, 20)), positive=True).clamp(0, 1)


def color():
    x = _image()
    return {
        name: getattr(K.color, name)(x)
        for name in (
            "rgb_to_grayscale",
            "rgb_to_hsv",
            "rgb_to_lab",
            "rgb_to_luv",
            "rgb_to_ycbcr",
            "rgb_to_xyz",
            "rgb_to_hls",
            "rgb_to_yuv",
            "sepia",
        )
    }


def filters():
    x = _image()
    return {
        "gaussian": K.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)),
        "median": K.filters.median_blur(x, 3),
        "bilateral": K.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
        "sobel": K.filters.sobel(x),
        "laplacian": K.filters.laplacian(x, 3),
        "canny": K.filters.canny(x)[0],
        "unsharp": K.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)),
        "motion": K.filters.motion_blur(x, 5, 30.0, 0.5),
        "spatial": K.filters.spatial_gradient(x),
        "box": K.filters.box_blur(x, (3, 3)),
    }


def geometry():
    x = _image()
    matrix = torch.tensor([[[1.0, 0.1, 2.0], [-0.1, 0.9, 1.0]]])
    points = torch.tensor([[[0.0, 0.0], [19.0, 0.0], [19.0, 15.0], [0.0, 15.0]]])
    moved = points + torch.tensor([[[1.0, 2.0], [-2.0, 1.0], [0.5, -1.0], [1.5, 0.0]]])
    homography = K.geometry.get_perspective_transform(points, moved)
    return {
        "affine": K.geometry.warp_affine(x, matrix, (16, 20)),
        "homography": homography,
        "perspective": K.geometry.warp_perspective(x, homography, (16, 20)),
        "rotate": K.geometry.rotate(x, torch.tensor([30.0])),
        "scale": K.geometry.scale(x, torch.tensor([[1.2, 0.8]])),
        "resize": K.geometry.resize(x, (8, 10), antialias=True),
        "pyramid": K.geometry.build_pyramid(x, 3),
        "hflip": K.geometry.hflip(x),
        "crop": K.geometry.center_crop(x, (8, 8)),
        "elastic": K.geometry.elastic_transform2d(x, 0.1 * torch.ones(1, 2, 16, 20), (5, 5), (2.0, 2.0)),
    }


def rotations_and_cameras():
    axis = kit.tensor(4, 3)
    matrices = K.geometry.axis_angle_to_rotation_matrix(axis)
    quaternions = K.geometry.rotation_matrix_to_quaternion(matrices)
    points = kit.tensor(1, 6, 3, positive=True)
    camera = torch.tensor([[[50.0, 0.0, 10.0], [0.0, 50.0, 8.0], [0.0, 0.0, 1.0]]])
    # The matrix of these points is the smallest singular vector of another: float32 gives four digits of it.
    first, second = kit.tensor(1, 12, 2).double(), kit.tensor(1, 12, 2).double()
    fundamental = K.geometry.epipolar.find_fundamental(first, second, torch.ones(1, 12).double())
    return {
        "matrices": matrices,
        "quaternions": quaternions,
        "back": K.geometry.quaternion_to_axis_angle(quaternions),
        "projected": K.geometry.project_points(points, camera),
        "distance": K.geometry.epipolar.sampson_epipolar_distance(first, second, fundamental),
        "so3": K.geometry.liegroup.So3.exp(axis).log(),
    }


def morphology_and_enhancement():
    x = _image()
    kernel = torch.ones(3, 3)
    return {
        "dilation": K.morphology.dilation(x, kernel),
        "erosion": K.morphology.erosion(x, kernel),
        "opening": K.morphology.opening(x, kernel),
        "gradient": K.morphology.gradient(x, kernel),
        "brightness": K.enhance.adjust_brightness(x, 0.2),
        "contrast": K.enhance.adjust_contrast(x, 0.7),
        "hue": K.enhance.adjust_hue(x, 0.3),
        "gamma": K.enhance.adjust_gamma(x, 1.7),
        "equalize": K.enhance.equalize(x),
        "clahe": K.enhance.equalize_clahe(_image(1, 1, 16, 16), grid_size=(2, 2)),
        "posterize": K.enhance.posterize(x, 3),
        "normalize": K.enhance.normalize(x, torch.tensor([0.5]), torch.tensor([0.25])),
        "zca": K.enhance.zca_mean(kit.tensor(10, 4))[0],
    }


def losses_and_metrics():
    x, y = kit.tensor(1, 3, 16, 20, positive=True, grad=True), _image()
    logits, labels = kit.tensor(2, 4, 6, 6), kit.integers(0, 4, (2, 6, 6))
    loss = K.losses.ssim_loss(x, y, 5) + K.losses.total_variation(x).mean() + K.losses.psnr_loss(x, y, 1.0)
    loss.backward()
    return {
        "loss": loss,
        "grad": x.grad,
        "dice": K.losses.dice_loss(logits, labels),
        "focal": K.losses.focal_loss(logits, labels, alpha=0.5, gamma=2.0, reduction="mean"),
        "tversky": K.losses.tversky_loss(logits, labels, alpha=0.5, beta=0.5),
        "lovasz": K.losses.lovasz_softmax_loss(logits, labels),
        "charbonnier": K.losses.charbonnier_loss(x, y, reduction="mean"),
        "iou": K.metrics.mean_iou(logits.argmax(1), labels, 4),
        "confusion": K.metrics.confusion_matrix(logits.argmax(1), labels, 4),
        "ssim3d": K.metrics.ssim3d(_image(1, 1, 6, 8, 8), _image(1, 1, 6, 8, 8), 5),
    }


def features():
    x = _image(1, 1, 24, 24)
    return {
        "harris": K.feature.harris_response(x),
        "hessian": K.feature.hessian_response(x),
        "dog": K.feature.dog_response(K.geometry.build_pyramid(x, 2)[0].unsqueeze(2).repeat(1, 1, 3, 1, 1)),
        "sift": K.feature.SIFTDescriptor(16)(_image(2, 1, 16, 16)),
        "matches": K.feature.match_mnn(kit.tensor(8, 4), kit.tensor(9, 4)),
        "hardnet": kit.fill(K.feature.HardNet(False)).eval()(_image(2, 1, 32, 32))[:, :8],
    }


def augmentation():
    x = _image(2, 3, 12, 12)
    net = K.augmentation.AugmentationSequential(
        K.augmentation.RandomHorizontalFlip(p=1.0),
        K.augmentation.Normalize(mean=torch.full((3,), 0.5), std=torch.full((3,), 0.25)),
        K.augmentation.RandomVerticalFlip(p=1.0),
        K.augmentation.PadTo((16, 16)),
        data_keys=["input", "mask", "keypoints"],
    )
    image, mask, points = net(x, (x[:, :1] > 0.5).float(), torch.tensor([[[2.0, 3.0]], [[5.0, 7.0]]]))
    return image, mask, points, net.inverse(image, mask, points, data_keys=["input", "mask", "keypoints"])[2]


def models():
    x = _image(1, 3, 32, 32)
    vit = VisionTransformer(image_size=32, patch_size=16, depth=2, embed_dim=24, num_heads=2)
    return kit.fill(vit).eval()(x), K.contrib.extract_tensor_patches(x, 16, 16)
