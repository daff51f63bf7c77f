"""The extensions of native kernels: instruction sets, flags, sources and digests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tt.backends.cpu.native import extensions
from tt.backends.cpu.native.extensions import LEVELS, SOURCE_LEVELS

SOURCES = ("pointwise/pointwise.c", "scan/scan.c", "shaping/shaping.c", "threads.c")


@pytest.fixture
def sources(tmp_path):
    """A root with a few families, of which one includes a header, that another one, and that templates."""
    folder = tmp_path / "backends" / "cpu" / "native"
    texts = {f"src/{name}": f"int {name[:-2].rpartition('/')[2]};\n" for name in SOURCES} | {
        "src/scan/scan.c": '#include "lines.h"\n#include <math.h>\n#include "shaping/tiles.inc"\n',
        "include/lines.h": ' # include "rows.h"\n',
        "include/rows.h": '#include "fold.inc"\n#include "sums.inc"\n',
        "src/fold.inc": "int rows;\n",
        "src/scan/sums.inc": "int sums;\n",  # the header leaves to its source which template this is
        "src/shaping/sums.inc": "int others;\n",
        "src/shaping/tiles.inc": '#include "columns.inc"\n#include "gone.inc"\n',
        "src/shaping/columns.inc": "int columns;\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return tmp_path


def modules(root: Path, machine: str = "x86_64") -> dict[str, Path]:
    modules = extensions.native_modules(root, machine)
    assert all(name.startswith("tt.backends.cpu.native._") for name in modules)
    return {name.rpartition("._")[2]: path for name, path in modules.items()}


def test_every_source_in_a_folder_or_outside_is_an_extension_for_each_of_its_instruction_sets(sources):
    assert list(modules(sources)) == [
        *(f"pointwise_{level}" for level in LEVELS),
        *(f"scan_{level}" for level in SOURCE_LEVELS["scan"]),
        "shaping_baseline",
        "threads",
    ]


def test_other_processors_have_the_baseline_alone(sources):
    assert list(modules(sources, "aarch64")) == [
        "pointwise_baseline",
        "scan_baseline",
        "shaping_baseline",
        "threads",
    ]


def test_an_extension_is_made_of_all_that_its_source_includes(sources):
    scan = modules(sources)["scan_avx2"]
    folder = scan.parents[2]
    assert [path.relative_to(folder).as_posix() for path in extensions.made_of(scan)] == [
        "src/scan/scan.c", "include/lines.h", "include/rows.h", "src/fold.inc", "src/scan/sums.inc",
        "src/shaping/columns.inc", "src/shaping/tiles.inc",
    ]  # fmt: skip


def test_a_root_without_sources_has_no_extensions(tmp_path):
    assert extensions.native_modules(tmp_path) == {}


@pytest.mark.parametrize("changed", ["include/rows.h", "src/fold.inc", "src/shaping/columns.inc"])
def test_a_digest_changes_with_a_header_a_template_and_the_flags(sources, changed):
    scan = modules(sources)["scan_avx2"]
    name = "tt.backends.cpu.native._scan_"
    before = {level: extensions.digest(name + level, scan) for level in ("baseline", "avx2")}
    assert before["baseline"] != before["avx2"]
    files = extensions.Files()
    assert (
        extensions.digest(name + "avx2", scan, files) == before["avx2"] and files.read(str(scan)) is not None
    )
    (scan.parents[2] / changed).write_text("int more_rows;\n", encoding="utf-8")
    assert extensions.digest(name + "avx2", scan, files) == before["avx2"]  # as it was read before
    assert extensions.digest(name + "avx2", scan) != before["avx2"]


@pytest.mark.skipif(sys.platform == "win32", reason="its compiler takes other flags")
def test_flags_name_the_instruction_set():
    flags = {level: extensions.flags_of(f"tt.backends.cpu.native._activation_{level}") for level in LEVELS}
    assert all(f"-DTT_LEVEL={level}" in flags[level] for level in LEVELS)
    assert "-march=x86-64-v3" in flags["avx2"] and "-march=x86-64-v4" in flags["avx512"]
    assert "-mprefer-vector-width=512" in flags["avx512"]
    assert not [flag for flag in extensions.flags_of("tt.backends.cpu.native._threads") if "TT_LEVEL" in flag]


def test_names_are_included_by_lines_that_begin_so():
    text = b'#include "a.h"\n  # include  "b.inc"\n// #include "c.h"\nx; #include "d.h"\n#include <e.h>\n'
    assert extensions.included_names(text + b'\t#\tinclude\t"f.h"') == ["a.h", "b.inc", "f.h"]
    assert extensions.included_names(b"") == []


@pytest.mark.parametrize("text", [None, "{"])
def test_a_record_that_cannot_be_read_counts_as_none(tmp_path, text):
    if text is not None:
        (tmp_path / extensions.RECORD).write_text(text, encoding="utf-8")
    assert extensions.read_record(tmp_path) == {}
