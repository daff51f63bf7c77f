"""The numbers that the plans of a node's saved values compare.

Python code reads this module; in hot modules the C enums of `codes.pxd` stand for it, with the same names and numbers.
"""

from __future__ import annotations

from typing import Final

# The contents of a slot of a plan.
PLAIN: Final = 0
TENSOR: Final = 1
TENSORS: Final = 2
RESULT: Final = 3
FACT: Final = 4
