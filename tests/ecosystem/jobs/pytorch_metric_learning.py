"""pytorch-metric-learning: losses, miners, distances, reducers, samplers, accuracy, a train loop."""

from __future__ import annotations

import torch
from pytorch_metric_learning import distances, losses, miners, reducers, regularizers, samplers
from pytorch_metric_learning.utils import common_functions, loss_and_miner_utils
from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator
from pytorch_metric_learning.utils.inference import CustomKNN

from tests.ecosystem import kit

REQUIRES = ("pytorch-metric-learning==2.9.0", "scikit-learn", "scipy", "tqdm")


def _rows(count=16, classes=4):
    return kit.tensor(count, 8, grad=True), kit.integers(0, classes, (count,))


def pair_losses():
    x, y = _rows()
    results = {}
    for loss in (
        losses.TripletMarginLoss(),
        losses.ContrastiveLoss(),
        losses.NTXentLoss(0.5),
        losses.SupConLoss(),
        losses.MultiSimilarityLoss(),
        losses.CircleLoss(),
        losses.LiftedStructureLoss(),
        losses.FastAPLoss(),
        losses.TupletMarginLoss(),
        losses.SignalToNoiseRatioContrastiveLoss(),
        losses.IntraPairVarianceLoss(),
        losses.GeneralizedLiftedStructureLoss(),
        losses.AngularLoss(),
    ):
        value = loss(x, y)
        (grad,) = torch.autograd.grad(value, x, allow_unused=True)
        results[type(loss).__name__] = [value, 0.0 if grad is None else grad.norm()]
    return results


def class_losses():
    x, y = _rows()
    results = {}
    for loss in (
        losses.ArcFaceLoss(4, 8),
        losses.CosFaceLoss(4, 8),
        losses.ProxyAnchorLoss(4, 8),
        losses.ProxyNCALoss(4, 8),
        losses.NormalizedSoftmaxLoss(4, 8),
        losses.SoftTripleLoss(4, 8),
        losses.SphereFaceLoss(4, 8),
        losses.SubCenterArcFaceLoss(num_classes=4, embedding_size=8),
        losses.LargeMarginSoftmaxLoss(4, 8),
    ):
        kit.fill(loss)
        value = loss(x, y)
        value.backward()
        results[type(loss).__name__] = [value, next(loss.parameters()).grad.norm()]
    return results, x.grad


def mining():
    x, y = _rows()
    results = {}
    for miner in (
        miners.BatchHardMiner(),
        miners.TripletMarginMiner(0.3, type_of_triplets="semihard"),
        miners.MultiSimilarityMiner(),
        miners.PairMarginMiner(),
        miners.BatchEasyHardMiner(),
        miners.AngularMiner(40),
        miners.UniformHistogramMiner(num_bins=10, pos_per_bin=2, neg_per_bin=2),
    ):
        pairs = miner(x, y)
        results[type(miner).__name__] = (
            [indices.sort().values[:5] for indices in pairs][:2]
            if not isinstance(miner, miners.UniformHistogramMiner)
            else len(pairs)
        )
    loss = losses.TripletMarginLoss(
        reducer=reducers.ThresholdReducer(low=0.05), embedding_regularizer=regularizers.LpRegularizer()
    )
    return results, loss(x, y, miners.BatchHardMiner()(x, y))


def distance_functions():
    x, _ = _rows()
    y = kit.tensor(6, 8)
    return {
        type(distance).__name__: distance(x, y)
        for distance in (
            distances.LpDistance(),
            distances.CosineSimilarity(),
            distances.SNRDistance(),
            distances.DotProductSimilarity(),
        )
    }


def memory_and_self_supervision():
    x, y = _rows()
    memory = losses.CrossBatchMemory(losses.NTXentLoss(), 8, memory_size=32)
    first = memory(x, y)
    supervised = losses.SelfSupervisedLoss(losses.NTXentLoss())
    return (
        first,
        memory(kit.tensor(16, 8), y),
        supervised(x, kit.tensor(16, 8)),
        losses.VICRegLoss()(x, ref_emb=kit.tensor(16, 8)),
    )


def evaluation():
    x, y = _rows(40)
    calculator = AccuracyCalculator(
        include=("precision_at_1", "mean_average_precision", "r_precision"),
        k=5,
        knn_func=CustomKNN(distances.LpDistance()),
    )
    sampler = samplers.MPerClassSampler(y.numpy(), m=2, batch_size=8, length_before_new_iter=16)
    weights = loss_and_miner_utils.convert_to_weights((y[:3], y[:3], y[:3]), y, dtype=torch.float32)
    common_functions.check_shapes(x, y)
    return calculator.get_accuracy(x.detach(), y), len(list(sampler)), weights


def train_loop():
    net = kit.fill(torch.nn.Linear(6, 8))
    loss_function, miner = kit.fill(losses.ArcFaceLoss(3, 8)), miners.MultiSimilarityMiner()
    optimizer = torch.optim.Adam([*net.parameters(), *loss_function.parameters()], 0.05)
    values = []
    for _ in range(4):
        y = kit.integers(0, 3, (12,))
        embeddings = net(kit.tensor(12, 6) + y[:, None])
        loss = loss_function(embeddings, y, miner(embeddings, y))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    return values
