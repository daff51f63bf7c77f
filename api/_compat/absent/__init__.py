"""Names of PyTorch that programs import and tt lacks: they can be named, and raise where they are called.

Note [Absent names]
-------------------
Libraries import names that they may never use, such as `torch.export.export`, and would not load without them.  The
modules here are tables of such names: a module of PyTorch, the names, and the reason.  Where no module serves the path
the facade makes one of the rows; where tt or `tt._compat.torch` has it, the rows are added to it, in a process with the
facade only.  A name has a row if a library imports it without a question.  What libraries ask for first (`hasattr`,
`find_spec`, `try: import`) has none, so that they choose the way that works.
"""

from __future__ import annotations

from tt._compat.absent.rows import AbsentModule, absent_names, add_rows

__all__ = ["AbsentModule", "absent_names", "add_rows"]
