"""Pickles in PyTorch's form, in a process where `import torch` gives tt.

A pickle that a program writes itself (`pickle.dumps`, joblib, a cache of a library) names classes and functions of
PyTorch's, so PyTorch reads it: a tensor in it is a call of `torch.storage._load_from_bytes` with the file that
`torch.save` writes of it.  Copies and messages between processes do not go this way.
"""

from __future__ import annotations

import copyreg
import io
import sys
from collections.abc import Callable, Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any, Final

import tt
from tt.core.tensor.storage import Storage

__all__ = ["complete", "install"]


def _saved(tensor: Any) -> tuple[Any, ...]:
    from tt.storage import _load_from_bytes  # which programs that write no tensors do without

    file = io.BytesIO()
    tt.save(tensor, file)
    return _load_from_bytes, (file.getvalue(),)


def _device(device: Any) -> tuple[Any, ...]:
    return type(device), (device.type,) if device.index is None else (device.type, device.index)


def _generator(generator: Any) -> tuple[Any, ...]:
    # PyTorch draws otherwise: a state of tt's is of no use there, so it is refused by its name.
    return _generator_in_state, (str(generator.device), generator.get_state())


def _generator_in_state(device: str, state: Any) -> Any:
    generator = tt.Generator(device)
    generator.set_state(state)
    return generator


def _layout(layout: Any) -> tuple[Any, ...]:
    return tt.serialization._get_layout, (f"torch.{layout.name}",)


def _operator(operator: Any) -> Any:
    """Return the name of an operator in the module that it says; one that is nowhere there has tt's own form."""
    module, name = operator.__module__, operator.__name__
    home = tt if module == "torch" else sys.modules[module]
    # `linalg_inv` is `torch.linalg.inv`.
    for path in (name, name.removeprefix(f"{module.rpartition('.')[2]}_"), f"Tensor.{name}"):
        try:
            if attrgetter(path)(home) is operator:
                return path
        except AttributeError:
            continue
    return operator.__reduce__()


def _modules(module: ModuleType) -> None:
    """Let modules of networks be written with the tables that those of PyTorch have, which reads them."""
    plain: Any = module.Module.__reduce_ex__

    def reduce_ex(self: Any, protocol: Any) -> Any:
        from tt.serialization.pickling import with_tables  # as above

        function, args, state, *more = plain(self, protocol)
        return function, args, with_tables(state), *more

    module.Module.__reduce_ex__ = reduce_ex


_LATER: Final[Mapping[str, Callable[[ModuleType], None]]] = {
    "tt.core.methods.parameter": lambda module: copyreg.pickle(module.Parameter, _saved),
    "tt.core.methods.typed_storage": lambda module: copyreg.pickle(module.TypedStorage, _saved),
    "tt.nn.modules.module": _modules,
}
"""What is done to modules that a program may do without, once they have run."""


def complete(module: ModuleType) -> None:
    """Do what a module of tt needs so that its objects have PyTorch's form in pickles."""
    later = _LATER.get(module.__name__)
    if later is not None:
        later(module)


def install() -> None:
    """Give pickles of tensors, dtypes, devices, layouts and operators PyTorch's form."""
    copyreg.pickle(tt.Tensor, _saved)
    copyreg.pickle(tt.dtype, lambda dtype: dtype.name)
    copyreg.pickle(tt.device, _device)
    copyreg.pickle(tt.layout, _layout)
    copyreg.pickle(tt.Generator, _generator)
    copyreg.pickle(Storage, _saved)
    copyreg.pickle(type(tt.add), _operator)
    copyreg.pickle(type(tt.max), _operator)
