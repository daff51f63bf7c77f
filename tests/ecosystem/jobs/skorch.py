"""skorch: classifiers and regressors as estimators of scikit-learn, pipelines, searches, callbacks, saving."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, GradientNormClipping, LRScheduler
from skorch.dataset import ValidSplit
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("skorch==1.4.0", "scikit-learn", "scipy", "tabulate", "tqdm", "joblib", "threadpoolctl")


class Net(nn.Module):
    """A small perceptron."""

    def __init__(self, hidden=10, outputs=2, softmax=True):
        super().__init__()
        self.layers = kit.fill(nn.Sequential(nn.Linear(6, hidden), nn.ReLU(), nn.Linear(hidden, outputs)))
        self.softmax = softmax

    def forward(self, X):  # noqa: N803 -- the name that skorch passes
        result = self.layers(X)
        return result.softmax(-1) if self.softmax else result.squeeze(-1)


def _rows(count=60):
    x = kit.rng().standard_normal((count, 6)).astype(np.float32)
    return x, (x[:, :3].sum(1) > 0).astype(np.int64)


def _classifier(**keywords):
    options = {"max_epochs": 4, "lr": 0.1, "batch_size": 16, "verbose": 0, "train_split": None}
    return NeuralNetClassifier(Net, **{**options, **keywords})


def classifier():
    x, y = _rows()
    net = _classifier(train_split=ValidSplit(4, stratified=True)).fit(x, y)
    return {
        "train": net.history[:, "train_loss"],
        "valid": net.history[:, ("valid_loss", "valid_acc")],
        "proba": net.predict_proba(x[:5]),
        "score": net.score(x, y),
    }


def regressor_and_binary():
    x, y = _rows()
    options = {
        "max_epochs": 3,
        "verbose": 0,
        "train_split": None,
        "module__softmax": False,
        "module__outputs": 1,
    }
    regressor = NeuralNetRegressor(Net, optimizer=torch.optim.Adam, lr=0.01, **options).fit(x, x[:, 0])
    binary = NeuralNetBinaryClassifier(Net, lr=0.1, **options).fit(x, y.astype(np.float32))
    return regressor.predict(x[:5]), binary.predict_proba(x[:5]), binary.predict(x[:5])


def pipeline_and_search():
    x, y = _rows()
    pipe = make_pipeline(StandardScaler(), _classifier())
    pipe.fit(x, y)
    search = GridSearchCV(
        _classifier(), {"lr": [0.01, 0.1], "module__hidden": [5, 10]}, cv=2, scoring="accuracy"
    )
    search.fit(x, y)
    crossed = cross_val_predict(_classifier(), x, y, cv=3, method="predict_proba")
    return pipe.predict_proba(x[:4]), search.best_params_, search.cv_results_["mean_test_score"], crossed[:4]


def callbacks():
    x, y = _rows()
    with tempfile.TemporaryDirectory() as folder:
        net = _classifier(
            max_epochs=8,
            train_split=ValidSplit(3),
            optimizer=torch.optim.SGD,
            optimizer__momentum=0.9,
            callbacks=[
                LRScheduler(torch.optim.lr_scheduler.StepLR, step_size=2, gamma=0.5),
                EpochScoring("roc_auc", lower_is_better=False, name="auc"),
                GradientNormClipping(0.5),
                EarlyStopping(patience=2, threshold=1.0),
                Checkpoint(dirname=folder, monitor="valid_loss_best"),
            ],
        ).fit(x, y)
        names = sorted(path.name for path in Path(folder).iterdir())
    return names, len(net.history), net.history[:, "auc"]


def saving():
    x, y = _rows()
    net = _classifier(optimizer=torch.optim.Adam).fit(x, y)
    copy = pickle.loads(pickle.dumps(net))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        net.save_params(path / "net.pt", path / "optimizer.pt", f_history=path / "history.json")
        other = _classifier(optimizer=torch.optim.Adam).initialize()
        other.load_params(path / "net.pt", path / "optimizer.pt", f_history=path / "history.json")
    other.partial_fit(x, y)
    return copy.predict_proba(x[:3]), other.predict_proba(x[:3]), len(other.history)
