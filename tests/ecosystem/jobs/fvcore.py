"""fvcore: counts of parameters and of operations, losses, weight initialisation, schedules, checkpoints."""

from __future__ import annotations

import tempfile

import torch
from fvcore import nn
from fvcore.common.checkpoint import Checkpointer
from fvcore.common.param_scheduler import CosineParamScheduler, LinearParamScheduler, MultiStepParamScheduler

from tests.ecosystem import kit

REQUIRES = ("fvcore==0.1.5.post20221221",)


def _net():
    return kit.fill(
        torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 2)
        )
    )


def losses():
    x, y = kit.tensor(4, 3), (kit.tensor(4, 3) > 0).float()
    boxes = kit.tensor(3, 4, positive=True).cumsum(-1)
    others = boxes + 0.1
    return (
        nn.sigmoid_focal_loss(x, y, alpha=0.25, reduction="mean"),
        nn.smooth_l1_loss(x, y, beta=0.5, reduction="sum"),
        nn.giou_loss(boxes, others, reduction="none"),
    )


def parameters():
    net = _net()
    return dict(nn.parameter_count(net)), nn.parameter_count_table(net)


def operations():
    counted = nn.FlopCountAnalysis(_net(), kit.tensor(1, 3, 4, 4))
    return counted.total(), dict(counted.by_module())


def precise_statistics():
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4))
    kit.fill(net)
    nn.update_bn_stats(net, [kit.tensor(2, 3, 4, 4) for _ in range(3)], 3)
    return net[1].running_mean, net[1].running_var


def weights():
    net = _net()
    nn.weight_init.c2_xavier_fill(net[0])
    nn.weight_init.c2_msra_fill(net[0])
    return net[0].bias, list(net[0].weight.shape)


def schedules():
    return [
        [s(i / 4) for i in range(4)]
        for s in (
            CosineParamScheduler(1.0, 0.0),
            LinearParamScheduler(0.0, 1.0),
            MultiStepParamScheduler([1.0, 0.1, 0.01], milestones=[1, 3], num_updates=4),
        )
    ]


def checkpoints():
    net = _net()
    with tempfile.TemporaryDirectory() as folder:
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        Checkpointer(net, folder, optimizer=optimizer).save("model", step=3)
        other = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(16, 2)
        )
        extra = Checkpointer(other, folder).resume_or_load("")
    return extra["step"], other.state_dict()
