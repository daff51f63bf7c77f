"""Types of `rules`, which is a hot module and has none of its own."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from tt.core.library import CachedCall, Operator
from tt.plugins.autograd.record.graph import Node

PLAIN: Final = 0
TENSOR: Final = 1
TENSORS: Final = 2
RESULT: Final = 3
FACT: Final = 4

class SavePlan:
    calls: tuple[tuple[int, Callable[..., Any], tuple[int, ...]], ...]
    keeps_tensors: bool
    saves_self: bool
    slots: tuple[tuple[int, int, Any], ...]
    def __init__(
        self,
        slots: tuple[tuple[int, int, Any], ...],
        calls: tuple[tuple[int, Callable[..., Any], tuple[int, ...]], ...],
    ) -> None: ...

class OpNode(Node):
    plan: SavePlan
    rule: GradientRule
    saved: tuple[Any, ...] | None
    starts: tuple[int, ...] | None
    versions: tuple[int, ...] | None
    def unpack(self) -> tuple[Any, ...]: ...

class GradientRule:
    differentiable: tuple[int, ...]
    is_view: bool
    list_places: frozenset[int]
    node_name: str
    operator: Operator
    takes_all: bool
    def __init__(
        self,
        operator: Operator,
        differentiable: tuple[int, ...],
        make_plan: Callable[[int], SavePlan],
        takes_all: bool,
        joint: Callable[[Any], Sequence[Any]] | None = None,
    ) -> None: ...
    def __call__(self, entry: CachedCall, args: tuple[Any, ...], /) -> Any: ...
    def edges(
        self, args: Sequence[Any]
    ) -> tuple[int, tuple[Node | None, ...], tuple[int, ...], tuple[int, ...]]: ...
    def plan(self, needs: int) -> SavePlan: ...

def node_name(op: str) -> str: ...
def run_below(entry: CachedCall, args: tuple[Any, ...]) -> Any: ...
def bare_alias(tensor: Any) -> Any: ...
def save(node: OpNode, args: Sequence[Any], result: Any) -> None: ...
