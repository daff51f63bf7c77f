"""Cells of recurrent layers, which take one step: RNNCell, LSTMCell, GRUCell."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tt
from tt.errors import ArgumentError
from tt.nn import init
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.overrides import is_tensor_like
from tt.types import Device

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of recurrent cells: their parameters.

    Parameters
    ----------
    input_size, hidden_size : int
        Features of input and state.
    bias : bool
        Whether there are biases.
    num_chunks : int
        Gates of a state.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> tt.nn.RNNCellBase(3, 4, True, num_chunks=2).weight_ih.shape
    tt.Size([8, 3])
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(tt.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(tt.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(tt.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(tt.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        """Return the sizes, and the options that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        text += f", bias={self.bias}" if self.bias is not True else ""
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text + (f", nonlinearity={nonlinearity}" if nonlinearity != "tanh" else "")

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from ±1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check(self, input: tt.Tensor, *states: tt.Tensor, names: tuple[str, ...] = ("hidden",)) -> None:
        """Raise unless input and states are tensors of one dimension or two."""
        cell = type(self).__name__
        for name, value in zip(("input", *names), (input, *states), strict=False):
            if not is_tensor_like(value):
                raise ArgumentError(cell, f"argument {name!r} must be Tensor, not {type(value).__name__}")
        if input.ndim not in (1, 2):
            raise ValueError(f"{cell}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for name, state in zip(names, states, strict=False):
            if state.ndim not in (1, 2):
                raise ValueError(f"{cell}: Expected {name} to be 1D or 2D, got {state.ndim}D instead")

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: tt.Tensor) -> tt.Tensor:
        return tt.zeros((input.shape[0], self.hidden_size), dtype=input.dtype, device=input.device)

    def _step(self, operator: Callable[..., tt.Tensor], input: tt.Tensor, hx: tt.Tensor | None) -> tt.Tensor:
        """Take a step with one state, of a batch or of a single input."""
        self._check(input, *(() if hx is None else (hx,)))
        if input.ndim == 2:
            state = self._zeros(input) if hx is None else hx if hx.ndim == 2 else hx.unsqueeze(0)
            return operator(input, state, *self._weights())
        x = input.unsqueeze(0)
        state = self._zeros(x) if hx is None else hx.unsqueeze(0) if hx.ndim == 1 else hx
        return operator(x, state, *self._weights()).squeeze(0)


class RNNCell(RNNCellBase):
    """A step of an Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu instead of tanh.

    Shape: input (N, input_size) or (input_size), hidden state and result (N, hidden_size) or (hidden_size).

    Parameters
    ----------
    input_size, hidden_size : int
        Features of input and state.
    bias : bool
        Whether there are biases.
    nonlinearity : str
        "tanh" or "relu".
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> tt.nn.RNNCell(10, 20)(tt.randn(3, 10)).shape
    tt.Size([3, 20])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: tt.Tensor, hx: tt.Tensor | None = None) -> tt.Tensor:
        """Return the next state; the state is zero if not given."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(tt.rnn_tanh_cell if self.nonlinearity == "tanh" else tt.rnn_relu_cell, input, hx)


class GRUCell(RNNCellBase):
    """A step of a gated recurrent unit; see GRU.

    Shape: input (N, input_size) or (input_size), hidden state and result (N, hidden_size) or (hidden_size).

    Parameters
    ----------
    input_size, hidden_size : int
        Features of input and state.
    bias : bool
        Whether there are biases.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> tt.nn.GRUCell(10, 20)(tt.randn(3, 10)).shape
    tt.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: tt.Tensor, hx: tt.Tensor | None = None) -> tt.Tensor:
        """Return the next state; the state is zero if not given."""
        return self._step(tt.gru_cell, input, hx)


class LSTMCell(RNNCellBase):
    """A step of a long short-term memory; see LSTM.

    Shape: input (N, input_size) or (input_size); hidden state and cell, given and returned as a pair,
    (N, hidden_size) or (hidden_size).

    Parameters
    ----------
    input_size, hidden_size : int
        Features of input and state.
    bias : bool
        Whether there are biases.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> h, c = tt.nn.LSTMCell(10, 20)(tt.randn(3, 10))
    >>> h.shape, c.shape
    (tt.Size([3, 20]), tt.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: tt.Tensor, hx: tuple[tt.Tensor, tt.Tensor] | None = None
    ) -> tuple[tt.Tensor, tt.Tensor]:
        """Return the next hidden state and cell; they are zero if not given."""
        if hx is not None and not isinstance(hx, (tuple, list)):
            raise ArgumentError(
                "LSTMCell",
                f"argument 'hx' (position 2) must be tuple of Tensors (h_0, c_0), not {type(hx).__name__}",
            )
        self._check(input, *(hx or ()), names=("hx[0]", "hx[1]"))
        single = input.ndim == 1
        x = input.unsqueeze(0) if single else input
        if hx is None:
            zeros = self._zeros(x)
            states = [zeros, zeros]
        else:
            states = [state.unsqueeze(0) if state.ndim == 1 else state for state in hx]
        h, c = tt.lstm_cell(x, states, *self._weights())
        return (h.squeeze(0), c.squeeze(0)) if single else (h, c)
