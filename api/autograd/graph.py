"""The graph: its nodes, and hooks on nodes, gradients and saved tensors."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.autograd._saved_mutation": "allow_mutation_on_saved_tensors",
        "tt.plugins.autograd.backward.multi_hooks": "register_multi_grad_hook",
        "tt.plugins.autograd.features.saved_hooks": (
            "disable_saved_tensors_hooks save_on_cpu saved_tensors_hooks"
        ),
        "tt.plugins.autograd.record.edges": "GradientEdge get_gradient_edge increment_version",
        "tt.plugins.autograd.record.graph": "Node",
    },
    layer="autograd",
)
