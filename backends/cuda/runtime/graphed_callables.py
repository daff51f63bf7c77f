"""Functions that do their work by replaying CUDA graphs, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tt.backends.cuda.runtime.graphs import CUDAGraph, GraphPool, graph, graph_pool_handle
from tt.core.library import Tensor, errors

__all__ = ["make_graphed_callables"]


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:
    """Return functions that do the work of others, forward and backward, by replaying graphs.

    Parameters
    ----------
    callables : callable or tuple of callable
        Functions of CUDA tensors that return a tensor, or a tuple of them.
    sample_args : tuple of Tensor, or tuple of such
        Arguments for each, with the shapes, dtypes and `requires_grad` of those that it will be called with.
    num_warmup_iters : int
        How often each runs before it is captured.
    allow_unused_input : bool
        Whether arguments may have no influence on the results.
    pool : GraphPool, optional
        Memory that is shared with other graphs.

    Raises
    ------
    ArgumentError
        If an argument is not a CUDA tensor.
    DeviceError
        When a function does what cannot be captured.
    """
    several = isinstance(callables, tuple)
    functions: Sequence[Callable[..., Any]] = callables if several else (callables,)
    samples: Sequence[tuple[Any, ...]] = sample_args if several else (sample_args,)
    if len(functions) != len(samples):
        raise errors.ArgumentError(
            "make_graphed_callables", f"{len(functions)} callables and {len(samples)} tuples of sample_args"
        )
    shared = graph_pool_handle() if pool is None else pool
    graphed = tuple(
        _graphed(function, tuple(args), num_warmup_iters, allow_unused_input, shared)
        for function, args in zip(functions, samples, strict=True)
    )
    return graphed if several else graphed[0]


def _graphed(
    function: Callable[..., Any], samples: tuple[Any, ...], warmup: int, allow_unused: bool, pool: GraphPool
) -> Callable[..., Any]:
    import tt

    for position, value in enumerate(samples):
        if not isinstance(value, Tensor) or value.device.type != "cuda":
            raise errors.ArgumentError(
                "make_graphed_callables",
                f"sample_args[{position}] must be a CUDA tensor, not {type(value).__name__}",
            )
    # The graphs read these addresses at every replay: a call copies its arguments there.
    static = [value.detach().clone().requires_grad_(value.requires_grad) for value in samples]
    differentiable = [position for position, value in enumerate(static) if value.requires_grad]

    def outputs() -> tuple[Any, ...]:
        values = function(*static)
        return tuple(values) if isinstance(values, tuple | list) else (values,)

    def gradients(results: tuple[Any, ...], output_grads: list[Any]) -> Any:
        recorded = [(r, g) for r, g in zip(results, output_grads, strict=True) if r.requires_grad]
        if not differentiable or not recorded:
            return ()
        return tt.autograd.grad(
            [r for r, _ in recorded],
            [static[position] for position in differentiable],
            [g for _, g in recorded],
            allow_unused=allow_unused,
        )

    # What only first calls do, such as compiling kernels and choosing algorithms, must not be captured.
    with tt.cuda.stream(tt.cuda.Stream()):
        for _ in range(max(warmup, 1)):
            results = outputs()
            output_grads = [tt.zeros_like(result) for result in results]
            gradients(results, output_grads)
        # Results that die during the capture would free memory outside of the graph's pool.
        del results
    forward, backward = CUDAGraph(), CUDAGraph()
    with graph(forward, pool=pool):
        results = outputs()
    is_tuple = len(results) > 1
    grads: Any = ()
    if differentiable and any(result.requires_grad for result in results):
        with graph(backward, pool=pool):
            grads = gradients(results, output_grads)
    plain = [result.detach() for result in results]

    class Graphed(tt.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            for target, value in zip(static, args, strict=True):
                # The captured tensors themselves may be passed.
                if target.data_ptr() != value.data_ptr():
                    target.detach().copy_(value)
            forward.replay()
            # The next replay writes over these results.
            return tuple(value.detach().clone() for value in plain)

        @staticmethod
        def backward(ctx: Any, *received: Any) -> Any:
            for target, value in zip(output_grads, received, strict=True):
                if value is not None:
                    target.copy_(value)
            backward.replay()
            remaining: Iterator[Any] = iter(grads)
            return tuple(
                (None if (g := next(remaining)) is None else g.detach().clone())
                if position in differentiable
                else None
                for position in range(len(static))
            )

    def graphed(*args: Any) -> Any:
        if len(args) != len(static):
            raise errors.ArgumentError("graphed callable", f"takes {len(static)} tensors, not {len(args)}")
        for position, (value, like) in enumerate(zip(args, static, strict=True)):
            if value.shape != like.shape or value.dtype != like.dtype or value.device != like.device:
                raise errors.ArgumentError(
                    "graphed callable",
                    f"argument {position} is {value.dtype}{list(value.shape)} on {value.device}; the graph was "
                    f"captured with {like.dtype}{list(like.shape)} on {like.device}",
                )
        result = Graphed.apply(*args)
        return result if is_tuple else result[0]

    return graphed
