"""Modules that PyTorch's database lacks: how each is made in either library, and its input."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

import pytest

torch = pytest.importorskip("torch")

__all__ = ["MORE"]

Row = tuple[Callable[[Any], Any], tuple[Any, ...] | None]
"""What makes a module from a library's `nn`, and its input."""


def numbers(*shape: int, seed: int = 0) -> Any:
    """Return normally distributed numbers that need a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()


def pooled(dims: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest elements of windows and their places, which unpooling takes."""
    pool = getattr(torch.nn.functional, f"max_pool{dims}d")
    values, places = pool(numbers(2, 3, *(4,) * dims), 2, return_indices=True)
    return values.detach().requires_grad_(), places


def either(name: str, *shapes: tuple[int, ...], **options: Any) -> list[Row]:
    """Return rows with the default arguments and with others, for inputs of some shapes."""
    made = [lambda nn: getattr(nn, name)()]
    if options:
        made.append(lambda nn: getattr(nn, name)(**options))
    return [(make, (numbers(*shape),)) for make in made for shape in shapes]


def lazy(name: str, shape: tuple[int, ...], **options: Any) -> list[Row]:
    """Return rows of a lazy module."""
    return [(lambda nn: getattr(nn, name)(**options), (numbers(*shape),))]


A: Final = (numbers(4, 5, seed=1), numbers(4, 5, seed=2), numbers(4, 5, seed=3))
TOKENS: Final = torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])

MORE: Final[dict[str, list[Row]]] = {
    "AdaptiveLogSoftmaxWithLoss": [
        (lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6]), (numbers(4, 8), torch.tensor([0, 4, 9, 2]))),
        (
            lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5], div_value=2.0, head_bias=True),
            (numbers(3, 8), torch.tensor([0, 4, 9])),
        ),
        (lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 10, [5]), (numbers(8), torch.tensor(6))),
    ],
    "AlphaDropout": either("AlphaDropout", (3, 4), p=0.2),
    "ChannelShuffle": [(lambda nn: nn.ChannelShuffle(2), (numbers(1, 4, 2, 2),))],
    "Container": [(lambda nn: nn.Container(a=nn.Linear(2, 3), b=nn.ReLU()), None)],
    "CosineSimilarity": [
        (lambda nn: nn.CosineSimilarity(), A[:2]),
        (lambda nn: nn.CosineSimilarity(dim=0, eps=1e-3), A[:2]),
    ],
    # Without a gradient: torch.autograd.gradcheck refuses PyTorch's, tt's passes its gradcheck.
    "CrossMapLRN2d": [(lambda nn: nn.CrossMapLRN2d(3, 0.1, 0.5, 2.0), (numbers(2, 5, 3, 3).detach(),))],
    "DataParallel": [(lambda nn: nn.DataParallel(nn.Linear(5, 2)), (numbers(4, 5),))],
    "Dropout": either("Dropout", (3, 4), p=0.2),
    "Dropout1d": either("Dropout1d", (2, 3, 4), (3, 4), p=0.2),
    "Dropout2d": either("Dropout2d", (2, 3, 4, 4), p=0.2),
    "Dropout3d": either("Dropout3d", (2, 3, 2, 2, 2), p=0.2),
    "EmbeddingBag": [
        (lambda nn: nn.EmbeddingBag(10, 3), (TOKENS,)),
        (lambda nn: nn.EmbeddingBag(10, 3, mode="sum", padding_idx=2), (TOKENS,)),
        (lambda nn: nn.EmbeddingBag(10, 3, mode="max"), (TOKENS,)),
        (lambda nn: nn.EmbeddingBag(10, 3, mode="sum"), (TOKENS, None, numbers(2, 4))),
        (
            lambda nn: nn.EmbeddingBag(10, 3, max_norm=1.0, norm_type=1.0),
            (TOKENS.flatten(), torch.tensor([0, 3, 3])),
        ),
        # PyTorch divides the gradient of a row by how often another one occurs.
        (lambda nn: nn.EmbeddingBag(10, 3, norm_type=1.0, scale_grad_by_freq=True), None),
        (
            lambda nn: nn.EmbeddingBag(10, 3, mode="sum", include_last_offset=True, sparse=True),
            (TOKENS.flatten(), torch.tensor([0, 3, 8])),
        ),
    ],
    "FeatureAlphaDropout": either("FeatureAlphaDropout", (2, 3, 4), p=0.2),
    "Flatten": either("Flatten", (2, 3, 4), start_dim=0, end_dim=-2),
    "Fold": [(lambda nn: nn.Fold((4, 5), 2, dilation=1, padding=1, stride=(2, 1)), (numbers(2, 12, 18),))],
    "Hardsigmoid": either("Hardsigmoid", (3, 4), inplace=False),
    "Identity": [
        (lambda nn: nn.Identity(), (numbers(3),)),
        (lambda nn: nn.Identity(54, unused=0.1), (numbers(3),)),
    ],
    "LazyBatchNorm1d": lazy("LazyBatchNorm1d", (3, 4), eps=0.1, momentum=None),
    "LazyBatchNorm2d": lazy("LazyBatchNorm2d", (3, 4, 2, 2), affine=False),
    "LazyBatchNorm3d": lazy("LazyBatchNorm3d", (3, 4, 2, 2, 2)),
    "LazyInstanceNorm1d": lazy("LazyInstanceNorm1d", (3, 4, 5), affine=True),
    "LazyInstanceNorm2d": lazy("LazyInstanceNorm2d", (3, 4, 2, 2), track_running_stats=True),
    "LazyInstanceNorm3d": lazy("LazyInstanceNorm3d", (3, 4, 2, 2, 2)),
    "LazyLinear": [*lazy("LazyLinear", (3, 4), out_features=2), *lazy("LazyLinear", (4,), out_features=2, bias=False)],
    "MaxUnpool1d": [(lambda nn: nn.MaxUnpool1d(2), pooled(1))],
    "MaxUnpool2d": [(lambda nn: nn.MaxUnpool2d(2, 2), pooled(2)), (lambda nn: nn.MaxUnpool2d(2), (*pooled(2), (5, 5)))],
    "MaxUnpool3d": [(lambda nn: nn.MaxUnpool3d(2), pooled(3))],
    "Module": [(lambda nn: nn.Module(), None)],
    "ModuleDict": [
        (lambda nn: nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ModuleDict()}), None),
        (lambda nn: nn.ModuleDict([["b", nn.Linear(2, 3)], ["a", nn.ReLU()]]), None),
    ],
    "ModuleList": [
        (lambda nn: nn.ModuleList(nn.Linear(2, 3) for _ in range(12)), None),
        (lambda nn: nn.ModuleList([nn.Linear(2, 3), nn.ReLU(), nn.ReLU()]), None),
        (lambda nn: nn.ModuleList(), None),
    ],
    "NLLLoss2d": [(lambda nn: nn.NLLLoss2d(), (numbers(2, 3, 4, 4), torch.ones(2, 4, 4, dtype=torch.int64)))],
    "PairwiseDistance": [
        (lambda nn: nn.PairwiseDistance(), A[:2]),
        (lambda nn: nn.PairwiseDistance(p=1.0, eps=1e-3, keepdim=True), A[:2]),
    ],
    "ParameterDict": [(lambda nn: nn.ParameterDict({"b": parameter(nn, 2), "a": parameter(nn, 3, 1)}), None)],
    "ParameterList": [(lambda nn: nn.ParameterList([parameter(nn, 2), parameter(nn, 3, 1)]), None)],
    "PixelShuffle": [(lambda nn: nn.PixelShuffle(2), (numbers(2, 8, 3, 3),))],
    "PixelUnshuffle": [(lambda nn: nn.PixelUnshuffle(2), (numbers(2, 2, 4, 6),))],
    "RNNBase": [
        (lambda nn: nn.RNNBase("LSTM", 3, 4, 2, proj_size=2, bidirectional=True, dropout=0.1), None),
        (lambda nn: nn.RNNBase("GRU", 3, 4, bias=False, batch_first=True), None),
    ],
    "RNNCellBase": [
        (lambda nn: nn.RNNCellBase(3, 4, True, 2), None),
        (lambda nn: nn.RNNCellBase(3, 4, False, 1), None),
    ],
    "RReLU": either("RReLU", (3, 4), lower=0.2, upper=0.4),
    "Sequential": [
        (lambda nn: nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2)), (numbers(4, 5),)),
        (lambda nn: nn.Sequential(OrderedDict(a=nn.Linear(5, 3), b=nn.Sequential(nn.Tanh()))), (numbers(4, 5),)),
    ],
    "SyncBatchNorm": [(lambda nn: nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3, 0.1)), None)],
    "TransformerDecoder": [
        (
            lambda nn: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4)),
            (numbers(3, 2, 4), numbers(5, 2, 4, seed=1)),
        ),
    ],
    "TripletMarginLoss": [
        (lambda nn: nn.TripletMarginLoss(), A),
        (lambda nn: nn.TripletMarginLoss(2.0, 1.0, 1e-3, swap=True, reduction="none"), A),
    ],
    "TripletMarginWithDistanceLoss": [
        (lambda nn: nn.TripletMarginWithDistanceLoss(), A),
        (
            lambda nn: nn.TripletMarginWithDistanceLoss(
                distance_function=nn.PairwiseDistance(1.0), margin=2.0, swap=True, reduction="sum"
            ),
            A,
        ),
    ],
    "Unflatten": [
        (lambda nn: nn.Unflatten(1, (2, 3)), (numbers(2, 6),)),
        (lambda nn: nn.Unflatten(-1, [3, -1]), (numbers(2, 6),)),
    ],
    "Unfold": [(lambda nn: nn.Unfold((2, 3), padding=1, stride=2), (numbers(2, 3, 5, 6),))],
    "Upsample": [
        (lambda nn: nn.Upsample(scale_factor=2), (numbers(1, 2, 3),)),
        (lambda nn: nn.Upsample((4, 5), mode="bilinear", align_corners=True), (numbers(1, 2, 3, 3),)),
        (lambda nn: nn.Upsample(scale_factor=(1.5, 2.5), mode="bicubic"), (numbers(1, 2, 3, 3),)),
        (lambda nn: nn.Upsample(scale_factor=2.5, mode="nearest-exact"), (numbers(1, 2, 3, 3),)),
        (
            lambda nn: nn.Upsample(scale_factor=1.7, mode="trilinear", recompute_scale_factor=True),
            (numbers(1, 1, 3, 3, 3),),
        ),
    ],
    "UpsamplingBilinear2d": [(lambda nn: nn.UpsamplingBilinear2d(scale_factor=2), (numbers(1, 2, 3, 3),))],
    "UpsamplingNearest2d": [(lambda nn: nn.UpsamplingNearest2d((4, 5)), (numbers(1, 2, 3, 3),))],
}  # fmt: skip


def parameter(nn: Any, *shape: int) -> Any:
    """Return a parameter of ones."""
    made = nn.Linear(2, 1).weight
    return nn.Parameter(made.detach().new_ones(shape))
