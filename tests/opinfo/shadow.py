"""Repeats each call of PyTorch in tt, on the same arguments.

The operators of PyTorch's database are functions of `torch`, methods, operators and small lambdas around them.  While a
`Shadow` is active, every call that reaches PyTorch's own functions is made a second time in tt, under the same name; so
the meaning of a sample never has to be written down twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tt

torch = pytest.importorskip("torch")
import ml_dtypes  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402

MODULES = {
    "": torch,
    "linalg.": torch.linalg,
    "fft.": torch.fft,
    "special.": torch.special,
    "nn.functional.": torch.nn.functional,
}
# What tells about a tensor: asked on PyTorch's side alone.
ACCESSORS = frozenset(
    [
        "shape",
        "dtype",
        "device",
        "dim",
        "ndim",
        "size",
        "numel",
        "is_complex",
        "is_floating_point",
        "requires_grad",
        "requires_grad_",
        "layout",
        "is_sparse",
        "stride",
        "storage_offset",
        "is_contiguous",
        "grad_fn",
        "is_leaf",
        "data_ptr",
        "element_size",
        "nelement",
        "__len__",
        "is_signed",
        "is_conj",
        "is_neg",
        "_base",
        "_is_view",
        "is_cuda",
        "is_quantized",
        "is_nested",
        "is_mkldnn",
        "__bool__",
        "itemsize",
        "nbytes",
        "is_meta",
        "names",
        "retain_grad",
        "grad",
        "__repr__",
        "__format__",
        "__hash__",
        "_version",
        "data",
        "untyped_storage",
        "is_inference",
        "is_same_size",
        "__index__",
        "sym_float",
    ]
)


def _names() -> dict[Any, tuple[str, str]]:
    """Return how tt finds what PyTorch's function is called: (kind, name)."""
    found: dict[Any, tuple[str, str]] = {}
    for name in dir(torch.Tensor):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            member = getattr(torch.Tensor, name)
        if hasattr(member, "__get__") and type(member).__name__ in ("getset_descriptor", "property"):
            found[member.__get__] = ("property", name)
        elif callable(member):
            found.setdefault(member, ("method", name))
    for prefix, module in MODULES.items():
        for name in dir(module):
            member = getattr(module, name)
            if callable(member) and not isinstance(member, type) and not name.startswith("_"):
                try:
                    previous = found.get(member)
                except TypeError:
                    continue
                if previous is None or previous[0] != "function":
                    found[member] = ("function", prefix + name)
    return found


NAMES = _names()


def resolve(name: str) -> Any:
    """Return a function of tt by its dotted name, None when there is none."""
    found: Any = tt
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


# --- the same values -------------------------------------------------------------------------------------------

_DTYPES = {
    getattr(torch, name): getattr(tt, name)
    for name in [
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "complex32",
        "complex64",
        "complex128",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    ]
}


def same_dtype(dtype: Any) -> Any:
    """Return tt's dtype for PyTorch's."""
    return _DTYPES[dtype]


def to_tt(tensor: Any, memories: dict[Any, Any] | None = None) -> Any:
    """Return a tensor of tt with the same values, shape, strides and `requires_grad`.

    Tensors that share memory share it in tt, too, if they are converted with the same `memories`.
    """
    source = tensor.detach()
    if source._is_zerotensor():
        source = source.clone()
    source = source.resolve_conj().resolve_neg()
    if source.dtype not in _DTYPES:
        raise LookupError(f"tt has no {source.dtype}")
    memories = {} if memories is None else memories
    storage = source.untyped_storage()
    # Empty memory has no address, and is not shared.
    key = storage.data_ptr() or object(), source.dtype
    if key not in memories:
        count = storage.nbytes() // source.element_size()
        memories[key] = _from_flat(source.as_strided((count,), (1,), 0).clone())
    twin = (
        memories[key]
        .as_strided(tuple(source.shape), tuple(source.stride()), source.storage_offset())
        .detach()
    )
    if tensor.requires_grad:
        twin.requires_grad_(True)
    return twin


def _from_flat(flat: Any) -> Any:
    if flat.dtype is torch.bfloat16:
        return tt.from_numpy(flat.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    if flat.dtype is torch.complex32:
        return tt.from_numpy(flat.view(torch.int32).numpy().view(ml_dtypes.complex32))
    return tt.from_numpy(flat.numpy())


class Missing(Exception):  # noqa: N818  it names a gap of tt; it is not an error of the test
    """Raised when tt has no function or method of a name."""


class Shadow(TorchFunctionMode):
    """While active, repeats PyTorch's calls in tt.

    Attributes
    ----------
    calls : list of (callable, args, kwargs)
        The calls made in tt, in order.
    failure : exception or None
        The first error of tt.
    refused : bool
        Whether one of PyTorch's functions raised; a lambda or an operator around them may raise, too.
    """

    def __init__(self, name: str, rename: dict[str, str] | None = None) -> None:
        super().__init__()
        self.name = name
        self.twins: dict[int, Any] = {}
        self.memories: dict[Any, Any] = {}
        self._kept: list[Any] = []
        self.calls: list[tuple[Callable[..., Any], Any, Any]] = []
        self.failure: BaseException | None = None
        self.refused = False
        self.result: Any = None

    # --- twins -------------------------------------------------------------------------------------------------

    def pair(self, theirs: Any, ours: Any) -> None:
        """Remember that two results belong together."""
        if isinstance(theirs, torch.Tensor):
            self.twins[id(theirs)] = ours
            self._kept.append(theirs)
        elif isinstance(theirs, list | tuple) and isinstance(ours, list | tuple):
            for one, other in zip(theirs, ours, strict=False):
                self.pair(one, other)

    def ours(self, value: Any) -> Any:
        """Return the same argument for tt."""
        if isinstance(value, torch.Tensor):
            if id(value) not in self.twins:
                self.pair(value, to_tt(value, self.memories))
            return self.twins[id(value)]
        if isinstance(value, torch.dtype):
            if value not in _DTYPES:
                raise LookupError(f"tt has no {value}")
            return _DTYPES[value]
        if isinstance(value, torch.device):
            return str(value)
        if isinstance(value, torch.memory_format):
            return getattr(tt, str(value).removeprefix("torch."))
        if isinstance(value, torch.layout):
            return getattr(tt, str(value).removeprefix("torch."))
        if isinstance(value, torch.Size):
            return tt.Size(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return tuple(self.ours(item) for item in value)
        if isinstance(value, list | tuple):
            return type(value)(self.ours(item) for item in value)
        if isinstance(value, dict):
            return {key: self.ours(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self.ours(value.start), self.ours(value.stop), self.ours(value.step))
        if isinstance(value, torch.Generator):
            return tt.Generator().manual_seed(value.initial_seed())
        return value

    # --- calls -------------------------------------------------------------------------------------------------

    def find(self, func: Any) -> tuple[str, str]:
        """Return tt's function."""
        try:
            found = NAMES.get(func)
        except TypeError:
            found = None
        if found is None and getattr(func, "__name__", "") == "__get__":
            found = ("property", func.__self__.__name__)
        if found is None:
            return "function", self.name
        return found

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call PyTorch, then tt."""
        kwargs = kwargs or {}
        kind, name = self.find(func)
        if name.rpartition(".")[2] in ACCESSORS and self.name != name:
            return func(*args, **kwargs)
        # Converted before PyTorch's call, which may change its arguments.
        ours_args = ours_kwargs = None
        if self.failure is None:
            ours_args, ours_kwargs = self.ours(tuple(args)), self.ours(kwargs)
        try:
            theirs = func(*args, **kwargs)
        except Exception:
            self.refused = True
            self.attempt(kind, name, ours_args, ours_kwargs)
            raise
        if self.failure is None:
            self.result = self.attempt(kind, name, ours_args, ours_kwargs)
            self.pair(theirs, self.result)
        return theirs

    def attempt(self, kind: str, name: str, args: Any, kwargs: Any) -> Any:
        """Make the call in tt; keep its error."""
        if args is None:
            return None
        try:
            function = self.callable_of(kind, name, args)
            self.calls.append((function, args, kwargs))
            return function(*args, **kwargs)
        except Exception as error:
            self.failure = error
            return None

    def callable_of(self, kind: str, name: str, args: Any) -> Callable[..., Any]:
        """Return tt's function, method or property of the name."""
        if kind == "property":
            return lambda self: getattr(self, name)
        if kind == "method" or resolve(name) is None:
            method = name.rpartition(".")[2]
            if getattr(tt.Tensor, method, None) is None:
                raise Missing(f"tt has no {name}")
            return lambda self, *rest, **named: getattr(self, method)(*rest, **named)
        return resolve(name)  # type: ignore[no-any-return]
