"""Ignite: engines, events, handlers, metrics, checkpoints, schedulers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
from ignite.contrib.metrics import ROC_AUC
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import (
    Checkpoint,
    CosineAnnealingScheduler,
    DiskSaver,
    EarlyStopping,
    EMAHandler,
    LRScheduler,
    TerminateOnNan,
    Timer,
    create_lr_scheduler_with_warmup,
)
from ignite.metrics import (
    PSNR,
    SSIM,
    Accuracy,
    ConfusionMatrix,
    Fbeta,
    Loss,
    MeanSquaredError,
    Precision,
    Recall,
    RunningAverage,
    TopKCategoricalAccuracy,
)
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.ecosystem import kit

REQUIRES = ("pytorch-ignite==0.5.5", "packaging", "scikit-learn")


def _net():
    return kit.fill(nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)))


def _loader(rows=24):
    return DataLoader(TensorDataset(kit.tensor(rows, 6), kit.integers(0, 3, (rows,))), batch_size=6)


def train_and_evaluate():
    net, loader = _net(), _loader()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss())
    evaluator = create_supervised_evaluator(net, {"acc": Accuracy(), "loss": Loss(nn.CrossEntropyLoss())})
    RunningAverage(output_transform=lambda loss: loss).attach(trainer, "average")
    seen = []

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine):
        evaluator.run(loader)
        seen.append([engine.state.epoch, engine.state.metrics["average"], dict(evaluator.state.metrics)])

    @trainer.on(Events.ITERATION_COMPLETED(every=3))
    def each(engine):
        seen.append([engine.state.iteration, engine.state.output])

    trainer.run(loader, max_epochs=2)
    return seen


def metrics():
    results = {}
    for name, metric in {
        "accuracy": Accuracy(),
        "precision": Precision(average=False),
        "recall": Recall(average="macro"),
        "f1": Fbeta(1.0),
        "top2": TopKCategoricalAccuracy(2),
        "confusion": ConfusionMatrix(3),
    }.items():
        metric.reset()
        for _ in range(2):
            metric.update((kit.tensor(8, 3), kit.integers(0, 3, (8,))))
        results[name] = metric.compute()
    mse, auc = MeanSquaredError(), ROC_AUC()
    mse.update((kit.tensor(8), kit.tensor(8)))
    auc.update((kit.tensor(20, positive=True), kit.integers(0, 2, (20,))))
    images = kit.tensor(1, 3, 16, 16, positive=True), kit.tensor(1, 3, 16, 16, positive=True)
    psnr, ssim = PSNR(1.0), SSIM(1.0)
    psnr.update(images)
    ssim.update(images)
    product = Precision(average=False) * Recall(average=False)
    product.update((kit.tensor(8, 3), kit.integers(0, 3, (8,))))
    return results | {
        metric.__class__.__name__: metric.compute() for metric in (mse, auc, psnr, ssim, product)
    }


def checkpoints():
    net, loader = _net(), _loader()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss())
    with tempfile.TemporaryDirectory() as folder:
        objects = {"net": net, "optimizer": optimizer, "trainer": trainer}
        saver = Checkpoint(objects, DiskSaver(folder, require_empty=False), n_saved=2)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
        trainer.run(loader, max_epochs=3)
        names = sorted(path.name for path in Path(folder).iterdir())
        other = _net()
        state = torch.load(Path(folder, saver.last_checkpoint), weights_only=False)
        Checkpoint.load_objects({"net": other}, state)
    return names, other[0].weight, sorted(state), state["trainer"]["iteration"]


def schedulers_and_averages():
    net, loader = _net(), _loader()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    trainer = create_supervised_trainer(net, optimizer, nn.CrossEntropyLoss())
    rates = []
    cosine = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 4)
    trainer.add_event_handler(Events.ITERATION_STARTED, create_lr_scheduler_with_warmup(cosine, 0.0, 3, 0.1))
    EMAHandler(net, momentum=0.1).attach(trainer, name="momentum")
    trainer.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    trainer.add_event_handler(
        Events.ITERATION_COMPLETED, lambda: rates.append(optimizer.param_groups[0]["lr"])
    )
    trainer.run(loader, max_epochs=2)
    step = LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5))
    return rates, trainer.state.momentum, step.get_param(), net[2].bias


def early_stopping():
    values = iter([3.0, 2.0, 4.0, 5.0, 1.0, 0.0])
    trainer = Engine(lambda engine, batch: batch)
    stop = EarlyStopping(2, lambda engine: -next(values), trainer)
    timer = Timer(average=True)
    timer.attach(trainer)
    evaluator = Engine(lambda engine, batch: None)
    evaluator.add_event_handler(Events.COMPLETED, stop)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda: evaluator.run([0]))
    trainer.run(range(3), max_epochs=6)
    return trainer.state.epoch, timer.step_count
