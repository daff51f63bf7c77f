"""TorchIO: images, subjects, preprocessing, augmentation with a history, sampling and aggregation of patches."""

from __future__ import annotations

import tempfile
from pathlib import Path

import torch
import torchio as tio

from tests.ecosystem import kit

REQUIRES = (
    "torchio==1.2.1",
    "nibabel",
    "simpleitk",
    "scipy",
    "humanize",
    "deprecated",
    "wrapt",
    "einops",
    "rich",
    "typer",
    "tqdm",
    "packaging",
)


def _subject(size=(12, 10, 8)):
    return tio.Subject(
        image=tio.ScalarImage(tensor=kit.tensor(1, *size, positive=True), spacing=(1.0, 1.0, 2.0)),
        label=tio.LabelMap(tensor=kit.integers(0, 3, (1, *size))),
    )


def images_and_files():
    image = _subject().image
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "image.nii.gz")
        image.save(path)
        loaded = tio.ScalarImage(path)
        return loaded.data, loaded.affine, loaded.spacing, loaded.orientation, image.as_sitk().GetSize()


def preprocessing():
    chain = tio.Compose(
        [
            tio.ToCanonical(),
            tio.Resample(1.5),
            tio.CropOrPad((8, 8, 8)),
            tio.RescaleIntensity((0, 1)),
            tio.ZNormalization(),
            tio.OneHot(),
        ]
    )
    result = chain(_subject())
    return result.image.data, result.label.data, [type(t).__name__ for t in result.get_applied_transforms()]


def spatial():
    subject = _subject()
    affine = tio.Affine(scales=(1.1, 0.9, 1.0), degrees=(10, 0, 5), translation=(1, 0, 0))
    return (
        affine(subject).image.data,
        tio.Flip(axes=(0,))(subject).label.data,
        tio.Pad(1)(subject).image.shape,
    )


def intensity():
    image = _subject().image
    return {
        "blur": tio.Blur(std=(1.0, 1.0, 1.0))(image).data,
        "gamma": tio.Gamma(gamma=1.3)(image).data,
        "bias": tio.BiasField([0.1] * 4, order=1)(image).data,
        "ghosting": tio.Ghosting(2, 0, 0.5, 0.0)(image).data,
        "spike": tio.Spike([[0.2, 0.3, 0.1]], 0.5)(image).data,
        "clamp": tio.Clamp(0.3, 0.8)(image).data,
        "histogram": tio.HistogramStandardization({"image": torch.linspace(0, 100, 13).numpy()})(
            _subject()
        ).image.data,
    }


def random_transforms():
    torch.manual_seed(0)
    chain = tio.Compose([tio.RandomFlip(axes=(0, 1), flip_probability=1.0), tio.RandomNoise(std=(0.0, 0.0))])
    result = chain(_subject())
    back = result.apply_inverse_transform(warn=False)
    return (
        result.image.data,
        back.image.data,
        [name for name, _ in ((type(t).__name__, t) for t in result.history)],
    )


def patches():
    subject = _subject()
    sampler = tio.GridSampler(subject, patch_size=(6, 6, 4), patch_overlap=(2, 2, 0))
    loader = tio.SubjectsLoader(sampler, batch_size=4)
    aggregator = tio.GridAggregator(sampler, overlap_mode="average")
    count = 0
    for batch in loader:
        aggregator.add_batch(batch["image"][tio.DATA] * 2, batch[tio.LOCATION])
        count += 1
    return len(sampler), count, aggregator.get_output_tensor()


def loaders():
    dataset = tio.SubjectsDataset([_subject() for _ in range(4)], transform=tio.Flip(axes=(2,)))
    batches = list(tio.SubjectsLoader(dataset, batch_size=2, num_workers=0))
    queue = tio.Queue(
        dataset,
        max_length=4,
        samples_per_volume=2,
        sampler=tio.UniformSampler(4),
        num_workers=0,
        shuffle_subjects=False,
    )
    shapes = [list(batch["image"][tio.DATA].shape) for batch in tio.SubjectsLoader(queue, batch_size=4)]
    return batches[0]["image"][tio.DATA], shapes
