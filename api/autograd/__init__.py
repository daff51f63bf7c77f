"""Differentiation: `backward`, `grad`, functions with gradients of their own, modes, checks of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.core.testing.gradcheck import gradcheck as gradcheck
    from tt.core.testing.gradcheck import gradgradcheck as gradgradcheck
    from tt.plugins.autograd.anomaly import detect_anomaly as detect_anomaly
    from tt.plugins.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
    from tt.plugins.autograd.drawing import draw as draw
    from tt.plugins.autograd.formulas.table import Formulas as Formulas
    from tt.plugins.autograd.function import Function as Function
    from tt.plugins.autograd.functional import backward as backward
    from tt.plugins.autograd.functional import grad as grad
    from tt.plugins.autograd.graph import Node as Node
    from tt.plugins.autograd.inference import inference_mode as inference_mode
    from tt.plugins.autograd.modes import enable_grad as enable_grad
    from tt.plugins.autograd.modes import is_grad_enabled as is_grad_enabled
    from tt.plugins.autograd.modes import no_grad as no_grad
    from tt.plugins.autograd.modes import set_grad_enabled as set_grad_enabled

_SOURCES = {
    "Formulas": "tt.plugins.autograd.formulas.table",
    "Function": "tt.plugins.autograd.function",
    "Node": "tt.plugins.autograd.graph",
    "backward": "tt.plugins.autograd.functional",
    "detect_anomaly": "tt.plugins.autograd.anomaly",
    "draw": "tt.plugins.autograd.drawing",
    "enable_grad": "tt.plugins.autograd.modes",
    "grad": "tt.plugins.autograd.functional",
    "gradcheck": "tt.core.testing.gradcheck",
    "gradgradcheck": "tt.core.testing.gradcheck",
    "inference_mode": "tt.plugins.autograd.inference",
    "is_grad_enabled": "tt.plugins.autograd.modes",
    "no_grad": "tt.plugins.autograd.modes",
    "set_detect_anomaly": "tt.plugins.autograd.anomaly",
    "set_grad_enabled": "tt.plugins.autograd.modes",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names(
    "tt.autograd",
    _SOURCES,
    layer="autograd",
    modules=("forward_ad", "function", "functional", "graph", "profiler"),
)
