"""Devices and array libraries: each backend is a plugin with kernels for them.

Importing it loads none of them; `tt.backends.cuda` does when it is first used.  Next to them are the libraries of
which PyTorch programs ask whether they are there: `tt.backends.cudnn.benchmark = True`.
"""

from tt.core.lazy import attach

__all__ = attach(
    __name__,
    {},
    modules=("array_api cpu cuda cudnn cusparselt kleidiai mha mkl mkldnn mps nnpack openmp opt_einsum"),
)
