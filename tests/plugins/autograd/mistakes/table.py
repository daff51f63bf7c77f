"""Mistakes of users, as programs in `lib` (tt or torch), and tt's errors for them.

A row is a name, a program, and the start of tt's message, None without an error.  A program may set `found`,
which is compared where neither library raises.  `leaf(*values)` makes a leaf that requires a gradient,
`function(forward=..., ...)` a subclass of `autograd.Function`.
"""

from __future__ import annotations

from tests.plugins.autograd.mistakes import functions, hooks, in_place, passes, transforms

MISTAKES = [row for part in (in_place, passes, hooks, functions, transforms) for row in part.MISTAKES]
DIFFERENT = [row for part in (in_place, passes, functions) for row in part.DIFFERENT]
