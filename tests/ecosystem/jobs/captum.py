"""Captum: attributions of inputs, layers and neurons, by gradients, by perturbation, and their measures."""

from __future__ import annotations

import torch
from captum import attr as A
from captum.concept import TCAV  # noqa: F401 -- importing it is the part of it that needs no files
from captum.influence import TracInCP  # noqa: F401
from captum.metrics import infidelity, sensitivity_max
from captum.robust import FGSM, PGD
from torch import nn

from tests.ecosystem import kit

REQUIRES = ("captum==0.9.0", "matplotlib", "numpy", "packaging", "tqdm")


class _Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.first = nn.Linear(36, 8)
        self.act = nn.ReLU()
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        return self.last(self.act(self.first(self.pool(self.relu(self.conv(x))).flatten(1))))


def _net():
    return kit.fill(_Net()).eval()


def gradients():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    values, delta = A.IntegratedGradients(net).attribute(
        x, target=1, n_steps=20, return_convergence_delta=True
    )
    return {
        "integrated": values,
        "delta": delta,
        "saliency": A.Saliency(net).attribute(x, target=1),
        "product": A.InputXGradient(net).attribute(x, target=torch.tensor([0, 2])),
        "guided": A.GuidedBackprop(net).attribute(x, target=1),
        "deconvolution": A.Deconvolution(net).attribute(x, target=1),
    }


def deep_lift():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    values, delta = A.DeepLift(net).attribute(x, torch.zeros_like(x), target=1, return_convergence_delta=True)
    shap = A.DeepLiftShap(net).attribute(x, kit.tensor(3, 1, 8, 8), target=1)
    return (
        values,
        delta,
        shap,
        A.LRP(nn.Sequential(net.first, net.act, net.last)).attribute(kit.tensor(2, 36), target=0),
    )


def perturbation():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    mask = (torch.arange(64) // 16).reshape(1, 1, 8, 8)
    return {
        "occlusion": A.Occlusion(net).attribute(
            x, sliding_window_shapes=(1, 3, 3), strides=(1, 2, 2), target=1
        ),
        "ablation": A.FeatureAblation(net).attribute(x, target=1, feature_mask=mask),
        "shapley": A.ShapleyValues(net).attribute(x, target=1, feature_mask=mask),
    }


def layers():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    cam = A.LayerGradCam(net, net.conv).attribute(x, target=1)
    return {
        "cam": cam,
        "up": A.LayerAttribution.interpolate(cam, (8, 8)),
        "activation": A.LayerActivation(net, net.first).attribute(x),
        "conductance": A.LayerConductance(net, net.first).attribute(x, target=1, n_steps=10),
        "integrated": A.LayerIntegratedGradients(net, net.conv).attribute(x, target=1, n_steps=10),
        "lift": A.LayerDeepLift(net, net.first).attribute(x, target=1),
        "product": A.LayerGradientXActivation(net, net.first).attribute(x, target=1),
        "guided_cam": A.GuidedGradCam(net, net.conv).attribute(x, target=1),
    }


def neurons():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    return {
        "gradient": A.NeuronGradient(net, net.first).attribute(x, 2),
        "integrated": A.NeuronIntegratedGradients(net, net.first).attribute(x, 2, n_steps=10),
        "conductance": A.NeuronConductance(net, net.first).attribute(x, 2, target=1, n_steps=10),
        "lift": A.NeuronDeepLift(net, net.first).attribute(x, 2),
    }


def embeddings():
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 6)
            self.last = nn.Linear(6, 2)

        def forward(self, tokens):
            return self.last(torch.tanh(self.embedding(tokens)).mean(1))

    net, tokens = kit.fill(Text()), kit.integers(0, 10, (2, 5))
    layer = A.configure_interpretable_embedding_layer(net, "embedding")
    embedded = layer.indices_to_embeddings(tokens)
    values = A.IntegratedGradients(net).attribute(embedded, target=0, n_steps=10)
    A.remove_interpretable_embedding_layer(net, layer)
    return values, A.LayerIntegratedGradients(net, net.embedding).attribute(tokens, target=0, n_steps=10)


def measures_and_attacks():
    net, x = _net(), kit.tensor(2, 1, 8, 8)
    values = A.Saliency(net).attribute(x, target=1)

    def perturb(inputs):
        noise = 0.1 * torch.ones_like(inputs)
        return noise, inputs - noise

    return {
        "infidelity": infidelity(net, perturb, x, values, target=1, n_perturb_samples=2),
        "sensitivity": sensitivity_max(A.Saliency(net).attribute, x, lambda i: i + 0.01, target=1),
        "fgsm": FGSM(net, nn.CrossEntropyLoss(reduction="none")).perturb(x, 0.1, torch.tensor([0, 1])),
        "pgd": PGD(net, nn.CrossEntropyLoss(reduction="none")).perturb(x, 0.2, 0.05, 3, torch.tensor([0, 1])),
    }
