"""The graph: its nodes, and hooks on nodes, gradients and saved tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.autograd._saved_mutation import allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors
    from tt.plugins.autograd.backward.multi_hooks import register_multi_grad_hook as register_multi_grad_hook
    from tt.plugins.autograd.features.saved_hooks import (
        disable_saved_tensors_hooks as disable_saved_tensors_hooks,
    )
    from tt.plugins.autograd.features.saved_hooks import save_on_cpu as save_on_cpu
    from tt.plugins.autograd.features.saved_hooks import saved_tensors_hooks as saved_tensors_hooks
    from tt.plugins.autograd.record.edges import GradientEdge as GradientEdge
    from tt.plugins.autograd.record.edges import get_gradient_edge as get_gradient_edge
    from tt.plugins.autograd.record.edges import increment_version as increment_version
    from tt.plugins.autograd.record.graph import Node as Node

_SOURCES = {
    "GradientEdge": "tt.plugins.autograd.record.edges",
    "Node": "tt.plugins.autograd.record.graph",
    "allow_mutation_on_saved_tensors": "tt.autograd._saved_mutation",
    "disable_saved_tensors_hooks": "tt.plugins.autograd.features.saved_hooks",
    "get_gradient_edge": "tt.plugins.autograd.record.edges",
    "increment_version": "tt.plugins.autograd.record.edges",
    "register_multi_grad_hook": "tt.plugins.autograd.backward.multi_hooks",
    "save_on_cpu": "tt.plugins.autograd.features.saved_hooks",
    "saved_tensors_hooks": "tt.plugins.autograd.features.saved_hooks",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names("tt.autograd.graph", _SOURCES, layer="autograd")
