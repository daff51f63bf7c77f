"""Devices and array libraries: each backend is a plugin with kernels for them.

Importing it loads none of them; `tt.backends.cuda` does when it is first used.
"""

from tt.core.lazy_names import lazy_names

__all__ = ["array_api", "cpu", "cuda"]

__getattr__, __dir__ = lazy_names("tt.backends", {}, modules=("array_api", "cpu", "cuda"))
