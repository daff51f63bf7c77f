"""PyTorch as a reference for conformance checks."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tt.core.types.dtype as dtypes
from tt.core.tensor.base import TensorBase
from tt.testing.references import as_array

torch = pytest.importorskip("torch")
F = torch.nn.functional


def contiguous(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets contiguous tensors, because PyTorch refuses or misreads others."""
    return lambda *args: function(*(a.contiguous() if isinstance(a, torch.Tensor) else a for a in args))


def exact(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that gets integers in double precision, because PyTorch's sums and differences wrap around."""
    return lambda *args, **named: function(
        *(
            t if t.is_floating_point() or t.is_complex() or t.dtype is torch.bool else t.double()
            for t in args
        ),
        **named,
    )


# What PyTorch has under another name, or only as an internal operator.
FUNCTIONS: dict[str, Any] = {
    "div.mode": torch.div,
    "div.optional_mode": torch.div,
    "index": torch.ops.aten.index.Tensor,
    "index_put": torch.ops.aten.index_put.default,
    "slice": torch.ops.aten.slice.Tensor,
    "split": torch.split,
    "split.sizes": torch.split,
    "nonzero.as_tuple": torch.nonzero,
    "_to_copy": torch.ops.aten._to_copy.default,
    "unique_dim": torch.ops.aten.unique_dim.default,
    "unique_consecutive": lambda self, inverse=False, counts=False, dim=None: torch.unique_consecutive(
        self, return_inverse=inverse, return_counts=counts, dim=dim
    ),
    "functional_unfold": F.unfold,
    "functional_fold": F.fold,
    # PyTorch takes the approximation of gelu by tanh on CUDA, as tt does everywhere, and the exact one on the CPU.
    "_addmm_activation": lambda self, mat1, mat2, beta=1, alpha=1, use_gelu=False: (
        F.gelu(torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha), approximate="tanh")
        if use_gelu
        else F.relu(torch.addmm(self, mat1, mat2, beta=beta, alpha=alpha))
    ),
    "copy": torch.Tensor.copy_,
    "to.device": lambda self, copy=False, dtype=None: self.to(dtype or self.dtype, copy=copy),
    "zero": torch.Tensor.zero_,
    "fill": torch.fill,
    "resize": torch.Tensor.resize_,
    "einsum.sublist": lambda operands: torch.einsum(*operands),
    "view.dtype": torch.Tensor.view,
    "unfold": torch.Tensor.unfold,
    "T": lambda self: self.T,
    "H": lambda self: self.H,
    "mT": lambda self: self.mT,
    "mH": lambda self: self.mH,
    **{f"{name}.data": contiguous(getattr(torch, name)) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "native_group_norm": contiguous(torch.native_group_norm),
    **{f"trapezoid{places}": exact(torch.trapezoid) for places in ("", ".x")},
    **{f"cumulative_trapezoid{places}": exact(torch.cumulative_trapezoid) for places in ("", ".x")},
}
BESSEL = "PyTorch's has eight digits between its zeros, and SciPy compares all of them"
# What PyTorch computes less exactly than the check expects, and the reason.
LESS_EXACT_IN_DOUBLE = {
    "igamma": "PyTorch's has nine digits where both arguments are large, and SciPy compares all of them",
    "igammac": "as igamma",
    "polygamma": "PyTorch's trigamma has nine digits, and SciPy compares all of them",
    "special_airy_ai": "PyTorch's has eight digits; the CPU's is SciPy's",
    **dict.fromkeys(
        ("special_bessel_j0", "special_bessel_j1", "special_bessel_y0", "special_bessel_y1"), BESSEL
    ),
}
LESS_EXACT = {
    "_standard_gamma_grad": "PyTorch approximates it to four digits; test_densities.py compares it with quantiles",
    "_dirichlet_grad": "as _standard_gamma_grad",
}
NOT_COMPARED = {
    "broadcast_shapes": "a shape is not a tensor; tests/operators compares it with PyTorch's",
    "_ctc_loss": "its second result, which only its gradient reads, has another layout and undefined elements in "
    "PyTorch; ctc_loss has the same samples",
}
LACKING = ("Promotion for uint16, uint32, uint64", "may not be a boolean tensor")
"""Texts of RuntimeErrors that say that PyTorch has a dtype, but not there."""


def find(definition: Any) -> Any:
    """Return PyTorch's function for an operator."""
    name = definition.name.split(".")[0]
    if definition.name in FUNCTIONS:
        return FUNCTIONS[definition.name]
    if name.startswith("fft_"):
        return getattr(torch.fft, name.removeprefix("fft_"))
    if name.startswith("linalg_"):
        return getattr(torch.linalg, name.removeprefix("linalg_"))
    if definition.module == "special":
        return getattr(torch.special, name.removeprefix("special_"))
    for place in (
        F if definition.module == "nn.functional" else torch,
        torch,
        F,
        torch.special,
        torch.Tensor,
    ):
        if hasattr(place, name):
            return getattr(place, name)
    return None


def to_torch(value: Any) -> Any:
    """Return the same argument for PyTorch."""
    if isinstance(value, TensorBase):
        array = as_array(value)
        if value.dtype is dtypes.bfloat16:  # bit by bit: a cast of PyTorch's may change the sign of NaN
            tensor = torch.from_numpy(array.copy().view(np.int16)).view(torch.bfloat16)
        elif value.dtype is dtypes.complex32:
            halves = np.ascontiguousarray(array).reshape(-1).view(np.float16).copy()
            parts = torch.from_numpy(halves).reshape(-1, 2)
            tensor = torch.empty(array.shape, dtype=torch.complex32)
            torch.view_as_real(tensor).copy_(parts.reshape(*array.shape, 2))
        else:
            tensor = torch.from_numpy(array.copy())
        result = torch.empty_strided(tuple(value.shape), tuple(value.stride()), dtype=tensor.dtype)
        return tensor if overlaps(value) else result.copy_(tensor)
    if isinstance(value, dtypes.dtype):
        return getattr(torch, value.name)
    if isinstance(value, list | tuple):
        return [to_torch(item) for item in value]
    return value


def overlaps(value: Any) -> bool:
    """Return whether elements of a tensor may share memory, so that PyTorch refuses to copy into its layout."""
    reach = 0
    for stride, size in sorted(zip(value.stride(), value.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def widened(value: Any) -> Any:
    """Return half precision as float32, and complex numbers of it as complex64."""
    if isinstance(value, torch.Tensor):
        if value.dtype is torch.complex32:
            return value.to(torch.complex64)
        return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
    return [widened(item) for item in value] if isinstance(value, list) else value


def to_arrays(value: Any) -> Any:
    """Return PyTorch's results as arrays."""
    if isinstance(value, torch.Tensor):
        found = value.detach().resolve_conj().resolve_neg()
        wide = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
        return found.to(wide.get(found.dtype, found.dtype)).numpy()
    if isinstance(value, list | tuple):
        return [to_arrays(item) for item in value]
    return value


def torch_reference(definition: Any, arguments: Any) -> Any:
    """Return what PyTorch makes of the call, as arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's about its own deprecations
        try:
            found = torch_call(definition, arguments)
            return found if found is NotImplemented else to_arrays(found)
        except (NotImplementedError, TypeError):
            return NotImplemented  # PyTorch (or NumPy on the way back) lacks the dtype there
        except RuntimeError as error:
            if any(text in str(error) for text in LACKING):
                return NotImplemented
            raise


def torch_call(definition: Any, arguments: Any, to_torch: Callable[[Any], Any] = to_torch) -> Any:
    """Return PyTorch's tensors, or NotImplemented where it has no such call."""
    function = find(definition)
    self = next(iter(arguments.values()))
    if function is None or (
        definition.name == "logsumexp" and (self.ndim == 0 or arguments["dim"] in ([], ()))
    ):
        return NotImplemented  # PyTorch fails there with keepdim
    if definition.name in LESS_EXACT or definition.name in NOT_COMPARED:
        return NotImplemented
    if definition.name in LESS_EXACT_IN_DOUBLE and dtypes.float64 in {
        t.dtype for t in arguments.values() if isinstance(t, TensorBase)
    }:
        return NotImplemented
    if definition.name == "special_airy_ai" and bool((self < -1e8).any()):
        return NotImplemented  # PyTorch gives NaN there, where the function oscillates towards zero
    if definition.module == "fft" and isinstance(self, TensorBase) and not self.numel():
        return NotImplemented  # the library that PyTorch uses refuses what has no elements
    tensors = [value for value in arguments.values() if isinstance(value, TensorBase)]
    half = {dtypes.float16, dtypes.bfloat16, dtypes.complex32} & {t.dtype for t in tensors}
    # tt computes half precision in float32 throughout; PyTorch's CPU rounds some intermediate results and scalars.
    widen = (
        bool(half)
        and definition.name not in ("view.dtype", "nextafter", "nan_to_num", "hash_tensor")  # of bits
        and "bool" not in definition.result  # comparisons round nothing
    )
    positional, named, changed = [], {}, []
    for argument in definition.signature.arguments:
        value = arguments[argument.name]
        if argument.name in (
            "device",
            "layout",
            "memory_format",
            "generator",
            "sparse_grad",
            "non_blocking",
        ):
            continue
        if argument.keyword_only or argument.name == "dtype":
            if value is not None:
                named[argument.name] = widened(to_torch(value)) if widen else to_torch(value)
        else:
            positional.append(widened(to_torch(value)) if widen else to_torch(value))
            if argument.alias is not None and argument.alias.write:
                changed += positional[-1] if isinstance(positional[-1], list) else [positional[-1]]
    while positional and positional[-1] is None:
        positional.pop()
    if definition.name in ("nll_loss", "cross_entropy") and len(positional) == 3:
        named["weight"] = positional.pop()
    if definition.name in ("view.dtype", "clamp") and "dtype" in named:
        positional.append(named.pop("dtype"))
    found = function(*positional, **named)
    # Functions without results are judged by their changed arguments.
    return found if definition.signature.returns else changed
