"""Programs of PyTorch that run on tt: `python -m tt.as_torch`, which `tt exec` starts."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from typing import Final

from tt.as_torch.facade import install

__all__ = ["main"]

USAGE: Final = "usage: python -m tt.as_torch [-m MODULE | PROGRAM] [ARGUMENT]..."


def main(words: Sequence[str]) -> int | None:
    """Run a program or a module as `python` would, where `import torch` gives tt.

    Parameters
    ----------
    words : sequence of str
        A path, or ``-m`` and the name of a module; then the arguments of the program.

    Returns
    -------
    int or None
        2 where there is nothing to run.
    """
    is_module = bool(words) and words[0] == "-m"
    program = list(words[is_module:])
    if not program or (program[0].startswith("-") and not is_module):
        print(USAGE, file=sys.stderr)
        return 0 if program and program[0] in ("-h", "--help") else 2
    if not is_module and not os.path.exists(program[0]):
        print(f"tt exec: there is no file {program[0]!r}", file=sys.stderr)
        return 2
    if not is_module and not sys.flags.safe_path:
        # `python program.py` has the program's folder first; `-m` has put the working directory there.
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
    install()
    sys.argv = program
    if is_module:
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(program[0], run_name="__main__")
    return None
