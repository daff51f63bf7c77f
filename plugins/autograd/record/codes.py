"""The numbers that plans of what a node saves compare.

Python code reads this module; in hot modules the C enums of `codes.pxd` stand for it, with the same names and numbers.
"""

from __future__ import annotations

from typing import Final

# What a slot of a plan holds.
PLAIN: Final = 0
TENSOR: Final = 1
TENSORS: Final = 2
RESULT: Final = 3
FACT: Final = 4
