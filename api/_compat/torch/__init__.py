"""What the facade `torch` has beside the names of tt, and modules of PyTorch that tt has under no name of its own.

A module here is found as `torch.X` before `tt.X`.  It answers truthfully what libraries ask when they are imported;
what needs a feature that tt lacks raises where it is called.
"""

from __future__ import annotations

from tt import device
from tt._compat.torch.compiling import compile
from tt._compat.torch.operators import ops
from tt._compat.torch.torch_version import TorchVersion, __version__
from tt.futures import Future

__all__ = ["DeviceObjType", "Future", "TorchVersion", "__version__", "compile", "ops"]

DeviceObjType = device
"""The class of devices by the name that annotations use."""
