"""What the native kernels are compiled from: extensions, flags, digests and the order of work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tt.backends.cpu.native import building
from tt.backends.cpu.native.building import FAMILY_LEVELS, LEVELS

SOURCES = ("pointwise.c", "scan.c", "sorting.c", "threads.c")


@pytest.fixture
def sources(tmp_path):
    """A root with a few families, of which one includes a header that includes another."""
    folder = tmp_path / "backends" / "cpu" / "native"
    folder.mkdir(parents=True)
    for name in SOURCES:
        (folder / name).write_text(f"int {name[:-2]};\n", encoding="utf-8")
    (folder / "scan.c").write_text('#include "lines.h"\n#include <math.h>\n', encoding="utf-8")
    (folder / "lines.h").write_text(' # include "rows.h"\n', encoding="utf-8")
    (folder / "rows.h").write_text("int rows;\n", encoding="utf-8")
    return tmp_path


def modules(root: Path, machine: str = "x86_64") -> dict[str, Path]:
    found = building.native_modules(
        root, [f"backends/cpu/native/{name}" for name in (*SOURCES, "gone.c")], machine
    )
    return {name.rpartition("._")[2]: path for name, path in found.items()}


def test_a_family_is_an_extension_for_each_of_its_instruction_sets(sources):
    assert list(modules(sources)) == [
        *(f"pointwise_{level}" for level in LEVELS),
        *(f"scan_{level}" for level in FAMILY_LEVELS["scan"]),
        "sorting_baseline",
        "threads",
    ]


def test_other_processors_have_the_baseline_alone(sources):
    assert list(modules(sources, "aarch64")) == [
        "pointwise_baseline",
        "scan_baseline",
        "sorting_baseline",
        "threads",
    ]


def test_an_extension_is_made_of_all_that_its_source_includes(sources):
    scan = modules(sources)["scan_avx2"]
    assert [path.name for path in building.made_of(scan)] == ["scan.c", "lines.h", "rows.h"]


def test_a_digest_changes_with_a_header_and_with_the_flags(sources):
    scan = modules(sources)["scan_avx2"]
    name = "tt.backends.cpu.native._scan_"
    before = {level: building.digest(name + level, scan) for level in ("baseline", "avx2")}
    assert before["baseline"] != before["avx2"]
    contents: dict[Path, bytes] = {}
    assert building.digest(name + "avx2", scan, contents) == before["avx2"] and scan in contents
    (scan.parent / "rows.h").write_text("int more_rows;\n", encoding="utf-8")
    assert building.digest(name + "avx2", scan, contents) == before["avx2"]  # as it was read before
    assert building.digest(name + "avx2", scan) != before["avx2"]


@pytest.mark.skipif(sys.platform == "win32", reason="its compiler takes other flags")
def test_flags_name_the_instruction_set():
    flags = {level: building.flags_of(f"tt.backends.cpu.native._activation_{level}") for level in LEVELS}
    assert all(f"-DTT_LEVEL={level}" in flags[level] for level in LEVELS)
    assert "-march=x86-64-v3" in flags["avx2"] and "-march=x86-64-v4" in flags["avx512"]
    assert "-mprefer-vector-width=512" in flags["avx512"]
    assert not [flag for flag in building.flags_of("tt.backends.cpu.native._threads") if "TT_LEVEL" in flag]


def test_what_takes_longest_is_compiled_first_and_refused_levels_are_left_out(sources):
    found = modules(sources)
    assert building.expected_work("_scan_avx2", found["scan_avx2"]) > building.expected_work(
        "_scan_baseline", found["scan_baseline"]
    )
    left = building.without({f"tt._{name}": path for name, path in found.items()}, ["avx512"])
    assert "tt._pointwise_avx512" not in left and len(left) == len(found) - 1
