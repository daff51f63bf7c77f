"""GPU statistics from NVIDIA's management library: utilization, temperature, clocks, and processes.

The library is reached through `pynvml`, which the package `nvidia-ml-py` brings.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from tt.backends.cuda.runtime.interface import place
from tt.core.library import Device, errors

__all__ = [
    "clock_rate", "device_memory_used", "list_gpu_processes", "memory_usage", "power_draw", "temperature",
    "utilization",
]  # fmt: skip


def _library(asked: str) -> Any:
    try:
        nvml = import_module("pynvml")
    except ModuleNotFoundError as error:
        raise errors.DeviceError(
            f"{asked}(): pynvml is not installed, which gives access to NVIDIA's management library\n"
            "  try: pip install nvidia-ml-py"
        ) from error
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise errors.DeviceError(f"{asked}(): NVIDIA's management library cannot be used: {error}") from error
    return nvml


def _ask(asked: str, device: Device | str | int | None, question: Callable[[Any, Any], Any]) -> Any:
    """Return the answer to a question about a device.

    Raises
    ------
    DeviceError
        When `pynvml` is not installed, or the library has no answer.
    """
    index = place(device).index or 0
    library = _library(asked)
    try:
        return question(library, _handle(library, index))
    except library.NVMLError as error:
        raise errors.DeviceError(f"{asked}(): NVIDIA's management library failed: {error}") from error


def _handle(library: Any, index: int) -> Any:
    """Return the library's handle of a device of this process, which CUDA_VISIBLE_DEVICES may have renumbered."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None or not visible.strip():
        return library.nvmlDeviceGetHandleByIndex(index)
    # NVML numbers all devices of the machine, CUDA only the visible ones.
    word = visible.split(",")[index].strip()
    if word.isdigit():
        return library.nvmlDeviceGetHandleByIndex(int(word))
    # A device may also be named by its UUID, or be a part of one (MIG).
    return library.nvmlDeviceGetHandleByUUID(word.encode())


def utilization(device: Device | str | int | None = None) -> int:
    """Return the percentage of the last second or so in which a GPU had work.

    Parameters
    ----------
    device : Device, str or int, optional
        By default the current one.

    Raises
    ------
    DeviceError
        When `pynvml` is not installed, or the management library has no answer.
    """
    return int(_ask("utilization", device, lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu))


def memory_usage(device: Device | str | int | None = None) -> int:
    """Return the percentage of the last second or so in which a GPU's memory was read or written."""
    return int(_ask("memory_usage", device, lambda nvml, gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).memory))


def device_memory_used(device: Device | str | int | None = None) -> int:
    """Return how many bytes of a GPU's memory are used, by all processes."""
    return int(_ask("device_memory_used", device, lambda nvml, gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used))


def temperature(device: Device | str | int | None = None) -> int:
    """Return the temperature of a GPU in degrees Celsius."""
    return int(_ask("temperature", device, lambda nvml, gpu: nvml.nvmlDeviceGetTemperature(gpu, 0)))


def power_draw(device: Device | str | int | None = None) -> int:
    """Return the power that a GPU draws in milliwatts."""
    return int(_ask("power_draw", device, lambda nvml, gpu: nvml.nvmlDeviceGetPowerUsage(gpu)))


def clock_rate(device: Device | str | int | None = None) -> int:
    """Return the clock rate of a GPU's multiprocessors in MHz."""
    return int(_ask("clock_rate", device, lambda nvml, gpu: nvml.nvmlDeviceGetClockInfo(gpu, 1)))


def list_gpu_processes(device: Device | str | int | None = None) -> str:
    """Return the processes that use a GPU, and how much of its memory, as a text (as an error without `pynvml`)."""
    processes = _ask(
        "list_gpu_processes", device, lambda nvml, gpu: nvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    )
    lines = [f"GPU:{place(device).index or 0}"]
    for process in processes:
        memory = (process.usedGpuMemory or 0) / (1024 * 1024)
        lines.append(f"process {process.pid:>10d} uses {memory:>12.3f} MB GPU memory")
    return "\n".join(lines if processes else [*lines, "no processes are running"])
