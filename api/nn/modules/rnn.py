"""Recurrent layers: RNN, LSTM, GRU and their base; their cells are in `rnn_cells`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import tt
from tt.errors import ArgumentError, ShapeError
from tt.library import warn_user
from tt.nn import init
from tt.nn.modules.module import Module
from tt.nn.modules.rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from tt.nn.parameter import Parameter
from tt.nn.utils.rnn import PackedSequence
from tt.overrides import is_tensor_like
from tt.types import Device

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}

State = Any
"""The first or last states: a tensor, or for LSTM a pair of tensors."""


def permuted(tensor: tt.Tensor, permutation: tt.Tensor, dim: int = 1) -> tt.Tensor:
    """Return a tensor with its batch in another order."""
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: tt.Tensor, permutation: tt.Tensor, dim: int = 1) -> tt.Tensor:
    """Return a tensor with a dimension in another order; deprecated: `tensor.index_select(dim, permutation)`.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> from tt.nn.modules.rnn import apply_permutation
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     apply_permutation(tt.tensor([[1, 2, 3]]), tt.tensor([2, 0, 1]))
    tensor([[3, 1, 2]])
    """
    warn_user(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
    )
    return permuted(tensor, permutation, dim)


class RNNBase(Module):
    """The base of RNN, LSTM and GRU: the parameters of all layers and directions, and checks of the input.

    Parameters
    ----------
    mode : str
        "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the hidden state.
    num_layers : int
        Layers, each of which takes the output of the one before.
    bias : bool
        Whether there are biases.
    batch_first : bool
        Whether input and output are (N, L, ...) instead of (L, N, ...).
    dropout : float
        Probability of dropout after each layer but the last.
    bidirectional : bool
        Whether each layer also runs from the end to the beginning.
    proj_size : int
        Size to which an LSTM projects its hidden states; 0 for no projection.
    device, dtype : optional
        Those of the parameters.

    Examples
    --------
    >>> import tt
    >>> [name for name, _ in tt.nn.RNNBase("GRU", 3, 4, bias=False).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0']
    """

    __constants__ = (
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    )  # fmt: skip
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        value: Any
        for name, value, kind in (
            ("bias", bias, bool), ("batch_first", batch_first, bool), ("input_size", input_size, int),
            ("hidden_size", hidden_size, int),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        value = dropout
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warn_user(
                f"dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            )
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        # Registered in the order of PyTorch's state dicts, which is the order in which the operators take
        # them.
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                shapes = self._shapes(input_size if layer == 0 else self._features())
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    self.register_parameter(name, Parameter(tt.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    def _features(self) -> int:
        """Return the features of a layer's output."""
        return (self.proj_size or self.hidden_size) * (2 if self.bidirectional else 1)

    def _shapes(self, input_size: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters of one direction of a layer."""
        rows, state = GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, input_size), "weight_hh": (rows, state)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    @property
    # Looked up in each call, because `to`, `load_state_dict` or a parametrization may exchange them.
    def _flat_weights(self) -> list[Any]:
        exchanged = vars(self).get("_exchanged_weights")
        if exchanged is None:
            return [getattr(self, name) for name in self._flat_weights_names]
        return [
            exchanged[name] if name in exchanged else getattr(self, name) for name in self._flat_weights_names
        ]

    @_flat_weights.setter
    # Libraries that run a layer with other weights write the list, and may leave the parameters as they are.
    def _flat_weights(self, weights: Sequence[Any]) -> None:
        pairs = zip(self._flat_weights_names, weights, strict=True)
        exchanged = {name: weight for name, weight in pairs if weight is not getattr(self, name)}
        vars(self)["_exchanged_weights"] = exchanged or None

    def __setattr__(self, name: str, value: object) -> None:
        exchanged = vars(self).get("_exchanged_weights")
        if exchanged:
            exchanged.pop(name, None)
        super().__setattr__(name, value)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        vars(self).pop("_exchanged_weights", None)
        return super()._apply(fn, recurse)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: kernels take the parameters where they lie."""

    def reset_parameters(self) -> None:
        """Draw all parameters uniformly from ±1/sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # --- checks ------------------------------------------------------------------------------------------------

    def check_input(self, input: tt.Tensor, batch_sizes: tt.Tensor | None) -> None:
        """Raise unless the input has the layer's dtype, dimensions and features."""
        weight = getattr(self, self._flat_weights_names[0])
        # Autocast converts both later.
        if input.dtype != weight.dtype and not tt.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        ndim = 2 if batch_sizes is not None else 3
        if input.ndim != ndim:
            raise ShapeError(f"input must have {ndim} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise ShapeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def get_expected_hidden_size(
        self, input: tt.Tensor, batch_sizes: tt.Tensor | None
    ) -> tuple[int, int, int]:
        """Return the shape of the hidden states for an input."""
        dim = 0 if self.batch_first else 1
        # The first step of a packed sequence has all sequences, so its size is that of the batch.
        batch = input.shape[dim] if batch_sizes is None else int(batch_sizes[0].item())
        directions = 2 if self.bidirectional else 1
        return self.num_layers * directions, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self,
        hx: tt.Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless states have a shape."""
        if tuple(hx.shape) != expected_hidden_size:
            raise ShapeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: tt.Tensor, hidden: State, batch_sizes: tt.Tensor | None) -> None:
        """Raise unless input and states fit the layer."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: State, permutation: tt.Tensor | None) -> State:
        """Return the states with their batch in another order."""
        return hx if permutation is None else permuted(hx, permutation)

    # --- running -----------------------------------------------------------------------------------------------

    def _check_kinds(self, input: Any, hx: State) -> None:
        """Raise unless the input is a tensor or a packed sequence, and the states fit the layer."""
        if not isinstance(input, PackedSequence) and not is_tensor_like(input):
            raise ArgumentError(
                type(self).__name__,
                f"argument 'input' (position 1) must be Tensor or PackedSequence, not {type(input).__name__}",
            )
        if hx is not None:
            self._check_state(hx)

    def _check_state(self, hx: State) -> None:
        """Raise unless the states are a tensor."""
        if not is_tensor_like(hx):
            raise ArgumentError(
                type(self).__name__, f"argument 'hx' (position 2) must be Tensor, not {type(hx).__name__}"
            )

    def _check_ndim(self, hx: State, batched: bool) -> None:
        """Raise unless states have as many dimensions as the input."""
        ndim = 3 if batched else 2
        if hx is not None and hx.ndim != ndim:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise ShapeError(f"For {kind} input, hx should also be {ndim}-D but got {hx.ndim}-D tensor")

    def _first_state(self, input: tt.Tensor, batch_sizes: tt.Tensor | None) -> State:
        """Return zeros as the first states."""
        size = self.get_expected_hidden_size(input, batch_sizes)
        return tt.zeros(size, dtype=input.dtype, device=input.device)

    def _with_batch(self, hx: State) -> State:
        return hx.unsqueeze(1)

    def _without_batch(self, hx: State) -> State:
        return hx.squeeze(1)

    def _operator(self) -> Any:
        return {"RNN_TANH": tt.rnn_tanh, "RNN_RELU": tt.rnn_relu, "GRU": tt.gru, "LSTM": tt.lstm}[self.mode]

    def _run(self, *args: Any) -> tuple[tt.Tensor, State]:
        """Call the operator; return the output and the last states."""
        result = self._operator()(*args)
        return result[0], result[1]

    def forward(self, input: Any, hx: State = None) -> tuple[Any, State]:
        """Return the output of the last layer, and the last states of all layers and directions."""
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        self._check_kinds(input, hx)
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            self.check_input(data, batch_sizes)
            # The sequences are sorted by length, and the states must follow them.
            hx = self._first_state(data, batch_sizes) if hx is None else self.permute_hidden(hx, order)
            self.check_forward_args(data, hx, batch_sizes)
            output, last = self._run(data, batch_sizes, hx, self._flat_weights, *options)
            return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(last, back)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.ndim}D instead"
            )
        batched, dim = input.ndim == 3, 0 if self.batch_first else 1
        self._check_ndim(hx, batched)
        if not batched:
            input = input.unsqueeze(dim)
            hx = None if hx is None else self._with_batch(hx)
        self.check_input(input, None)
        hx = self._first_state(input, None) if hx is None else hx
        self.check_forward_args(input, hx, None)
        output, last = self._run(input, hx, self._flat_weights, *options, self.batch_first)
        if batched:
            return output, last
        return output.squeeze(dim), self._without_batch(last)

    def extra_repr(self) -> str:
        """Return the sizes, and the options that are not the default."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        parts += [f"proj_size={self.proj_size}"] if self.proj_size else []
        parts += [f"num_layers={self.num_layers}"] if self.num_layers != 1 else []
        parts += [f"bias={self.bias}"] if self.bias is not True else []
        parts += [f"batch_first={self.batch_first}"] if self.batch_first is not False else []
        parts += [f"dropout={self.dropout}"] if self.dropout else []
        parts += [f"bidirectional={self.bidirectional}"] if self.bidirectional is not False else []
        return ", ".join(parts)


class RNN(RNNBase):
    """An Elman network: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) in each step, or relu instead of tanh.

    Shape: input (L, N, H_in), or (N, L, H_in) if `batch_first`, or (L, H_in) for one sequence, or a PackedSequence; hx
    (D * num_layers, N, H_out), where D is 2 if `bidirectional`; output (L, N, D * H_out) and the last hx.  Parameters
    weight_ih_l[k], weight_hh_l[k], bias_ih_l[k] and bias_hh_l[k] (with "_reverse" for the other direction) are drawn
    uniformly from ±1/sqrt(hidden_size).  After Elman, "Finding structure in time", 1990.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
        Features of input and state; layers (1 by default).
    nonlinearity : str
        "tanh" or "relu".
    bias, batch_first, dropout, bidirectional, device, dtype : optional
        As in RNNBase.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.RNN(10, 20, 2)
    >>> output, hn = layer(tt.randn(5, 3, 10), tt.randn(2, 3, 20))
    >>> output.shape, hn.shape
    (tt.Size([5, 3, 20]), tt.Size([2, 3, 20]))
    """

    nonlinearity: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        # Only RNN has the nonlinearity between num_layers and bias, so it leaves the positions of the base.
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """A network of gated recurrent units: h' = (1 - z) n + z h, with n = tanh(W_in x + b_in + r (W_hn h + b_hn)).

    r and z are sigmoids of the same sums.  Shapes and parameters are those of RNN, with the gates r, z, n one below
    the other in weight_ih_l[k] (3 * hidden_size, H_in) and weight_hh_l[k].  After Cho et al.,
    https://arxiv.org/abs/1406.1078.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, device, dtype : optional
        As in RNNBase.

    Examples
    --------
    >>> import tt
    >>> output, hn = tt.nn.GRU(10, 20, 2)(tt.randn(5, 3, 10))
    >>> output.shape, hn.shape
    (tt.Size([5, 3, 20]), tt.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """A long short-term memory: c' = f c + i g and h' = o tanh(c'), with sigmoid gates i, f, o and g = tanh(...).

    Shapes are those of RNN, with a pair of states: h (D * num_layers, N, H_out) and c (D * num_layers, N, hidden_size),
    where H_out is `proj_size` if that is given: then h' is projected by weight_hr_l[k].  The gates i, f, g, o lie one
    below the other in weight_ih_l[k] (4 * hidden_size, H_in) and weight_hh_l[k].  After Hochreiter and Schmidhuber,
    "Long short-term memory", 1997; projections after https://arxiv.org/abs/1402.1128.

    Parameters
    ----------
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype : optional
        As in RNNBase.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.LSTM(10, 20, 2)
    >>> output, (hn, cn) = layer(tt.randn(5, 3, 10))
    >>> output.shape, cn.shape
    (tt.Size([5, 3, 20]), tt.Size([2, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: tt.Tensor, batch_sizes: tt.Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cells for an input."""
        return *self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size

    def check_forward_args(self, input: tt.Tensor, hidden: State, batch_sizes: tt.Tensor | None) -> None:
        """Raise unless input, states and cells fit the layer."""
        self.check_input(input, batch_sizes)
        for index, size in (
            (0, self.get_expected_hidden_size(input, batch_sizes)),
            (1, self.get_expected_cell_size(input, batch_sizes)),
        ):
            self.check_hidden_size(hidden[index], size, f"Expected hidden[{index}] size {{}}, got {{}}")

    def permute_hidden(self, hx: State, permutation: tt.Tensor | None) -> State:
        """Return states and cells with their batch in another order."""
        return hx if permutation is None else (permuted(hx[0], permutation), permuted(hx[1], permutation))

    def _check_state(self, hx: State) -> None:
        """Raise unless the states are a pair of tensors."""
        if isinstance(hx, (tuple, list)) and all(map(is_tensor_like, hx)):
            if len(hx) != 2:
                raise ShapeError(f"LSTM(): expected two hidden states (h_0, c_0), got {len(hx)}")
            return
        description = type(hx).__name__
        if isinstance(hx, (tuple, list)):
            description += " of " + ", ".join(type(state).__name__ for state in hx)
        elif isinstance(hx, tt.Tensor):
            description += f" of shape {list(hx.shape)}"
        raise ArgumentError(
            "LSTM", f"argument 'hx' (position 2) must be tuple of Tensors (h_0, c_0), not {description}"
        )

    def _check_ndim(self, hx: State, batched: bool) -> None:
        ndim = 3 if batched else 2
        if hx is not None and (hx[0].ndim != ndim or hx[1].ndim != ndim):
            kind = "batched 3-D" if batched else "unbatched 2-D"
            dims = ", ".join(f"{state.ndim}-D" for state in hx)
            raise ShapeError(f"For {kind} input, hx and cx should also be {ndim}-D but got ({dims}) tensors")

    def _first_state(self, input: tt.Tensor, batch_sizes: tt.Tensor | None) -> State:
        cells = self.get_expected_cell_size(input, batch_sizes)
        return super()._first_state(input, batch_sizes), tt.zeros(
            cells, dtype=input.dtype, device=input.device
        )

    def _with_batch(self, hx: State) -> State:
        return hx[0].unsqueeze(1), hx[1].unsqueeze(1)

    def _without_batch(self, hx: State) -> State:
        return hx[0].squeeze(1), hx[1].squeeze(1)

    def _run(self, *args: Any) -> tuple[tt.Tensor, State]:
        output, h, c = tt.lstm(*args)
        return output, (h, c)
