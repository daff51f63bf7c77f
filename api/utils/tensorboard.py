"""tt.utils.tensorboard: curves, histograms and images for TensorBoard, where the package `tensorboard` is installed."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

import tt
from tt.errors import UnsupportedError, ValueRangeError

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes what TensorBoard shows: `tensorboard --logdir runs`.

    Parameters
    ----------
    log_dir : str, optional
        The folder of the files; by default a new one below `runs`.
    comment : str
        The end of its name, if it is new.
    max_queue : int
        How many entries wait before they are written.
    flush_secs : int
        How long they wait, in seconds.
    filename_suffix : str
        The end of the names of files.

    Raises
    ------
    UnsupportedError
        If the package `tensorboard` is not installed.

    Notes
    -----
    Values are tensors, arrays or numbers; a tensor of any device is copied to the host.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        try:
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError as error:
            raise UnsupportedError(
                "SummaryWriter needs the package tensorboard\n  try: pip install tensorboard"
            ) from error
        if log_dir is None:
            log_dir = os.path.join("runs", time.strftime("%b%d_%H-%M-%S") + f"_{platform.node()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._writer: Any = EventFileWriter(self.log_dir, max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Return the folder of the files."""
        return self.log_dir

    def _add(self, tag: str, step: int | None, walltime: float | None, **value: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        summary = Summary(value=[Summary.Value(tag=tag, **value)])
        stamp = time.time() if walltime is None else walltime
        self._writer.add_event(
            Event(summary=summary, wall_time=stamp, step=None if step is None else int(step))
        )

    def add_scalar(
        self,
        tag: str,
        scalar_value: float | tt.Tensor,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add a point of a curve.

        Parameters
        ----------
        tag : str
            The name of the curve.
        scalar_value : float, or Tensor of one element
            The value.
        global_step : int, optional
            Where it lies on the curve.
        walltime : float, optional
            When it was, in seconds; now by default.
        new_style, double_precision : bool
            Accepted for compatibility.
        """
        value = _array(scalar_value)
        if value.size != 1:
            raise ValueRangeError(
                f"add_scalar(): a scalar is one number, not an array of shape {value.shape}"
            )
        self._add(tag, global_step, walltime, simple_value=float(value.reshape(())))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Add points of several curves, named `main_tag/tag`."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: tt.Tensor | Sequence[float],
        global_step: int | None = None,
        bins: str | int | Sequence[float] = "auto",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Add the distribution of values.

        Parameters
        ----------
        tag : str
            Its name.
        values : Tensor
            The values.
        global_step, walltime
            As of `add_scalar`.
        bins : str or sequence
            As of `numpy.histogram`.
        max_bins : int, optional
            At most so many bins.
        """
        from tensorboard.compat.proto.summary_pb2 import HistogramProto

        flat = _array(values).astype(np.float64).reshape(-1)
        if not flat.size:
            raise ValueRangeError("add_histogram(): the histogram has no values")
        # PyTorch's default, for which NumPy has no rule.
        counts, edges = np.histogram(
            flat, bins="doane" if isinstance(bins, str) and bins == "tensorflow" else bins
        )
        if max_bins is not None and len(counts) > max_bins:
            counts, edges = np.histogram(flat, bins=max_bins)
        histogram = HistogramProto(
            min=flat.min(), max=flat.max(), num=flat.size, sum=flat.sum(), sum_squares=(flat * flat).sum(),
            bucket_limit=edges[1:].tolist(), bucket=counts.tolist(),
        )  # fmt: skip
        self._add(tag, global_step, walltime, histo=histogram)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Add an image: floats from 0 to 1, or uint8; needs Pillow.

        Parameters
        ----------
        tag : str
            Its name.
        img_tensor : Tensor
            The image.
        global_step, walltime
            As of `add_scalar`.
        dataformats : str
            The order of its dimensions: "CHW", "HWC" or "HW".
        """
        import io

        from PIL import Image
        from tensorboard.compat.proto.summary_pb2 import Summary

        pixels = _array(img_tensor)
        if sorted(dataformats.upper()) not in (sorted("CHW"), sorted("HW")) or pixels.ndim != len(
            dataformats
        ):
            raise ValueRangeError(
                f"add_image(): an array of shape {pixels.shape} is not an image of the format {dataformats}"
            )
        # TensorBoard shows images with the channels last.
        order = [dataformats.upper().index(d) for d in ("HWC" if len(dataformats) == 3 else "HW")]
        pixels = pixels.transpose(order)
        if pixels.ndim == 2:
            pixels = pixels[..., None]
        if pixels.dtype != np.uint8:
            pixels = (pixels * 255).clip(0, 255).astype(np.uint8)
        if pixels.shape[2] == 1:
            pixels = np.repeat(pixels, 3, 2)
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, format="PNG")
        image = Summary.Image(
            height=pixels.shape[0], width=pixels.shape[1], colorspace=pixels.shape[2],
            encoded_image_string=content.getvalue(),
        )  # fmt: skip
        self._add(tag, global_step, walltime, image=image)

    def add_text(
        self, tag: str, text_string: str, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Add a text, in Markdown."""
        from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        content = TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=shape)
        self._add(f"{tag}/text_summary", global_step, walltime, tensor=content, metadata=metadata)

    def flush(self) -> None:
        """Write what waits."""
        self._writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _array(value: Any) -> Any:
    """Return a value as an array of NumPy; bfloat16 as float32."""
    if tt.is_tensor(value):
        # NumPy has no bfloat16.
        bare = value.detach().to("cpu")
        return (bare.float() if bare.dtype == tt.bfloat16 else bare).numpy()
    return np.asarray(value)
