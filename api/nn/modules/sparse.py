"""Embeddings: rows of a table by their numbers, one by one or summed in bags."""

from __future__ import annotations

import tt
import tt.nn.functional as F
from tt.nn import init
from tt.nn.modules.module import Module
from tt.nn.parameter import Parameter
from tt.types import Device

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A table of (num_embeddings, embedding_dim), whose row `padding_idx` is zero at first and has no gradient."""

    weight: Parameter
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None

    def _fill(self, weight: tt.Tensor | None, freeze: bool, device: Device, dtype: tt.dtype | None) -> None:
        rows, columns, padding = self.num_embeddings, self.embedding_dim, self.padding_idx
        if padding is not None:
            if not -rows <= padding < rows:
                raise AssertionError(f"padding_idx ({padding}) must be within num_embeddings ({rows})")
            # From here on at least 0, so that kernels can compare it with indices.
            self.padding_idx = padding % rows
        if weight is not None:
            if tuple(weight.shape) != (rows, columns):
                raise AssertionError(
                    f"Shape of weight {tuple(weight.shape)} does not match num_embeddings and embedding_dim "
                    f"({rows}, {columns})"
                )
            # The given table is not copied and its padding row not zeroed: pretrained rows stay as they
            # are.
            self.weight = Parameter(weight, requires_grad=not freeze)
            return
        self.weight = Parameter(
            tt.empty((rows, columns), device=device, dtype=dtype), requires_grad=not freeze
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the table from a normal distribution."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tt.no_grad():
                self.weight[self.padding_idx] = 0  # of a divided table, on the rank that has the row


class Embedding(_Table):
    """Rows of a table by their numbers: integers of any shape to (..., embedding_dim).

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Rows and columns of `weight`.
    padding_idx : int, optional
        A row that is zero at first and gets no gradient.
    max_norm, norm_type : float, optional
        Rows with a larger norm are scaled down in place when they are looked up.
    scale_grad_by_freq : bool
        Divide the gradient of a row by how often it is looked up.
    sparse : bool
        Give the weight a sparse gradient.

    Examples
    --------
    >>> import tt
    >>> tt.nn.Embedding.from_pretrained(tt.eye(2))(tt.tensor([1, 0]))
    tensor([[0., 1.],
            [1., 0.]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: tt.Tensor | None = None,
        _freeze: bool = False,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._fill(_weight, _freeze, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: tt.Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """Return an embedding whose table is a given tensor of two dimensions, which does not learn if frozen."""
        _check_table(embeddings)
        rows, columns = embeddings.shape
        return cls(
            rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
            _freeze=freeze,
        )  # fmt: skip

    def forward(self, input: tt.Tensor) -> tt.Tensor:
        """Return the rows of the given numbers."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return the arguments that are not the default."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}" + _others(self)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the rows in each bag: (B, N), or (N,) with offsets (B,), to (B, embedding_dim).

    Parameters
    ----------
    num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse, padding_idx
        As for `Embedding`; rows of `padding_idx` do not count.
    mode : str
        "sum", "mean" or "max".
    include_last_offset : bool
        Whether the last offset is the end of the last bag.

    Examples
    --------
    >>> import tt
    >>> bags = tt.nn.EmbeddingBag.from_pretrained(tt.eye(2), mode="sum")
    >>> bags(tt.tensor([1, 0, 1]), tt.tensor([0, 1]))
    tensor([[0., 1.],
            [1., 1.]])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: tt.Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device = None,
        dtype: tt.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = padding_idx
        self._fill(_weight, False, device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: tt.Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Return bags whose table is a given tensor of two dimensions, which does not learn if frozen."""
        _check_table(embeddings)
        rows, columns = embeddings.shape
        bags = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
            padding_idx,
        )  # fmt: skip
        bags.weight.requires_grad = not freeze
        return bags

    def forward(
        self, input: tt.Tensor, offsets: tt.Tensor | None = None, per_sample_weights: tt.Tensor | None = None
    ) -> tt.Tensor:
        """Return one row for each bag; `per_sample_weights` multiply the rows of a sum."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Return the arguments that are not the default, and the mode."""
        text = f"{self.num_embeddings}, {self.embedding_dim}" + _others(self) + f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


def _check_table(embeddings: tt.Tensor) -> None:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")


def _others(table: Embedding | EmbeddingBag) -> str:
    text = "" if table.max_norm is None else f", max_norm={table.max_norm}"
    text += "" if table.norm_type == 2 else f", norm_type={table.norm_type}"
    text += ", scale_grad_by_freq=True" if table.scale_grad_by_freq else ""
    return text + (", sparse=True" if table.sparse and isinstance(table, Embedding) else "")
