"""Running a program, and the fault in its end.

An exception is tt's own if its class is one of `tt.core.errors`, or a built-in class that a `raise` statement in a
module of tt raises.  Every other one comes from inside: NumPy, SciPy, or Python met arguments that tt must refuse.
"""

from __future__ import annotations

import dis
import os
import re
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np

import tt
from tt.core.errors import TTError

__all__ = ["Verdict", "compare", "judged", "verdict_of"]

OWN: Final = (
    TypeError,
    ValueError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    StopIteration,
)
"""Built-in classes that tt raises itself."""
ROOT: Final = os.path.realpath(Path(tt.__file__).parents[1])
PACKAGE: Final = os.path.realpath(Path(tt.__file__).parent)
NAME: Final = "<program>"
NUMBER: Final = re.compile(r"-?\d[\d.e+]*")


@dataclass(frozen=True)
class Verdict:
    """How a program ended.

    Attributes
    ----------
    kind : str
        "good" where it succeeded, "refused" where tt refused it, "foreign" for an exception from inside, "wrong" for a
        result that cannot be right, "different" for one that is not PyTorch's, "crash", "hang", "slow" where it may
        rightly take long, or "uncompared" where PyTorch crashes or hangs.
    where : str
        The part that is the same for the same fault.
    text : str
        More of it.
    """

    kind: str
    where: str = ""
    text: str = ""

    @property
    def failed(self) -> bool:
        """Whether something is wrong."""
        return self.kind in ("crash", "hang", "foreign", "wrong", "different")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, for JSON."""
        return asdict(self)


def compare(text: str, names: dict[str, Any]) -> Verdict:
    """Run a comparison with PyTorch after its program, in the program's names; `where` says what came of it."""
    from tests.fuzz.comparison import check
    from tests.fuzz.following import follow, follow_quantized
    from tests.fuzz.loops import follow_transforms

    known = {
        "check": check, "follow": follow, "follow_quantized": follow_quantized, "follow_transforms": follow_transforms
    }  # fmt: skip
    try:
        return Verdict("good", eval(text, {**names, **known}))
    except AssertionError as error:
        first, _, rest = str(error).partition("\n")
        return Verdict("different", first, rest)
    except Exception as error:
        return Verdict("wrong", f"the comparison fails: {type(error).__name__}", traceback.format_exc())


def verdict_of(text: str, names: dict[str, Any] | None = None) -> Verdict:
    """Run a program here, and judge how it ends; its names are left in `names`."""
    try:
        code = compile(text, NAME, "exec")
    except (SyntaxError, MemoryError, RecursionError) as error:
        return Verdict("wrong", "the program is not Python", str(error))
    names = {} if names is None else names
    names["np"] = np
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's, of a kernel, must not get out
            exec(code, names)
    except TTError as error:
        return Verdict("refused", type(error).__name__)
    except MemoryError as error:
        return Verdict("refused", type(error).__name__)
    except (Exception, SystemExit) as error:
        return judged(error)
    return Verdict("good")


def judged(error: BaseException) -> Verdict:
    """Return what an exception says about what raised it."""
    inner = error.__traceback__
    while inner is not None and inner.tb_next is not None:
        inner = inner.tb_next
    name = type(error).__name__
    if inner is not None:
        if isinstance(error, AssertionError) and inner.tb_frame.f_code.co_filename == NAME:
            return Verdict("wrong", str(error))
        if isinstance(error, OWN) and not isinstance(error, RecursionError) and _raised_by_tt(inner):
            return Verdict("refused", name)
        if inner.tb_frame.f_code.co_filename == NAME and not _mentions_tt(error):
            return Verdict("refused", f"{name} of the program itself")
    place = "?" if inner is None else _place(inner)
    lines = traceback.format_exception(error)
    message = NUMBER.sub("N", str(error).partition("\n")[0])[:70]
    return Verdict("foreign", f"{name} in {place}: {message}", "".join(lines[-8:]))


def _mentions_tt(error: BaseException) -> bool:
    """Return whether a frame of tt, which may be a compiled one, or a builtin of it took part."""
    frame = error.__traceback__
    while frame is not None:
        if _of_tt(frame.tb_frame.f_code.co_filename):
            return True
        frame = frame.tb_next
    return False


def _of_tt(file: str) -> bool:
    path = os.path.realpath(file)
    return path.startswith(
        (PACKAGE + os.sep, *(os.path.join(ROOT, folder) for folder in ("core", "backends")))
    )


def _raised_by_tt(frame: TracebackType) -> bool:
    """Return whether a statement `raise` of tt raised an error; compiled modules do not say what did."""
    code = frame.tb_frame.f_code
    if not _of_tt(code.co_filename) and not code.co_filename.endswith(".py"):
        return False
    if not code.co_code or len(code.co_code) < 4:  # a frame that Cython made
        return True
    for instruction in dis.get_instructions(code):
        if instruction.offset == frame.tb_lasti:
            return instruction.opname in ("RAISE_VARARGS", "RERAISE") and _in_tt(code.co_filename)
    return False


def _in_tt(file: str) -> bool:
    real = os.path.realpath(file)
    checkout = os.path.realpath(Path(__file__).parents[2])
    return real.startswith((PACKAGE + os.sep, checkout + os.sep)) and "site-packages" not in real


def _place(frame: TracebackType) -> str:
    code = frame.tb_frame.f_code
    real = os.path.realpath(code.co_filename) if os.path.exists(code.co_filename) else code.co_filename
    checkout = os.path.realpath(Path(__file__).parents[2])
    if real.startswith(checkout):
        return f"{os.path.relpath(real, checkout)}:{code.co_qualname}"
    return f"{os.path.basename(real)}:{code.co_qualname}"
