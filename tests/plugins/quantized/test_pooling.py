"""Pools, resampling and normalization, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tt
from tests.plugins.quantized.samples import EIGHT_BITS, LIMITS, assert_same, per_channel, per_tensor

# PyTorch announces once in a process that its quantized tensors are deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")

EXACT: dict[str, Any] = {
    "max_pool1d": lambda f, x: f.max_pool1d(x[0], 2), "max_pool2d": lambda f, x: f.max_pool2d(x, 3, 2, 1),
    "max_pool2d ceil": lambda f, x: f.max_pool2d(x, (2, 3), ceil_mode=True),
    "avg_pool1d": lambda f, x: f.avg_pool1d(x[0], 2),
    "avg_pool2d": lambda f, x: f.avg_pool2d(x, 3, 2, 1),
    "inside": lambda f, x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_avg_pool2d": lambda f, x: f.adaptive_avg_pool2d(x, 3),
    "adaptive_avg_pool3d": lambda f, x: f.adaptive_avg_pool3d(x, 2),
    "nearest": lambda f, x: f.interpolate(x, scale_factor=2),
    "nearest-exact": lambda f, x: f.interpolate(x, size=(7, 3), mode="nearest-exact"),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("dtype", LIMITS)
@pytest.mark.parametrize("name", EXACT)
def test_pools_give_pytorchs_integers(name: str, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    assert_same(*(EXACT[name](lib.nn.functional, per_tensor(lib, dtype)) for lib in (tt, torch)))


@pytest.mark.torch
@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("dtype", EIGHT_BITS)
def test_linear_resampling_differs_by_one_integer_at_most(dtype: str, align_corners: bool) -> None:
    torch = pytest.importorskip("torch")
    found = [
        lib.nn.functional.interpolate(
            per_tensor(lib, dtype), size=(11, 5), mode="bilinear", align_corners=align_corners
        )
        for lib in (tt, torch)
    ]
    assert_same(*found, off_by=1)


@pytest.mark.torch
def test_the_functions_of_the_package() -> None:
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tt, torch):
        x = per_tensor(lib, "quint8")
        found.append([
            lib.quantized_max_pool1d(x[0], 2), lib.quantized_max_pool1d(x[0], [2], [1], [1], [1], True),
            lib.quantized_max_pool2d(x, (2, 2)), lib.quantized_max_pool2d(x, 3, 1, 1, ceil_mode=True),
            lib.quantized_max_pool3d(x[None], [1, 2, 2], [1, 2, 2]),
        ])  # fmt: skip
    assert_same(*found)


@pytest.mark.torch
@pytest.mark.parametrize("dims", [4, 5])
def test_batch_norm_differs_by_one_integer_at_most(dims: int) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    weight, bias, mean, var = rng.uniform(0.5, 2, (4, 3)).astype(np.float32)
    found = []
    for lib in (tt, torch):
        x = per_tensor(lib, "quint8", shape=(2, 3, 4, 5, 6)[:dims])
        given = [lib.tensor(p) for p in (weight, bias, mean, var)]
        found.append(lib.quantized_batch_norm(x, *given, 1e-5, 0.5, 7))
    assert_same(*found, off_by=1)


def test_places_of_the_largest_elements() -> None:
    x = per_tensor(tt, "qint8")
    values, indices = tt.nn.functional.max_pool2d(x, 2, return_indices=True)
    flat = x.int_repr().flatten(2).gather(2, indices.flatten(2))
    assert flat.equal(values.int_repr().flatten(2))


def test_modules_of_pools_and_activations_take_quantized_tensors() -> None:
    model = tt.nn.Sequential(tt.nn.ReLU(), tt.nn.MaxPool2d(2), tt.nn.AvgPool2d(2), tt.nn.Flatten())
    found = model(per_tensor(tt, "quint8"))
    assert found.is_quantized and found.shape == (2, 3) and not found.requires_grad


@pytest.mark.parametrize(
    "call", [lambda: tt.quantized_max_pool2d(tt.ones(1, 2, 2), 2), lambda: tt.quantized_max_pool1d([1.0], 1),
             lambda: tt.quantized_batch_norm(tt.ones(1, 1, 1, 1), None, None, tt.ones(1), tt.ones(1), 0.0, 1.0, 0)]
)  # fmt: skip
def test_other_tensors_are_refused(call: Any) -> None:
    with pytest.raises(RuntimeError, match="expected a quantized tensor"):
        call()


def test_what_pools_of_quantized_tensors_do_not_do() -> None:
    with pytest.raises(NotImplementedError, match="bicubic"):
        tt.nn.functional.interpolate(per_tensor(tt, "quint8"), scale_factor=2, mode="bicubic")
    with pytest.raises(RuntimeError, match="one scale"):
        tt.nn.functional.max_pool2d(per_channel(tt, "quint8"), 2)
    with pytest.raises(RuntimeError, match="four or five dimensions"):
        tt.quantized_batch_norm(per_tensor(tt, "quint8")[0], None, None, tt.ones(3), tt.ones(3), 0.0, 1.0, 0)
