"""`autograd.Function` among levels: its `vmap` and `jvp` methods, and the rule generated from its other methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tt.core.library import TensorBase, errors, ops
from tt.plugins.autograd.custom.function import Function, FunctionCtx, run
from tt.plugins.autograd.record.graph import STATE
from tt.plugins.autograd.record.saved import SavedTensors
from tt.plugins.autograd.transforms.inplace import is_recorded_below, with_own_memory
from tt.plugins.autograd.transforms.levels import (
    BIT,
    DualLevel,
    Level,
    batched,
    dual,
    innermost,
    move_dim,
    primal_and_tangent,
    running,
    unwrap,
)
from tt.plugins.autograd.transforms.trees import spread_like

__all__ = ["VmapInfo", "as_argument", "run_function"]


class VmapInfo(NamedTuple):
    """The `info` argument of the `vmap` method of a `Function`.

    Attributes
    ----------
    batch_size : int
        The size of the dims that are mapped over.
    randomness : str
        The randomness setting of `vmap`: "error", "different" or "same".
    """

    batch_size: int
    randomness: str = "error"


def run_function(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """Run a function some of whose arguments are wrapped, at the innermost level among them."""
    level = innermost(args)
    if isinstance(level, DualLevel):
        return _with_tangents(cls, args, level)
    inside, dims = [], []
    for value in args:
        bare, dim = unwrap(value, level)
        inside.append(bare)
        dims.append(dim)
    if cls.vmap is not Function.vmap:
        if cls.generate_vmap_rule:
            raise errors.GradientError(
                f"{cls.__name__} has both a vmap method and generate_vmap_rule = True; keep one of the two"
            )
        returned = cls.vmap(VmapInfo(level.size, level.randomness), tuple(dims), *inside)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise errors.ArgumentError(
                f"{cls.__name__}.vmap", f"returns (results, their dims), not {errors.describe(returned)}"
            )
        output, out_dims = returned
        single = not isinstance(output, tuple)
        results = (output,) if single else output
        flat_dims = spread_like(out_dims, output, "out_dims") if not single else [out_dims]
        wrapped = [r if d is None else batched(r, d, level) for r, d in zip(results, flat_dims, strict=True)]
        return wrapped[0] if single else tuple(wrapped)
    if not cls.generate_vmap_rule:
        raise errors.ArgumentError(
            cls.__name__,
            "is mapped by vmap but has no rule for it",
            hint="give it a static method vmap(info, in_dims, *args), or generate_vmap_rule = True if its methods use "
            "tensors' operators only",
        )
    return _generated(cls, tuple(inside), tuple(dims), level)


# --- vmap, from the other methods ------------------------------------------------------------------------------


class _InnerCtx(FunctionCtx):
    """The context for the methods of the function: its tensors belong to one example."""

    def __init__(self, label: str) -> None:
        self._saved = SavedTensors(label)
        self.kept: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep the tensors for the outer context."""
        self.kept = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors of one example."""
        return self.kept


def _generated(cls: type[Function], inside: tuple[Any, ...], dims: tuple[Any, ...], level: Level) -> Any:
    """Run the function on all examples at once: its methods meet wrapped tensors."""
    if cls.setup_context is Function.setup_context:
        raise errors.ArgumentError(
            cls.__name__, "needs setup_context for generate_vmap_rule: forward gets no context there"
        )
    seen: dict[str, Any] = {}

    def wrap_all(values: Sequence[Any], positions: Sequence[Any], at: Level) -> list[Any]:
        return [v if d is None else batched(v, d, at) for v, d in zip(values, positions, strict=True)]

    def unwrap_all(values: Sequence[Any], at: Level) -> tuple[list[Any], list[Any]]:
        pairs = [unwrap(v, at) for v in values]
        return [v for v, _ in pairs], [d for _, d in pairs]

    class Mapped(Function):
        # Levels further out map this function again, in the same way.
        generate_vmap_rule = True

        @staticmethod
        def forward(*args: Any) -> Any:
            # Each method has a level of its own: that of the call may be over when `backward` runs.
            with running(level.size, level.randomness, level.implicit) as inner:
                output = cls.forward(*wrap_all(args, dims, inner))
                seen["single"] = not isinstance(output, tuple)
                results, seen["dims"] = unwrap_all((output,) if seen["single"] else output, inner)
            return results[0] if seen["single"] else tuple(results)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.inner = inner_ctx = _InnerCtx(cls.__name__)
            inner_ctx.needs_input_grad = ctx.needs_input_grad
            with running(level.size, level.randomness, level.implicit) as inner:
                outputs = wrap_all((output,) if seen["single"] else output, seen["dims"], inner)
                cls.setup_context(
                    inner_ctx,
                    tuple(wrap_all(inputs, dims, inner)),
                    outputs[0] if seen["single"] else tuple(outputs),
                )
                saved, ctx.saved_dims = unwrap_all(inner_ctx.kept, inner)
                for_forward, ctx.forward_dims = unwrap_all(inner_ctx._for_forward, inner)
                without, _ = unwrap_all(inner_ctx._without_gradient, inner)
            # What was wrapped at the inner level is kept by the outer context, with versions and hooks.
            inner_ctx.kept = inner_ctx._for_forward = inner_ctx._without_gradient = ()
            ctx.mark_non_differentiable(*without)
            ctx.set_materialize_grads(inner_ctx._materialize)
            ctx.save_for_backward(*saved)
            ctx.save_for_forward(*for_forward)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            with running(level.size, level.randomness, level.implicit) as inner:
                ctx.inner.kept = tuple(wrap_all(ctx.saved_tensors, ctx.saved_dims, inner))
                arguments = wrap_all(
                    gradients,
                    [None if g is None else d for g, d in zip(gradients, seen["dims"], strict=True)],
                    inner,
                )
                returned = cls._backward_of()(ctx.inner, *arguments)
                ctx.inner.kept = ()
                values, positions = unwrap_all(
                    returned if isinstance(returned, tuple | list) else (returned,), inner
                )
            return tuple(
                as_argument(value, position, dim, level.size)
                for value, position, dim in zip(values, positions, dims, strict=True)
            )

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with running(level.size, level.randomness, level.implicit) as inner:
                ctx.inner.kept = tuple(wrap_all(ctx.saved_tensors, ctx.forward_dims, inner))
                moving = [
                    d if isinstance(t, TensorBase) else None for t, d in zip(tangents, dims, strict=True)
                ]
                returned = cls.jvp(ctx.inner, *wrap_all(tangents, moving, inner))
                ctx.inner.kept = ()
                values, positions = unwrap_all(
                    returned if isinstance(returned, tuple | list) else (returned,), inner
                )
            moved = [
                as_argument(value, position, dim, level.size)
                for value, position, dim in zip(values, positions, seen["dims"], strict=True)
            ]
            return moved[0] if seen["single"] else tuple(moved)

    Mapped.__name__ = cls.__name__
    output = Mapped.apply(*inside)
    results = (output,) if seen["single"] else output
    wrapped = wrap_all(results, seen["dims"], level)
    return wrapped[0] if seen["single"] else tuple(wrapped)


def as_argument(value: Any, place: Any, dim: Any, size: int) -> Any:
    """Return the gradient of an argument whose mapped dim is `dim` (None: the same for all examples)."""
    if value is None:
        return None
    if place is None:
        return (
            value
            if dim is None
            else move_dim(ops.expand(ops.unsqueeze(value, 0), (size, *value.shape)), 0, dim)
        )
    # An argument that all examples share gets the sum of their gradients.
    return ops.sum(value, (place,)) if dim is None else move_dim(value, place, dim)


# --- forward mode ----------------------------------------------------------------------------------------------


def _on_values(cls: type[Function], primals: tuple[Any, ...]) -> tuple[Any, _InnerCtx]:
    """Run the function on values; return the output, and the context for `jvp`.

    An outer derivative goes through the tangents, and so through the saved values.  What `setup_context` computes has
    a history only if it is computed from the recorded output.
    """
    inner = _InnerCtx(cls.__name__)
    wrapped = any(isinstance(value, TensorBase) and value._keys & BIT for value in primals)
    split = cls.setup_context is not Function.setup_context
    if wrapped and not split:
        raise errors.ArgumentError(
            cls.__name__,
            "needs setup_context to have tangents inside of other transforms, where forward gets no context",
        )
    if wrapped:
        output = run_function(cls, primals)
    else:
        output, ctx = run(cls, primals)
        if not split or not is_recorded_below(primals):
            inner.__dict__.update({k: v for k, v in vars(ctx).items() if not k.startswith("_")})
            inner._materialize, inner.kept = ctx._materialize, ctx._for_forward
            inner._without_gradient = ctx._without_gradient
            if not split and is_recorded_below(primals):
                _refuse_values_without_history(cls, inner.kept, (primals, output))
            return output, inner
    inner.needs_input_grad = tuple(is_recorded_below(value) for value in primals)
    cls.setup_context(inner, primals, output)
    inner.kept = inner._for_forward
    return output, inner


def _refuse_values_without_history(cls: type[Function], saved: Sequence[Any], known: tuple[Any, Any]) -> None:
    """Refuse saved values through which a derivative of the tangents would have to go but cannot."""
    primals, output = known
    results = output if isinstance(output, tuple) else (output,)
    for value in saved:
        if value is None or not STATE.floating >> value._spec.code & 1:
            continue
        if not any(value is other for other in (*primals, *results)):
            raise errors.GradientError(
                f"{cls.__name__}: save_for_forward() got a tensor that is neither an argument nor a result, so that "
                "the tangents cannot be differentiated\n  try: write forward without ctx, and a setup_context that "
                "computes the tensor"
            )


def _is_differentiable(ctx: FunctionCtx, result: TensorBase) -> bool:
    """Return whether a result can have a tangent."""
    marked = any(result is value for value in ctx._without_gradient)
    return not marked and bool(STATE.floating >> result._spec.code & 1)


def _with_tangents(cls: type[Function], args: tuple[Any, ...], level: DualLevel) -> Any:
    """Run the function on the values and its `jvp` method on the tangents."""
    primals, tangents = zip(*(primal_and_tangent(value, level) for value in args), strict=True)
    output, inner = _on_values(cls, primals)
    if not level.open:
        return output
    complete = [
        ops.zeros_like(p)
        if t is None
        and inner._materialize
        and isinstance(p, TensorBase)
        and STATE.floating >> p._spec.code & 1
        else t
        for p, t in zip(primals, tangents, strict=True)
    ]
    returned = cls.jvp(inner, *complete)
    single = not isinstance(output, tuple)
    results = (output,) if single else output
    moved = returned if isinstance(returned, tuple) else (returned,)
    if len(moved) != len(results):
        raise errors.GradientError(
            f"{cls.__name__}.jvp must return {len(results)} tangents, one for each result of forward, and it returned "
            f"{len(moved)}"
        )
    for position, (result, tangent) in enumerate(zip(results, moved, strict=True)):
        if tangent is not None and isinstance(result, TensorBase) and not _is_differentiable(inner, result):
            raise errors.GradientError(
                f"{cls.__name__}.jvp returned a tangent of result {position}, which is not differentiable: it was "
                f"marked so, or its dtype {result.dtype} has no derivatives\n"
                "  You should return None at that position instead"
            )
    own = with_own_memory(moved, results, primals, tangents)
    wrapped = [r if t is None else dual(r, t, level) for r, t in zip(results, own, strict=True)]
    return wrapped[0] if single else tuple(wrapped)
