"""A program under the launcher sees what it sees under `python FILE` and `python -m MODULE`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tt.distributed.run
from tt.distributed.run import main

BOOTSTRAP = str(Path(tt.distributed.run.__file__).with_name("bootstrap.py"))
SEE = """\
from __future__ import annotations
'a string'
import sys, pickle, multiprocessing
class A: pass
def f(): return __name__
if __name__ == "__main__":
    known = sorted(n for n in globals() if not n.startswith("__"))
    pickle.loads(pickle.dumps(A()))
    print(known, __file__, __doc__, f(), sys.argv, sys.path[0], sys.modules["__main__"].A is A)
"""


@pytest.mark.parametrize("kind", ["file", "module"])
def test_a_program_sees_what_python_shows_it(tmp_path, kind):
    (tmp_path / "program.py").write_text(SEE)
    name = [str(tmp_path / "program.py")] if kind == "file" else ["program"]
    plain = [sys.executable, *(["-m"] if kind == "module" else []), *name, "--flag", "x"]
    ours = [sys.executable, BOOTSTRAP, kind, *name, "--flag", "x"]
    shown = [
        subprocess.run(c, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for c in (plain, ours)
    ]
    assert shown[0] == shown[1] != ""


def test_a_traceback_is_shown_and_kept_without_the_launchers_frames(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text("def f():\n    1 / 0\nf()\n")
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "error.json"))
    plain, ours = (
        subprocess.run([sys.executable, *words, str(program)], capture_output=True, text=True, check=False)
        for words in ([], [BOOTSTRAP, "file"])
    )
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode == 1
    content = json.loads((tmp_path / "error.json").read_text())["message"]
    assert content["message"] == "ZeroDivisionError: division by zero"
    assert content["extraInfo"]["py_callstack"] == plain.stderr


def test_modules_commands_and_absolute_paths_are_started(job, capfd, monkeypatch):
    monkeypatch.chdir(job.folder)
    (job.folder / "part.py").write_text("import sys; print('module', sys.argv[1:])")
    assert main(["-m", "part", "a", "--nproc-per-node=9"]) == 0
    assert main(["--no-python", "echo", "command", "b"]) == 0
    assert main(["--run-path", str(job.folder / "part.py"), "c"]) == 0
    assert capfd.readouterr().out == "module ['a', '--nproc-per-node=9']\ncommand b\nmodule ['c']\n"
