"""The samples of operators as calls of torch, and what torch refuses to differentiate, each with its words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

import tt
from tests.plugins.autograd.calls import Call

__all__ = ["CONSTANT", "NEVER_COMPARED", "call_torch", "is_refusal", "to_torch"]

CONSTANT: Final = {
    "multi_margin_loss": ("weight",),
    "linear_cross_entropy": ("weight",),
    "soft_margin_loss": ("target",),
    "batch_norm": ("running_mean", "running_var"),
    "instance_norm": ("running_mean", "running_var"),
}
"""Arguments for which torch refuses to have a gradient."""

REFUSED: Final = (
    ("*", "does not support automatic differentiation for outputs with complex dtype"),
    ("*_foreach_add*", "expected type .* but got type"),
    # Kernels that torch has for real numbers only.
    ("max_unpool*", "not implemented for 'ComplexDouble'"),
    ("index_reduce", "not implemented for 'ComplexDouble'"),
    # Its backward pass meets a number of elements or dimensions that it does not expect.
    ("pixel_shuffle", "PixelShuffleBackward0 returned an invalid gradient"),
    ("scatter*", r"Scatter\w*Backward0 returned an invalid gradient"),
    ("scatter_reduce", "The size of tensor a .* must match the size of tensor b"),
    ("logsumexp", r"output with shape \[\] doesn't match the broadcast shape"),
    ("embedding_dense_backward", "cannot reshape tensor of 0 elements"),
    ("_ctc_loss", "log_probs tensor must not be empty"),
    ("nll_loss", r"size mismatch \(got input: \[\d+\], target: \[1\]\)"),
    ("cross_entropy", r"size mismatch \(got input: \[\d+\], target: \[1\]\)"),
    ("lu_unpack", "triu: input tensor must have at least 2 dimensions"),
    ("lu_unpack", r"start \(0\) \+ length \(2\) exceeds dimension size \(0\)"),
    ("*fft_*", "MKL FFT error|INTERNAL ASSERT FAILED"),  # no elements
    ("dist", "Expected a proper Tensor but got None"),
    ("index_fill", "INDICES element is out of DATA bounds"),
    # It computes parts of these gradients in the dtype of an integer argument.
    ("addcdiv", "result type Float can't be cast to the desired output type"),
    ("logaddexp*", "Subtraction, the `-` operator, with a bool tensor"),
    ("mish_backward", "result type Double can't be cast to the desired output type"),
    # Its results in place cannot be differentiated.
    ("linalg_cond*", "modified by an inplace operation"),
    ("view_as_complex*", "Tensor must have a last dimension with stride 1"),
)
"""Operator (a pattern) and words (a regular expression): where torch raises although the call is right."""

COMPLEX: Final = (
    "nan_to_num", "zero", "select_scatter", "slice_scatter", "scatter_reduce", "index_reduce", "_embedding",
    "embedding", "embedding_dense_backward", "native_dropout_backward", "bilinear", "silu", "silu.inplace",
    "silu_backward", "max_unpool1d", "max_unpool2d", "max_unpool3d", "conv_tbc", "select_copy", "slice_copy",
    "affine_grid_generator", "_pack_padded_sequence",
)  # fmt: skip

NEVER_COMPARED: Final = frozenset((name, "complex128") for name in COMPLEX) | {
    ("view_as_complex_copy", "float64")
}
"""Operators and dtypes of whose samples torch differentiates none."""


def is_refusal(name: str, error: Exception) -> bool:
    """Return whether an error of torch is one of those that are known."""
    return any(fnmatchcase(name, pattern) and re.search(words, str(error)) for pattern, words in REFUSED)


def to_torch(value: Any) -> Any:
    import torch

    if isinstance(value, tt.Tensor):
        return torch.from_numpy(np.array(value.detach().numpy()))
    if isinstance(value, tt.dtype):
        return getattr(torch, value.name)
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in value]
    return value


def call_torch(call: Call, tensors: list[Any]) -> Any:
    """Return the results of torch for the differentiable tensors of a call."""
    import torch

    definition = call.definition
    base = definition.signature.name
    arguments = definition.signature.arguments
    args = call.fill(tensors, to_torch)
    if definition.name in TRANSLATED:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Casting complex values to real"
            )  # inside of torch's norm, for p=0
            return TRANSLATED[definition.name](*args)
    changes = not definition.signature.returns
    if changes:  # leaves cannot be changed
        args[0] = [tensor.clone() for tensor in args[0]]
    if base in FUNCTIONAL or definition.module == "nn.functional":
        named = {a.name: v for a, v in zip(arguments, args, strict=True)}
        if "self" in named:
            named["input"] = named.pop("self")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's about the later mean of kl_div
            return getattr(torch.nn.functional, definition.python_name)(**named)
    positional = [v for a, v in zip(arguments, args, strict=True) if not a.keyword_only]
    keywords = {a.name: v for a, v in zip(arguments, args, strict=True) if a.keyword_only}
    keywords = {
        k: v for k, v in keywords.items() if k not in ("memory_format", "layout", "device") and v is not None
    }
    if base == "where":
        positional = [positional[0], *(torch.as_tensor(v) for v in positional[1:])]
    if base in ("svd", "linalg_svd"):
        keywords.pop("driver", None)
    if not hasattr(torch.ops.aten, NAMES_IN_TORCH.get(base, base)):
        return getattr(torch.Tensor, base)(*positional, **keywords)
    found = getattr(torch.ops.aten, NAMES_IN_TORCH.get(base, base))(*positional, **keywords)
    return args[0] if changes else found


FUNCTIONAL: Final = {
    "gelu", "nll_loss", "cross_entropy", "layer_norm", "linear", "embedding", "mse_loss", "avg_pool1d",
}  # fmt: skip
NAMES_IN_TORCH: Final = {"T": "numpy_T", "H": "matrix_H"}


def _of(name: str) -> Callable[..., Any]:
    """Return torch's function of a name: it parses arguments that the operators in torch.ops do not take."""

    def called(*args: Any) -> Any:
        import torch

        return getattr(torch, name)(*args)

    return called


def _backward(name: str, change: Callable[[Any], Any] = lambda x: x, divisor: int = 1) -> Callable[..., Any]:
    """Return the gradient of an activation, which torch can differentiate unlike its own function for it."""

    def called(gradient: Any, self: Any) -> Any:
        import torch

        gradient, at = torch.broadcast_tensors(gradient, self)
        if not at.requires_grad:
            at = at.to(gradient.dtype).requires_grad_()
        result = getattr(torch.nn.functional, name)(change(at)) / divisor
        return torch.autograd.grad(result, at, gradient, create_graph=True)[0]

    return called


def _fourier(name: str) -> Callable[..., Any]:
    def called(self: Any, dim: Any, norm: str, *rest: Any) -> Any:
        import torch

        if name != "_fft_r2c" and not self.is_complex():
            self = self.to(torch.complex128)
        forward = name == "_fft_r2c" or (name == "_fft_c2c" and rest[0])
        mode = 1 if norm == "ortho" else 0 if (norm == "backward") == forward else 2
        return getattr(torch.ops.aten, name)(self, dim, mode, *(rest or (True,)))

    return called


def _embedding(weight: Any, indices: Any, padding: Any, scaled: Any, _: Any) -> Any:
    import torch

    return torch.ops.aten.embedding(weight, indices, -1 if padding is None else padding, scaled)


def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    weights: Any,
    mode: Any,
    last: Any,
    padding: Any,
    scaled: Any,
    _: Any,
) -> Any:
    import torch

    return torch.nn.functional.embedding_bag(
        indices, weight, offsets, mode=mode, per_sample_weights=weights, include_last_offset=last,
        padding_idx=padding, scale_grad_by_freq=scaled,
    )  # fmt: skip


def _remainder(number: Any, other: Any) -> Any:
    import torch

    return torch.remainder(torch.tensor(number, dtype=other.dtype), other)


def _scatter(self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    import torch

    src = src if isinstance(src, torch.Tensor) else torch.full(index.shape, src, dtype=self.dtype)
    if reduce == "add":
        return self.scatter_add(dim, index, src)
    if not self.is_complex():
        return self.scatter_reduce(dim, index, src, "prod")
    # One element after the other: torch has no product of complex numbers there.
    for place in np.ndindex(*index.shape):
        at = list(place)
        if at:
            at[dim] = int(index[place])
        mask = torch.zeros_like(self, dtype=torch.bool)
        mask[tuple(at)] = True
        self = torch.where(mask, self * src[place], self)
    return self


def _soft_margin_loss(input: Any, target: Any, average: Any, reduce: Any, reduction: str) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nn.functional.soft_margin_loss(
            input, target, size_average=average, reduce=reduce, reduction=reduction
        )


def _vander(x: Any, n: Any, increasing: bool) -> Any:
    import torch

    powers = x[:, None] ** torch.arange(len(x) if n is None else n)
    return powers if increasing else powers.flip(1)


def _lp_pool1d(x: Any, norm_type: float, size: Any, stride: Any, ceil_mode: bool) -> Any:
    """Give torch numbers: it multiplies by the size, and repeats a list of one."""
    import torch

    numbers = [value[0] if isinstance(value, list | tuple) else value for value in (size, stride)]
    return torch.nn.functional.lp_pool1d(x, norm_type, *numbers, ceil_mode)


TRANSLATED: Final[dict[str, Callable[..., Any]]] = {
    "norm": lambda self, p, dim, keepdim, dtype: _of("norm")(self, p, dim, keepdim, None, dtype),
    "norm.Scalar": lambda self, p, dim, keepdim, dtype: _of("norm")(self, p, dim, keepdim, None, dtype),
    "sort": lambda self, dim, descending, stable: _of("sort")(self, dim, descending),
    "tensordot": _of("tensordot"),
    "tensordot.dims": _of("tensordot"),
    "cdist": _of("cdist"),
    "remainder.Scalar": _remainder,
    "scatter.reduce": _scatter,
    "scatter.value_reduce": _scatter,
    "soft_margin_loss": _soft_margin_loss,
    "vander": _vander,
    "_embedding": _embedding,
    "_embedding_bag": _embedding_bag,
    "_fft_c2c": _fourier("_fft_c2c"),
    "_fft_r2c": _fourier("_fft_r2c"),
    "_fft_c2r": _fourier("_fft_c2r"),
    "_addmm_activation": lambda self, a, b, beta, alpha, use_gelu: (_gelu if use_gelu else _of("relu"))(
        _addmm(self, a, b, beta, alpha)
    ),
    "lp_pool1d": _lp_pool1d,
    **{f"_max_pool{dims}d": _of(f"max_pool{dims}d") for dims in (1, 2, 3)},
    "relu.inplace": lambda self, inplace: _of("relu")(self),
    "softmax.implicit": lambda self, dim, level, dtype: _implicit("softmax", self, dim, dtype),
    "log_softmax.implicit": lambda self, dim, level, dtype: _implicit("log_softmax", self, dim, dtype),
    "silu_backward": _backward("silu"),
    "mish_backward": _backward("mish"),
    "hardsigmoid_backward": _backward("relu6", lambda x: x + 3, 6),
    "log_sigmoid_backward": _backward("logsigmoid"),
    "leaky_relu_backward": lambda g, self, slope: _aten("leaky_relu_backward")(g, self, slope, False),
    "elu_backward": lambda g, self, *factors: _aten("elu_backward")(g, *factors, False, self),
}
"""Operators that torch has with other arguments, or without a gradient that its other functions have."""


def _aten(name: str) -> Callable[..., Any]:
    import torch

    function: Callable[..., Any] = getattr(torch.ops.aten, name)
    return function


def _gelu(x: Any) -> Any:
    import torch

    return torch.nn.functional.gelu(x, approximate="tanh")


def _addmm(self: Any, a: Any, b: Any, beta: Any, alpha: Any) -> Any:
    import torch

    return torch.addmm(self, a, b, beta=beta, alpha=alpha)


def _implicit(name: str, self: Any, dim: Any, dtype: Any) -> Any:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(torch.nn.functional, name)(self, dim=dim, dtype=dtype)
