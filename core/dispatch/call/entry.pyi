from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.dispatch.call.operator import Operator
from tt.core.dispatch.resolve.resolution import Resolution
from tt.core.tensor.backend import Backend
from tt.core.tensor.base import TensorSpec

KERNEL: Final = 0
COMPOSITE: Final = 1
LAYER: Final = 2
REROUTE: Final = 3
MUTATE: Final = 4
PYTHON: Final = 5
OUT: Final = 6

ONE: Final = 0
SEVERAL: Final = 1
LIST: Final = 2
RAW: Final = 3

class BoundKernel:
    function: Callable[..., Any]
    takes: tuple[int, ...]
    omitted: tuple[tuple[int, Any], ...]
    registration: Any
    leading: int
    def __init__(
        self,
        function: Callable[..., Any],
        takes: tuple[int, ...],
        omitted: tuple[tuple[int, Any], ...],
        registration: Any,
    ) -> None: ...
    def accepts(self, args: tuple[Any, ...]) -> bool: ...

class LayerRule:
    def call(self, entry: CachedCall, args: tuple[Any, ...]) -> Any: ...
    def __call__(self, entry: CachedCall, args: tuple[Any, ...]) -> Any: ...

class CachedCall:
    # The fields that only some kinds of entry have (see the class in entry.py) are typed as those kinds see them.
    keys: int
    bits: int
    epoch: int
    operator: Operator
    form: str
    kind: int
    functional: bool
    dtype_at: int
    native: Any
    device_at: int
    like_at: int
    operands: tuple[int, ...]
    direct: bool
    verified: bool
    plain: Callable[..., Any] | None
    choices: tuple[BoundKernel, ...]
    compute_code: int
    compute_native: Any
    group: tuple[int, ...]
    result: int
    spec: TensorSpec
    specs: tuple[TensorSpec | None, ...]
    result_bits: int
    downcast: Any
    shares: int
    backend: Backend
    handle_type: type
    writes_target: int
    below: CachedCall
    rule: Callable[[CachedCall, tuple[Any, ...]], Any]
    clear: int
    function: Callable[..., Any]
    rest: CachedCall | None
    resolution: Resolution
    def __init__(
        self, operator: Operator | None, form: str, keys: int, bits: int, epoch: int, kind: int
    ) -> None: ...
    def with_bits(self, bits: int) -> CachedCall: ...
    def run(self, args: tuple[Any, ...]) -> Any: ...
    def call_below(self, args: tuple[Any, ...]) -> Any: ...
    def strip(self, args: Any) -> Any: ...
    def spec_at(self, spec: TensorSpec, args: tuple[Any, ...]) -> TensorSpec: ...
    def prepare(self, value: Any, position: int) -> Any: ...
    def call_kernel(self, choice: BoundKernel, args: tuple[Any, ...]) -> Any: ...
    def run_out(self, args: tuple[Any, ...]) -> Any: ...
    def choose(self, args: tuple[Any, ...]) -> BoundKernel | None: ...
    def handles(self, choice: BoundKernel, args: tuple[Any, ...]) -> list[Any]: ...
    def run_kernel(self, args: tuple[Any, ...]) -> Any: ...
    def run_inplace(self, args: tuple[Any, ...]) -> Any: ...
    def run_mutating(self, args: tuple[Any, ...]) -> Any: ...
    def wrap_all(self, handles: Any, args: Sequence[Any]) -> Any: ...
    def wrap_direct(self, handle: Any) -> Any: ...
    def wrap_one(self, handle: Any, index: int, args: Sequence[Any]) -> Any: ...

EMPTY: CachedCall
