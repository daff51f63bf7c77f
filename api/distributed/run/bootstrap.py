"""Runs a worker's program as `python FILE` or `python -m MODULE` does, and keeps the traceback of what ends it.

A file that is run by its path and imports nothing of tt: programs start as fast as without it.  What the program sees
as `__main__` is the process' own, so pickling and multiprocessing find it.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any


def keep_errors() -> None:
    """Write the exception that ends the program to the file that the launcher has named, then show it as usual."""
    own = (__file__, "<frozen runpy>")
    json_, os_, sys_, time_, traceback_ = (
        json,
        os,
        sys,
        time,
        traceback,
    )  # the program takes this module's names

    def keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # Tracebacks begin in the program, as if Python had run it.
        while trace is not None and trace.tb_frame.f_code.co_filename in own:
            trace = trace.tb_next
        error.__traceback__ = trace
        path = os_.environ.get("TORCHELASTIC_ERROR_FILE")
        if path and not os_.path.exists(path):  # otherwise `record` was first
            shown = "".join(traceback_.format_exception(kind, error, trace))
            now = time_.time()
            extra = {"py_callstack": shown, "timestamp": str(int(now)), "time": now}
            try:
                with open(f"{path}.part", "w", encoding="utf-8") as file:
                    json_.dump(
                        {"message": {"message": f"{kind.__name__}: {error}", "extraInfo": extra}}, file
                    )
                os_.replace(f"{path}.part", path)
            except OSError as problem:  # the disk is full
                sys_.stderr.write(f"cannot write {path}: {problem}\n")
        sys_.__excepthook__(kind, error, trace)

    sys.excepthook = keep


if __name__ == "__main__":
    keep_errors()
    is_module = sys.argv[1] == "module"
    del sys.argv[:2]
    if not sys.flags.safe_path:
        # As Python itself sets it: the folder of this file would shadow modules of the program.
        sys.path[0] = os.getcwd() if is_module else os.path.dirname(os.path.realpath(sys.argv[0]))
    if is_module:
        step: Any = runpy._run_module_as_main, (sys.argv[0],)  # type: ignore[attr-defined]  # as `python -m` does
    else:
        with open(sys.argv[0], "rb") as source:
            # In these globals, so that the program is the module `__main__`, which pickle and spawn look
            # for.
            step = exec, (compile(source.read(), sys.argv[0], "exec", dont_inherit=True), globals())
        __file__ = sys.argv[0]
    # The program finds the names of a fresh module.
    for name in [name for name in globals() if not name.startswith("__") and name != "step"]:
        del globals()[name]
    del name
    __doc__ = None  # type: ignore[assignment]  # a program has its own, or none
    # Called without a name that would be left among the program's.
    (lambda function, arguments: function(*arguments))(*globals().pop("step"))
