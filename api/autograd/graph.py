"""The graph: its nodes, and hooks on nodes, gradients and saved tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.plugins.autograd.edges import GradientEdge as GradientEdge
    from tt.plugins.autograd.edges import get_gradient_edge as get_gradient_edge
    from tt.plugins.autograd.edges import increment_version as increment_version
    from tt.plugins.autograd.graph import Node as Node
    from tt.plugins.autograd.multi_hooks import register_multi_grad_hook as register_multi_grad_hook
    from tt.plugins.autograd.saved_hooks import disable_saved_tensors_hooks as disable_saved_tensors_hooks
    from tt.plugins.autograd.saved_hooks import save_on_cpu as save_on_cpu
    from tt.plugins.autograd.saved_hooks import saved_tensors_hooks as saved_tensors_hooks

_SOURCES = {
    "GradientEdge": "tt.plugins.autograd.edges",
    "Node": "tt.plugins.autograd.graph",
    "disable_saved_tensors_hooks": "tt.plugins.autograd.saved_hooks",
    "get_gradient_edge": "tt.plugins.autograd.edges",
    "increment_version": "tt.plugins.autograd.edges",
    "register_multi_grad_hook": "tt.plugins.autograd.multi_hooks",
    "save_on_cpu": "tt.plugins.autograd.saved_hooks",
    "saved_tensors_hooks": "tt.plugins.autograd.saved_hooks",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.graph", _SOURCES, layer="autograd")
