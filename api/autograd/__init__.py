"""Differentiation: `backward`, `grad`, functions with custom gradients, modes, checks of gradients."""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {
        "tt.autograd.grad_mode": "is_multithreading_enabled set_multithreading_enabled",
        "tt.autograd.variable": "Variable",
        "tt.plugins.autograd.backward.functional": "backward grad",
        "tt.plugins.autograd.custom.function": "Function",
        "tt.plugins.autograd.features.anomaly": "detect_anomaly set_detect_anomaly",
        "tt.plugins.autograd.features.drawing": "draw",
        "tt.plugins.autograd.formulas.table": "Formulas",
        "tt.plugins.autograd.record.graph": "Node",
        "tt.plugins.autograd.record.inference": "inference_mode",
        "tt.plugins.autograd.record.modes": "enable_grad is_grad_enabled no_grad set_grad_enabled",
        "tt.plugins.autograd.record.saved": "SavedTensor",
        ".gradcheck": "gradcheck gradgradcheck",
    },
    layer="autograd",
    without=(
        "enable_grad inference_mode is_grad_enabled is_multithreading_enabled no_grad set_grad_enabled "
        "set_multithreading_enabled"
    ),
)
