"""Keras on the backend torch: Sequential and functional models, training, own layers and steps, saving, operations."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
import torch
from keras import layers, ops

from tests.ecosystem import kit

REQUIRES = ("keras==3.15.1", "numpy", "absl-py", "rich", "namex", "h5py", "optree", "ml-dtypes", "packaging")


def _fill(model):
    rng = np.random.default_rng(1)
    model.set_weights([0.3 * rng.standard_normal(weight.shape) for weight in model.get_weights()])
    return model


def _rows():
    x = kit.rng().standard_normal((32, 6)).astype("float32")
    return x, (x.sum(1) > 0).astype("float32")[:, None]


def _classifier():
    model = keras.Sequential(
        [keras.Input((6,)), layers.Dense(8, activation="relu"), layers.Dense(1, activation="sigmoid")]
    )
    return _fill(model)


def sequential_fit():
    model = _classifier()
    model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(num_thresholds=20)])
    x, y = _rows()
    history = model.fit(x, y, batch_size=8, epochs=3, validation_split=0.25, shuffle=False, verbose=0)
    return history.history, model.evaluate(x, y, verbose=0), model.predict(x[:4], verbose=0)


def callbacks_and_schedules():
    model = _classifier()
    rate = keras.optimizers.schedules.ExponentialDecay(0.05, 4, 0.5)
    model.compile(keras.optimizers.SGD(rate, momentum=0.9, clipnorm=1.0), "mse")
    stop = keras.callbacks.EarlyStopping("loss", patience=1, min_delta=10.0)
    x, y = _rows()
    history = model.fit(x, y, batch_size=16, epochs=6, shuffle=False, verbose=0, callbacks=[stop])
    return history.history, stop.stopped_epoch


def convolutional_model():
    inputs = keras.Input((16, 16, 3))
    h = layers.Conv2D(4, 3, padding="same", activation="relu")(inputs)
    h = layers.BatchNormalization()(h)
    skip = layers.Conv2D(4, 1)(inputs)
    h = layers.MaxPooling2D()(layers.add([h, skip]))
    h = layers.SeparableConv2D(6, 3, strides=2, padding="same")(h)
    h = layers.DepthwiseConv2D(3)(layers.UpSampling2D()(h))
    h = layers.concatenate([layers.GlobalAveragePooling2D()(h), layers.GlobalMaxPooling2D()(h)])
    model = keras.Model(inputs, layers.Dense(3)(layers.Dropout(0.5)(h)))
    _fill(model)
    variance = next(w for w in model.weights if "moving_variance" in w.path)
    variance.assign(np.ones(variance.shape))
    return model(kit.tensor(2, 16, 16, 3)), model.count_params()


def text_model():
    inputs = keras.Input((7,), dtype="int32")
    h = layers.Embedding(11, 8)(inputs)
    h = layers.MultiHeadAttention(2, 4)(h, h, use_causal_mask=True)
    h = layers.LayerNormalization()(h)
    h = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(h)
    h = layers.GRU(4)(h)
    model = _fill(keras.Model(inputs, layers.Dense(2, activation="softmax")(h)))
    return model(kit.integers(0, 11, (3, 7)))


def save_and_load():
    model = _classifier()
    model.compile("rmsprop", "mse")
    x, y = _rows()
    model.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model.keras"))
        loaded = keras.models.load_model(Path(folder, "model.keras"))
        model.save_weights(Path(folder, "model.weights.h5"))
        again = _classifier()
        again.load_weights(Path(folder, "model.weights.h5"))
    more = loaded.fit(x, y, batch_size=16, epochs=1, shuffle=False, verbose=0)
    return again.predict(x[:4], verbose=0), more.history, [layer.name[:5] for layer in loaded.layers]


def own_layer_and_loop():
    class Scale(layers.Layer):
        def build(self, shape):
            self.factor = self.add_weight(shape=(shape[-1],), initializer="ones")

        def call(self, x):
            return ops.tanh(x * self.factor)

    model = keras.Sequential([keras.Input((6,)), Scale(), layers.Dense(1)])
    _fill(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = map(torch.as_tensor, _rows())
    losses = []
    for _ in range(3):
        loss = keras.losses.huber(y, model(x)).mean()
        model.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model.layers[0].factor.value


def operations():
    x = ops.convert_to_tensor(kit.rng().standard_normal((3, 4)).astype("float32"))
    return {
        "einsum": ops.einsum("ij,kj->ik", x, x),
        "softmax": ops.softmax(x, axis=0),
        "top_k": list(ops.top_k(x, 2)),
        "one_hot": ops.one_hot(ops.convert_to_tensor([0, 2]), 3),
        "segment": ops.segment_sum(x, ops.convert_to_tensor([0, 0, 1]), num_segments=2),
        "scatter": ops.scatter(ops.convert_to_tensor([[0], [2]]), x[:2], (3, 4)),
        "where": ops.where(x > 0, x, ops.zeros_like(x)),
        "median": ops.median(x, axis=1),
        "qr": ops.abs(ops.qr(x)[1]),
        "norm": ops.norm(x),
        "scan": ops.scan(lambda c, v: (c + v, c * v), ops.zeros(4), x)[1],
        "while": ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (0, x))[1],
        "vmap": ops.vectorized_map(lambda row: ops.sum(row), x),
        "resize": ops.image.resize(ops.reshape(x, (1, 3, 4, 1)), (6, 8)),
        "fft": ops.rfft(x)[0],
    }
