"""Lightning: Trainer.fit with callbacks, checkpoints, loggers, loaders, precision, and loops on Fabric."""

import csv
import logging
import tempfile
import warnings
from pathlib import Path

import lightning as L
import numpy as np
import torch
from lightning.fabric import Fabric
from lightning.pytorch.callbacks import Callback, EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.ecosystem import kit

REQUIRES = (
    "lightning==2.6.6",
    "pytorch-lightning==2.6.6",
    "torchmetrics==1.9.0",
    "lightning-utilities",
    "fsspec",
    "pyyaml",
    "tqdm",
    "packaging",
)

warnings.filterwarnings("ignore", module="lightning")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
logging.getLogger("lightning.fabric").setLevel(logging.ERROR)
QUIET = {"enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu", "devices": 1}


def _rows(count=48):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((count, 8)).astype("float32")
    y = (x[:, :4].sum(1) > x[:, 4:].sum(1)).astype("int64")
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y))


class _Classifier(L.LightningModule):
    def __init__(self, width=16, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = kit.fill(nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, 2)))
        self.losses = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, on_step=True, on_epoch=True)
        self.losses.append(float(loss.detach()))
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        logits = self(x)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", (logits.argmax(1) == y).float().mean())

    def test_step(self, batch, index):
        x, y = batch
        self.log_dict({"test_loss": F.cross_entropy(self(x), y)})

    def predict_step(self, batch, index):
        return self(batch[0]).softmax(-1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        return {"optimizer": optimizer, "lr_scheduler": scheduler}


def _trainer(folder, **keywords):
    return L.Trainer(
        default_root_dir=folder, **{"logger": False, "enable_checkpointing": False, **QUIET, **keywords}
    )


def fit_and_validate():
    class Count(Callback):
        def __init__(self):
            self.events = []

        def on_train_epoch_end(self, trainer, module):
            self.events.append(float(trainer.callback_metrics["train_loss_epoch"]))

        def on_validation_end(self, trainer, module):
            self.events.append(float(trainer.callback_metrics["val_acc"]))

    with tempfile.TemporaryDirectory() as folder:
        model, count = _Classifier(), Count()
        trainer = _trainer(folder, max_epochs=3, callbacks=[count])
        trainer.fit(model, DataLoader(_rows(), batch_size=8), DataLoader(_rows(16), batch_size=8))
        return {"losses": model.losses, "events": count.events, "steps": trainer.global_step}


def checkpoint_and_resume():
    with tempfile.TemporaryDirectory() as folder:
        saver = ModelCheckpoint(dirpath=folder, filename="best", monitor="val_loss", save_last=True)
        keywords = {"enable_checkpointing": True, "callbacks": [saver]}
        train, val = DataLoader(_rows(), batch_size=8), DataLoader(_rows(16), batch_size=8)
        _trainer(folder, max_epochs=2, **keywords).fit(_Classifier(), train, val)
        best = float(saver.best_model_score)
        names = sorted(path.name for path in Path(folder).glob("*.ckpt"))
        resumed = _Classifier()
        trainer = _trainer(folder, max_epochs=4)
        trainer.fit(resumed, train, val, ckpt_path=str(Path(folder, "last.ckpt")))
        loaded = _Classifier.load_from_checkpoint(saver.best_model_path)
        return {
            "best": best,
            "names": names,
            "losses": resumed.losses,
            "epoch": trainer.current_epoch,
            "width": loaded.hparams.width,
            "weight": loaded.net[0].weight[0],
        }


def csv_logs():
    with tempfile.TemporaryDirectory() as folder:
        logger = CSVLogger(folder, name="run", version=0)
        trainer = _trainer(
            folder, max_epochs=2, logger=logger, log_every_n_steps=2, callbacks=[LearningRateMonitor("epoch")]
        )
        trainer.fit(_Classifier(), DataLoader(_rows(), batch_size=8), DataLoader(_rows(16), batch_size=8))
        with Path(logger.log_dir, "metrics.csv").open() as file:
            rows = list(csv.DictReader(file))
        return {
            "columns": sorted(rows[0]),
            "val_loss": [float(row["val_loss"]) for row in rows if row["val_loss"]],
            "lr": [float(row["lr-AdamW"]) for row in rows if row["lr-AdamW"]],
        }


def early_stopping():
    with tempfile.TemporaryDirectory() as folder:
        stop = EarlyStopping("val_loss", patience=1, min_delta=10.0)
        trainer = _trainer(folder, max_epochs=9, callbacks=[stop])
        trainer.fit(_Classifier(), DataLoader(_rows(), batch_size=16), DataLoader(_rows(16), batch_size=8))
        return {"stopped": stop.stopped_epoch, "epochs": trainer.current_epoch, "score": stop.best_score}


def accumulation_and_clipping():
    with tempfile.TemporaryDirectory() as folder:
        model = _Classifier()
        trainer = _trainer(
            folder, max_epochs=2, accumulate_grad_batches=3, gradient_clip_val=0.1, num_sanity_val_steps=0
        )
        trainer.fit(model, DataLoader(_rows(), batch_size=8))
        return {"losses": model.losses, "steps": trainer.global_step, "bias": model.net[2].bias}


def precision_bf16_mixed():
    with tempfile.TemporaryDirectory() as folder:
        model = _Classifier()
        trainer = _trainer(folder, max_epochs=1, precision="bf16-mixed")
        trainer.fit(model, DataLoader(_rows(), batch_size=8))
        # Two digits: what bfloat16 holds.
        return {"dtype": str(model.net[0].weight.dtype), "losses": [round(loss, 2) for loss in model.losses]}


def loader_workers():
    with tempfile.TemporaryDirectory() as folder:
        model = _Classifier()
        loader = DataLoader(_rows(), batch_size=8, num_workers=2, persistent_workers=True)
        trainer = _trainer(folder, max_epochs=2)
        trainer.fit(model, loader)
        return model.losses


def test_and_predict():
    class Data(L.LightningDataModule):
        def setup(self, stage):
            self.rows = _rows(32)

        def test_dataloader(self):
            return DataLoader(self.rows, batch_size=16)

        predict_dataloader = test_dataloader

    with tempfile.TemporaryDirectory() as folder:
        trainer, model = _trainer(folder), _Classifier()
        (tested,) = trainer.test(model, datamodule=Data(), verbose=False)
        predicted = trainer.predict(model, datamodule=Data())
        return {"tested": tested, "predicted": torch.cat(predicted)[:6]}


def manual_optimization():
    class Manual(_Classifier):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch, index):
            optimizer = self.optimizers()
            optimizer.zero_grad()
            loss = F.cross_entropy(self(batch[0]), batch[1])
            self.manual_backward(loss)
            optimizer.step()
            self.losses.append(float(loss.detach()))

    with tempfile.TemporaryDirectory() as folder:
        model = Manual()
        _trainer(folder, max_epochs=1).fit(model, DataLoader(_rows(), batch_size=8))
        return model.losses


def fabric_loop():
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    model = kit.fill(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2)))
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    loader = fabric.setup_dataloaders(DataLoader(_rows(), batch_size=12))
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.ckpt")
        fabric.save(path, {"model": model, "optimizer": optimizer, "step": 4})
        state = {"model": kit.fill(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2))), "step": 0}
        fabric.load(path, state, strict=False)
        return {"losses": losses, "step": state["step"], "weight": state["model"][0].weight[0]}
