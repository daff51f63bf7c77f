"""The CUDA plugin without CUDA: it is listed with its reason, and CuPy is never imported."""

from __future__ import annotations

import os
import subprocess
import sys
from textwrap import dedent

import pytest

import tt
from tt.backends.cuda.runtime import availability
from tt.backends.cuda.runtime.availability import Driver
from tt.core.dispatch.registry.registry import REGISTRY
from tt.core.errors import DeviceError
from tt.core.host import host


@pytest.fixture
def machine(monkeypatch):
    """Return a function that pretends a driver and CuPy packages."""

    def pretend(driver: Driver, packages: tuple[str, ...] = ()) -> None:
        monkeypatch.setattr(availability, "find_driver", lambda: driver)
        monkeypatch.setattr(availability, "installed_cupy", lambda: packages)

    return pretend


def state():
    return next(plugin for plugin in host.plugins() if plugin.name == "cuda")


@pytest.mark.parametrize(
    ("driver", "packages", "reason"),
    [
        (Driver(problem="no NVIDIA driver is installed (libcuda.so.1 was not found)"), (),
         "no NVIDIA driver is installed (libcuda.so.1 was not found)"),
        (Driver(12040, 1), (), "CuPy is not installed; try: pip install 'tt-tensor[cuda12]'"),
        (Driver(12040, 1), ("cupy-cuda13x",),
         "cupy-cuda13x needs a driver for CUDA 13, this one supports 12.4; try: pip install 'tt-tensor[cuda12]'"),
    ],
)  # fmt: skip
def test_the_reason_is_the_same_in_the_list_and_in_the_error(machine, driver, packages, reason):
    machine(driver, packages)
    assert (state().state, state().reason) == ("unavailable", reason)
    with pytest.raises(DeviceError) as caught:
        tt.zeros(2, device="cuda")
    assert str(caught.value) == f"device 'cuda' is not available: {reason}\n  see: tt plugins list"
    with pytest.raises(DeviceError, match="device 'cuda' is not available"):
        tt.tensor([1.0], device="cuda:0")
    with pytest.raises(DeviceError, match="device 'cuda' is not available"):
        tt.zeros(2).to("cuda")


ABSENT = """
import sys
import tt
from tt.core.host import discovery

found = discovery.installed
if sys.argv[1:] == ["not installed"]:
    discovery.installed = lambda: [entry for entry in found() if entry.name != "cuda"]

print(tt.cuda.is_available(), tt.cuda.device_count(), tt.cuda.memory_allocated(), tt.device("cpu"))
for use in (
    lambda: tt.ones(2, device="cuda"), lambda: tt.tensor(1, device="cuda:7"), lambda: tt.ones(2).cuda(),
    lambda: tt.ones(2).to("cuda"), lambda: tt.device("cuda"), tt.cuda.synchronize, lambda: tt.cuda.set_device(0),
):
    try:
        use()
    except tt.errors.TTError as error:
        print(type(error).__name__, error)
print((tt.ones(2) + 1).tolist())
"""


@pytest.mark.parametrize(
    ("how", "error"),
    [
        (
            "not installed",
            "PluginMissingError the device 'cuda' is brought by the plugin 'cuda', which is not installed\n"
            "  try: pip install 'tt-tensor[cuda12]' (or cuda13, by the CUDA version of the driver)\n"
            "  see: tt plugins list\n",
        ),
        (
            "blocked",
            "PluginError the device 'cuda' is brought by the plugin 'cuda' (tt-tensor VERSION), which is blocked: "
            "listed in TT_DISABLE_PLUGINS\n  see: tt plugins list\n",
        ),
    ],
)
def test_an_absent_plugin_is_told_and_the_rest_works(how, error):
    environ = {**os.environ, "TT_DISABLE_PLUGINS": "cuda"} if how == "blocked" else {**os.environ}
    done = subprocess.run(
        [sys.executable, "-c", ABSENT, how], env=environ, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    error = error.replace("VERSION", state().version)
    assert done.stdout == "False 0 0 cpu\n" + error * 7 + "[2.0, 2.0]\n"


def test_the_namespace_lists_what_it_has():
    assert (
        set(dir(tt.cuda)) == set(tt.cuda.__all__) >= {"is_available", "memory", "OutOfMemoryError", "Stream"}
    )


def test_the_namespace_answers_and_refuses_with_the_reason(machine):
    machine(Driver(problem="no NVIDIA driver is installed"))
    assert tt.cuda.is_available() is False
    assert tt.cuda.device_count() == 0
    for call in (
        tt.cuda.current_device,
        tt.cuda.synchronize,
        tt.cuda.get_device_name,
        lambda: tt.cuda.set_device(0),
    ):
        with pytest.raises(
            DeviceError, match="device 'cuda' is not available: no NVIDIA driver is installed"
        ):
            call()


def test_devices_of_the_type_can_be_named_without_a_driver(machine):
    machine(Driver(problem="no NVIDIA driver is installed"))
    assert tt.device("cuda:3").index == 3


def test_the_coverage_is_known_without_cupy():
    host.activate("device", "cuda")
    served = {op for op in ("add", "exp", "matmul", "sum") if REGISTRY.kernels_of(op, "cuda", ("strided",))}
    assert served == {"add", "exp", "matmul", "sum"}


def test_cupy_is_not_imported_before_a_cuda_device_is_used(tmp_path):
    """A package that fails when it is imported stands in place of CuPy."""
    (tmp_path / "cupy").mkdir()
    (tmp_path / "cupy" / "__init__.py").write_text("raise RuntimeError('CuPy was imported')\n")
    program = """
        import sys
        import tt
        from tt.core.host import host
        (tt.tensor([1.0]) + 1).sum()
        host.activate_all()
        tt.device("cuda:0")
        tt.cuda.is_available()
        tt.cuda.device_count()
        list(host.plugins())
        tt.explain("add", ["cuda:float32", "cuda:float32"])
        try:
            tt.ones(2) + tt.ones(2, device="meta")
        except RuntimeError:
            pass
        assert "cupy" not in sys.modules
    """
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# --- with a GPU ------------------------------------------------------------------------------------------------

needs_cuda = pytest.mark.skipif(
    availability.reason() is not None, reason=f"CUDA cannot be used here: {availability.reason()}"
)


@needs_cuda
def test_tensors_on_a_cuda_device_compute_what_those_on_the_cpu_do():
    x, y = tt.rand(5, 7), tt.rand(5, 7)
    for function in (
        lambda a, b: a + b,
        lambda a, b: (a * b).sum(),
        lambda a, b: a @ b.t(),
        lambda a, b: a.exp() - b,
    ):
        result = function(x.to("cuda"), y.to("cuda"))
        assert result.device.type == "cuda"
        assert tt.allclose(result.to("cpu"), function(x, y), rtol=1e-4, atol=1e-5)


def test_a_thread_that_finds_the_backend_finds_its_kernels():
    from tt.backends.cpu import plugin as cpu
    from tt.backends.cuda import plugin as cuda

    class Registry:
        def __init__(self):
            self.calls = []

        def add(self, table):
            self.calls.append("kernels")

        def add_backend(self, backend):
            self.calls.append("backend")

    for plugin in (cpu, cuda):
        registry = Registry()
        plugin.tt_register(registry)
        assert len(registry.calls) > 1 and registry.calls.index("backend") == len(registry.calls) - 1
