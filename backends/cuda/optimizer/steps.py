"""Kernels of CUDA that take steps of optimizers: one launch for all tensors of a dtype, without waiting for the device.

The addresses and chunks of a list of parameters are in the device's memory, and stay there from step to step as long as
the tensors keep their memory.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tt.backends.cuda.handle import StridedHandle
from tt.backends.cuda.launch.gather_scatter import Mover
from tt.backends.cuda.launch.layouts import name_of, uploaded
from tt.backends.cuda.launch.programs import Program
from tt.core.library import KernelTable, fork_safe_lock

if TYPE_CHECKING:
    from tt.backends.cuda.backend import CudaBackend

__all__ = ["BLOCK", "CHUNK", "NUMBER_KINDS", "Handles", "Stepper", "dense_count", "number_at", "tables"]

OPTIMIZER: Final = Program("optimizer.cuh")

CHUNK: Final = 1 << 14
"""Elements for each block."""

BLOCK: Final = 512
"""Threads of each block."""

_REMEMBERED: Final = 64
"""Lists of tensors whose tables stay on the device."""

# The structs of options in sources/optimizer.cuh.
_OPTIONS: Final = struct.Struct("@5d3Q3qq4i")
_RULE_OPTIONS: Final = struct.Struct("@8dq4i")
NUMBER_KINDS: Final = {"float32": 1, "float64": 2, "float16": 3, "bfloat16": 4, "int64": 5, "int32": 6}
"""Dtypes of numbers that a kernel reads, as `NumberKind` in sources/optimizer.cuh numbers them."""

Handles = Sequence[StridedHandle]
Number = StridedHandle | float
"""A number, or a tensor of one element that holds it when the step runs."""


_STATE: Final = ("grad_scale", "found_inf")
_SGD: Final = (
    "self", "grads", "momentum_buffer_list", "weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize",
    "is_first_step", *_STATE,
)  # fmt: skip
_ADAM: Final = (
    "self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs", "state_steps", "lr", "beta1", "beta2",
    "weight_decay", "eps", "amsgrad", "maximize", *_STATE,
)  # fmt: skip
_ADAGRAD: Final = (
    "self", "grads", "state_sums", "state_steps", "lr", "lr_decay", "weight_decay", "eps", "maximize", *_STATE,
)  # fmt: skip

_BY_RULE: Final = ("self", "grads", "first", "second", "third", "rule", "numbers", "maximize")
RULES: Final = {"adamax": 2, "nadam": 2, "radam": 2, "adadelta": 2, "rmsprop": 1, "rprop": 2, "asgd": 1}
"""The least number of states of each rule."""
_NUMBERS: Final = {"adamax": 4, "nadam": 6, "radam": 5, "adadelta": 3, "rmsprop": 4, "rprop": 4, "asgd": 3}


def tables(backend: CudaBackend) -> list[KernelTable]:
    """Return the kernels of this family."""
    table, stepper = KernelTable(device="cuda"), Stepper(Mover(backend))
    table.kernel("_fused_sgd_", partial(fused_sgd, stepper), form="inplace", takes=_SGD, priority=1)
    adam, adamw = partial(fused_adam, stepper, False), partial(fused_adam, stepper, True)
    table.kernel("_fused_adam_", adam, form="inplace", takes=_ADAM, priority=1)
    table.kernel("_fused_adamw_", adamw, form="inplace", takes=_ADAM, priority=1)
    table.kernel(
        "_fused_adagrad_", partial(fused_adagrad, stepper), form="inplace", takes=_ADAGRAD, priority=1
    )
    table.kernel("_fused_step_", partial(fused_step, stepper), form="inplace", takes=_BY_RULE, priority=1)
    return [table]


class Stepper:
    """Launches steps over lists of tensors.

    Parameters
    ----------
    mover : Mover
        Copies tensors with gaps; its backend's engine launches.
    program : Program
        Has the kernels.
    """

    def __init__(self, mover: Mover, program: Program = OPTIMIZER) -> None:
        self.mover, self.backend, self._program = mover, mover.backend, program
        self._tables: OrderedDict[tuple[int, ...], tuple[StridedHandle, StridedHandle, int]] = OrderedDict()
        self._lock = fork_safe_lock()

    def step(
        self, kernel: str, lists: Sequence[Handles], steps: Handles, numbers: Sequence[float], rate: Number,
        flags: tuple[bool, bool, bool], grad_scale: Number | None, found_inf: Number | None,
    ) -> None:  # fmt: skip
        """Take a step: one launch for the parameters of each dtype.

        Parameters
        ----------
        kernel : str
            The name of the kernel, with a place for the type.
        lists : sequence of lists
            Parameters, gradients, and the lists of state.
        steps : list
            The number of steps of each parameter; empty where it does not matter.
        numbers : sequence of float
            Weight decay, and up to three more.
        rate, grad_scale, found_inf : number, handle or None
            Read by the kernel where they are on the device.
        flags : tuple of bool
            Whether to maximize, and two more.
        """
        rate_at, scale_at, infinite_at = (number_at(value) for value in (rate, grad_scale, found_inf))
        plain = 0.0 if isinstance(rate, StridedHandle) else float(rate)
        options = _OPTIONS.pack(
            plain, *numbers, *(0.0,) * (4 - len(numbers)), rate_at[0], scale_at[0], infinite_at[0], rate_at[1],
            scale_at[1], infinite_at[1], CHUNK, *flags, 0,
        )  # fmt: skip
        self.launch(kernel, lists, steps, options)

    def launch(self, kernel: str, lists: Sequence[Handles], steps: Handles, options: bytes) -> None:
        """Launch a kernel for the tensors of each dtype, with options as it takes them."""
        by_dtype: dict[str, list[tuple[tuple[StridedHandle, ...], Any]]] = {}
        counted = steps or (None,) * len(lists[0])
        for arrays, number in zip(zip(*lists, strict=True), counted, strict=True):
            if 0 not in arrays[0].shape:
                by_dtype.setdefault(name_of(arrays[0].dtype), []).append((arrays, number))
        for name, members in by_dtype.items():
            dense = [self._dense(arrays) for arrays, _ in members]
            counts = [prod(arrays[0].shape) for arrays in dense]
            tensors, chunks, count = self.table(dense, [number for _, number in members], counts)
            launched = self._program.kernel(kernel.format(name))
            launched(self.backend, (count,), (BLOCK,), (tensors, chunks, options))
            # What was copied because of gaps is written back.
            for (arrays, _), used in zip(members, dense, strict=True):
                if arrays is not used:
                    for array, copy in zip(arrays, used, strict=True):
                        self.mover.copy_into(array, copy)

    def _dense(self, arrays: tuple[StridedHandle, ...]) -> tuple[StridedHandle, ...]:
        """Return arrays that can be walked as one piece of memory each: themselves, or copies without gaps."""
        shape, strides = arrays[0].shape, arrays[0].strides
        if dense_count(shape, strides) and all(array.strides == strides for array in arrays):
            return arrays
        if all(array.is_contiguous for array in arrays):
            return arrays
        return tuple([self._copy(array) for array in arrays])

    def _copy(self, array: StridedHandle) -> StridedHandle:
        out = self.mover.empty(array.shape, array.dtype)
        return self.mover.take(out, array, array.shape, array.strides, out.strides)

    def table(
        self,
        members: Sequence[tuple[StridedHandle, ...]],
        steps: Sequence[StridedHandle | None],
        counts: Sequence[int],
    ) -> tuple[StridedHandle, StridedHandle, int]:
        """Return the tables of addresses and of chunks on the device, and how many chunks there are.

        Parameters
        ----------
        members, steps, counts : sequence
            The arrays of each parameter, its number of steps and of elements.
        """
        # The addresses are the key: the tables are valid as long as all tensors keep their memory.
        flat = [self.backend.current_device()]
        room = (0,) * (5 - len(members[0]))
        for arrays, number, elements in zip(members, steps, counts, strict=True):
            address, kind = number_at(number)
            flat += [array.data_ptr for array in arrays]
            flat += (*room, address, elements, kind)
        key = tuple(flat)
        captured = self.backend.transfers.captured is not None
        with self._lock:
            uploads = None if captured else self._tables.get(key)
            if uploads is not None:
                self._tables.move_to_end(key)
                return uploads
        rows = np.array(flat[1:], np.int64).reshape(len(members), 8)
        # Chunks of one size, so that a large tensor gets many blocks and a small one does not wait for it.
        pieces = -(-rows[:, 6] // CHUNK)
        owners = np.repeat(np.arange(len(members)), pieces)
        starts = np.arange(len(owners)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        chunks = np.stack([owners, starts * CHUNK], axis=1).astype(np.int64)
        uploads = uploaded(self.backend, rows), uploaded(self.backend, chunks), len(chunks)
        if captured:
            return uploads  # it is the graph's: its content comes with each replay
        with self._lock:
            self._tables[key] = uploads
            if len(self._tables) > _REMEMBERED:
                self._tables.popitem(last=False)
        return uploads


@lru_cache(maxsize=4096)
def dense_count(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Return how many elements fill their memory, in whichever order of the dimensions; 0 if they leave gaps."""
    expected = 1
    # From the innermost dimension outwards, each stride must be the number of elements inside.
    for stride, size in sorted(
        (stride, size) for stride, size in zip(strides, shape, strict=True) if size != 1
    ):
        if stride != expected:
            return 0
        expected *= size
    return expected


def number_at(value: Number | None) -> tuple[int, int]:
    """Return the address of a number on the device and its kind; zeros for other values.

    The shape rule explains the TypeError of a number of another dtype.
    """
    if not isinstance(value, StridedHandle):
        return 0, 0
    kind = NUMBER_KINDS.get(name_of(value.dtype))
    if kind is None or prod(value.shape) != 1:
        raise TypeError(f"one number of {', '.join(NUMBER_KINDS)}, not {value.nbytes} bytes of {value.dtype}")
    return value.data_ptr, kind


def _expect_lists(self: Handles, steps: Handles | None, *others: Handles) -> None:
    """Raise unless each list has an array with the shape and dtype of each parameter; the shape rule explains."""
    if steps is not None and len(steps) != len(self):
        raise ValueError("lists of other lengths, which the shape rule refuses")
    for arrays in others:
        if len(arrays) != len(self) or not self:
            raise ValueError("lists of other lengths, which the shape rule refuses")
        for one, other in zip(self, arrays, strict=True):
            # Identity first: dtypes are mostly one object, and comparing them takes longer than all else
            # here.
            if one.shape != other.shape or (one.dtype is not other.dtype and one.dtype != other.dtype):
                raise ValueError("arrays of another shape or dtype, which the shape rule refuses")


# --- the optimizers --------------------------------------------------------------------------------------------


def fused_sgd(
    stepper: Stepper, self: Handles, grads: Handles, momentum_buffer_list: Handles, weight_decay: float,
    momentum: float, lr: Number, dampening: float, nesterov: bool, maximize: bool, is_first_step: bool,
    grad_scale: Number | None, found_inf: Number | None,
) -> None:  # fmt: skip
    """Take a step of stochastic gradient descent."""
    state = [momentum_buffer_list] if momentum else []
    _expect_lists(self, None, grads, *state)
    stepper.step(
        "step_sgd<{}>", [self, grads, *state], (), (weight_decay, momentum, dampening), lr,
        (maximize, nesterov, is_first_step), grad_scale, found_inf,
    )  # fmt: skip


def fused_adam(
    stepper: Stepper, decoupled: bool, self: Handles, grads: Handles, exp_avgs: Handles, exp_avg_sqs: Handles,
    max_exp_avg_sqs: Handles, state_steps: Handles, lr: Number, beta1: float, beta2: float, weight_decay: float,
    eps: float, amsgrad: bool, maximize: bool, grad_scale: Number | None, found_inf: Number | None,
) -> None:  # fmt: skip
    """Take a step of Adam, or of AdamW."""
    state = [exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
    _expect_lists(self, state_steps, grads, *state)
    stepper.step(
        "step_adam<{}, true>" if decoupled else "step_adam<{}, false>", [self, grads, *state], state_steps,
        (weight_decay, beta1, beta2, eps), lr, (maximize, amsgrad, False), grad_scale, found_inf,
    )  # fmt: skip


def fused_adagrad(
    stepper: Stepper, self: Handles, grads: Handles, state_sums: Handles, state_steps: Handles, lr: Number,
    lr_decay: float, weight_decay: float, eps: float, maximize: bool,
    grad_scale: Number | None, found_inf: Number | None,
) -> None:  # fmt: skip
    """Take a step of Adagrad."""
    _expect_lists(self, state_steps, grads, state_sums)
    stepper.step(
        "step_adagrad<{}>", [self, grads, state_sums], state_steps, (weight_decay, lr_decay, eps), lr,
        (maximize, False, False), grad_scale, found_inf,
    )  # fmt: skip


def fused_step(
    stepper: Stepper, self: Handles, grads: Handles, first: Handles, second: Handles, third: Handles, rule: str,
    numbers: Sequence[float], maximize: bool,
) -> None:  # fmt: skip
    """Take a step by a rule."""
    states = [first, second, third]
    if rule not in RULES or len(numbers) != _NUMBERS[rule] + 2 or not all(states[: RULES[rule]]):
        raise ValueError("a rule without its numbers or states, which the shape rule refuses")
    held = [state for state in states if state] if rule == "rmsprop" else states[: RULES[rule]]
    _expect_lists(self, None, grads, *(state for state in states if state))
    factors = [float(number) for number in numbers]
    options = _RULE_OPTIONS.pack(
        *factors, *(0.0,) * (8 - len(factors)), CHUNK, maximize, bool(second), bool(third), 0
    )
    stepper.launch("step_by_rule<{}, rules::" + rule.capitalize() + ">", [self, grads, *held], (), options)
