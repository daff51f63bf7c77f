"""fastai: Learner.fit on tensors, callbacks, tabular data, metrics, schedules, transforms, saving."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from fastai.callback.schedule import SchedCos, combine_scheds
from fastai.callback.tracker import EarlyStoppingCallback, SaveModelCallback
from fastai.data.core import DataLoaders, Datasets
from fastai.data.load import DataLoader
from fastai.data.transforms import Categorize, IndexSplitter
from fastai.learner import Learner
from fastai.losses import CrossEntropyLossFlat, LabelSmoothingCrossEntropy
from fastai.metrics import F1Score, RocAucBinary, accuracy, rmse
from fastai.optimizer import SGD, Adam, Lamb, RAdam, ranger
from fastai.tabular.core import Categorify, FillMissing, Normalize, TabularPandas
from fastai.tabular.model import TabularModel
from torch import nn

from tests.ecosystem import kit

REQUIRES = (
    "fastai==2.8.12",
    "fastcore",
    "fastprogress",
    "fasttransform",
    "fastdownload",
    "torchvision",
    "matplotlib",
    "pandas",
    "requests",
    "pyyaml",
    "pillow",
    "scikit-learn",
    "scipy",
    "packaging",
    "plum-dispatch",
    "cloudpickle",
)


def _loaders(count=48):
    x = kit.rng().standard_normal((count, 6)).astype("float32")
    rows = [(torch.tensor(row), torch.tensor(int(row.sum() > 0))) for row in x]
    train = DataLoader(rows[:32], bs=8, shuffle=False, num_workers=0)
    return DataLoaders(train, DataLoader(rows[32:], bs=8, num_workers=0))


def _learner(folder=".", **keywords):
    net = kit.fill(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2)))
    options = {
        "loss_func": CrossEntropyLossFlat(),
        "metrics": accuracy,
        "lr": 0.05,
        "path": Path(folder),
        "train_bn": True,
    }
    learner = Learner(_loaders(), net, **{**options, **keywords})
    return learner


def _values(learner):
    return [list(row) for row in learner.recorder.values]


def fit():
    learner = _learner()
    with learner.no_bar(), learner.no_logging():
        learner.fit(3)
    return _values(learner), list(learner.validate()), learner.recorder.losses


def one_cycle():
    learner = _learner(opt_func=Adam)
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 0.05)
        learner.fit_flat_cos(1, 0.01)
    return (
        _values(learner),
        learner.recorder.hps["lr"],
        combine_scheds([0.3, 0.7], [SchedCos(0, 1), SchedCos(1, 0)])(0.5),
    )


def callbacks_and_saving():
    with tempfile.TemporaryDirectory() as folder:
        learner = _learner(folder)
        with learner.no_bar(), learner.no_logging():
            learner.fit(
                4, cbs=[EarlyStoppingCallback(patience=1, min_delta=10.0), SaveModelCallback(fname="best")]
            )
            epochs = len(learner.recorder.values)
            learner.save("again")
            other = _learner(folder).load("again")
        names = sorted(path.name for path in Path(folder, "models").iterdir())
        with other.no_bar(), other.no_logging():
            preds, targets = other.get_preds()
    return epochs, names, preds[:4], targets[:4]


def optimizers():
    results = {}
    for name, make in {"sgd": SGD, "adam": Adam, "radam": RAdam, "lamb": Lamb, "ranger": ranger}.items():
        learner = _learner(opt_func=make)
        with learner.no_bar(), learner.no_logging():
            learner.fit(1, wd=0.01)
        results[name] = learner.model[0].weight[0]
    return results


def tabular():
    rng = kit.rng()
    frame = pd.DataFrame(
        {"kind": rng.choice(["a", "b", "c"], 40), "x": rng.standard_normal(40), "y": rng.standard_normal(40)}
    )
    frame.loc[3, "x"] = np.nan
    frame["target"] = (frame["y"] > 0).astype(int)
    table = TabularPandas(
        frame,
        [Categorify, FillMissing, Normalize],
        ["kind"],
        ["x", "y"],
        "target",
        splits=(list(range(30)), list(range(30, 40))),
    )
    net = kit.fill(TabularModel([(4, 3), (3, 2)], 2, 2, [8]))
    loaders = table.dataloaders(bs=10, shuffle=False)
    learner = Learner(loaders, net, loss_func=nn.functional.mse_loss, lr=0.01)
    learner.loss_func = lambda out, y: nn.functional.cross_entropy(out, y.long().squeeze(-1))
    with learner.no_bar(), learner.no_logging():
        learner.fit(2)
    return table.xs.to_numpy()[:4].astype(float), list(table.cat_names), _values(learner)


def data_block():
    items = list(range(10))
    data = Datasets(
        items,
        [[lambda i: torch.full((3,), float(i))], [lambda i: "ab"[i % 2], Categorize()]],
        splits=IndexSplitter([1, 5])(items),
    )
    batch = data.dataloaders(bs=4, shuffle=False, num_workers=0).one_batch()
    return list(batch), list(data.vocab), len(data.valid)


def losses_and_metrics():
    logits, labels = kit.tensor(6, 3), kit.integers(0, 3, (6,))
    return {
        "smooth": LabelSmoothingCrossEntropy()(logits, labels),
        "decoded": CrossEntropyLossFlat().decodes(logits),
        "rmse": rmse(kit.tensor(4), kit.tensor(4)),
        "f1": F1Score().func(np.array([0, 1, 1]), np.array([1, 1, 0])),
        "auc": RocAucBinary().func(np.array([0, 1, 1, 0]), np.array([0.1, 0.8, 0.4, 0.5])),
    }
