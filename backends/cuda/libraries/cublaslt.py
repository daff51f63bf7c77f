"""The door to cuBLASLt, through the bindings of nvmath-python: matrix products with what follows them in one kernel.

Note [Rows and columns]
-----------------------
cuBLASLt treats matrices as column-major.  A row-major matrix is the transpose of a column-major one in the same memory,
so `out = one @ two` with a row-major result is computed as `out.T = two.T @ one.T`: the factors change places, a
row-major factor is passed as it lies, and one whose columns are contiguous as transposed.  A bias with one number for
each column of the result is then one number for each row in the library's view, as its epilogue expects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tt.backends.cuda.libraries.plans import Plans, Workspaces, place_of
from tt.backends.cuda.runtime.settings import matmul as settings
from tt.core.library import errors, fork_safe_lock

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend
    from tt.backends.cuda.handle import StridedHandle

__all__ = ["DTYPES", "CublasLt", "Factor", "factor_of", "problem"]

WORKSPACE: Final = 32 << 20
"""The most bytes that a product may use besides its operands; Hopper's best kernels need as many."""

INSTALL: Final = "pip install 'tt-tensor[cuda12-libraries]' (or cuda13-libraries, as your CuPy)"

# cudaDataType_t and cublasComputeType_t of a dtype: in memory, in which it computes, and of the factors alpha and beta.
DTYPES: Final = {
    "float16": (2, 68, 0),
    "bfloat16": (14, 68, 0),
    "float32": (0, 68, 0),
    "float64": (1, 70, 1),
    "complex64": (4, 68, 4),
    "complex128": (5, 70, 5),
}
TF32: Final = 77
SCALES: Final = {0: np.float32, 1: np.float64, 4: np.complex64, 5: np.complex128}
EPILOGUES: Final = {
    ("", False): "DEFAULT",
    ("", True): "BIAS",
    ("relu", False): "RELU",
    ("relu", True): "RELU_BIAS",
    ("gelu", False): "GELU",
    ("gelu", True): "GELU_BIAS",
}
"""(activation, bias) -> the name of the epilogue; its GELU is the approximation by tanh."""


@lru_cache(maxsize=1)
def problem() -> str | None:
    """Return why cuBLASLt cannot be used, or None if it can."""
    if find_spec("nvmath") is None:
        return f"nvmath-python, which binds cuBLASLt, is not installed; try: {INSTALL}"
    try:
        import_module("nvmath.bindings.cublasLt").get_version()
    except MemoryError:  # says nothing about the library, and the answer is kept
        raise
    except Exception as error:  # the loader of the libraries raises errors of its own
        first = (str(error).strip().splitlines() or [repr(error)])[0]
        return f"cuBLASLt cannot be loaded: {first}"
    return None


class Factor(NamedTuple):
    """A matrix, or a batch of them, as the library sees it.

    Attributes
    ----------
    turned : bool
        Whether its columns are contiguous, and not its rows.
    leading : int
        Elements from one row (or column) to the next.
    step : int
        Elements from one matrix of the batch to the next.
    """

    turned: bool
    leading: int
    step: int


def factor_of(handle: StridedHandle) -> Factor | None:
    """Return how a handle of two or three dimensions is described, or None if it must be copied first."""
    rows, columns = handle.shape[-2:]
    down, along = handle.strides[-2:]
    # A batch of one may have any stride, also one that the library refuses.
    step = handle.strides[0] if handle.ndim == 3 and handle.shape[0] > 1 else 0
    if step < 0:
        return None
    # A matrix of one row or column may have any stride there, so it counts as dense.
    if (along == 1 or columns == 1) and (rows == 1 or down >= max(columns, 1)):
        return Factor(False, down if rows > 1 else max(columns, 1), step)
    if (down == 1 or rows == 1) and (columns == 1 or along >= max(rows, 1)):
        return Factor(True, along if columns > 1 else max(rows, 1), step)
    return None


@dataclass
class MatmulPlan:
    """A product as the library has planned it; `algorithm` is None where it has none."""

    descriptor: int
    layouts: tuple[int, int, int]
    algorithm: np.ndarray[Any, Any] | None
    workspace: int
    lock: Any


class CublasLt:
    """Products of matrices by cuBLASLt.

    Parameters
    ----------
    backend : CudaBackend
        Whose memory and streams are used.
    bindings : callable, optional
        Returns `nvmath.bindings.cublasLt`.
    problem : callable, optional
        Returns why the library cannot be used, or None.
    """

    def __init__(
        self,
        backend: CudaBackend,
        bindings: Callable[[], Any] = lambda: import_module("nvmath.bindings.cublasLt"),
        problem: Callable[[], str | None] = problem,
    ) -> None:
        self.backend, self.problem = backend, problem
        self._load, self._bindings = bindings, None
        self._handles: dict[int, int] = {}
        self._workspaces = Workspaces(backend)
        self._factors: dict[tuple[Any, Any, int], tuple[np.ndarray[Any, Any], int]] = {}
        self.plans: Plans[MatmulPlan] = Plans(self._close)

    @property
    def bindings(self) -> Any:
        """The module of the bindings, imported at first use."""
        if self._bindings is None:
            self._bindings = self._load()
        return self._bindings

    def multiply(
        self,
        one: StridedHandle,
        two: StridedHandle,
        out: StridedHandle,
        *,
        bias: StridedHandle | None = None,
        activation: str = "",
        alpha: float = 1,
        beta: float = 0,
    ) -> bool:
        """Write alpha * one @ two + beta * out into `out`; with a bias for each column, then an activation.

        Parameters
        ----------
        one, two, out : StridedHandle
            Of one dtype, of two dimensions or of three with one batch; `out` has contiguous rows and is not empty.
        bias : StridedHandle, optional
            A contiguous vector.
        activation : {"", "relu", "gelu"}
            What follows.

        Returns
        -------
        bool
            Whether the library has an algorithm; if not, nothing was written.

        Raises
        ------
        DeviceError
            When the library fails.
        """
        one, two = self._readable(one), self._readable(two)
        # Exchanged; see Note [Rows and columns].
        first, second, third = factor_of(two), factor_of(one), factor_of(out)
        assert first is not None and second is not None and third is not None and not third.turned
        name = out.dtype.name
        rows, depth, columns = out.shape[-2], one.shape[-1], out.shape[-1]
        batch = out.shape[0] if out.ndim == 3 else 1
        queue = place_of(self.backend)
        pointers = two.data_ptr, one.data_ptr, out.data_ptr
        # An algorithm may need the alignment that it was chosen for.
        aligned = tuple(min(pointer & -pointer, 256) if pointer else 256 for pointer in pointers)
        key = (
            queue[0], name, columns, rows, depth, batch, first, second, third, bias is not None, activation, aligned,
            settings.allow_tf32 and name == "float32",
        )  # fmt: skip
        try:
            plan = self.plans.get(key, lambda: self._plan(key, bias))
            if plan.algorithm is None:
                return False
            factors, address = self._factors_of(alpha, beta, DTYPES[name][2])
            with plan.lock:  # the address of the bias is part of the descriptor
                if bias is not None:
                    self._set(
                        plan.descriptor, "matmul_desc", "MatmulDescAttribute", "BIAS_POINTER", bias.data_ptr
                    )
                self.bindings.matmul(
                    self._handle(queue[0]), plan.descriptor, address, pointers[0], plan.layouts[0], pointers[1],
                    plan.layouts[1], address + factors.itemsize, pointers[2], plan.layouts[2], pointers[2],
                    plan.layouts[2], plan.algorithm.ctypes.data, self._workspaces.address(queue, plan.workspace),
                    plan.workspace, queue[1],
                )  # fmt: skip
        except self.bindings.cuBLASLtError as error:
            raise errors.DeviceError(
                f"cuBLASLt failed: {error}\n  product of {list(one.shape)} and {list(two.shape)}, {name}, "
                f"epilogue {EPILOGUES[activation, bias is not None]}"
            ) from error
        return True

    def _readable(self, handle: StridedHandle) -> StridedHandle:
        """Return a handle that the library can describe: itself, or a contiguous copy."""
        return handle if factor_of(handle) is not None else self.backend.clone(handle)

    def _factors_of(self, alpha: float, beta: float, scale: int) -> tuple[np.ndarray[Any, Any], int]:
        """Return alpha and beta in memory, and the address of it; the two usual pairs are kept."""
        factors = self._factors.get((alpha, beta, scale))
        if factors is None:
            # The library reads both at their address during the call, so something must hold the array.
            values = np.array([alpha, beta], SCALES[scale])
            factors = values, values.ctypes.data
            if (alpha, beta) in ((1, 0), (1, 1)):
                self._factors[alpha, beta, scale] = factors
        return factors

    def _handle(self, device: int) -> int:
        handle = self._handles.get(device)
        if handle is None:
            # Two threads may make one at once; both then use the first that is entered.
            handle = self._handles.setdefault(device, self.bindings.create())
        return handle

    # --- plans -------------------------------------------------------------------------------------------------

    def _plan(self, key: Any, bias: StridedHandle | None) -> MatmulPlan:
        """Describe a product and request the library's algorithm for it."""
        device, name, m, n, k, batch, first, second, third, _, activation, aligned, tf32 = key
        lt = self.bindings
        memory, compute, scale = DTYPES[name]
        descriptor = lt.matmul_desc_create(TF32 if tf32 else compute, scale)
        for attribute, turned in (("TRANSA", first.turned), ("TRANSB", second.turned)):
            self._set(descriptor, "matmul_desc", "MatmulDescAttribute", attribute, int(turned))
        epilogue = getattr(lt.Epilogue, EPILOGUES[activation, bias is not None])
        self._set(descriptor, "matmul_desc", "MatmulDescAttribute", "EPILOGUE", int(epilogue))
        if bias is not None:
            self._set(descriptor, "matmul_desc", "MatmulDescAttribute", "BIAS_POINTER", bias.data_ptr)
        shapes = ((k, m) if first.turned else (m, k), (n, k) if second.turned else (k, n), (m, n))
        layouts = []
        for (rows, columns), factor in zip(shapes, (first, second, third), strict=True):
            layout = lt.matrix_layout_create(memory, rows, columns, factor.leading)
            self._set(layout, "matrix_layout", "MatrixLayoutAttribute", "BATCH_COUNT", batch)
            self._set(layout, "matrix_layout", "MatrixLayoutAttribute", "STRIDED_BATCH_OFFSET", factor.step)
            layouts.append(layout)
        preference = lt.matmul_preference_create()
        # C and D are one matrix, the result.
        preferences = {"MAX_WORKSPACE_BYTES": WORKSPACE} | {
            f"MIN_ALIGNMENT_{matrix}_BYTES": bytes
            for matrix, bytes in zip("ABCD", (*aligned, aligned[2]), strict=True)
        }
        for attribute, value in preferences.items():
            self._set(preference, "matmul_preference", "MatmulPreferenceAttribute", attribute, value)
        heuristic = np.zeros(1, lt.matmul_heuristic_result_dtype)
        count = np.zeros(1, np.int32)
        try:
            lt.matmul_algo_get_heuristic(
                self._handle(device), descriptor, layouts[0], layouts[1], layouts[2], layouts[2], preference, 1,
                heuristic.ctypes.data, count.ctypes.data,
            )  # fmt: skip
        except lt.cuBLASLtError as error:
            # No algorithm for these operands is an answer: the caller has another way.
            if "NOT_SUPPORTED" not in str(error):
                raise
        finally:
            lt.matmul_preference_destroy(preference)
        usable = int(count[0]) > 0
        return MatmulPlan(
            descriptor,
            (layouts[0], layouts[1], layouts[2]),
            heuristic["algo"].copy() if usable else None,
            int(heuristic["workspace_size"][0]) if usable else 0,
            fork_safe_lock(),
        )

    def _set(self, target: int, kind: str, attributes: str, name: str, value: int) -> None:
        lt = self.bindings
        attribute = int(getattr(getattr(lt, attributes), name))
        buffer = np.array([value], getattr(lt, f"get_{kind}_attribute_dtype")(attribute))
        getattr(lt, f"{kind}_set_attribute")(target, attribute, buffer.ctypes.data, buffer.nbytes)

    def _close(self, plan: MatmulPlan) -> None:
        for layout in plan.layouts:
            self.bindings.matrix_layout_destroy(layout)
        self.bindings.matmul_desc_destroy(plan.descriptor)
