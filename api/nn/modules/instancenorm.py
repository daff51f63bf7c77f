"""Instance normalisation: mean 0 and variance 1 of each channel of each example."""

from __future__ import annotations

from typing import Any, ClassVar

import tt
import tt.nn.functional as F
from tt.library import warn_user
from tt.nn.modules.batchnorm import LazyNorm, _NormBase
from tt.types import Device

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    """Normalisation of (C, ...) or (N, C, ...), without batch and with it."""

    momentum: float
    _unbatched: ClassVar[int]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input; in training, its statistics enter the running ones, if there are any."""
        self._check_input_dim(input)
        dim = input.dim() - self._unbatched
        if input.shape[dim] != self.num_features:
            size = input.shape[dim]
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                    f"but got: {size}."
                )
            # Without affine nothing has this size, so PyTorch only warns.
            warn_user(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False",
            )
        unbatched = input.dim() == self._unbatched
        result = F.instance_norm(
            input.unsqueeze(0) if unbatched else input,
            self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats, self.momentum, self.eps,
        )  # fmt: skip
        return result.squeeze(0) if unbatched else result

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        # Checkpoints of PyTorch before 0.4 always have these buffers and no version; PyTorch refuses them
        # with this advice.
        if version is None and not self.track_running_stats:
            names = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if names:
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {' and '.join(repr(name) for name in names)} for "
                    f"{type(self).__name__} with track_running_stats=False. If state_dict is a checkpoint saved "
                    "before running statistics could be left out, remove these keys from it."
                )
                for name in names:
                    del state_dict[name]
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of each sequence: (N, C, L) or (C, L); the shape stays.

    Source: Ulyanov et al., Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.InstanceNorm1d(1, eps=0.0)(tt.tensor([[1.0, 3.0]])).tolist()
    [[-1.0, 1.0]]
    """

    _ranks = (2, 3)
    _unbatched = 2


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of each image: (N, C, H, W) or (C, H, W); the shape stays.

    Source: Ulyanov et al., Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.InstanceNorm2d(3)(tt.zeros(2, 3, 4, 4)).shape
    tt.Size([2, 3, 4, 4])
    """

    _ranks = (3, 4)
    _unbatched = 3


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of each volume: (N, C, D, H, W) or (C, D, H, W); the shape stays.

    Source: Ulyanov et al., Instance Normalization: The Missing Ingredient for Fast Stylization, 2016.

    Examples
    --------
    >>> import tt
    >>> tt.nn.InstanceNorm3d(3)(tt.zeros(2, 3, 4, 4, 4)).shape
    tt.Size([2, 3, 4, 4, 4])
    """

    _ranks = (4, 5)
    _unbatched = 4


# --- their lazy forms ------------------------------------------------------------------------------------------


class _LazyInstanceNorm(LazyNorm, _InstanceNorm):
    momentum: float

    def _channel(self, input: tt.Tensor) -> int:
        self._check_input_dim(input)
        return input.dim() - self._unbatched


class LazyInstanceNorm1d(_LazyInstanceNorm):
    """An `InstanceNorm1d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyInstanceNorm1d()
    >>> layer(tt.zeros(2, 3, 4)).shape, layer.num_features
    (tt.Size([2, 3, 4]), 3)
    """

    cls_to_become = InstanceNorm1d
    _ranks = (2, 3)
    _unbatched = 2


class LazyInstanceNorm2d(_LazyInstanceNorm):
    """An `InstanceNorm2d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyInstanceNorm2d()
    >>> layer(tt.zeros(2, 3, 4, 4)).shape, layer.num_features
    (tt.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm2d
    _ranks = (3, 4)
    _unbatched = 3


class LazyInstanceNorm3d(_LazyInstanceNorm):
    """An `InstanceNorm3d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyInstanceNorm3d()
    >>> layer(tt.zeros(2, 3, 4, 4, 4)).shape, layer.num_features
    (tt.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = InstanceNorm3d
    _ranks = (4, 5)
    _unbatched = 4
