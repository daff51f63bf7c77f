"""`nvmath.bindings.cublasLt` without the library: descriptors are kept, and products computed by NumPy on the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import ml_dtypes
import numpy as np

MEMORY = {0: "float32", 1: "float64", 2: "float16", 4: "complex64", 5: "complex128", 14: "bfloat16"}
SCALES = {0: "float32", 1: "float64", 4: "complex64", 5: "complex128"}
COMPUTE = {68: (0, 4), 77: (0, 4), 70: (1, 5)}


class Epilogue(IntEnum):
    DEFAULT = 1
    RELU = 2
    BIAS = 4
    RELU_BIAS = 6
    GELU = 32
    GELU_BIAS = 36


class MatmulDescAttribute(IntEnum):
    TRANSA = 3
    TRANSB = 4
    EPILOGUE = 7
    BIAS_POINTER = 8


class MatrixLayoutAttribute(IntEnum):
    BATCH_COUNT = 5
    STRIDED_BATCH_OFFSET = 6


class MatmulPreferenceAttribute(IntEnum):
    MAX_WORKSPACE_BYTES = 1
    MIN_ALIGNMENT_A_BYTES = 5
    MIN_ALIGNMENT_B_BYTES = 6
    MIN_ALIGNMENT_C_BYTES = 7
    MIN_ALIGNMENT_D_BYTES = 8


class LtError(Exception):
    """The error of the bindings."""


WIDTHS = {
    "EPILOGUE": np.uint32, "BIAS_POINTER": np.int64, "TRANSA": np.int32, "TRANSB": np.int32, "BATCH_COUNT": np.int32,
    "STRIDED_BATCH_OFFSET": np.int64, "MAX_WORKSPACE_BYTES": np.uint64,
}  # fmt: skip


class FakeCublasLt:
    """The part of the bindings that tt uses."""

    Epilogue, MatmulDescAttribute = Epilogue, MatmulDescAttribute
    MatrixLayoutAttribute, MatmulPreferenceAttribute = MatrixLayoutAttribute, MatmulPreferenceAttribute
    cuBLASLtError = LtError  # noqa: N815 - the bindings' name
    matmul_heuristic_result_dtype = np.dtype(
        [("algo", [("data_", "<u8", (8,))]), ("workspace_size", "<u8"), ("state", "<i4"), ("waves_count", "<f4"),
         ("reserved", "<i4", (4,))]
    )  # fmt: skip

    def __init__(self) -> None:
        self.live: dict[int, dict[str, Any]] = {}
        self.none_for: set[str] = set()
        self.fails = ""
        self.products: list[dict[str, Any]] = []
        self.asked = 0

    def _new(self, **facts: Any) -> int:
        key = max(self.live, default=100) + 1
        self.live[key] = facts
        return key

    def create(self) -> int:
        return self._new(kind="handle")

    def matmul_desc_create(self, compute: int, scale: int) -> int:
        assert scale in COMPUTE[compute]
        return self._new(kind="desc", compute=compute, scale=scale)

    def matrix_layout_create(self, memory: int, rows: int, columns: int, leading: int) -> int:
        assert leading >= rows > 0 and columns > 0, "a column must fit before the next begins"
        return self._new(kind="layout", memory=memory, rows=rows, columns=columns, leading=leading)

    def matmul_preference_create(self) -> int:
        return self._new(kind="preference")

    def _set(self, attributes: Any, target: int, attribute: int, buffer: int, size: int) -> None:
        name = attributes(attribute).name
        dtype = np.dtype(WIDTHS.get(name, np.uint32))
        assert size == dtype.itemsize, name
        memory = (ctypes.c_uint8 * size).from_address(buffer)
        self.live[target][name] = int(np.frombuffer(memory, dtype)[0])

    def get_matmul_desc_attribute_dtype(self, attribute: int) -> Any:
        return WIDTHS[MatmulDescAttribute(attribute).name]

    def get_matrix_layout_attribute_dtype(self, attribute: int) -> Any:
        return WIDTHS[MatrixLayoutAttribute(attribute).name]

    def get_matmul_preference_attribute_dtype(self, attribute: int) -> Any:
        return WIDTHS.get(MatmulPreferenceAttribute(attribute).name, np.uint32)

    def matmul_desc_set_attribute(self, *args: int) -> None:
        self._set(MatmulDescAttribute, *args)

    def matrix_layout_set_attribute(self, *args: int) -> None:
        self._set(MatrixLayoutAttribute, *args)

    def matmul_preference_set_attribute(self, *args: int) -> None:
        self._set(MatmulPreferenceAttribute, *args)

    def matmul_desc_destroy(self, key: int) -> None:
        assert self.live.pop(key)["kind"] == "desc"

    def matrix_layout_destroy(self, key: int) -> None:
        assert self.live.pop(key)["kind"] == "layout"

    def matmul_preference_destroy(self, key: int) -> None:
        assert self.live.pop(key)["kind"] == "preference"

    def matmul_algo_get_heuristic(
        self, handle: int, desc: int, a: int, b: int, c: int, d: int, preference: int, wanted: int, results: int,
        count: int,
    ) -> None:  # fmt: skip
        assert self.live[handle]["kind"] == "handle" and wanted == 1 and c == d
        assert self.live[preference]["MAX_WORKSPACE_BYTES"] > 0
        self.asked += 1
        name = MEMORY[self.live[a]["memory"]]
        if self.fails == "heuristic":
            raise LtError("CUBLAS_STATUS_ARCH_MISMATCH (8)")
        if name in self.none_for:
            raise LtError("CUBLAS_STATUS_NOT_SUPPORTED (15): no algorithm")
        size = self.matmul_heuristic_result_dtype.itemsize
        found = np.frombuffer(
            (ctypes.c_uint8 * size).from_address(results), self.matmul_heuristic_result_dtype
        )
        found["algo"]["data_"][:] = 42
        found["workspace_size"][:] = 256
        ctypes.c_int32.from_address(count).value = 1

    def matmul(
        self, handle: int, desc: int, alpha: int, a: int, la: int, b: int, lb: int, beta: int, c: int, lc: int,
        d: int, ld: int, algorithm: int, workspace: int, nbytes: int, stream: int,
    ) -> None:  # fmt: skip
        how = self.live[desc]
        assert ctypes.c_uint64.from_address(algorithm).value == 42 and workspace and nbytes == 256
        if self.fails == "matmul":
            raise LtError("CUBLAS_STATUS_EXECUTION_FAILED (13)")
        self.products.append({**how, "stream": stream})
        scale = np.dtype(SCALES[how["scale"]])
        factors = [
            np.frombuffer((ctypes.c_uint8 * scale.itemsize).from_address(p), scale)[0].copy()
            for p in (alpha, beta)
        ]
        # The host reads its part now; a graph does the rest again.
        how, layouts = dict(how), [dict(self.live[layout]) for layout in (la, lb, lc, ld)]
        self._submit(lambda: self._multiply(how, factors, (a, b, c, d), layouts))

    def _submit(self, work: Callable[[], None]) -> None:
        """Do a piece of work of the current stream."""
        work()

    def _multiply(self, how: Any, factors: Any, pointers: Any, layouts: Any) -> None:
        wide = np.complex128 if np.dtype(SCALES[how["scale"]]).kind == "c" else np.float64
        one, two, three, result = (self._matrix(*pair) for pair in zip(pointers, layouts, strict=True))
        one, two = one.astype(wide), two.astype(wide)
        one = one.swapaxes(-1, -2) if how["TRANSA"] else one
        two = two.swapaxes(-1, -2) if how["TRANSB"] else two
        found = factors[0] * (one @ two)
        if factors[1]:
            found = found + factors[1] * three.astype(wide)
        epilogue = Epilogue(how["EPILOGUE"]).name
        if "BIAS" in epilogue:
            dtype = result.dtype
            memory = (ctypes.c_uint8 * (result.shape[-2] * dtype.itemsize)).from_address(how["BIAS_POINTER"])
            found = found + np.frombuffer(memory, dtype).astype(wide)[:, None]
        if "RELU" in epilogue:
            found = np.maximum(found, 0)
        if "GELU" in epilogue:
            found = found * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (found + 0.044715 * found**3)))
        result[...] = found.astype(result.dtype)

    @staticmethod
    def _matrix(pointer: int, facts: dict[str, Any]) -> Any:
        name = MEMORY[facts["memory"]]
        dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
        batch, step = facts["BATCH_COUNT"], facts["STRIDED_BATCH_OFFSET"]
        rows, columns, leading = facts["rows"], facts["columns"], facts["leading"]
        elements = (batch - 1) * step + (columns - 1) * leading + rows
        memory = (ctypes.c_uint8 * (elements * dtype.itemsize)).from_address(pointer)
        size = dtype.itemsize
        return np.ndarray((batch, rows, columns), dtype, memory, strides=(step * size, size, leading * size))
