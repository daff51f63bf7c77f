from typing import Any, Final

from tt.core.dispatch.call.binding import Binder
from tt.core.dispatch.call.entry import CachedCall
from tt.core.dispatch.call.operator import Operator
from tt.core.schema.model import OpDefinition, Signature

GROUP_TENSOR: Final = 0
GROUP_LIST: Final = 1
OTHER_TENSOR: Final = 2
OTHER_LIST: Final = 3
DTYPE: Final = 4
DEVICE: Final = 5
LAYOUT: Final = 6
SCALAR_IN_GROUP: Final = 7

class OpOverload:
    operator: Operator
    form: str
    last: CachedCall
    tables: dict[int, dict[int, dict[int, CachedCall]]]
    generation: int
    plan: tuple[tuple[int, int, int], ...]
    tail: tuple[Any, ...]
    binder: Binder | None
    name: str
    kinds: bytes | None
    shifts: tuple[int, ...]
    lengths: tuple[int, ...]
    required: int
    positional: int
    variadic: int
    defaults: tuple[Any, ...]
    tails: tuple[tuple[Any, ...], ...]
    names: dict[str, int]
    looks_at_all: bool
    target_shift: int
    home: int
    functional: bool
    out_caller: OpOverload | None
    # Of the subclasses in described.py, which are all that is ever made.
    @property
    def definition(self) -> OpDefinition: ...
    @property
    def schema(self) -> Signature: ...
    def __init__(
        self,
        operator: Operator,
        form: str,
        plan: tuple[tuple[int, int, int], ...],
        tail: tuple[Any, ...],
        name: str,
    ) -> None: ...
    def find(self, keys: int, bits: int) -> CachedCall | None: ...
    def invalidate(self) -> None: ...
    def entry(self, keys: int, bits: int, args: tuple[Any, ...]) -> CachedCall: ...
    def enter(self, entry: CachedCall, epoch: int, generation: int) -> CachedCall: ...
    def scan(self, args: tuple[Any, ...]) -> tuple[int, int]: ...
    def execute(self, args: tuple[Any, ...]) -> Any: ...
    def dispatch(self, args: tuple[Any, ...]) -> Any: ...
    def called(
        self,
        bound: tuple[Any, ...],
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None,
    ) -> Any: ...
    def fast_path(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any: ...
    def of_one(self, args: tuple[Any, ...]) -> Any: ...
    def general(self, args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> Any: ...
    def one(self, value: Any) -> Any: ...
    def two(self, left: Any, right: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
