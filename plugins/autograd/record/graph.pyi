"""Types of `graph`, which is a hot module and has none of its own."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from tt.core.library import Tensor, TensorSpec

NodeKind = TypeVar("NodeKind", bound="Node")

class GradState:
    anomaly: int
    bit: int
    floating: int
    inference_bit: int
    packing: int
    watching: int
    switched_off: int
    tick: Callable[[], int]
    def enabled(self) -> bool: ...
    def enable(self, enabled: bool) -> bool: ...
    def count_packing(self, change: int) -> None: ...

STATE: GradState

class AutogradMeta:
    leaf: bool
    node: Any
    number: int
    retained: Retained | None
    view: ViewMeta | None
    def __init__(self, node: Node | None = None, number: int = 0, leaf: bool = False) -> None: ...

class ViewMeta:
    args: tuple[Any, ...]
    index: int
    operator: Any
    root: Any
    version: int
    def __init__(self, root: Any, operator: Any, args: tuple[Any, ...], index: int, version: int) -> None: ...

class Retained:
    gradient: Tensor | None

class NodeHooks:
    after: dict[int, Callable[..., Any]]
    before: dict[int, Callable[..., Any]]
    metadata: dict[Any, Any]
    retained: dict[int, Retained]
    tensor_hooks: dict[int, dict[int, Callable[..., Any]]]

class Node:
    extras: Any
    next_nodes: tuple[Node | None, ...]
    next_numbers: tuple[int, ...]
    outputs: int
    sequence: int
    shape: tuple[Any, ...]
    spec: Any
    def apply(self, gradients: list[Any], wanted: Sequence[bool] | None) -> Sequence[Any]: ...
    def release(self) -> None: ...
    def shape_of(self, number: int) -> tuple[int, ...]: ...
    def spec_of(self, number: int) -> TensorSpec: ...
    def ensure_extras(self) -> NodeHooks: ...
    def name(self) -> str: ...
    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle: ...
    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle: ...

class RemovableHandle:
    def __init__(self, hooks: dict[int, Callable[..., Any]], key: int) -> None: ...
    def remove(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...

def add_hook(hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> RemovableHandle: ...

class AccumulateGrad(Node):
    gradient: Tensor | None
    _variable: weakref.ref[Tensor]
    def __init__(self, tensor: Any) -> None: ...
    @property
    def variable(self) -> Tensor | None: ...

class Graphless(Node):
    reason: str

def start(node: NodeKind, next_nodes: tuple[Node | None, ...], next_numbers: tuple[int, ...]) -> NodeKind: ...
def attach(tensor: Any, node: Node, number: int) -> AutogradMeta: ...
def leaf_record(tensor: Any) -> AutogradMeta: ...
def is_tensor(value: object) -> bool: ...

class Switching:
    _before: Any
    _enabled: bool
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...
