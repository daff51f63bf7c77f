"""MKL is found where packages put it, loaded when it is needed, and what cannot be loaded is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tt
from tests.backends.cpu.mkl_libraries import needs_mkl
from tests.processes import printed_by
from tt.backends.cpu import mkl, threads


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An environment without MKL, of which the folder for libraries is returned."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(mkl.site, "getuserbase", lambda: str(tmp_path / "user"))
    monkeypatch.delenv(mkl.VARIABLE, raising=False)
    folder = tmp_path.joinpath(*(("Library", "bin") if mkl.WINDOWS else ("lib",)))
    folder.mkdir(parents=True)
    mkl.load.cache_clear()
    yield folder
    mkl.load.cache_clear()


@pytest.mark.parametrize(
    "names",
    [
        ("libmkl_rt.so", "libmkl_rt.so.2", "libmkl_rt.so.10"), ("mkl_rt.2.dll",), ("libmkl_rt.2.dylib",),
        ("libmkl_rt.dylib",),
    ],
)  # fmt: skip
def test_the_newest_library_is_found_by_its_name_on_each_system(empty: Path, names: tuple[str, ...]) -> None:
    for other in ("libmkl_core.so.2", "libmkl_rt.so.txt", "libmkl_rt_extra.so", "libmkl_rt.so.2.backup"):
        (empty / other).touch()
    assert mkl.find() is None
    for name in names:
        (empty / name).touch()
    assert mkl.find() == str(empty / names[-1])


def test_the_folder_of_the_user_is_searched_after_that_of_the_environment(
    empty: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "user" / empty.relative_to(tmp_path)
    folder.mkdir(parents=True)
    (folder / "libmkl_rt.so.3").touch()
    assert mkl.find() == str(folder / "libmkl_rt.so.3")
    (empty / "libmkl_rt.so.2").touch()
    assert mkl.find() == str(empty / "libmkl_rt.so.2")


def test_without_mkl_numpy_serves_and_asking_for_mkl_is_an_error(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mkl.unavailable() == "it is not installed"
    assert mkl.serving() == "NumPy's LAPACK (MKL: it is not installed)"
    monkeypatch.setenv(mkl.VARIABLE, "mkl")
    with pytest.raises(
        tt.errors.ConfigurationError, match=r"TT_LAPACK=mkl: it is not installed\n.*tt-tensor\[mkl\]"
    ):
        mkl.unavailable()


def test_a_library_that_cannot_be_loaded_does_not_serve(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty / "libmkl_rt.so.3").write_text("not a library")
    assert "libmkl_rt.so.3" in (mkl.unavailable() or "")
    monkeypatch.setenv(mkl.VARIABLE, "mkl")
    with pytest.raises(tt.errors.ConfigurationError, match=r"TT_LAPACK=mkl.*libmkl_rt"):
        mkl.unavailable()


def test_unknown_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(mkl.VARIABLE, "magic")
    with pytest.raises(
        tt.errors.ConfigurationError, match="TT_LAPACK=magic: unknown choice; known: mkl, numpy"
    ):
        mkl.unavailable()
    monkeypatch.setenv(mkl.VARIABLE, "numpy")
    assert mkl.unavailable() == "TT_LAPACK=numpy"


def test_nothing_is_looked_for_before_the_first_decomposition() -> None:
    code = """
import tt
tt.ones(3, 3) @ tt.ones(3, 3)
with open("/proc/self/maps") as file:
    print("mkl_rt" in file.read())
"""
    if sys.platform != "linux":
        pytest.skip("loaded libraries are listed by Linux only")
    assert printed_by(code).strip() == "False"


@needs_mkl
@pytest.mark.parametrize("layer", ["", "SEQUENTIAL"])
def test_mkl_has_no_threads_unless_its_layer_is_chosen(layer: str) -> None:
    code = "from tt.backends.cpu import mkl, threads; print(mkl.load().threaded, len(threads.GOVERNED))"
    printed = printed_by(code, {**os.environ, "MKL_THREADING_LAYER": layer})
    assert printed.split() == (["True", "1"] if layer else ["False", "0"])


def test_a_library_with_threads_has_as_many_as_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    before = tt.get_num_threads()
    monkeypatch.setattr(threads, "GOVERNED", [])
    try:
        threads.govern(told.append)
        tt.set_num_threads(3)
    finally:
        tt.set_num_threads(before)
    assert told == [before, 3, before]
