"""Checks of gradients by finite differences, and the error that they raise.

The name `tt.autograd.gradcheck` is the function, as in PyTorch; this module is there for
`from tt.autograd.gradcheck import GradcheckError`.
"""

from tt.core.errors import GradcheckError
from tt.testing.gradcheck import gradcheck, gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
