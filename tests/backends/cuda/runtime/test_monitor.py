"""The figures of the management library, by a fake `pynvml` and without one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

import tt
from tt.errors import DeviceError

ASKED = {
    "utilization": 37, "memory_usage": 12, "device_memory_used": 123456, "temperature": 54, "power_draw": 71000,
    "clock_rate": 1980,
}  # fmt: skip


class FakeNvml(SimpleNamespace):
    class NVMLError(Exception):
        pass

    def __init__(self):
        super().__init__(asked=[], processes=[SimpleNamespace(pid=17, usedGpuMemory=3 << 20)], problem="")

    def nvmlInit(self):  # noqa: N802 - the library's names, here and below
        if self.problem == "init":
            raise self.NVMLError("Driver Not Loaded")

    def nvmlDeviceGetHandleByIndex(self, index):  # noqa: N802
        self.asked.append(index)
        return index

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        self.asked.append(uuid)
        return uuid

    def nvmlDeviceGetUtilizationRates(self, gpu):  # noqa: N802
        return SimpleNamespace(gpu=37, memory=12)

    def nvmlDeviceGetMemoryInfo(self, gpu):  # noqa: N802
        return SimpleNamespace(used=123456)

    def nvmlDeviceGetTemperature(self, gpu, sensor):  # noqa: N802
        assert sensor == 0
        return 54

    def nvmlDeviceGetPowerUsage(self, gpu):  # noqa: N802
        if self.problem == "power":
            raise self.NVMLError("Not Supported")
        return 71000

    def nvmlDeviceGetClockInfo(self, gpu, kind):  # noqa: N802
        assert kind == 1  # of the multiprocessors
        return 1980

    def nvmlDeviceGetComputeRunningProcesses(self, gpu):  # noqa: N802
        return self.processes


@pytest.fixture
def nvml(cuda, monkeypatch):
    found = FakeNvml()
    monkeypatch.setitem(sys.modules, "pynvml", found)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_the_library_is_asked(nvml, name):
    assert getattr(tt.cuda, name)() == ASKED[name]
    assert getattr(tt.cuda, name)("cuda:1") == ASKED[name]
    with tt.cuda.device(1):
        getattr(tt.cuda, name)()
    assert nvml.asked == [0, 1, 1]
    with pytest.raises(DeviceError):
        getattr(tt.cuda, name)(5)


def test_devices_are_found_as_the_environment_numbers_them(nvml, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-7f1a")
    tt.cuda.temperature(0)
    tt.cuda.temperature(1)
    assert nvml.asked == [3, b"GPU-7f1a"]


def test_processes_are_listed(nvml):
    assert tt.cuda.memory.list_gpu_processes() == (
        "GPU:0\nprocess         17 uses        3.000 MB GPU memory"
    )
    nvml.processes = []
    assert tt.cuda.list_gpu_processes(1) == "GPU:1\nno processes are running"


def test_what_is_missing_is_told(cuda, monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    for name in (*ASKED, "list_gpu_processes"):
        with pytest.raises(DeviceError, match=rf"^{name}\(\): pynvml is not installed[\s\S]*nvidia-ml-py"):
            getattr(tt.cuda, name)()


def test_what_the_library_does_not_know_is_told(nvml):
    nvml.problem = "power"
    with pytest.raises(DeviceError, match="failed: Not Supported"):
        tt.cuda.power_draw()
    nvml.problem = "init"
    with pytest.raises(DeviceError, match="cannot be used: Driver Not Loaded"):
        tt.cuda.utilization()
