"""gradcheck: the gradients of a function against finite differences."""

from tt.core.testing.gradcheck.first import gradcheck
from tt.core.testing.gradcheck.second import gradgradcheck

__all__ = ["gradcheck", "gradgradcheck"]
