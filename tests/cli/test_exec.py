"""`tt exec`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(os.name != "posix", reason="the process is replaced where the system can do that")
def test_the_command_runs_programs(tmp_path):
    (tmp_path / "program.py").write_text(
        "import sys, torch\nprint(torch.__version__, sys.argv[1:])\nsys.exit(3)\n"
    )
    command = [sys.executable, "-m", "tt", "exec", "program.py", "--help", "-x"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (3, "2.13.0+tt ['--help', '-x']\n"), done.stderr
