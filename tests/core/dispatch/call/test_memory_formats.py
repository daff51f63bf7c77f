"""Results have the memory format of the arguments that the schema names."""

from __future__ import annotations

from typing import Any

import pytest

import tt
import tt.nn.functional as F

CALLS = {
    "conv2d": lambda x: F.conv2d(x, tt.ones(3, 4, 3, 3, device=x.device)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, tt.ones(4, 3, 3, 3, device=x.device)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 3),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "pad": lambda x: F.pad(x, (1, 1, 2, 2), mode="reflect"),
    "constant_pad": lambda x: F.pad(x, (1, 1)),
    "cat": lambda x: tt.cat([x, x], 1),
    "roll": lambda x: tt.roll(x, 1, 2),
    "mse_loss": lambda x: F.mse_loss(x, x + 1, reduction="none"),
    "dropout": lambda x: F.dropout(x, 0.5),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "glu": lambda x: F.glu(x, 1),
    "diff": lambda x: tt.diff(x, dim=2),
    "index_add": lambda x: tt.index_add(x, 0, tt.tensor([0], device=x.device), x[:1]),
    "scatter": lambda x: tt.scatter(x, 1, tt.zeros(1, 1, 1, 1, dtype=tt.int64, device=x.device), 1.0),
}


def image(device: str = "cpu") -> Any:
    """Return images with their channels last."""
    x = tt.arange(2 * 4 * 6 * 8, dtype=tt.float32, device=device).reshape(2, 6, 8, 4)
    return x.permute(0, 3, 1, 2)


@pytest.mark.parametrize("name", CALLS)
def test_channels_stay_last(name: str) -> None:
    assert CALLS[name](image()).is_contiguous(memory_format=tt.channels_last)


@pytest.mark.parametrize("name", CALLS)
def test_row_major_arguments_give_row_major_results(name: str) -> None:
    assert CALLS[name](image().contiguous()).is_contiguous()


@pytest.mark.parametrize("name", CALLS)
def test_meta_tensors_have_the_same_strides(name: str) -> None:
    assert CALLS[name](image("meta")).stride() == CALLS[name](image()).stride()


@pytest.mark.parametrize("name", [name for name in CALLS if name != "dropout"])
def test_values_do_not_depend_on_the_format(name: str) -> None:
    tt.testing.assert_close(CALLS[name](image()), CALLS[name](image().contiguous()))


@pytest.mark.parametrize("name", CALLS)
def test_gradients_have_the_format(name: str) -> None:
    x = image().requires_grad_()
    result = CALLS[name](x)
    (gradient,) = tt.autograd.grad(result, x, tt.ones_like(result))
    assert gradient.shape == x.shape
    x.grad = None
    CALLS[name](x).sum().backward()
    assert x.grad.is_contiguous(memory_format=tt.channels_last)


@pytest.mark.parametrize("name", ["interpolate", "pad", "constant_pad", "avg_pool2d", "conv2d", "batch_norm"])
def test_a_gradient_has_the_format_of_the_gradient_it_is_made_from(name: str) -> None:
    x = image().requires_grad_()
    result = CALLS[name](x)
    (gradient,) = tt.autograd.grad(result, x, tt.ones_like(result))
    assert gradient.is_contiguous(memory_format=tt.channels_last)


@pytest.mark.parametrize("pool", ["max_pool2d", "adaptive_max_pool2d"])
def test_a_gradient_of_largest_elements_has_the_format_of_the_images(pool: str) -> None:
    x = image().requires_grad_()
    result = getattr(F, pool)(x, 2)
    (gradient,) = tt.autograd.grad(result, x, tt.ones(result.shape))
    assert gradient.is_contiguous(memory_format=tt.channels_last)


@pytest.mark.parametrize(
    "x",
    [image(), image()[:, :, ::2], tt.ones(3, 4).t(), tt.ones(2, 1, 1).expand(2, 3, 4)],
    ids=["dense", "gaps", "transposed", "expanded"],
)
def test_moving_to_meta_keeps_the_order_in_memory(x: tt.Tensor) -> None:
    assert x.to("meta").stride() == x.clone().stride()
    assert x.to("meta", tt.float64).stride() == x.clone().stride()


def test_moving_to_meta_takes_a_memory_format() -> None:
    last = image().contiguous().to("meta", memory_format=tt.channels_last)
    assert last.stride() == image().stride()
    assert image().to("meta", memory_format=tt.contiguous_format).is_contiguous()


def test_either_argument_of_a_convolution_decides() -> None:
    x, weight = image(), tt.ones(3, 4, 3, 3)
    last = weight.contiguous(memory_format=tt.channels_last)
    formats = [
        F.conv2d(a, b).is_contiguous(memory_format=tt.channels_last)
        for a in (x, x.contiguous())
        for b in (last, weight)
    ]
    assert formats == [True, True, True, False]


def test_all_tensors_of_a_list_decide() -> None:
    assert tt.cat([image(), image().contiguous()], 1).is_contiguous()


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("dim", "strides"),
    [
        (0, (384, 192, 1, 32, 4)),
        (1, (384, 4, 1, 64, 8)),
        (2, (384, 1, 192, 32, 4)),
        (-2, (384, 1, 64, 32, 4)),
        (-1, (384, 96, 16, 2, 1)),  # by PyTorch 2.13, as the others
    ],
)
def test_a_stack_keeps_its_channels_last(dim: int, strides: tuple[int, ...], device: str) -> None:
    assert tt.stack([image(device)] * 2, dim).stride() == strides


@pytest.mark.parametrize("dim", range(5))
def test_a_stack_of_images_has_their_values_and_gradients(dim: int) -> None:
    x, y = image().requires_grad_(), (image() + 1).requires_grad_()
    row = [tensor.detach().contiguous().requires_grad_() for tensor in (x, y)]
    found, expected = tt.stack([x, y], dim), tt.stack(row, dim)
    assert found.tolist() == expected.tolist()
    weights = tt.arange(found.numel(), dtype=tt.float32).reshape(found.shape)
    for one, other in zip(
        tt.autograd.grad(found, (x, y), weights), tt.autograd.grad(expected, row, weights), strict=True
    ):
        assert one.tolist() == other.tolist()


def test_stacked_images_without_a_batch_are_the_same_without_data() -> None:
    found = [tt.stack(tt.unbind(image(device))) for device in ("cpu", "meta")]
    assert found[0].stride() == found[1].stride()


def test_volumes_have_a_format_too() -> None:
    x = tt.ones(2, 4, 4, 4, 4).contiguous(memory_format=tt.channels_last_3d)
    for result in (F.max_pool3d(x, 2), F.conv3d(x, tt.ones(2, 4, 3, 3, 3)), F.interpolate(x, scale_factor=2)):
        assert result.is_contiguous(memory_format=tt.channels_last_3d)


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("channels", [3, 1])
def test_a_largest_volume_without_a_batch_keeps_its_channels_last(device: str, channels: int) -> None:
    row = tt.arange(channels * 64.0, device=device).reshape(channels, 4, 4, 4).neg()
    x = row.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
    results = (F.max_pool3d(x, 2), *F.max_pool3d(x, 2, return_indices=True))
    for result, expected in zip(
        results, (results[1], *F.max_pool3d(row, 2, return_indices=True)), strict=True
    ):
        assert result.permute(1, 2, 3, 0).is_contiguous()
        assert device == "meta" or result.tolist() == expected.tolist()
    assert F.max_pool3d(row, 2).is_contiguous()


def test_the_gradient_of_such_a_volume_is_that_of_a_row_major_one() -> None:
    row = tt.rand(3, 4, 4, 4, requires_grad=True)
    x = row.detach().permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2).requires_grad_()
    for volume in (row, x):
        (F.max_pool3d(volume, 2) * tt.arange(24.0).reshape(3, 2, 2, 2)).sum().backward()
    assert x.grad is not None and row.grad is not None and x.grad.tolist() == row.grad.tolist()
    many = tt.stack([x.detach(), x.detach() + 1]).requires_grad_()
    assert tt.vmap(lambda v: F.max_pool3d(v, 2))(many).tolist() == F.max_pool3d(many, 2).tolist()


def test_pixels_are_shuffled_in_the_format_of_the_image() -> None:
    x = image().repeat(1, 4, 1, 1).contiguous(memory_format=tt.channels_last)
    y = F.pixel_shuffle(x, 2)
    assert y.is_contiguous(memory_format=tt.channels_last) and not y.is_contiguous()
    assert y.tolist() == F.pixel_shuffle(x.contiguous(), 2).tolist()
    assert F.pixel_unshuffle(y, 2).is_contiguous(memory_format=tt.channels_last)


def test_every_result_with_the_dimensions_has_the_format() -> None:
    for result in F.max_pool2d(image(), 2, return_indices=True):
        assert result.is_contiguous(memory_format=tt.channels_last)


def test_an_image_with_gaps_gives_a_dense_result() -> None:
    result = F.max_pool2d(image()[:, 1:], 2)
    assert result.is_contiguous(memory_format=tt.channels_last)


def test_a_result_that_is_the_argument_is_not_copied() -> None:
    x = image()[:, 1:]
    assert F.dropout(x, 0.5, training=False) is x


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_first_gradient_of_a_leaf_has_its_strides(order: tuple[int, int]) -> None:
    x = tt.ones(4, 3).permute(order).requires_grad_()
    x.sum().backward()
    assert x.grad.stride() == x.stride()
    x.grad = None
    (x * tt.ones(x.shape)).sum().backward()
    assert x.grad.stride() == x.stride()


def test_a_leaf_with_gaps_has_a_row_major_gradient() -> None:
    x = tt.ones(4, 6)[:, ::2].requires_grad_()
    x.exp().sum().backward()
    assert x.grad.stride() == (3, 1)
