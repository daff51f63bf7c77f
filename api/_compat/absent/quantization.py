"""Quantized layers, and the observers that choose their scales."""

from __future__ import annotations

from typing import Final

from tt._compat.absent.rows import table

__all__ = ["ABSENT"]

_NAMES: Final = (
    "DeQuantStub FakeQuantize FakeQuantizeBase HistogramObserver MinMaxObserver MovingAverageMinMaxObserver "
    "NoopObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver QConfig QConfigMapping QuantStub "
    "QuantWrapper add_quant_dequant convert default_dynamic_qconfig default_observer "
    "default_per_channel_weight_observer default_qconfig default_weight_observer disable_observer "
    "enable_fake_quant enable_observer float_qparams_weight_only_qconfig fuse_modules fuse_modules_qat "
    "get_default_qat_qconfig get_default_qconfig get_default_qconfig_mapping prepare prepare_qat propagate_qconfig_ "
    "quantize quantize_dynamic quantize_qat"
)
_OLDER: Final = " ".join(
    name
    for name in _NAMES.split()
    if name not in ("QConfigMapping", "fuse_modules_qat", "get_default_qconfig_mapping")
)
_LAYERS: Final = "Conv1d Conv2d Conv3d Embedding FloatFunctional Linear QFunctional"

ABSENT: Final = table(
    "tt has no quantized layers",
    {
        "torch": "quint2x4@tt._compat.absent_dtypes quint4x2@tt._compat.absent_dtypes",
        "torch.ao.nn.intrinsic": "ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
        "torch.ao.nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "torch.ao.nn.quantized": _LAYERS,
        "torch.ao.nn.quantized.dynamic": "LSTM Linear",
        "torch.ao.pruning": "WeightNormSparsifier",
        "torch.ao.quantization": _NAMES,
        "torch.ao.quantization.fake_quantize": "FakeQuantize FakeQuantizeBase FusedMovingAvgObsFakeQuantize",
        "torch.ao.quantization.fx._decomposed": "quantized_decomposed_lib",
        "torch.ao.quantization.observer": "MinMaxObserver MovingAverageMinMaxObserver ObserverBase",
        "torch.ao.quantization.qconfig": "QConfig default_qconfig get_default_qconfig",
        "torch.ao.quantization.qconfig_mapping": "QConfigMapping get_default_qconfig_mapping",
        "torch.ao.quantization.quantize_fx": "convert_fx fuse_fx prepare_fx prepare_qat_fx",
        "torch.nn.intrinsic": "ConvBn2d ConvBnReLU2d ConvReLU2d LinearReLU",
        "torch.nn.qat": "Conv1d Conv2d Conv3d Embedding Linear",
        "torch.nn.quantized": _LAYERS,
        "torch.nn.quantized.dynamic": "LSTM Linear",
        "torch.quantization": _OLDER,
        "torch.quantization.observer": "MinMaxObserver MovingAverageMinMaxObserver ObserverBase",
    },
)
