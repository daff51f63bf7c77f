"""`assert_allclose`, the older form of `assert_close`."""

from __future__ import annotations

from typing import Any, Final

import tt
from tt.library import warn_user

__all__ = ["assert_allclose"]

_TOLERANCES: Final = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise AssertionError unless two tensors are close; dtypes may differ, and NaN equals NaN.

    Deprecated, as in PyTorch: `assert_close` is stricter.

    Examples
    --------
    >>> import warnings
    >>> import tt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     tt.testing.assert_allclose(tt.tensor([1.0, 2.0]), [1, 2])
    """
    warn_user("assert_allclose() is deprecated: use assert_close()", FutureWarning)
    first = actual if tt.is_tensor(actual) else tt.tensor(actual)
    second = expected if tt.is_tensor(expected) else tt.tensor(expected, dtype=first.dtype)
    if rtol is None and atol is None:
        pairs = [_TOLERANCES.get(x.dtype.name, (0.0, 0.0)) for x in (first, second)]
        rtol, atol = (max(values) for values in zip(*pairs, strict=True))
    tt.testing.assert_close(
        first, second, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg
    )
