"""TorchMetrics: classification, regression, image, text, retrieval, aggregation and collections of metrics."""

import numpy as np
import torch
import torchmetrics as tm
import torchmetrics.audio
import torchmetrics.clustering
import torchmetrics.nominal
from torchmetrics import MetricCollection
from torchmetrics import functional as TF

REQUIRES = ("torchmetrics==1.9.0", "lightning-utilities", "packaging")


def _logits(seed=0, rows=64, classes=5):
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.standard_normal((rows, classes)).astype("float32"))
    return logits, torch.from_numpy(rng.integers(0, classes, rows))


def _values(seed=0, rows=50):
    rng = np.random.default_rng(seed)
    target = rng.standard_normal(rows).astype("float32")
    preds = target + 0.3 * rng.standard_normal(rows).astype("float32")
    return torch.from_numpy(preds), torch.from_numpy(target)


def _images(seed=0, shape=(2, 3, 32, 32)):
    rng = np.random.default_rng(seed)
    x = rng.random(shape).astype("float32")
    y = np.clip(x + 0.1 * rng.standard_normal(shape), 0, 1).astype("float32")
    return torch.from_numpy(x), torch.from_numpy(y)


def classification():
    results = {}
    preds, target = _logits()
    probabilities = preds.softmax(-1)
    for name, metric in {
        "accuracy": tm.classification.MulticlassAccuracy(5),
        "f1": tm.classification.MulticlassF1Score(5, average=None),
        "precision": tm.classification.MulticlassPrecision(5, average="weighted"),
        "recall": tm.classification.MulticlassRecall(5, average="micro"),
        "confusion": tm.classification.MulticlassConfusionMatrix(5, normalize="true"),
        "auroc": tm.classification.MulticlassAUROC(5),
        "auroc_binned": tm.classification.MulticlassAUROC(5, thresholds=20, average=None),
        "average_precision": tm.classification.MulticlassAveragePrecision(5),
        "kappa": tm.classification.MulticlassCohenKappa(5),
        "mcc": tm.classification.MulticlassMatthewsCorrCoef(5),
        "calibration": tm.classification.MulticlassCalibrationError(5, n_bins=10),
        "jaccard": tm.classification.MulticlassJaccardIndex(5),
        "hinge": tm.classification.MulticlassHingeLoss(5),
        "top2": tm.classification.MulticlassAccuracy(5, top_k=2),
    }.items():
        for rows in (slice(0, 40), slice(40, 64)):
            metric.update(probabilities[rows], target[rows])
        results[name] = metric.compute()
    return results


def binary_and_multilabel():
    preds, _ = _logits(classes=3)
    target = (_logits(1, classes=3)[0] > 0.2).long()
    score, label = preds[:, 0].sigmoid(), target[:, 0]
    return {
        "accuracy": tm.Accuracy(task="binary")(score, label),
        "auroc": tm.AUROC(task="binary")(score, label),
        "roc": [curve[:8] for curve in tm.ROC(task="binary")(score, label)],
        "curve": [
            curve[:8] for curve in TF.precision_recall_curve(score, label, task="binary", thresholds=11)
        ],
        "specificity": tm.Specificity(task="binary")(score, label),
        "stat_scores": tm.StatScores(task="binary")(score, label),
        "hamming": tm.HammingDistance(task="multilabel", num_labels=3)(preds.sigmoid(), target),
        "f1": tm.F1Score(task="multilabel", num_labels=3)(preds.sigmoid(), target),
        "ranking": tm.classification.MultilabelRankingAveragePrecision(3)(preds.sigmoid(), target),
        "coverage": tm.classification.MultilabelCoverageError(3)(preds.sigmoid(), target),
        "exact": tm.classification.MultilabelExactMatch(3)(preds.sigmoid(), target),
    }


def regression():
    preds, target = _values()
    return {
        metric.__class__.__name__: metric(preds, target)
        for metric in (
            tm.MeanSquaredError(),
            tm.MeanAbsoluteError(),
            tm.R2Score(),
            tm.PearsonCorrCoef(),
            tm.SpearmanCorrCoef(),
            tm.KendallRankCorrCoef(),
            tm.ConcordanceCorrCoef(),
            tm.ExplainedVariance(),
            tm.MeanAbsolutePercentageError(),
            tm.SymmetricMeanAbsolutePercentageError(),
            tm.LogCoshError(),
            tm.MinkowskiDistance(3),
            tm.RelativeSquaredError(),
        )
    } | {
        "cosine": tm.CosineSimilarity()(_logits()[0], _logits(1)[0]),
        "kl": tm.KLDivergence()(_logits()[0].softmax(-1), _logits(1)[0].softmax(-1)),
    }


def image():
    x, y = _images()
    return {
        "psnr": tm.image.PeakSignalNoiseRatio(data_range=1.0)(x, y),
        "ssim": tm.image.StructuralSimilarityIndexMeasure(data_range=1.0)(x, y),
        "uqi": tm.image.UniversalImageQualityIndex()(x, y),
        "sam": tm.image.SpectralAngleMapper()(x, y),
        "ergas": tm.image.ErrorRelativeGlobalDimensionlessSynthesis()(x, y),
        "tv": tm.image.TotalVariation()(x),
        "scc": tm.image.SpatialCorrelationCoefficient()(x, y),
        "rmse_sw": tm.image.RootMeanSquaredErrorUsingSlidingWindow()(x, y),
    }


def multi_scale_ssim_gradient():
    x, y = _images(shape=(1, 1, 180, 180))
    x.requires_grad_(True)
    value = TF.image.multiscale_structural_similarity_index_measure(x, y, data_range=1.0)
    value.backward()
    return {"value": value, "grad": x.grad[0, 0, 90, 80:90]}


def text():
    preds = ["the cat is on the mat", "there was a dog in the garden"]
    target = [
        ["there is a cat on the mat", "a cat is on the mat"],
        ["a dog was in the garden", "the dog was there"],
    ]
    first = [lines[0] for lines in target]
    rng = np.random.default_rng(0)
    logits = torch.from_numpy(rng.standard_normal((2, 8, 5)).astype("float32"))
    return {
        "bleu": tm.text.BLEUScore()(preds, target),
        "bleu2": tm.text.BLEUScore(n_gram=2, smooth=True)(preds, target),
        "wer": tm.text.WordErrorRate()(preds, first),
        "cer": tm.text.CharErrorRate()(preds, first),
        "mer": tm.text.MatchErrorRate()(preds, first),
        "wil": tm.text.WordInfoLost()(preds, first),
        "ter": tm.text.TranslationEditRate()(preds, target),
        "chrf": tm.text.CHRFScore()(preds, target),
        "edit": tm.text.EditDistance()(preds, first),
        "perplexity": tm.text.Perplexity(ignore_index=-100)(
            logits, torch.from_numpy(rng.integers(0, 5, (2, 8)))
        ),
        "squad": tm.text.SQuAD()(
            [{"prediction_text": "1976", "id": "a"}],
            [{"answers": {"answer_start": [97], "text": ["1976"]}, "id": "a"}],
        ),
    }


def retrieval():
    rng = np.random.default_rng(0)
    preds = torch.from_numpy(rng.random(40).astype("float32"))
    target = torch.from_numpy(rng.integers(0, 2, 40)).bool()
    indexes = torch.from_numpy(np.sort(rng.integers(0, 5, 40)))
    return {
        metric.__class__.__name__: metric(preds, target, indexes=indexes)
        for metric in (
            tm.retrieval.RetrievalMAP(),
            tm.retrieval.RetrievalMRR(),
            tm.retrieval.RetrievalNormalizedDCG(),
            tm.retrieval.RetrievalPrecision(top_k=3),
            tm.retrieval.RetrievalRecall(top_k=3),
            tm.retrieval.RetrievalHitRate(top_k=2),
            tm.retrieval.RetrievalFallOut(top_k=3),
            tm.retrieval.RetrievalRPrecision(),
            tm.retrieval.RetrievalAUROC(),
        )
    }


def aggregation_and_wrappers():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(12).astype("float32")
    values[3] = np.nan
    mean, maximum, catenation = tm.MeanMetric(nan_strategy="ignore"), tm.MaxMetric(), tm.CatMetric()
    total, lowest, running = (
        tm.SumMetric(nan_strategy=0.0),
        tm.MinMetric(),
        tm.aggregation.RunningMean(window=3),
    )
    for index, value in enumerate(values):
        mean.update(torch.tensor(value), weight=index + 1)
        for metric in (maximum, catenation, lowest):
            metric.nan_strategy = "ignore"
            metric.update(torch.tensor(value))
        total.update(float(value))
        running.update(0.0 if np.isnan(value) else float(value))
    preds, target = _logits()
    tracker = tm.MetricTracker(tm.Accuracy(task="multiclass", num_classes=5), maximize=True)
    for seed in range(3):
        tracker.increment()
        tracker.update(*_logits(seed))
    best, which = tracker.best_metric(return_step=True)
    classwise = tm.ClasswiseWrapper(tm.Accuracy(task="multiclass", num_classes=5, average=None))
    return {
        "aggregates": [metric.compute() for metric in (mean, maximum, catenation, total, lowest, running)],
        "best": best,
        "which": which,
        "classwise": classwise(preds, target),
        "minmax": tm.MinMaxMetric(tm.Accuracy(task="multiclass", num_classes=5))(preds, target),
        "sum": (tm.MeanSquaredError() + tm.MeanAbsoluteError())(*_values()),
    }


def collection_and_state():
    preds, target = _logits()
    collection = MetricCollection(
        {
            "acc": tm.Accuracy(task="multiclass", num_classes=5),
            "f1": tm.F1Score(task="multiclass", num_classes=5, average="macro"),
            "precision": tm.Precision(task="multiclass", num_classes=5, average="macro"),
        },
        prefix="val_",
    )
    first = collection(preds[:32], target[:32])
    collection.update(preds[32:], target[32:])
    final = collection.compute()
    metric = tm.MeanSquaredError()
    metric.persistent(True)
    metric.update(*_values())
    loaded = tm.MeanSquaredError()
    loaded.persistent(True)
    loaded.load_state_dict(metric.state_dict())
    groups = sorted(sorted(group) for group in collection.compute_groups.values())
    collection.reset()
    return {
        "first": first,
        "final": final,
        "groups": groups,
        "keys": sorted(metric.state_dict()),
        "loaded": loaded.compute(),
    }


def clustering_and_audio():
    rng = np.random.default_rng(0)
    first, second = torch.from_numpy(rng.integers(0, 4, 40)), torch.from_numpy(rng.integers(0, 4, 40))
    data = torch.from_numpy(rng.standard_normal((40, 6)).astype("float32"))
    signal = torch.from_numpy(rng.standard_normal((2, 200)).astype("float32"))
    noisy = signal + 0.1 * torch.from_numpy(rng.standard_normal((2, 200)).astype("float32"))
    return {
        "mutual_info": tm.clustering.MutualInfoScore()(first, second),
        "rand": tm.clustering.RandScore()(first, second),
        "v_measure": tm.clustering.VMeasureScore()(first, second),
        "davies": tm.clustering.DaviesBouldinScore()(data, first),
        "calinski": tm.clustering.CalinskiHarabaszScore()(data, first),
        "cramers": tm.nominal.CramersV(num_classes=4)(first, second),
        "snr": tm.audio.SignalNoiseRatio()(noisy, signal),
        "si_sdr": tm.audio.ScaleInvariantSignalDistortionRatio()(noisy, signal),
    }
