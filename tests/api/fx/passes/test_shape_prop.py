"""ShapeProp notes dtype and shape of each result, with data and without."""

from __future__ import annotations

import tt
from tt import fx
from tt.fx.passes.shape_prop import ShapeProp


def test_metadata_of_each_result() -> None:
    module = fx.symbolic_trace(tt.nn.Conv2d(3, 4, 3))
    ShapeProp(module).propagate(tt.ones(1, 3, 8, 8).to(memory_format=tt.channels_last))
    first = next(iter(module.graph.nodes)).meta["tensor_meta"]
    assert (first.shape, first.dtype, first.requires_grad) == ((1, 3, 8, 8), tt.float32, False)
    assert first.memory_format is tt.channels_last and first.stride == (192, 1, 24, 3)
    module = fx.symbolic_trace(lambda x: (x.chunk(2), x.size(0)))
    ShapeProp(module).propagate(tt.ones(4, 2))
    chunks = module.graph.find_nodes(op="call_method", target="chunk")[0].meta["tensor_meta"]
    assert [meta.shape for meta in chunks] == [(2, 2), (2, 2)]
    assert "tensor_meta" not in module.graph.find_nodes(op="call_method", target="size")[0].meta


def test_fakes_need_no_data() -> None:
    module = fx.symbolic_trace(lambda x: tt.relu(x) @ x.t())
    with tt.FakeMode() as mode:
        x = tt.ones(1000, 10)
    ShapeProp(module, mode).propagate(x)
    node = module.graph.find_nodes(op="call_function", target=tt.relu)[0]
    assert node.meta["tensor_meta"].shape == (1000, 10)
    assert "f32[1000, 10]" in module.print_readable(print_output=False)
