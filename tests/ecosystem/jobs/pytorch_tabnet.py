"""pytorch-tabnet: classifier, regressor, pretraining, explanations, saving, the networks themselves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from pytorch_tabnet import sparsemax
from pytorch_tabnet.metrics import UnsupervisedLoss
from pytorch_tabnet.pretraining import TabNetPretrainer
from pytorch_tabnet.tab_model import TabNetClassifier, TabNetRegressor
from pytorch_tabnet.tab_network import TabNet

from tests.ecosystem import kit

REQUIRES = ("pytorch-tabnet==4.1.0", "scikit-learn", "scipy", "tqdm", "numpy")


def network():
    indices = torch.eye(6)
    net = kit.fill(
        TabNet(6, 3, n_d=4, n_a=4, n_steps=2, virtual_batch_size=8, group_attention_matrix=indices)
    ).eval()
    x = kit.tensor(8, 6)
    result, loss = net(x)
    explained, masks = net.forward_masks(x)
    return result, loss, explained, masks


def training_step():
    net = kit.fill(
        TabNet(
            6,
            3,
            n_d=4,
            n_a=4,
            n_steps=2,
            virtual_batch_size=8,
            mask_type="entmax",
            group_attention_matrix=torch.eye(6),
        )
    )
    result, loss = net(kit.tensor(16, 6))
    (torch.nn.functional.cross_entropy(result, kit.integers(0, 3, (16,))) - 1e-3 * loss).backward()
    return loss, [p.grad.norm() for p in net.parameters() if p.grad is not None][:8]


def sparse_activations():
    x = kit.tensor(4, 7, grad=True)
    first, second = sparsemax.sparsemax(x, dim=-1), sparsemax.entmax15(x, dim=-1)
    (first.square().sum() + second.square().sum()).backward()
    return first, second, x.grad, UnsupervisedLoss(x.detach(), kit.tensor(4, 7), torch.ones(4, 7))


def _rows():
    x = kit.rng().standard_normal((64, 6)).astype("float32")
    return x, (x[:, 0] > 0).astype(int)


def classifier():
    # Trained from the library's own random weights: what must agree are shapes and learning, not numbers.
    x, y = _rows()
    model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0, optimizer_params={"lr": 0.02})
    model.fit(
        x,
        y,
        eval_set=[(x, y)],
        eval_metric=["logloss", "auc"],
        max_epochs=12,
        batch_size=32,
        virtual_batch_size=16,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = model.save_model(str(Path(folder, "model")))
        loaded = TabNetClassifier()
        loaded.load_model(path)
    explained, masks = model.explain(x)
    history = model.history["loss"]
    return {
        "same": np.allclose(loaded.predict_proba(x), model.predict_proba(x)),
        "shape": explained.shape,
        "masks": [mask.shape for mask in masks.values()],
        "learns": history[-1] < history[0],
        "importance": float(model.feature_importances_.sum()),
    }


def pretraining_and_regression():
    x, _ = _rows()
    options = {"n_d": 4, "n_a": 4, "n_steps": 2, "verbose": 0}
    pretrainer = TabNetPretrainer(**options)
    pretrainer.fit(x, max_epochs=2, batch_size=32, virtual_batch_size=16)
    model = TabNetRegressor(**options)
    model.fit(x, x[:, :1], max_epochs=2, batch_size=32, virtual_batch_size=16, from_unsupervised=pretrainer)
    reconstructed, embedded = pretrainer.predict(x[:8])
    return model.predict(x[:5]).shape, reconstructed.shape, embedded.shape, sorted(model.history.history)
