"""The loops over samples that torchaudio compiles: `lfilter` and `overdrive`; and what it asks when it is imported."""

from __future__ import annotations

from typing import Final

import tt
from tt import Tensor
from tt.library import custom_op

__all__: list[str] = []

_CUDA: Final[int | None] = None
"""The version of CUDA that the operators are compiled for: they serve CPUs."""


def _require(condition: bool, operator: str, problem: str) -> None:
    if not condition:
        raise tt.errors.ShapeError(f"torchaudio::{operator}(): {problem}")


def _check_dtypes(operator: str, **tensors: Tensor) -> None:
    dtypes = {str(tensor.dtype) for tensor in tensors.values()}
    if len(dtypes) > 1 or dtypes - {str(tt.float32), str(tt.float64)}:
        names = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors.items())
        raise tt.errors.DtypeError(
            f"torchaudio::{operator}(): all tensors are of float32, or all of float64: {names}"
        )


@custom_op(
    "torchaudio::_lfilter_core_loop",
    schema="(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) -> Tensor(a!)",
)
def lfilter_core_loop(
    input_signal_windows: Tensor, a_coeff_flipped: Tensor, padded_output_waveform: Tensor
) -> Tensor:
    """Write the recursive part of a filter into the padded output, (batch, channels, order - 1 + samples)."""
    name = "_lfilter_core_loop"
    signal, coefficients, output = input_signal_windows, a_coeff_flipped, padded_output_waveform
    _check_dtypes(
        name, input_signal_windows=signal, a_coeff_flipped=coefficients, padded_output_waveform=output
    )
    _require(
        signal.ndim == 3 and coefficients.ndim == 2,
        name,
        "the signal has 3 dimensions and the coefficients 2",
    )
    (batch, channels, samples), order = signal.shape, coefficients.shape[1]
    _require(order > 0, name, "there are no coefficients")
    expected = (batch, channels, samples + order - 1)
    _require(coefficients.shape[0] == channels, name, f"the coefficients are of {channels} channels")
    _require(tuple(output.shape) == expected, name, f"the padded output has shape {list(expected)}")
    _write(tt.ops.tt_torchvision.lfilter_loop, (signal, coefficients), (output,))
    return output


@custom_op(
    "torchaudio::_overdrive_core_loop",
    schema="(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) output_waveform) "
    "-> (Tensor(a!), Tensor(b!), Tensor(c!))",
)
def overdrive_core_loop(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output_waveform: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Write the overdriven waveform, (channels, samples), and the state of the filter, (channels,)."""
    name = "_overdrive_core_loop"
    _check_dtypes(
        name,
        waveform=waveform,
        temp=temp,
        last_in=last_in,
        last_out=last_out,
        output_waveform=output_waveform,
    )
    _require(waveform.ndim == 2, name, f"the waveform has 2 dimensions, not {waveform.ndim}")
    for tensor in (temp, output_waveform):
        _require(tensor.shape == waveform.shape, name, f"the waveforms have shape {list(waveform.shape)}")
    for tensor in (last_in, last_out):
        _require(
            tuple(tensor.shape) == (waveform.shape[0],), name, f"the state has shape [{waveform.shape[0]}]"
        )
    _write(tt.ops.tt_torchvision.overdrive_loop, (waveform, temp), (last_in, last_out, output_waveform))
    return last_in, last_out, output_waveform


def _write(loop: object, read: tuple[Tensor, ...], written: tuple[Tensor, ...]) -> None:
    """Call a compiled loop, which takes contiguous tensors; others are written through a copy."""
    targets = [tensor.contiguous() for tensor in written]
    loop(*(tensor.contiguous() for tensor in read), *targets)  # type: ignore[operator]
    for tensor, target in zip(written, targets, strict=True):
        if target is not tensor:
            tensor.copy_(target)


@custom_op("_torchaudio::cuda_version", schema="() -> int?")
def cuda_version() -> int | None:
    """Return the version of CUDA that the operators are compiled for: None, as they serve CPUs."""
    return _CUDA


@custom_op("_torchaudio::is_align_available", schema="() -> bool")
def is_align_available() -> bool:
    """Return whether `torchaudio::forced_align` exists: it does not."""
    return False
