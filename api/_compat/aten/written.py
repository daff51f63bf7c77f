"""PyTorch's overloads whose arguments or results differ from those of tt's operators, as functions of tt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import tt
from tt import Tensor
from tt.nn import functional as F

__all__ = ["NEARLY", "WRITTEN"]

NEARLY: Final[dict[str, str]] = {
    # PyTorch's programs give alpha by keyword, as tt's operator takes it.
    "add.Scalar": "add", "add_.Scalar": "add", "sub.Scalar": "sub", "sub_.Scalar": "sub", "rsub.Scalar": "rsub",
    # tt's operators take several dims, and one alone, too.
    "any.dim": "any.dim", "all.dim": "all.dim", "squeeze.dim": "squeeze.dim", "squeeze_.dim": "squeeze.dim",
    "squeeze_copy.dim": "squeeze_copy.dim",
    # The default stands for int64 in tt, or for a step that must be given there.
    "randperm": "randperm", "randint": "randint", "randint.low": "randint.low", "tril_indices": "tril_indices",
    "triu_indices": "triu_indices", "arange.start_step": "arange.start_step",
    # What PyTorch's schema has beyond tt's is never given by programs: implicit=, pin_memory=.
    "expand": "expand", "_to_copy": "_to_copy",
    "var.correction": "var", "std.correction": "std",
    "var_mean.correction": "var_mean", "std_mean.correction": "std_mean",
    "elu": "elu",
    "adaptive_avg_pool1d": "adaptive_avg_pool1d", "adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "adaptive_avg_pool3d": "adaptive_avg_pool3d", "_adaptive_avg_pool2d": "adaptive_avg_pool2d",
    "_adaptive_avg_pool3d": "adaptive_avg_pool3d",
    "avg_pool1d": "avg_pool1d", "avg_pool2d": "avg_pool2d", "avg_pool3d": "avg_pool3d",
    "max_pool2d_with_indices": "max_pool2d_with_indices", "max_pool3d_with_indices": "max_pool3d_with_indices",
    "_unsafe_view": "view", "_local_scalar_dense": "item", "_conj": "conj",
}  # fmt: skip
"""Overloads that an operator of tt serves although the schemas differ: as programs call them, they mean the same."""

_REDUCTIONS: Final = ("none", "mean", "sum")


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Tensor:  # fmt: skip
    dims = input.ndim - 2
    if transposed:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[dims - 1]
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return (F.conv1d, F.conv2d, F.conv3d)[dims - 1](input, weight, bias, stride, padding, dilation, groups)


def _loss(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def loss(self: Tensor, target: Tensor, reduction: int = 1, **options: Any) -> Tensor:
        return function(self, target, reduction=_REDUCTIONS[reduction], **options)

    return loss


def _weighted_loss(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def loss(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = 1,
        *rest: Any,
        **options: Any,
    ) -> Tensor:
        names = ("ignore_index", "label_smoothing")
        options |= dict(zip(names, rest, strict=False))
        return function(self, target, weight=weight, reduction=_REDUCTIONS[reduction], **options)

    return loss


def _bce_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    return F.binary_cross_entropy_with_logits(
        self, target, weight, reduction=_REDUCTIONS[reduction], pos_weight=pos_weight
    )


def _softmax(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        return function(self, dim, dtype=tt.float32) if half_to_float else function(self, dim)

    return softmax


def _statistic(function: Callable[..., Any]) -> Callable[..., Any]:
    def statistic(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Any:
        return function(self, dim, correction=int(unbiased), keepdim=keepdim)

    return statistic


def _all_statistic(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, unbiased=True: function(self, correction=int(unbiased))


def _padded(mode: str) -> Callable[..., Tensor]:
    return lambda self, padding: F.pad(self, padding, mode=mode)


def _resized(mode: str, aligns: bool) -> Callable[..., Tensor]:
    if aligns:

        def resize(input: Tensor, output_size: Any, align_corners: bool, scale_factors: Any) -> Tensor:
            return F.interpolate(input, output_size, scale_factors, mode=mode, align_corners=align_corners)

        return resize
    return lambda input, output_size, scale_factors: F.interpolate(
        input, output_size, scale_factors, mode=mode
    )


def _to(self: Tensor, *, device: Any = None, dtype: Any = None, copy: bool = False, **options: Any) -> Tensor:
    return self.to(
        device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype, copy=copy,
        non_blocking=options.get("non_blocking", False), memory_format=options.get("memory_format"),
    )  # fmt: skip


def _assert_async(self: Tensor, assert_msg: str = "the values of a tensor are not all true") -> None:
    if not bool(self.all()):
        raise RuntimeError(assert_msg)


def _sparse_addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return tt.sparse.addmm(self, mat1, mat2, beta=beta, alpha=alpha)


WRITTEN: Final[dict[str, Callable[..., Any]]] = {
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor": _sparse_addmm,
    # Python values.
    "size(Tensor self) -> int[]": lambda self: list(self.shape),
    "size.int(Tensor self, int dim) -> int": lambda self, dim: self.size(dim),
    "stride(Tensor self) -> int[]": lambda self: list(self.stride()),
    "stride.int(Tensor self, int dim) -> int": lambda self, dim: self.stride(dim),
    "dim(Tensor self) -> int": lambda self: self.ndim,
    "numel(Tensor self) -> int": lambda self: self.numel(),
    "sym_size(Tensor self) -> SymInt[]": lambda self: list(self.shape),
    "sym_size.int(Tensor self, int dim) -> SymInt": lambda self, dim: self.size(dim),
    "sym_stride(Tensor self) -> SymInt[]": lambda self: list(self.stride()),
    "sym_stride.int(Tensor self, int dim) -> SymInt": lambda self, dim: self.stride(dim),
    "sym_numel(Tensor self) -> SymInt": lambda self: self.numel(),
    "sym_storage_offset(Tensor self) -> SymInt": lambda self: self.storage_offset(),
    "storage_offset(Tensor self) -> int": lambda self: self.storage_offset(),
    "is_contiguous(Tensor self) -> bool": lambda self: self.is_contiguous(),
    "is_floating_point(Tensor self) -> bool": lambda self: self.is_floating_point(),
    "is_complex(Tensor self) -> bool": lambda self: self.is_complex(),
    "_is_all_true(Tensor self) -> Tensor": lambda self: self.all(),
    "_is_any_true(Tensor self) -> Tensor": lambda self: self.any(),
    "_assert_async(Tensor self) -> ()": _assert_async,
    "_assert_async.msg(Tensor self, str assert_msg) -> ()": _assert_async,
    # Copies and views.
    "_pin_memory(Tensor self, Device? device=None) -> Tensor": lambda self, device=None: self.pin_memory(),
    "to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)": (
        lambda self, dtype, non_blocking=False, copy=False, memory_format=None: _to(
            self, dtype=dtype, non_blocking=non_blocking, copy=copy, memory_format=memory_format
        )
    ),
    "to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
    "MemoryFormat? memory_format=None) -> Tensor(a)": (
        lambda self, device, dtype, non_blocking=False, copy=False, memory_format=None: _to(
            self,
            device=device,
            dtype=dtype,
            non_blocking=non_blocking,
            copy=copy,
            memory_format=memory_format,
        )
    ),
    "to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
    "memory_format=None) -> Tensor(a)": (
        lambda self, other, non_blocking=False, copy=False, memory_format=None: _to(
            self,
            device=other.device,
            dtype=other.dtype,
            non_blocking=non_blocking,
            copy=copy,
            memory_format=memory_format,
        )
    ),
    "to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)": _to,
    "lift_fresh(Tensor(a) self) -> Tensor(a)": lambda self: self,
    "lift_fresh_copy(Tensor self) -> Tensor": lambda self: self.clone(),
    "lift(Tensor self) -> Tensor": lambda self: self,
    "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)": (
        lambda self, size, stride: self.as_strided(size, stride)
    ),
    "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor": lambda self, indices: tt.ops.index(
        self, indices
    ),
    "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor": (
        lambda self, indices, values, accumulate=False: tt.ops.index_put(self, indices, values, accumulate)
    ),
    # Activations and statistics.
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor": _softmax(tt.softmax),
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor": _softmax(tt.log_softmax),
    "var(Tensor self, bool unbiased=True) -> Tensor": _all_statistic(tt.var),
    "std(Tensor self, bool unbiased=True) -> Tensor": _all_statistic(tt.std),
    "var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)": _all_statistic(tt.var_mean),
    "std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)": _all_statistic(tt.std_mean),
    "var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor": _statistic(tt.var),
    "std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor": _statistic(tt.std),
    "var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)": (
        _statistic(tt.var_mean)
    ),
    "std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)": (
        _statistic(tt.std_mean)
    ),
    # Losses, whose reduction is a number in PyTorch's schemas.
    "mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor": _loss(F.mse_loss),
    "l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor": _loss(F.l1_loss),
    "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0) -> Tensor": (
        lambda self, target, reduction=1, beta=1.0: F.smooth_l1_loss(
            self, target, reduction=_REDUCTIONS[reduction], beta=beta
        )
    ),
    "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0) -> Tensor": (
        lambda self, target, reduction=1, delta=1.0: F.huber_loss(
            self, target, reduction=_REDUCTIONS[reduction], delta=delta
        )
    ),
    "soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor": _loss(F.soft_margin_loss),
    "kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor": _loss(
        F.kl_div
    ),
    "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor": (
        _weighted_loss(F.binary_cross_entropy)
    ),
    "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
    "reduction=1) -> Tensor": _bce_with_logits,
    "cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, "
    "float label_smoothing=0.0) -> Tensor": _weighted_loss(F.cross_entropy),
    "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor": (
        _weighted_loss(F.nll_loss)
    ),
    "nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
    "Tensor": (_weighted_loss(F.nll_loss)),
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) "
    "-> Tensor": (
        lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False: F.embedding(
            indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0, scale_grad_by_freq, sparse
        )
    ),
    # Windows.
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool "
    "transposed, SymInt[] output_padding, SymInt groups) -> Tensor": _convolution,
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool "
    "cudnn_enabled, bool allow_tf32) -> Tensor": lambda *arguments: _convolution(*arguments[:9]),
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
    "Tensor": F.unfold,
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> "
    "Tensor": F.fold,
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)": (
        lambda self, output_size: F.adaptive_max_pool1d(self, output_size, return_indices=True)
    ),
    "adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)": (
        lambda self, output_size: F.adaptive_max_pool2d(self, output_size, return_indices=True)
    ),
    "adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)": (
        lambda self, output_size: F.adaptive_max_pool3d(self, output_size, return_indices=True)
    ),
    **{
        f"reflection_pad{n}d(Tensor self, SymInt[{2 * n}] padding) -> Tensor": _padded("reflect")
        for n in (1, 2, 3)
    },
    **{
        f"replication_pad{n}d(Tensor self, SymInt[{2 * n}] padding) -> Tensor": _padded("replicate")
        for n in (1, 2, 3)
    },
    **{
        f"upsample_nearest{n}d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor": (
            _resized("nearest", aligns=False)
        )
        for n in (1, 2, 3)
    },
    **{
        f"upsample_{mode}.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> "
        "Tensor": (_resized(mode.rstrip("123d"), aligns=True))
        for mode in ("linear1d", "bilinear2d", "bicubic2d", "trilinear3d")
    },
    # Normalization.
    "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float momentum, float eps, bool cudnn_enabled) -> Tensor": (
        lambda input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled: (
            F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
        )
    ),
}
"""Schema in the namespace aten -> the function."""
