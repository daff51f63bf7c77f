"""Batch normalisation: mean 0 and variance 1 of each channel over a batch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar

import tt
import tt.nn.functional as F
from tt.nn import init, parameter
from tt.nn.modules.lazy import LazyModuleMixin
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

if TYPE_CHECKING:
    from tt.distributed.process_group import ProcessGroup

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyNorm",
    "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """The base of batch and instance normalisation: a weight, a bias and running statistics, each (num_features,)."""

    _version = 2
    num_features: int
    weight: Parameter | None
    bias: Parameter | None
    if TYPE_CHECKING:  # texts that only this module could resolve: `typing.get_type_hints` of libraries
        running_mean: tt.Tensor | None
        running_var: tt.Tensor | None
        num_batches_tracked: tt.Tensor | None
    _ranks: ClassVar[tuple[int, ...]]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, enabled in (("weight", affine), ("bias", affine and bias)):
            new = Parameter(tt.empty(num_features, device=device, dtype=dtype)) if enabled else None
            self.register_parameter(name, new)
        if track_running_stats:
            self.register_buffer("running_mean", tt.zeros(num_features, device=device, dtype=dtype))
            self.register_buffer("running_var", tt.ones(num_features, device=device, dtype=dtype))
            self.register_buffer("num_batches_tracked", tt.tensor(0, device=device, dtype=tt.int64))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches: mean 0, variance 1."""
        if self.track_running_stats:
            for name, value in (("running_mean", 0), ("running_var", 1), ("num_batches_tracked", 0)):
                getattr(self, name).fill_(value)

    def reset_parameters(self) -> None:
        """Forget the batches, and set the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: tt.Tensor) -> None:
        if input.dim() not in self._ranks:
            ranks = " or ".join(f"{rank}D" for rank in self._ranks)
            raise ValueError(f"expected {ranks} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        """Return the arguments."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        # State dicts without the number of batches are from before version 2.
        name = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and name not in state_dict:
            own = self.num_batches_tracked
            # A module on meta has no number to keep, so loading starts from 0.
            known = own is not None and own.device.type != "meta"
            state_dict[name] = own if known else tt.tensor(0, dtype=tt.int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the normalised input; in training, its statistics enter the running ones."""
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            # In place, because the buffer may be shared with a copy or a state dict.
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches
                factor = 1.0 / float(self.num_batches_tracked)
        # Without running statistics, evaluation too uses those of the batch.
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        # In training, running statistics that are not tracked must not be updated.
        tracked = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            of_batch,
            factor,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Normalise each channel over a batch: (N, C) or (N, C, L); the shape stays.

    In evaluation, the running mean and variance of the training batches take the place of the batch's.  Source: Ioffe
    and Szegedy, Batch Normalization, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.BatchNorm1d(1)(tt.tensor([[1.0], [3.0]]))
    tensor([[-1.0000],
            [ 1.0000]], grad_fn=<BatchNormBackward0>)
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalise each channel over a batch of images: (N, C, H, W); the shape stays.

    Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.BatchNorm2d(3)(tt.zeros(2, 3, 4, 4)).shape
    tt.Size([2, 3, 4, 4])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalise each channel over a batch of volumes: (N, C, D, H, W); the shape stays.

    Source: Ioffe and Szegedy, Batch Normalization, 2015.

    Examples
    --------
    >>> import tt
    >>> tt.nn.BatchNorm3d(3)(tt.zeros(2, 3, 4, 4, 4)).shape
    tt.Size([2, 3, 4, 4, 4])
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over the batches of all processes: (N, C, ...); in one process, that of `BatchNorm1d`.

    In training, mean and variance are those of what all ranks of the group hold, which may be different numbers of
    rows.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As of `BatchNorm1d`.
    process_group : ProcessGroup, optional
        The ranks; by default all.

    Examples
    --------
    >>> import tt
    >>> model = tt.nn.SyncBatchNorm.convert_sync_batchnorm(tt.nn.Sequential(tt.nn.BatchNorm2d(3)))
    >>> type(model[0]).__name__
    'SyncBatchNorm'
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: ProcessGroup | None = None,
        device: Device = None,
        dtype: tt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: tt.Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the input, normalised by the statistics of all ranks."""
        of_batch = self.training or (self.running_mean is None and self.running_var is None)
        distributed = sys.modules.get("tt.distributed")  # who has not imported it has no group
        if not of_batch or distributed is None or not distributed.is_initialized():
            return super().forward(input)
        if distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        # Two sums over ranks, the second of squared distances from the mean: those of squares lose the digits.
        from tt.distributed.nn.functional import all_reduce as add  # in a job only

        dims = [0, *range(2, input.dim())]
        shape = [1, -1] + [1] * (input.dim() - 2)
        # Sums in half precision would stop growing.
        x = input.float() if input.dtype in (tt.float16, tt.bfloat16) else input
        rows = x.new_full((1,), float(input.numel() // input.shape[1]))
        # The number of rows travels with the sums, which saves a second communication.
        sums = add(tt.cat([x.sum(dims), rows]), group=self.process_group)
        count = sums[-1].detach()
        if count.item() <= 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.size()}"
            )
        mean = sums[:-1] / count
        centered = x - mean.view(shape)
        var = add(centered.square().sum(dims), group=self.process_group) / count
        # The running variance is that of a sample, over n - 1; the input is normalised by the one over n.
        self._update(mean.detach(), (var * (count / (count - 1))).detach())
        result = centered * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            result = result * self.weight.view(shape)
        if self.bias is not None:
            result = result + self.bias.view(shape)
        return result.to(input.dtype)

    def _update(self, mean: tt.Tensor, var: tt.Tensor) -> None:
        """Let the statistics of a batch enter the running ones."""
        if (
            not (self.training and self.track_running_stats)
            or self.running_mean is None
            or self.running_var is None
        ):
            return
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        factor = 1.0 / float(self.num_batches_tracked or 1) if self.momentum is None else self.momentum
        with tt.no_grad():
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), factor)
            self.running_var.lerp_(var.to(self.running_var.dtype), factor)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: ProcessGroup | None = None) -> Module:
        """Return a module whose batch normalisations are replaced by this class, with their parameters."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                process_group, bias=module.bias is not None,
            )  # fmt: skip
            # The same objects, so that an optimizer that has the parameters goes on with them.
            for name in ("weight", "bias"):
                converted.register_parameter(name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                converted.register_buffer(name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# --- their lazy forms ------------------------------------------------------------------------------------------


class LazyNorm(LazyModuleMixin, _NormBase):
    """A normalisation that takes the number of channels from its first input."""

    weight: parameter.UninitializedParameter | None
    bias: parameter.UninitializedParameter | None

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        # Without parameters and statistics first: their number is not known.
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=bias)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = parameter.UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = parameter.UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = parameter.UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = parameter.UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = tt.tensor(0, device=device, dtype=tt.int64)

    def reset_parameters(self) -> None:
        """Set statistics, weight and bias, if their shapes are known."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: tt.Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of channels from an input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = int(input.shape[self._channel(input)])
        for part in (self.weight, self.bias, self.running_mean, self.running_var):
            if isinstance(part, parameter.UninitializedParameter | parameter.UninitializedBuffer):
                part.materialize((self.num_features,))
        self.reset_parameters()

    def _channel(self, input: tt.Tensor) -> int:
        """Return the dimension of the channels."""
        return 1


class LazyBatchNorm1d(LazyNorm, _BatchNorm):
    """A `BatchNorm1d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyBatchNorm1d()
    >>> layer(tt.zeros(2, 3)).shape, layer.num_features
    (tt.Size([2, 3]), 3)
    """

    cls_to_become = BatchNorm1d
    _ranks = (2, 3)


class LazyBatchNorm2d(LazyNorm, _BatchNorm):
    """A `BatchNorm2d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyBatchNorm2d()
    >>> layer(tt.zeros(2, 3, 4, 4)).shape, layer.num_features
    (tt.Size([2, 3, 4, 4]), 3)
    """

    cls_to_become = BatchNorm2d
    _ranks = (4,)


class LazyBatchNorm3d(LazyNorm, _BatchNorm):
    """A `BatchNorm3d` that takes `num_features` from its first input.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LazyBatchNorm3d()
    >>> layer(tt.zeros(2, 3, 4, 4, 4)).shape, layer.num_features
    (tt.Size([2, 3, 4, 4, 4]), 3)
    """

    cls_to_become = BatchNorm3d
    _ranks = (5,)
