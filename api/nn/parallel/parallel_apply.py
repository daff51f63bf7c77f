"""Calls of several modules at the same time, each on its device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import tt
from tt.errors import AssertedError, UnsupportedError
from tt.nn.modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[str, Any]] | None = None,
    devices: Sequence[Any] | None = None,
) -> list[Any]:
    """Call modules on their inputs in parallel, in a thread for each.

    Parameters
    ----------
    modules : sequence of Module
        The modules.
    inputs : sequence
        For each module its positional arguments, or its only one.
    kwargs_tup : sequence of dict, optional
        For each module its named arguments.
    devices : sequence of int or device, optional
        The GPU of each call.

    Raises
    ------
    AssertedError
        If there are not as many inputs, named arguments or devices as modules.
    UnsupportedError
        Without a GPU, as in PyTorch.

    Examples
    --------
    >>> import tt
    >>> try:
    ...     tt.nn.parallel.parallel_apply([tt.nn.ReLU()], [])
    ... except AssertionError as error:
    ...     print(error)
    parallel_apply(): The number of modules 1 is not equal to the number of inputs 0
    """
    named: Sequence[dict[str, Any]] = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    for what, values in (("inputs", inputs), ("named arguments", named), ("devices", devices)):
        if values is not None and len(values) != len(modules):
            raise AssertedError(
                f"parallel_apply(): The number of modules {len(modules)} is not equal to the number of {what} "
                f"{len(values)}"
            )
    if not tt.cuda.is_available():
        raise UnsupportedError(
            "parallel_apply(): no GPU was found, the CPU is one device\n  try: calling the modules one after the other"
        )
    # Whether gradients are recorded is the thread's own setting.
    with_gradients = tt.is_grad_enabled()
    results: list[Any] = [None] * len(modules)
    errors: list[Exception | None] = [None] * len(modules)

    def call(index: int) -> None:
        args = inputs[index] if isinstance(inputs[index], (list, tuple)) else (inputs[index],)
        try:
            with (
                tt.set_grad_enabled(with_gradients),
                tt.cuda.device(None if devices is None else devices[index]),
            ):
                results[index] = modules[index](*args, **named[index])
        except Exception as error:
            error.add_note(f"in parallel_apply(), module {index}")
            errors[index] = error

    threads = [threading.Thread(target=call, args=(index,)) for index in range(len(modules))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # After all threads have ended, so that none works on while the caller handles the error.
    for error in errors:
        if error is not None:
            raise error
    return results
