from typing import Any, TypeVar

from tt.core.tensor.backend import Backend
from tt.core.types.device import Device
from tt.core.types.dtype import dtype as Dtype
from tt.core.types.layout import layout as Layout
from tt.core.types.size import Size

class TensorSpec:
    dtype: Dtype
    device: Device
    layout: Layout
    backend: Backend
    keys: int
    dim_bit: int
    zero_dim_bit: int
    code: int
    def __init__(self, dtype: Dtype, device: Device, layout: Layout, backend: Backend, keys: int) -> None: ...

class TensorBase:
    _handle: Any
    _keys: int
    _promotion: int
    _record: Any
    # A tensor; Any, because the class of tensors with operators is not known here.
    _root: Any
    _spec: TensorSpec
    # A Storage, or what a layer puts in its place (see core/layers/functionalise.py), or None.
    _storage: Any
    @property
    def shape(self) -> Size: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> Dtype: ...
    @property
    def device(self) -> Device: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def _version(self) -> int: ...
    def _ensure_storage(self) -> Any: ...
    def _bump_version(self) -> None: ...
    def _set_data(self, handle: Any, spec: TensorSpec) -> None: ...

Kind = TypeVar("Kind", bound=TensorBase)

def wrap_handle(kind: type[Kind], handle: Any, spec: TensorSpec, keys: int, promotion: int) -> Kind: ...
