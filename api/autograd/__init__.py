"""Differentiation: `backward`, `grad`, functions with custom gradients, modes, checks of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tt.core.host.lazy_names import lazy_names

if TYPE_CHECKING:
    from tt.autograd.grad_mode import is_multithreading_enabled as is_multithreading_enabled
    from tt.autograd.grad_mode import set_multithreading_enabled as set_multithreading_enabled
    from tt.autograd.variable import Variable as Variable
    from tt.plugins.autograd.backward.functional import backward as backward
    from tt.plugins.autograd.backward.functional import grad as grad
    from tt.plugins.autograd.custom.function import Function as Function
    from tt.plugins.autograd.features.anomaly import detect_anomaly as detect_anomaly
    from tt.plugins.autograd.features.anomaly import set_detect_anomaly as set_detect_anomaly
    from tt.plugins.autograd.features.drawing import draw as draw
    from tt.plugins.autograd.formulas.table import Formulas as Formulas
    from tt.plugins.autograd.record.graph import Node as Node
    from tt.plugins.autograd.record.inference import inference_mode as inference_mode
    from tt.plugins.autograd.record.modes import enable_grad as enable_grad
    from tt.plugins.autograd.record.modes import is_grad_enabled as is_grad_enabled
    from tt.plugins.autograd.record.modes import no_grad as no_grad
    from tt.plugins.autograd.record.modes import set_grad_enabled as set_grad_enabled
    from tt.plugins.autograd.record.saved import SavedTensor as SavedTensor
    from tt.testing.gradcheck import gradcheck as gradcheck
    from tt.testing.gradcheck import gradgradcheck as gradgradcheck

_SOURCES = {
    "Formulas": "tt.plugins.autograd.formulas.table",
    "Function": "tt.plugins.autograd.custom.function",
    "Node": "tt.plugins.autograd.record.graph",
    "SavedTensor": "tt.plugins.autograd.record.saved",
    "backward": "tt.plugins.autograd.backward.functional",
    "detect_anomaly": "tt.plugins.autograd.features.anomaly",
    "draw": "tt.plugins.autograd.features.drawing",
    "enable_grad": "tt.plugins.autograd.record.modes",
    "grad": "tt.plugins.autograd.backward.functional",
    "gradcheck": "tt.testing.gradcheck",
    "gradgradcheck": "tt.testing.gradcheck",
    "inference_mode": "tt.plugins.autograd.record.inference",
    "is_grad_enabled": "tt.plugins.autograd.record.modes",
    "no_grad": "tt.plugins.autograd.record.modes",
    "set_detect_anomaly": "tt.plugins.autograd.features.anomaly",
    "set_grad_enabled": "tt.plugins.autograd.record.modes",
    "Variable": "tt.autograd.variable",
    "is_multithreading_enabled": "tt.autograd.grad_mode",
    "set_multithreading_enabled": "tt.autograd.grad_mode",
}

__all__ = list(_SOURCES)

__getattr__, __dir__ = lazy_names(
    "tt.autograd",
    _SOURCES,
    layer="autograd",
    modules=(
        "anomaly_mode",
        "forward_ad",
        "function",
        "functional",
        "grad_mode",
        "graph",
        "profiler",
        "variable",
    ),
    without=(
        "enable_grad",
        "inference_mode",
        "is_grad_enabled",
        "is_multithreading_enabled",
        "no_grad",
        "set_grad_enabled",
        "set_multithreading_enabled",
    ),
)
