"""Parametrizations: orthogonal weights, weights by length and direction, weights of spectral norm one."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import tt
import tt.nn.functional as F
from tt.nn.modules.module import Module
from tt.nn.utils import parametrize
from tt.nn.utils._norms import norm_except_dim, outputs_dim, power_iteration, scaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(q: tt.Tensor, eps: float | None = None) -> bool:
    n, k = q.size(-2), q.size(-1)
    identity = tt.eye(k, dtype=q.dtype, device=q.device)
    # The error of a product of n numbers grows with n.
    eps = 10.0 * n * tt.finfo(q.dtype).eps if eps is None else eps
    return bool(tt.allclose(q.mH @ q, identity, atol=eps))


def _make_orthogonal(a: tt.Tensor) -> tt.Tensor:
    """Return the orthogonal factor of a matrix, with a positive diagonal in the other one."""
    q, r = tt.linalg.qr(a)
    # QR is unique up to these signs; without them the factor of random matrices is not uniformly
    # distributed.
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _reflections(q: tt.Tensor) -> tt.Tensor:
    """Return the vectors of the Householder reflections whose product has these columns, and signs in the diagonal.

    Column by column, as LAPACK's geqrf: each vector has a one in the diagonal, which is not stored.
    """
    work = q.clone()
    result = tt.zeros_like(q)
    for j in range(q.size(-1)):
        x = work[..., j:, j]
        first, length = x[..., :1], tt.linalg.vector_norm(x, dim=-1, keepdim=True)
        # The sign opposite to that of the first element: their difference loses no digits.
        image = tt.where(first > 0, -length, length)
        none = tt.linalg.vector_norm(x[..., 1:], dim=-1, keepdim=True) == 0  # nothing to reflect
        image = tt.where(none, first, image)
        # Where there is nothing to reflect, 1 is added to a denominator of 0, and the quotient is not used.
        v = tt.where(none, tt.zeros_like(x), x / (first - image + none.to(x.dtype)))
        v = tt.cat([tt.ones_like(first), v[..., 1:]], dim=-1)
        tau = tt.where(none, tt.zeros_like(first), (image - first) / (image + (image == 0).to(x.dtype)))
        rest = work[..., j:, j:]
        rest.sub_((tau * v).unsqueeze(-1) * (v.unsqueeze(-2) @ rest))
        result[..., j + 1 :, j] = v[..., 1:]
        # Without a vector, the reflection of `forward` is that of the one in the diagonal, which changes the sign.
        result[..., j, j] = tt.where(none, -image, image).squeeze(-1).sign()
    return result


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    base: tt.Tensor | None

    def __init__(
        self, weight: tt.Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        wide = x.size(-2) < x.size(-1)
        if wide:
            x = x.mT
        n, k = x.size(-2), x.size(-1)
        if self.orthogonal_map is _OrthMaps.householder:
            a = x.tril(diagonal=-1)
            # A reflection is I - 2 v v^T / |v|^2, and v has a one in the diagonal that `a` leaves out.
            q = tt.linalg.householder_product(a, 2.0 / (1.0 + (a * a).sum(dim=-2)))
            # The diagonal holds signs, which are constants.
            q = q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                # Columns of zeros make it square: only square matrices have an exponential.
                x = tt.cat([x, x.new_zeros(n, n - k).expand(*x.shape[:-2], -1, -1)], dim=-1)
            # The exponential and the Cayley map of a skew-Hermitian matrix are unitary.
            skew = x - x.mH
            if self.orthogonal_map is _OrthMaps.matrix_exp:
                q = tt.linalg.matrix_exp(skew)
            else:
                identity = tt.eye(n, dtype=skew.dtype, device=skew.device)
                q = tt.linalg.solve(identity - 0.5 * skew, identity + 0.5 * skew)
            if n != k:
                q = q[..., :k]
        base: tt.Tensor | None = getattr(self, "base", None)
        if base is not None:
            # Trivialization: the map starts from the identity, so the result starts from the base.
            q = base @ q
        return q.mT if wide else q

    def right_inverse(self, q: tt.Tensor) -> tt.Tensor:
        with tt.no_grad():
            return self._right_inverse(q)

    def _right_inverse(self, q: tt.Tensor) -> tt.Tensor:
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        matrix, wide = q, q.size(-2) < q.size(-1)
        if wide:
            q = q.mT
        n, k = q.size(-2), q.size(-1)
        if not hasattr(self, "base"):
            if self.orthogonal_map is not _OrthMaps.householder:
                raise NotImplementedError(
                    "the matrix exponential and the Cayley map have no right inverse without use_trivialization"
                )
            a = _reflections(q)
            return a.mT if wide else a
        if n == k:
            q = q.clone() if _is_orthogonal(q) else _make_orthogonal(q)
        else:  # completed to a basis, of which the first columns are used
            rest = tt.randn(*q.shape[:-2], n, n - k, dtype=q.dtype, device=q.device)
            q = _make_orthogonal(tt.cat([q, rest], dim=-1))
        self.base = q
        # What every map sends to the identity.
        result = tt.zeros_like(matrix)
        result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return result


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix, or a batch of them, orthogonal; unitary if it is complex.

    A matrix with more rows than columns has orthonormal columns, one with fewer orthonormal rows.
    Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        How the matrix is computed; by default "matrix_exp" for square and complex ones, otherwise "householder".
    use_trivialization : bool
        Whether the value at the time of registration, or of an assignment, is where the map begins.

    Returns
    -------
    Module
        `module`.

    Raises
    ------
    ValueError
        If it has no such matrix, or the map is unknown.

    Examples
    --------
    >>> import tt
    >>> from tt.nn.utils.parametrizations import orthogonal
    >>> layer = orthogonal(tt.nn.Linear(3, 5))
    >>> tt.allclose(layer.weight.T @ layer.weight, tt.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, tt.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _OrthMaps.__members__:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    chosen = _Orthogonal(weight, _OrthMaps[orthogonal_map], use_trivialization=use_trivialization)
    # Not checked: the first value of a matrix that is not orthogonal is another one than it had.
    return parametrize.register_parametrization(module, name, chosen, unsafe=True)


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: tt.Tensor, weight_v: tt.Tensor) -> tt.Tensor:
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: tt.Tensor) -> tuple[tt.Tensor, tt.Tensor]:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight from its length, `original0`, and its direction, `original1`.

    Salimans and Kingma, "Weight normalization", 2016.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    dim : int or None
        The dimension with a length for each of its places; None: one length.

    Returns
    -------
    Module
        `module`.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.utils.parametrizations.weight_norm(tt.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    tt.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def convert_old_names(
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing: list[str],
        unexpected: list[str],
        errors: list[str],
    ) -> None:
        # The names of the older form, `tt.nn.utils.weight_norm`.
        old = [f"{prefix}{name}_g", f"{prefix}{name}_v"]
        if all(key in state_dict for key in old):
            for index, key in enumerate(old):
                state_dict[f"{prefix}parametrizations.{name}.original{index}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(convert_old_names)
    return module


class _SpectralNorm(Module):
    _u: tt.Tensor
    _v: tt.Tensor

    def __init__(
        self, weight: tt.Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._reshape_weight_to_matrix(weight)
            for buffer, size in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
                start = matrix.detach().new_empty(size).normal_(0, 1)
                self.register_buffer(buffer, F.normalize(start, dim=0, eps=eps))
            # Some steps at the start, so that the first forward has a good estimate.
            self._power_method(matrix, 15)

    def _reshape_weight_to_matrix(self, weight: tt.Tensor) -> tt.Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _power_method(self, weight_mat: tt.Tensor, n_power_iterations: int) -> None:
        power_iteration(weight_mat, self._u, self._v, n_power_iterations, self.eps)

    def forward(self, weight: tt.Tensor) -> tt.Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(matrix, self.n_power_iterations)
        # Copies: a second forward before backward changes the buffers.
        u, v = self._u.clone(), self._v.clone()
        return weight / tt.vdot(u, tt.mv(matrix, v))

    def right_inverse(self, value: tt.Tensor) -> tt.Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value, which power iteration estimates in training.

    Miyato et al., "Spectral normalization for generative adversarial networks", 2018.

    Parameters
    ----------
    module : Module
        The module.
    name : str
        The parameter.
    n_power_iterations : int
        Steps of the power iteration at each use in training.
    eps : float
        What keeps norms above zero.
    dim : int, optional
        The dimension of outputs; 1 for transposed convolutions, otherwise 0.

    Returns
    -------
    Module
        `module`.

    Examples
    --------
    >>> import tt
    >>> layer = tt.nn.utils.parametrizations.spectral_norm(tt.nn.Linear(20, 40))
    >>> bool((tt.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 0.1)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, tt.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = outputs_dim(module)
    return parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
