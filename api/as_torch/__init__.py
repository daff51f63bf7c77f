"""tt.as_torch: `import torch` gives tt, in one process or in a whole environment.

`install()` does it in this process and in those that it starts; `python -m tt.as_torch program.py` and `tt exec` do it
for a program; `tt as-torch install` writes a small package `torch` into the environment.
"""

from __future__ import annotations

from tt.as_torch.facade import install, is_installed

__all__ = ["install", "is_installed"]
