"""tt.fx: programs as graphs, to look at, to change and to run."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.fx._symbolic_trace": "PH ProxyableClassMeta Tracer symbolic_trace wrap",
        "tt.fx.graph": "CodeGen Graph",
        "tt.fx.graph_module": "GraphModule",
        "tt.fx.interpreter": "Interpreter Transformer",
        "tt.fx.node": "Node has_side_effect map_arg",
        "tt.fx.proxy": "Proxy",
        "tt.fx.subgraph_rewriter": "replace_pattern",
    },
)
