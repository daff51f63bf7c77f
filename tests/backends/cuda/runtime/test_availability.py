"""Why CUDA cannot be used: the exact texts."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tt.backends.cuda.runtime import availability
from tt.backends.cuda.runtime.availability import (
    Driver,
    cupy_version,
    diagnose,
    find_driver,
    installed_cupy,
    reason,
)
from tt.core.errors import DeviceError


@pytest.mark.parametrize(
    ("driver", "packages", "expected"),
    [
        (Driver(12040, 2), ("cupy-cuda12x",), None),
        (Driver(13000, 1), ("cupy-cuda12x",), None),
        (Driver(12040, 1), ("cupy",), None),
        (
            Driver(problem="no NVIDIA driver is installed (libcuda.so.1 was not found)"),
            ("cupy-cuda12x",),
            "no NVIDIA driver is installed (libcuda.so.1 was not found)",
        ),
        (Driver(12040, 0), ("cupy-cuda12x",), "the NVIDIA driver finds no device"),
        (Driver(12040, 1), (), "CuPy is not installed; try: pip install 'tt-tensor[cuda12]'"),
        (Driver(13010, 1), (), "CuPy is not installed; try: pip install 'tt-tensor[cuda13]'"),
        (
            Driver(12040, 1),
            ("cupy-cuda13x",),
            "cupy-cuda13x needs a driver for CUDA 13, this one supports 12.4; try: pip install 'tt-tensor[cuda12]'",
        ),
        (
            Driver(11080, 1),
            ("cupy-cuda12x",),
            "cupy-cuda12x needs a driver for CUDA 12, this one supports 11.8; try: a newer driver",
        ),
        (
            Driver(12040, 1),
            ("cupy-cuda11x", "cupy-cuda12x"),
            "several CuPy packages are installed and overwrite each other: cupy-cuda11x, cupy-cuda12x; try: pip "
            "uninstall cupy-cuda11x cupy-cuda12x, then pip install 'tt-tensor[cuda12]'",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(driver, packages, expected):
    assert diagnose(driver, packages) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("14.2.0", None),
        ("15.0.0a1", None),
        ("", None),
        (
            "13.6.0",
            "cupy-cuda12x 13.6.0 is installed, and CuPy 14 or newer is needed; try: pip install --upgrade "
            "'tt-tensor[cuda12]'",
        ),
    ],
)
def test_an_old_cupy_is_named_with_what_to_do(version, expected):
    assert diagnose(Driver(12040, 1), ("cupy-cuda12x",), version) == expected


@pytest.fixture
def works(monkeypatch):
    """Let a driver and a CuPy package be there."""
    monkeypatch.setattr(availability, "find_driver", lambda: Driver(12040, 1))
    monkeypatch.setattr(availability, "installed_cupy", lambda: ("cupy-cuda12x",))
    monkeypatch.setattr(availability, "cupy_version", lambda: "14.2.0")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise ImportError('libcublas.so.12: cannot open shared object file')",
         "ImportError: libcublas.so.12: cannot open shared object file"),
        ("raise RuntimeError('first line\\nsecond line')", "RuntimeError: first line"),
        ("import a_module_that_nobody_has", "ModuleNotFoundError: No module named 'a_module_that_nobody_has'"),
    ],
)  # fmt: skip
def test_a_cupy_that_cannot_be_imported_is_told_with_its_error(works, monkeypatch, tmp_path, text, told):
    (tmp_path / "cupy.py").write_text(text + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with pytest.raises(DeviceError) as caught:
        availability.import_cupy()
    assert str(caught.value) == (
        f"device 'cuda' is not available: cupy-cuda12x 14.2.0 is installed and cannot be imported: {told}\n"
        "  try: python -c 'import cupy', which shows the whole traceback; pip install --force-reinstall mends a "
        "package that is broken"
    )
    assert caught.value.__cause__ is not None


def test_memory_that_runs_out_while_cupy_is_imported_is_no_broken_cupy(works, monkeypatch, tmp_path):
    (tmp_path / "cupy.py").write_text("raise MemoryError\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    with pytest.raises(MemoryError):
        availability.import_cupy()


def test_the_version_of_the_only_package_is_told(monkeypatch):
    given = {"CuPy-CUDA12x": "13.1", "numpy": "2"}
    found = [SimpleNamespace(metadata={"Name": name}, version=v) for name, v in given.items()]
    monkeypatch.setattr(availability, "distributions", lambda: found)
    for packages, version in ((("cupy-cuda12x",), "13.1"), ((), ""), (("cupy-cuda12x", "cupy"), "")):
        monkeypatch.setattr(availability, "installed_cupy", lambda packages=packages: packages)
        cupy_version.cache_clear()
        assert cupy_version() == version
    cupy_version.cache_clear()


def test_a_machine_without_a_driver_says_so(monkeypatch):
    import ctypes

    def refuse(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    find_driver.cache_clear()
    try:
        assert "no NVIDIA driver is installed" in reason()
    finally:
        find_driver.cache_clear()


class FakeLibrary:
    """Answers as the driver's library does."""

    def __init__(self, version: int, init: int, count: int) -> None:
        self.version, self.init, self.count = version, init, count

    def cuDriverGetVersion(self, out):  # noqa: N802 - the name in the library
        out._obj.value = self.version
        return 0

    def cuInit(self, flags):  # noqa: N802 - the name in the library
        return self.init

    def cuDeviceGetCount(self, out):  # noqa: N802 - the name in the library
        out._obj.value = self.count
        return 0

    def cuGetErrorName(self, code, out):  # noqa: N802 - the name in the library
        out._obj.value = {100: b"CUDA_ERROR_NO_DEVICE"}.get(code)
        return 0


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (FakeLibrary(12040, 0, 2), Driver(12040, 2)),
        (
            FakeLibrary(12040, 100, 0),
            Driver(12040, problem="the NVIDIA driver reports: CUDA_ERROR_NO_DEVICE (100)"),
        ),
        (FakeLibrary(12040, 77, 0), Driver(12040, problem="the NVIDIA driver reports: error 77")),
    ],
)
def test_the_driver_is_asked_for_its_version_and_devices(monkeypatch, library, expected):
    import ctypes

    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    find_driver.cache_clear()
    try:
        assert find_driver() == expected
    finally:
        find_driver.cache_clear()


def test_cupy_packages_are_found_without_importing_cupy():
    import sys

    before = "cupy" in sys.modules
    installed_cupy()
    assert ("cupy" in sys.modules) == before
