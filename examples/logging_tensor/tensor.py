"""LoggingTensor and LoggingMode: a transcript of the operators that reach the kernels.

Each tensor has a number; a line of the transcript shows a result, its operator and its arguments.
"""

from __future__ import annotations

import weakref
from typing import Any

import tt
from tt.utils._python_dispatch import TTDispatchMode
from tt.utils._pytree import tree_map, tree_map_only

__all__ = ["LoggingMode", "LoggingTensor", "Transcript"]


class Transcript:
    """Lines such as `$2 = mul($0, $1)`.

    Attributes
    ----------
    lines : list of str
        In the order of the calls.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[int, tuple[weakref.ref[tt.Tensor], int]] = {}
        self._next = 0

    def number(self, tensor: tt.Tensor) -> str:
        """Return the name of a tensor, a new one for a tensor that was never seen."""
        known = self._numbers.get(id(tensor))
        if known is None or known[0]() is not tensor:
            known = weakref.ref(tensor), self._next
            self._next += 1
            self._numbers[id(tensor)] = known
        return f"${known[1]}"

    def declare(self, tensor: tt.Tensor, name: str) -> None:
        """Note a tensor that comes from outside."""
        self.lines.append(f"{self.number(tensor)} = {name}: {_type(tensor)}")

    def call(self, func: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Note a call."""
        shown = [self._show(value) for value in args] + [f"{k}={self._show(v)}" for k, v in kwargs.items()]
        self.lines.append(f"{self._show(result)} = {func.name}({', '.join(shown)})")

    def _show(self, value: Any) -> str:
        if isinstance(value, tt.Tensor):
            return self.number(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self._show, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self._show, value))}{',' * (len(value) == 1)})"
        return repr(value)

    def __str__(self) -> str:
        return "\n".join(self.lines)


def _type(tensor: tt.Tensor) -> str:
    return f"{tensor.dtype.name}{list(tensor.shape)}"


class LoggingTensor(tt.Tensor):
    """A tensor around another one: every operator on it is logged, also in a backward pass.

    Attributes
    ----------
    elem : Tensor
        The wrapped tensor.
    transcript : Transcript
        Shared by all tensors that come of one another.

    Examples
    --------
    >>> import tt
    >>> from tt.examples.logging_tensor.tensor import LoggingTensor
    >>> x = LoggingTensor(tt.tensor([1.0, 2.0])).requires_grad_()
    >>> x.transcript.declare(x, "x")
    >>> (x * x).sum().backward()
    >>> print(x.transcript)
    $0 = x: float32[2]
    $1 = mul($0, $0)
    $2 = sum($1)
    $3 = ones_like($2)
    $4 = expand($3, (2,))
    $5 = mul($4, $0)
    $6 = mul($4, $0)
    $7 = add($5, $6)
    >>> x.grad
    LoggingTensor(tensor([2., 4.]))
    """

    elem: tt.Tensor
    transcript: Transcript

    @staticmethod
    def __new__(cls: Any, elem: tt.Tensor, transcript: Transcript | None = None) -> LoggingTensor:
        """Wrap a tensor."""
        made: LoggingTensor = tt.Tensor._make_wrapper_subclass(
            cls, elem.shape, strides=elem.stride(), dtype=elem.dtype, device=elem.device
        )
        made.elem = elem
        made.transcript = Transcript() if transcript is None else transcript
        return made

    def __repr__(self) -> str:
        """Show the tensor inside."""
        return f"LoggingTensor({self.elem!r})"

    __tt_function__ = staticmethod(tt.overrides.disabled_tt_function_impl)

    @classmethod
    def __tt_dispatch__(
        cls,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Compute with the inner tensors, wrap the results and log the call."""
        kwargs = kwargs or {}
        first = next(t for t in tt.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, cls))
        plain = tree_map_only(cls, lambda t: t.elem, (args, kwargs))
        found = func(*plain[0], **plain[1])
        if func.name.endswith("_"):  # in place: the inner tensor has changed
            result = args[0]
        else:
            result = tree_map_only(tt.Tensor, lambda t: cls(t, first.transcript), found)
        first.transcript.call(func, args, kwargs, result)
        return result


class LoggingMode(TTDispatchMode):
    """Logs every operator that reaches the kernels in a `with` block, for any tensors.

    Attributes
    ----------
    transcript : Transcript
        What was written.

    Examples
    --------
    >>> import tt
    >>> from tt.examples.logging_tensor.tensor import LoggingMode
    >>> with LoggingMode() as mode:
    ...     x = tt.ones(2)
    ...     y = tt.stack([x, x]).sum()
    >>> print(mode.transcript)
    $0 = ones((2,))
    $1 = unsqueeze($0, 0)
    $2 = unsqueeze($0, 0)
    $3 = cat([$1, $2])
    $4 = sum($3)
    """

    def __init__(self) -> None:
        self.transcript = Transcript()
        self._kept: list[Any] = []

    def __tt_dispatch__(
        self,
        func: Any,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Make the call and write it down."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        tree_map(self._kept.append, (args, result))  # so that no number is given twice
        self.transcript.call(func, args, kwargs, result)
        return result
