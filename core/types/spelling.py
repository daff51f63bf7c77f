"""How texts name the package: `tt.float32`, or `torch.float32` in a process where `import torch` gives tt."""

from __future__ import annotations

from typing import Final

__all__ = ["SPELLING", "Spelling"]


class Spelling:
    """The name of the package in the texts of dtypes, sizes, layouts and memory formats.

    Attributes
    ----------
    package : str
        The name.  Programs of PyTorch write texts into files and compare them: ``str(x.dtype) == "torch.float32"``.
    """

    __slots__ = ("package",)

    def __init__(self) -> None:
        self.package = "tt"

    def spelled(self, module: str) -> str:
        """Return the name of a module of tt in this process.

        Examples
        --------
        >>> from tt.core.types.spelling import SPELLING
        >>> SPELLING.spelled("tt.linalg")
        'tt.linalg'
        """
        return f"{self.package}{module[2:]}"

    def owns(self, module: str) -> bool:
        """Return whether the name of a module is that of one of tt in this process."""
        return module.partition(".")[0] in ("tt", self.package)


SPELLING: Final = Spelling()
"""The spelling of this process, which `tt.as_torch.install` changes for good."""
