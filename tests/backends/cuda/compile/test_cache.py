"""The cache of compiled kernels: what decides, what damage does, and writers that race."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tt.backends.cuda.compile import cache
from tt.backends.cuda.compile.cache import cache_folder, cached_kernel, kernel_key, read_kernel, write_kernel
from tt.backends.cuda.compile.compiler import Compiled
from tt.backends.cuda.launch.programs import Program
from tt.core.errors import CompileError

TEXT = "template <typename T> __global__ void half(T* x) { *x = *x / T(2); }\n"
KERNEL = "half<float>"


@pytest.fixture
def program(tmp_path):
    def make(text: str = TEXT, *options: str) -> Program:
        (tmp_path / "sample.cuh").write_text(text)
        return Program("sample.cuh", options, folder=tmp_path)

    return make


@pytest.fixture
def compiled(monkeypatch, nvrtc):
    """Count the real compilations."""
    done = []

    def compile_source(source, names, arch):
        done.append((*names, arch))
        return nvrtc.compile_source(source, names, arch)

    monkeypatch.setattr(cache, "compile_source", compile_source)
    return done


def test_the_folder_is_where_the_variables_say(tmp_path):
    assert cache_folder({"TT_CUDA_CACHE_DIR": str(tmp_path)}) == tmp_path
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "tt" / "cuda"
    assert cache_folder({}).parts[-2:] == ("tt", "cuda")


@pytest.mark.cupy
def test_a_kernel_is_compiled_once(program, compiled, tmp_path):
    first = cached_kernel(program().kernel(KERNEL), "sm_80", tmp_path / "kernels")
    again = cached_kernel(program().kernel(KERNEL), "sm_80", tmp_path / "kernels")
    assert compiled == [(KERNEL, "sm_80")]
    assert (again.code, again.names) == (first.code, first.names)
    (file,) = (tmp_path / "kernels").iterdir()
    assert file.suffix == ".bin"


@pytest.mark.cupy
def test_what_decides_is_in_the_key(program, nvrtc, monkeypatch):
    def key(made, name=KERNEL, arch="sm_80"):
        return kernel_key(made.kernel(name), arch)

    keys = [
        key(program()), key(program(), "half<double>"), key(program(), arch="sm_90"),
        key(program(TEXT + "// other\n")), key(program(TEXT, "-DTT")),
    ]  # fmt: skip
    monkeypatch.setattr(cache, "nvrtc_version", lambda: (99, 1))
    keys.append(key(program()))
    assert len(set(keys)) == len(keys)
    assert key(program()) == key(program())


@pytest.mark.cupy
@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_damaged_file_is_compiled_again(program, compiled, tmp_path, damage):
    folder = tmp_path / "kernels"
    first = cached_kernel(program().kernel(KERNEL), "sm_80", folder)
    (file,) = folder.iterdir()
    content = file.read_bytes()
    damaged = {
        "cut": content[: len(content) // 2],
        "changed": content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        "empty": b"",
        "other": b"something else",
    }[damage]
    file.write_bytes(damaged)
    assert read_kernel(file, KERNEL) is None
    assert cached_kernel(program().kernel(KERNEL), "sm_80", folder).code == first.code
    assert len(compiled) == 2
    assert file.read_bytes() == content


@pytest.mark.cupy
def test_what_does_not_compile_leaves_nothing(program, nvrtc, tmp_path):
    with pytest.raises(CompileError):
        cached_kernel(
            program("__global__ void f() { missing(); }").kernel("f"), "sm_80", tmp_path / "kernels"
        )
    assert not (tmp_path / "kernels").exists()


@pytest.mark.cupy
def test_a_folder_that_cannot_be_written_to_costs_time_only(program, compiled, tmp_path):
    folder = tmp_path / "file"
    folder.write_text("no folder")
    for _ in range(2):
        assert cached_kernel(program().kernel(KERNEL), "sm_80", folder).names[KERNEL]
    assert len(compiled) == 2


def test_a_write_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def replace(*paths):
        raise OSError("no space left on device")

    monkeypatch.setattr(cache.os, "replace", replace)
    with pytest.raises(OSError, match="no space left"):
        write_kernel(tmp_path / "kernel.bin", KERNEL, Compiled(b"code", {KERNEL: "lowered"}))
    assert not list(tmp_path.iterdir())


RACE = """
import sys
from pathlib import Path
from tt.backends.cuda.compile.cache import read_kernel, write_kernel
from tt.backends.cuda.compile.compiler import Compiled
path, seed = Path(sys.argv[1]), int(sys.argv[2])
for turn in range(80):
    write_kernel(path, "f", Compiled(bytes([seed]) * 5000 * (seed + 1), {"f": f"lowered{seed}"}))
    found = read_kernel(path, "f")
    assert found is not None
    number = found.code[0]
    assert found.code == bytes([number]) * 5000 * (number + 1) and found.names == {"f": f"lowered{number}"}
"""


def test_processes_that_write_at_once_never_read_a_mixture(tmp_path):
    path = tmp_path / "kernels" / "same.bin"
    command = [sys.executable, "-c", RACE, str(path)]
    running = [
        subprocess.Popen([*command, str(seed)], stderr=subprocess.PIPE, text=True) for seed in range(4)
    ]
    assert [(p.wait(), p.stderr.read()) for p in running] == [(0, "")] * 4
    for process in running:
        process.stderr.close()
    assert [p.name for p in path.parent.iterdir()] == ["same.bin"]


@pytest.mark.cupy
def test_threads_that_compile_the_same_kernel_agree(program, compiled, tmp_path):
    made = program()
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda _: cached_kernel(made.kernel(KERNEL), "sm_80", tmp_path / "k").code, range(4))
        )
    assert len(set(found)) == 1
    assert len(list(Path(tmp_path / "k").iterdir())) == 1
