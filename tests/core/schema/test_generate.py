"""A changed ops.yaml takes effect at the next import of a checkout, and nowhere else."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tt.core.errors import SchemaError
from tt.core.schema import generate, snapshot, stubs
from tt.core.schema.snapshot import definitions, methods, overloads, public_names

ROOT = Path(snapshot.root())
TEXT = """\
schema_version: 1
ops:
- func: f(Tensor self) -> Tensor
  kind: other
  variants: [function, method, inplace]
  aliases: [g]
- func: f.two(Tensor self, int n) -> Tensor
  kind: other
"""
TWICE = """\
- func: twice_as_much(Tensor self) -> Tensor
  kind: pointwise
  meta: same
  promote: [self]
"""


# --- in this process -------------------------------------------------------------------------------------------


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """An ops.yaml that was edited after the snapshot was made."""
    source = tmp_path / "ops.yaml"
    source.write_text(TEXT)
    (tmp_path / "hatch_build.py").touch()
    monkeypatch.setattr(snapshot, "root", lambda: str(tmp_path))
    monkeypatch.setattr(generate, "SNAPSHOT_PATH", str(tmp_path / "_snapshot.py"))
    monkeypatch.setattr(generate, "make_stubs", lambda: "")
    snapshot._state.cache_clear()
    yield source
    monkeypatch.undo()
    snapshot._state.cache_clear()


def test_a_changed_yaml_takes_effect_and_a_line_says_so(edited, tmp_path, capsys):
    assert list(definitions()) == ["f", "f.two"]
    assert overloads("f") == ("f", "f.two")
    assert methods() == ("f", "f_", "g", "g_")
    assert public_names() == {"f": "f", "g": "f"}
    values = {}
    exec((tmp_path / "_snapshot.py").read_text(), values)
    assert values["DIGEST"] == snapshot.digest() and list(values["OPS"]) == ["f", "f.two"]
    later = snapshot.Definitions(values["OPS"], values["TYPES"], values["ALIASES"])
    assert dict(definitions()) == dict(later)  # also where in the file they are
    said = capsys.readouterr().err
    assert said.startswith("tt: ops.yaml or its loader has changed: snapshot and type stubs made in ")
    assert said.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_snapshot.py", "hatch_build.py", "ops.yaml"]


def test_an_installed_package_is_not_compared(edited, tmp_path):
    (tmp_path / "hatch_build.py").unlink()
    edited.write_text("no schema at all")
    assert "add" in definitions()


def test_all_mistakes_are_shown_and_no_snapshot_is_written(edited, tmp_path):
    edited.write_text(TEXT.replace("kind: other", "kind: othr").replace("aliases", "aliasses"))
    with pytest.raises(SchemaError) as caught:
        definitions()
    message = str(caught.value)
    assert [f"{edited}:{place}:" in message for place in ("4:9", "6:3", "8:9")] == [True] * 3
    assert not (tmp_path / "_snapshot.py").exists()
    edited.write_text(TEXT)
    assert list(definitions()) == ["f", "f.two"]


def test_where_the_folder_cannot_be_written_the_yaml_is_read(edited, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(generate, "SNAPSHOT_PATH", str(tmp_path / "nowhere" / "_snapshot.py"))
    assert list(definitions()) == ["f", "f.two"]
    said = capsys.readouterr().err
    assert "every process reads the YAML, since the snapshot cannot be written: " in said
    assert said.count("\n") == 1


def test_stubs_that_fail_leave_a_word(edited, monkeypatch, capsys):
    monkeypatch.setattr(generate, "make_stubs", lambda: "KeyError: 'f'")
    assert list(definitions()) == ["f", "f.two"]
    assert "snapshot made; its type stubs failed: KeyError: 'f' in " in capsys.readouterr().err


def test_without_standard_error_nothing_is_said(edited, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    assert list(definitions()) == ["f", "f.two"]
    assert capsys.readouterr() == ("", "")


def test_what_is_as_it_shall_be_is_not_written(tmp_path):
    path = tmp_path / "file"
    assert generate.write(str(path), "text\n")
    before = path.stat()
    assert not generate.write(str(path), "text\n")
    after = path.stat()  # the time of reading may differ
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert generate.write(str(path), "other\n") and path.read_text() == "other\n"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        generate.write(str(tmp_path / "folder"), "text")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_a_full_disk_is_reported_with_the_file(tmp_path, monkeypatch):
    class Full:
        def __init__(self, path, *args, **kwargs):
            self.file = Path(path).open(*args, **kwargs)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *found):
            self.file.close()

        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(generate, "open", Full, raising=False)
    path = str(tmp_path / "file")
    with pytest.raises(OSError, match=f"No space left on device: '{re.escape(path)}'") as caught:
        generate.write(path, "text")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, path)
    assert list(tmp_path.iterdir()) == []


# --- in processes of a checkout of their own -------------------------------------------------------------------

GENERATED = (
    "core/schema/_snapshot.py",
    "core/tensor/tensor_methods.pyi",
    "api/__init__.pyi",
    "api/nn/functional.pyi",
)
NAMES = "import tt; print(hasattr(tt, 'add'), 'twice_as_much' in tt.core.schema.snapshot.definitions())"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout, laid out but never built."""
    project = tmp_path_factory.mktemp("project")
    package = project / ".editable" / "tt"
    package.mkdir(parents=True)
    left_out = shutil.ignore_patterns(
        "*.so", "*.pyd", "__pycache__", *(Path(name).name for name in GENERATED)
    )
    for name in ("api", "core", "backends", "plugins", "cli", "examples"):
        shutil.copytree(ROOT / name, project / name, ignore=left_out)
    for name in ("ops.yaml", "hatch_build.py"):
        shutil.copyfile(ROOT / name, project / name)
    for entry in (
        *(project / "api").iterdir(),
        *(project / name for name in ("core", "backends", "plugins", "ops.yaml")),
    ):
        (package / entry.name).symlink_to(entry)
    return project


def start(project: Path, program: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(project / ".editable")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", program], cwd=project, env=environment, **pipes)


def ended(process: "subprocess.Popen[str]") -> tuple[str, str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out, err


@pytest.mark.exhaustive  # compiles and imports everything for each of eight processes: ten seconds
def test_processes_of_a_checkout_make_what_is_missing_and_what_has_changed(checkout):
    # Never built: several processes at once, each of which may make everything.
    for out, err in map(ended, [start(checkout, NAMES) for _ in range(2)]):
        assert out == "True False\n"
        assert err == "" or err.startswith("tt: ops.yaml has no snapshot: snapshot and type stubs made in ")
    for name, text in stubs.stubs().items():
        assert (checkout / name).read_text() == text, name
    assert (checkout / GENERATED[0]).read_text() == generate.render(definitions(), snapshot.digest())
    assert not list(checkout.rglob("*.partial"))
    assert ended(start(checkout, NAMES)) == ("True False\n", "")
    # Changed: at once, although nothing says so but the content.
    source = checkout / "ops.yaml"
    before, times = source.read_text(), source.stat()
    source.write_text(before + TWICE)
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    out, err = ended(start(checkout, NAMES))
    assert out == "True True\n"
    assert err.startswith("tt: ops.yaml or its loader has changed: snapshot and type stubs made in ")
    assert "def twice_as_much(input: Tensor) -> Tensor:" in (checkout / "api/__init__.pyi").read_text()
    assert ended(start(checkout, NAMES)) == ("True True\n", "")
    # Wrong: all mistakes, and what was made is left.
    made = (checkout / GENERATED[0]).read_bytes()
    lines = (before + TWICE).count("\n")
    source.write_text(before + TWICE.replace("meta: same", "metta: same").replace("pointwise", "pointwis"))
    process = start(checkout, NAMES)
    err = process.communicate(timeout=300)[1]
    assert process.returncode == 1
    assert (
        f"ops.yaml:{lines - 2}:9: unknown kind 'pointwis'" in err
        and f"ops.yaml:{lines - 1}:3: unknown key" in err
    )
    assert (checkout / GENERATED[0]).read_bytes() == made
    # Changed back, within the second and of the same size as before the mistake.
    source.write_text(before)
    out, err = ended(start(checkout, NAMES))
    assert out == "True False\n" and "has changed" in err
