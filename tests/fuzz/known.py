"""Faults that are known and not mended yet, each with its reason.  What is mended leaves the list."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from tests.fuzz.verdicts import Verdict

__all__ = ["KNOWN", "Known"]


@dataclass(frozen=True)
class Known:
    """A fault that is not reported.

    Attributes
    ----------
    reason : str
        What is wrong, and why it stays for now.
    kind, where : str
        Of the verdict: its kind, and a regular expression for its place.
    program : str
        A program that fails this way: as soon as it does not, the entry is reported as stale.
    subject : str
        A regular expression for the operator.
    part : str
        A mutation that must be among those of the program.
    sanitized : bool
        Whether it shows only under a sanitizer.
    """

    reason: str
    kind: str
    where: str
    program: str
    subject: str = ""
    part: str = ""
    sanitized: bool = False

    def covers(self, subject: str, verdict: Verdict, parts: Collection[str] | None = None) -> bool:
        """Return whether a failure is this one."""
        return (
            verdict.kind == self.kind
            and re.search(self.where, verdict.where) is not None
            and re.search(self.subject, subject) is not None
            and (parts is None or not self.part or self.part in parts)
        )


OVERFLOW = "array is too big|Maximum allowed|too large to convert|cannot fit 'int'|int too big to convert"
TEXTS = (
    "takes arrays of one dtype|takes two (vectors|matrices)|of the wrong kinds|the shape rule refuses|do(es)? not fit"
    "|mask that fit|operands could not be broadcast|mismatch in length of strides|cannot reshape array"
    "|zip\\(\\) argument"
    "|object (too deep|of too small depth)|array of size N to a Python scalar"
    "|arrays used as indices must be|tuple index out of range"
    "|index N is out of bounds|outside of the dimension|KeyError in backends/cpu/random|expected number, got int"
    "|out of bounds for array of dimension|ComplexWarning|must not be negative|not supported between instances"
    "|float\\(\\) argument"
)

KNOWN: tuple[Known, ...] = (
    Known(
        "sizes whose product overflows are refused in NumPy's words", "foreign", OVERFLOW,
        "import tt\ntt.ops.sin(tt.empty([1, 0], dtype=tt.int8).expand((2**62, 0)))\n",
    ),
    Known(
        "tables of windows wrap around for huge output sizes", "crash", "SIGSEGV|place_adaptive",
        "import tt\ntt.ops.adaptive_max_pool3d_with_indices(tt.ones((1, 1, 3, 5, 4)), 2**62)\n", subject="adaptive",
    ),
    Known(
        "writes into read-only memory are refused in NumPy's words", "foreign",
        "(destination|output array) is read-only",
        "import numpy as np\nimport tt\ntt.from_numpy(np.frombuffer(bytes(8), np.int32)).copy_(tt.ones(2))\n",
    ),
    Known(
        "native kernels write into read-only memory", "crash", "SIGSEGV|SEGV|SIGBUS",
        "import mmap\nimport numpy as np\nimport tt\n"
        "x = tt.from_numpy(np.frombuffer(mmap.mmap(-1, 4096, prot=mmap.PROT_READ), np.int32, 8))\nx.add_(2)\n",
        part="read_only",
    ),
    Known(
        "native kernels read elements that are not aligned", "crash", "misaligned address",
        "import numpy as np\nimport tt\ntt.from_numpy(np.frombuffer(bytes(33), np.uint8)[1:].view(np.float64)).log()\n",
        sanitized=True,
    ),
    Known(
        "an index that overlaps the target is used after it was changed", "crash",
        "heap-(buffer-overflow|use-after-free)",
        "import tt\nx = tt.tensor([1, 2, 3, 0])\ntt.ops.index_copy_(x, 0, x, tt.tensor([40, 41, 42, 43]))\n",
        part="shared", sanitized=True,
    ),
    Known(
        "views of arrays with negative strides reach outside of their memory", "crash", "heap-buffer-overflow",
        "import tt\nx = tt.from_dlpack(tt.tensor([0, 1, 2]).numpy()[::-1])\n"
        "tt.ops.one_hot(x.reshape(-1).as_strided((3,), (0,), 1))\n",
        part="reversed_", sanitized=True,
    ),
    Known(
        "arguments that no rule refuses are refused in a kernel's or NumPy's words", "foreign", TEXTS,
        "import tt\ntt.ops.linspace(2**63, 3, 4, dtype=tt.bfloat16)\n",
    ),
)  # fmt: skip
