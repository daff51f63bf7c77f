"""Ultralytics: YOLO models from YAML, their losses, boxes, metrics, prediction from an array."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import torch
from ultralytics import YOLO
from ultralytics.nn import modules as M
from ultralytics.nn.tasks import ClassificationModel, DetectionModel, SegmentationModel
from ultralytics.utils import ops
from ultralytics.utils.metrics import ConfusionMatrix, ap_per_class, bbox_iou, box_iou
from ultralytics.utils.nms import non_max_suppression
from ultralytics.utils.tal import TaskAlignedAssigner, dist2bbox, make_anchors

from tests.ecosystem import kit

REQUIRES = (
    "ultralytics==8.4.190",
    "torchvision",
    "opencv-python-headless",
    "matplotlib",
    "pillow",
    "pyyaml",
    "requests",
    "scipy",
    "psutil",
    "polars",
    "ultralytics-thop",
)

BOXES = SimpleNamespace(box=7.5, cls=0.5, dfl=1.5, pose=12.0, kobj=1.0, overlap_mask=True)


def _boxes(count=12):
    corner = kit.tensor(count, 2, positive=True) * 40
    return torch.cat([corner, corner + kit.tensor(count, 2, positive=True) * 30], 1)


def detection():
    net = kit.fill(DetectionModel("yolov8n.yaml", nc=4, verbose=False)).eval()
    with torch.no_grad():
        result = net(kit.tensor(1, 3, 64, 64, positive=True))
    return {"shape": list(result[0].shape), "boxes": result[0], "stride": net.stride}


def detection_loss():
    net = kit.fill(DetectionModel("yolov8n.yaml", nc=4, verbose=False), scale=0.5)
    net.args = SimpleNamespace(**vars(BOXES), epochs=1)
    batch = {
        "img": kit.tensor(2, 3, 64, 64, positive=True),
        "batch_idx": torch.tensor([0.0, 0.0, 1.0]),
        "cls": torch.tensor([[0.0], [2.0], [1.0]]),
        "bboxes": torch.tensor([[0.3, 0.3, 0.2, 0.3], [0.6, 0.5, 0.4, 0.4], [0.5, 0.5, 0.5, 0.6]]),
    }
    loss, items = net(batch)
    loss.sum().backward()
    return items, [p.grad.norm() for p in list(net.parameters())[-6:] if p.grad is not None]


def other_heads():
    x = kit.tensor(1, 3, 64, 64, positive=True)
    with torch.no_grad():
        classes = kit.fill(ClassificationModel("yolov8n-cls.yaml", nc=5, verbose=False)).eval()(x)
        masks = kit.fill(SegmentationModel("yolov8n-seg.yaml", nc=3, verbose=False)).eval()(x)
        eleven = kit.fill(DetectionModel("yolo11n.yaml", nc=3, verbose=False)).eval()(x)
    return classes[0], masks[0], eleven[0]


def fused():
    net = kit.fill(DetectionModel("yolov8n.yaml", nc=4, verbose=False)).eval()
    with torch.no_grad():
        return net.fuse(verbose=False)(kit.tensor(1, 3, 64, 64, positive=True))[0], net.is_fused()


def blocks():
    x = kit.tensor(1, 8, 12, 12)
    return [
        kit.fill(block).eval()(x)
        for block in (
            M.C2f(8, 8),
            M.SPPF(8, 8),
            M.Bottleneck(8, 8),
            M.C3(8, 8),
            M.DWConv(8, 8),
            M.GhostConv(8, 8),
            M.CBAM(8),
        )
    ]


def boxes_and_metrics():
    first, second = _boxes(), _boxes()
    scores = kit.tensor(12, positive=True)
    confusion = ConfusionMatrix(names={0: "a", 1: "b"})
    rng = kit.rng()
    hits, confidence = rng.random((30, 3)) > 0.4, rng.random(30)
    results = ap_per_class(hits, confidence, rng.integers(0, 2, 30), rng.integers(0, 2, 20))
    return {
        "iou": box_iou(first, second),
        "ciou": bbox_iou(ops.xyxy2xywh(first), ops.xyxy2xywh(second), CIoU=True),
        "scaled": ops.scale_boxes((64, 64), first.clone(), (100, 80)),
        "matrix": confusion.matrix,
        "ap": [np.asarray(value) for value in results[:6]],
        "clip": ops.clip_boxes(first.clone(), (50, 50)),
        "scores": scores.topk(3),
    }


def anchors_and_assignment():
    maps = [kit.tensor(1, 4, size, size) for size in (4, 2)]
    points, strides = make_anchors(maps, torch.tensor([8.0, 16.0]))
    distances = kit.tensor(1, 20, 4, positive=True) * 2
    boxes = dist2bbox(distances, points.unsqueeze(0), xywh=False) * strides
    assigner = TaskAlignedAssigner(topk=4, num_classes=3)
    labels = torch.tensor([[[1.0], [2.0]]])
    targets = torch.tensor([[[2.0, 2.0, 20.0, 20.0], [10.0, 8.0, 30.0, 30.0]]])
    return (
        points,
        boxes,
        assigner(
            kit.tensor(1, 20, 3).sigmoid(), boxes, points * strides, labels, targets, torch.ones(1, 2, 1)
        ),
    )


def suppression():
    count, classes = 40, 3
    prediction = torch.cat(
        [
            kit.tensor(1, 4, count, positive=True) * 30,
            kit.tensor(1, classes, count, positive=True) / 1.1,
        ],
        1,
    )
    return non_max_suppression(prediction, conf_thres=0.6, iou_thres=0.5)


def predict():
    model = YOLO("yolov8n.yaml", verbose=False)
    kit.fill(model.model)
    image = kit.rng().integers(0, 256, (64, 64, 3)).astype(np.uint8)
    (result,) = model.predict(image, imgsz=64, conf=0.0, max_det=5, verbose=False)
    return {"shape": list(result.boxes.data.shape), "names": len(result.names), "boxes": result.boxes.xyxy}
