"""Libraries that call the array API of their arguments: results with tensors equal those with NumPy's arrays.

`python -m tests.api.array_api.clients scipy cpu` runs the calls of a library on a device, in a process of its own,
because SciPy reads its setting when it is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np

import tt

Call = Callable[[Any, Any, Any, Any], Any]

generator = np.random.default_rng(0)
TABLE, SERIES = generator.normal(size=(40, 5)), generator.normal(size=40)
CLASSES = (TABLE[:, 0] > 0).astype(np.int64)


def scipy(compiled: bool) -> Iterator[tuple[str, Call]]:
    """Yield calls; those of compiled code need arrays that NumPy can read."""
    from scipy import cluster, fft, integrate, signal, special, stats

    yield "zscore", lambda xp, a, b, y: stats.zscore(a)
    yield "skew", lambda xp, a, b, y: stats.skew(a)
    yield "kurtosis", lambda xp, a, b, y: stats.kurtosis(a)
    yield "moment", lambda xp, a, b, y: stats.moment(a, 3)
    yield "gmean", lambda xp, a, b, y: stats.gmean(xp.abs(a))
    yield "sem", lambda xp, a, b, y: stats.sem(a)
    yield "variation", lambda xp, a, b, y: stats.variation(a)
    yield "logsumexp", lambda xp, a, b, y: special.logsumexp(a, axis=1)
    yield "softmax", lambda xp, a, b, y: special.softmax(a, axis=1)
    if not compiled:
        return
    yield "ttest_ind", lambda xp, a, b, y: tuple(stats.ttest_ind(a[:, 0], b))
    yield "pearsonr", lambda xp, a, b, y: tuple(stats.pearsonr(a[:, 0], b))
    yield "normaltest", lambda xp, a, b, y: tuple(stats.normaltest(a))
    yield "rankdata", lambda xp, a, b, y: stats.rankdata(b)
    yield "mannwhitneyu", lambda xp, a, b, y: tuple(stats.mannwhitneyu(a[:, 0], b))
    yield "gammaln", lambda xp, a, b, y: special.gammaln(xp.abs(b) + 1)
    yield "betainc", lambda xp, a, b, y: special.betainc(xp.abs(b) + 1, xp.abs(b) + 1, xp.abs(b) / 10)
    yield "fftconvolve", lambda xp, a, b, y: signal.fftconvolve(b, a[:, 0])
    yield "detrend", lambda xp, a, b, y: signal.detrend(b)
    yield "hilbert", lambda xp, a, b, y: signal.hilbert(b)
    yield "resample", lambda xp, a, b, y: signal.resample(b, 20)
    yield "savgol_filter", lambda xp, a, b, y: signal.savgol_filter(b, 5, 2)
    yield (
        "sosfiltfilt",
        lambda xp, a, b, y: signal.sosfiltfilt(xp.asarray(signal.butter(2, 0.3, output="sos")), b),
    )
    yield "whiten", lambda xp, a, b, y: cluster.vq.whiten(a)
    yield "kmeans2", lambda xp, a, b, y: cluster.vq.kmeans2(a, a[:3, ...], minit="matrix")
    yield "linkage", lambda xp, a, b, y: cluster.hierarchy.linkage(a)
    yield "fft2", lambda xp, a, b, y: fft.fft2(a)
    yield "dct", lambda xp, a, b, y: fft.dct(b)
    yield "trapezoid", lambda xp, a, b, y: integrate.trapezoid(b)


def sklearn(compiled: bool) -> Iterator[tuple[str, Call]]:
    """Yield calls of scikit-learn."""
    from sklearn import config_context, metrics, preprocessing
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.mixture import GaussianMixture
    from sklearn.naive_bayes import GaussianNB

    calls: dict[str, Call] = {
        "pca": lambda xp, a, b, y: PCA(2, svd_solver="full").fit(a).explained_variance_,
        "ridge": lambda xp, a, b, y: Ridge(solver="svd").fit(a, b).predict(a),
        "discriminant": lambda xp, a, b, y: LinearDiscriminantAnalysis().fit(a, y).transform(a),
        "scaler": lambda xp, a, b, y: preprocessing.StandardScaler().fit_transform(a),
        "min_max": lambda xp, a, b, y: preprocessing.MinMaxScaler().fit_transform(a),
        "polynomials": lambda xp, a, b, y: preprocessing.PolynomialFeatures(2).fit_transform(a),
        "mixture": lambda xp, a, b, y: (
            GaussianMixture(2, init_params="random_from_data", random_state=0).fit(a).means_
        ),
        "naive_bayes": lambda xp, a, b, y: GaussianNB().fit(a, y).predict(a),
        "distances": lambda xp, a, b, y: metrics.pairwise.euclidean_distances(a),
        "kernel": lambda xp, a, b, y: metrics.pairwise.rbf_kernel(a),
        "accuracy": lambda xp, a, b, y: metrics.accuracy_score(y, 1 - y),
        "r2": lambda xp, a, b, y: metrics.r2_score(b, a[:, 0]),
        "confusion": lambda xp, a, b, y: metrics.confusion_matrix(y, 1 - y),
    }

    def dispatched(call: Call) -> Call:
        def run(*arguments: Any) -> Any:
            with config_context(array_api_dispatch=True):
                return call(*arguments)

        return run

    for name, call in calls.items():
        yield name, dispatched(call)


def einops(compiled: bool) -> Iterator[tuple[str, Call]]:
    """Yield calls of einops."""
    from einops import array_api as functions

    yield "rearrange", lambda xp, a, b, y: functions.rearrange(a, "(n m) c -> m c n", m=4)
    yield "reduce", lambda xp, a, b, y: functions.reduce(a, "(n m) c -> n", "mean", m=4)
    yield "repeat", lambda xp, a, b, y: functions.repeat(a, "n c -> n c 3")
    yield "pack", lambda xp, a, b, y: functions.pack([a, b], "n *")[0]


def array_api_extra(compiled: bool) -> Iterator[tuple[str, Call]]:
    """Yield calls of array-api-extra."""
    import array_api_extra as extra

    yield "cov", lambda xp, a, b, y: extra.cov(a.T)
    yield "kron", lambda xp, a, b, y: extra.kron(a, a)
    yield "pad", lambda xp, a, b, y: extra.pad(a, 2)
    yield "one_hot", lambda xp, a, b, y: extra.one_hot(y, 2)
    yield "nunique", lambda xp, a, b, y: extra.nunique(y)
    yield "setdiff1d", lambda xp, a, b, y: extra.setdiff1d(b, a[:, 0])
    yield "at", lambda xp, a, b, y: extra.at(b)[::-1].set(0.0, copy=True)
    yield "apply_where", lambda xp, a, b, y: extra.apply_where(b > 0, b, lambda t: t * 2, lambda t: t - 1)
    yield "sinc", lambda xp, a, b, y: extra.sinc(b)


def compare(name: str, found: Any, expected: Any) -> None:
    """Raise unless results agree; arrays must be tensors."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            compare(name, one, other)
        return
    assert isinstance(found, tt.Tensor) or np.ndim(expected) == 0, f"{name} gives a {type(found).__name__}"
    values = found.cpu().numpy() if isinstance(found, tt.Tensor) else found
    np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9, err_msg=name)


def main(library: str, place: str) -> None:
    """Run the calls of a library on a device."""
    from contextlib import nullcontext

    from tests.backends.array_api.devices import device

    context: Any = nullcontext()
    if place == "strict":
        import array_api_strict

        context = device(array_api_strict, "strict")
    arrays = (TABLE, SERIES, CLASSES)
    with context:
        tensors = [tt.tensor(array).to(place) for array in arrays]
        count = 0
        for name, call in globals()[library](place == "cpu"):
            compare(name, call(tt.array_api, *tensors), call(np, *arrays))
            count += 1
    print(f"{count} calls of {library} agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
