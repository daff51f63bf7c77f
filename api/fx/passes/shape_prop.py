"""tt.fx.passes.shape_prop: notes dtype and shape of each result, by running the graph once."""

from __future__ import annotations

from typing import Any, NamedTuple

import tt
from tt.fx.graph_module import GraphModule
from tt.fx.interpreter import Interpreter
from tt.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a result that is a tensor."""

    shape: tt.Size
    dtype: tt.dtype
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: tt.memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: tt.Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Return what is known of a tensor."""
    layout: tt.memory_format | None = None
    if include_contiguity and not result.is_sparse:
        for candidate in (tt.contiguous_format, tt.channels_last, tt.channels_last_3d):
            # The formats of images take tensors of 4, of volumes of 5 dimensions.
            needed = {tt.channels_last: 4, tt.channels_last_3d: 5}.get(candidate)
            if needed in (None, result.ndim) and result.is_contiguous(memory_format=candidate):
                layout = candidate
                break
    stride = tuple(result.stride()) if not result.is_sparse else ()
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, stride, layout, bool(result.is_quantized), {}
    )


class ShapeProp(Interpreter):
    """Runs a graph, and notes in `meta["tensor_meta"]` the dtype and shape of each result.

    Parameters
    ----------
    gm : GraphModule
        The module.
    fake_mode : FakeMode, optional
        Runs the graph on fake tensors, which have no data.

    Examples
    --------
    >>> import tt
    >>> from tt.fx.passes.shape_prop import ShapeProp
    >>> module = tt.fx.symbolic_trace(tt.nn.Sequential(tt.nn.Linear(4, 3), tt.nn.ReLU()))
    >>> _ = ShapeProp(module).propagate(tt.ones(2, 4))
    >>> [(node.name, tuple(node.meta["tensor_meta"].shape)) for node in module.graph.nodes]
    [('input_1', (2, 4)), ('_0', (2, 3)), ('_1', (2, 3)), ('output', (2, 3))]
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        """Return the value of a node, and note what is known of it."""
        if self.fake_mode is None:
            result = super().run_node(n)
        else:
            with self.fake_mode:
                result = super().run_node(n)
        seen = False

        def note(value: Any) -> Any:
            nonlocal seen
            if not isinstance(value, tt.Tensor):
                return value
            seen = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, note)
        if seen:
            n.meta["tensor_meta"] = meta
        if self.fake_mode is not None:
            n.meta["val"] = result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with arguments, and return its result."""
        return super().run(*args)
