"""Files of images: `torch.ops.image.*`, which torchvision.io calls, by Pillow.

Images are uint8 of shape (channels, height, width); PNGs of 16 bits a sample are uint16.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError, features

import tt
from tt import Tensor
from tt.library import custom_op, warn_user

__all__: list[str] = []

# The modes of torchvision.io.ImageReadMode, by their numbers, as Pillow calls them.
_MODES: Final = ("", "L", "LA", "RGB", "RGBA")
_CHANNELS: Final = {1: "L", 3: "RGB"}

_DATA_DEPENDENT: Final = ("data_dependent_shape", "nondifferentiable")
_DECODES: Final = "(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor"


def _bytes_of(operator: str, data: Tensor) -> bytes:
    if data.dtype != tt.uint8 or data.ndim != 1 or data.numel() == 0:
        raise tt.errors.ValueRangeError(
            f"image::{operator}(): expected a non empty 1-dimensional tensor of uint8, "
            f"got {data.dtype} of shape {list(data.shape)}"
        )
    content: bytes = data.numpy().tobytes()
    return content


def _tensor_of(array: np.ndarray[Any, Any]) -> Tensor:
    """Return an array of (height, width[, channels]) as a tensor, channels first."""
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    return tt.from_numpy(np.array(planes, order="C"))  # a copy: Pillow's memory is read-only


def _open(operator: str, data: Tensor, formats: tuple[str, ...]) -> Image.Image:
    """Return the image that is encoded; its pixels are decoded later.

    Raises
    ------
    ValueRangeError
        When the bytes are no image of one of the formats.
    """
    try:
        return Image.open(io.BytesIO(_bytes_of(operator, data)), formats=formats)
    except (UnidentifiedImageError, OSError) as error:
        names = " or ".join(formats)
        raise tt.errors.ValueRangeError(f"image::{operator}(): the data are no image of {names}") from error


def _decoded(operator: str, image: Image.Image, mode: int, orient: bool) -> Tensor:
    """Return the pixels in a mode of torchvision's.

    Raises
    ------
    ValueRangeError
        When the mode is none of these, or the file is damaged.
    UnsupportedError
        Where Pillow would drop bits of the samples.
    """
    if not 0 <= mode < len(_MODES):
        raise tt.errors.ValueRangeError(
            f"image::{operator}(): the mode is one of 0 to {len(_MODES) - 1}, not {mode}"
        )
    wanted = _MODES[mode]
    jpeg = image.format in ("JPEG", "MPO")
    if jpeg and wanted not in ("", "L", "RGB"):
        raise tt.errors.ValueRangeError(
            f"image::{operator}(): a JPEG has no transparency: the mode is {wanted}"
        )
    if jpeg and wanted == "L":
        image.draft("L", image.size)  # its own brightness, instead of one computed from colours
    try:
        image.load()
        if orient:
            image = ImageOps.exif_transpose(image)
    except (OSError, SyntaxError, ValueError) as error:
        raise tt.errors.ValueRangeError(f"image::{operator}(): the image is damaged: {error}") from error
    if image.mode.startswith("I"):
        return _deep(operator, image, wanted)
    array = np.asarray(_converted(image, wanted))
    # Adobe writes inks inverted, which Pillow undoes, and torchvision returns as they are in the file.
    return _tensor_of(255 - array if image.mode == "CMYK" and not wanted and "adobe" in image.info else array)


def _converted(image: Image.Image, wanted: str) -> Image.Image:
    """Return the image in a mode of `_MODES`; "" stands for its own: indices of a palette, and CMYK, stay."""
    if not wanted:
        own = {"1": "L", "YCbCr": "RGB", "PA": "RGBA"}
        wanted = own.get(image.mode, image.mode)
    if wanted == image.mode:
        return image
    colours = image.convert("RGBA" if wanted.endswith("A") else "RGB") if image.mode in ("P", "PA") else image
    if wanted in ("L", "LA") and colours.mode in ("RGB", "RGBA"):
        return _gray(colours, wanted)
    return colours.convert(wanted)


def _gray(image: Image.Image, wanted: str) -> Image.Image:
    """Return the brightness as libpng computes it, with weights of 15 bits; Pillow's differ by one at times."""
    pixels = np.asarray(image).astype(np.uint32)
    red, green, blue = pixels[..., 0], pixels[..., 1], pixels[..., 2]
    gray = Image.fromarray(((9794 * red + 19234 * green + 3740 * blue) >> 15).astype(np.uint8))
    if wanted == "L":
        return gray
    alpha = image.getchannel("A") if "A" in image.getbands() else Image.new("L", image.size, 255)
    return Image.merge("LA", (gray, alpha))


def _deep(operator: str, image: Image.Image, wanted: str) -> Tensor:
    """Return gray samples of 16 bits, repeated where colours are asked for, and opaque where transparency is."""
    if "transparency" in image.info and wanted.endswith("A"):
        raise tt.errors.UnsupportedError(
            f"image::{operator}(): a transparent shade of 16 bits is not decoded"
        )
    plane = np.asarray(image).astype(np.uint16)
    planes = [plane] * (3 if wanted.startswith("RGB") else 1)
    planes += [np.full_like(plane, 0xFFFF)] * wanted.endswith("A")
    return _tensor_of(np.stack(planes, -1))


def _refuse_deep_colours(operator: str, data: Tensor) -> None:
    """Raise for a PNG with colours of 16 bits, of which Pillow keeps 8."""
    header = data[:26].tolist()
    # The 24th byte is the number of bits, the 25th the kind of colours: 0 is gray, without transparency.
    if (
        len(header) == 26
        and bytes(header[:8]) == b"\x89PNG\r\n\x1a\n"
        and header[24] == 16
        and header[25] != 0
    ):
        raise tt.errors.UnsupportedError(
            f"image::{operator}(): PNGs with colours or transparency of 16 bits are not decoded: Pillow keeps 8 of them"
        )


@custom_op("image::decode_png", schema=_DECODES, tags=_DATA_DEPENDENT)
def decode_png(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return the pixels of a PNG."""
    image = _open("decode_png", data, ("PNG",))
    _refuse_deep_colours("decode_png", data)
    return _decoded("decode_png", image, mode, apply_exif_orientation)


@custom_op("image::decode_jpeg", schema=_DECODES, tags=_DATA_DEPENDENT)
def decode_jpeg(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return the pixels of a JPEG."""
    return _decoded("decode_jpeg", _open("decode_jpeg", data, ("JPEG",)), mode, apply_exif_orientation)


@custom_op("image::decode_webp", schema="(Tensor encoded_data, int mode) -> Tensor", tags=_DATA_DEPENDENT)
def decode_webp(encoded_data: Tensor, mode: int) -> Tensor:
    """Return the pixels of a WebP, RGB or RGBA; like torchvision's, the operator has no conversion to gray."""
    if mode in (1, 2):
        warn_user("image::decode_webp(): a WebP is not converted to gray; the result has its own colours")
        mode = 0
    return _decoded("decode_webp", _open("decode_webp", encoded_data, ("WEBP",)), mode, orient=False)


@custom_op("image::decode_gif", schema="(Tensor data) -> Tensor", tags=_DATA_DEPENDENT)
def decode_gif(data: Tensor) -> Tensor:
    """Return the pixels of a GIF, RGB: (channels, height, width), or with the frames first where it has several."""
    image = _open("decode_gif", data, ("GIF",))
    frames = []
    for index in range(getattr(image, "n_frames", 1)):
        image.seek(index)
        frames.append(_tensor_of(np.asarray(image.convert("RGB"))))
    return frames[0] if len(frames) == 1 else tt.stack(frames)


@custom_op("image::decode_image", schema=_DECODES, tags=_DATA_DEPENDENT)
def decode_image(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """Return the pixels of a JPEG, PNG, GIF or WebP; which it is, its first bytes say."""
    start = _bytes_of("decode_image", data[:12] if data.ndim == 1 else data)
    decoded: Tensor
    if start.startswith(b"\xff\xd8\xff"):
        decoded = decode_jpeg(data, mode, apply_exif_orientation)
    elif start.startswith(b"\x89PNG"):
        decoded = decode_png(data, mode, apply_exif_orientation)
    elif start.startswith((b"GIF87a", b"GIF89a")):
        decoded = decode_gif(data)
    elif start.startswith(b"RIFF") and start[8:] == b"WEBP":
        decoded = decode_webp(data, mode)
    else:
        raise tt.errors.ValueRangeError(
            "image::decode_image(): unsupported image file: only jpeg, png, webp and gif are decoded"
        )
    return decoded


def _encoded(operator: str, data: Tensor, save: Callable[[Image.Image, io.BytesIO], None]) -> Tensor:
    """Return the bytes that Pillow writes for an image of one or three channels."""
    if data.dtype != tt.uint8 or data.ndim != 3:
        raise tt.errors.ValueRangeError(
            f"image::{operator}(): input data should be a 3-dimensional tensor of uint8, "
            f"got {data.dtype} of shape {list(data.shape)}"
        )
    mode = _CHANNELS.get(data.shape[0])
    if mode is None:
        raise tt.errors.ValueRangeError(
            f"image::{operator}(): the number of channels should be 1 or 3, got: {data.shape[0]}"
        )
    array = data.numpy()
    stream = io.BytesIO()
    save(Image.fromarray(array[0] if mode == "L" else np.ascontiguousarray(array.transpose(1, 2, 0))), stream)
    return tt.from_numpy(np.frombuffer(stream.getvalue(), np.uint8).copy())


@custom_op("image::encode_jpeg", schema="(Tensor data, int quality) -> Tensor", tags=_DATA_DEPENDENT)
def encode_jpeg(data: Tensor, quality: int) -> Tensor:
    """Return an image as a JPEG."""
    if not 1 <= quality <= 100:
        raise tt.errors.ValueRangeError(
            f"image::encode_jpeg(): the quality is one of 1 to 100, not {quality}"
        )
    return _encoded("encode_jpeg", data, lambda image, stream: image.save(stream, "JPEG", quality=quality))


@custom_op("image::encode_png", schema="(Tensor data, int compression_level) -> Tensor", tags=_DATA_DEPENDENT)
def encode_png(data: Tensor, compression_level: int) -> Tensor:
    """Return an image as a PNG."""
    if not 0 <= compression_level <= 9:
        raise tt.errors.ValueRangeError(
            f"image::encode_png(): the compression level is one of 0 to 9, not {compression_level}"
        )
    return _encoded(
        "encode_png", data, lambda image, stream: image.save(stream, "PNG", compress_level=compression_level)
    )


@custom_op("image::read_file", schema="(str filename) -> Tensor", tags=_DATA_DEPENDENT)
def read_file(filename: str) -> Tensor:
    """Return the bytes of a file."""
    try:
        content = Path(filename).read_bytes()
    except OSError as error:
        raise tt.errors.ValueRangeError(
            f"image::read_file(): [Errno {error.errno}] {os.strerror(error.errno or 0)}: '{filename}'"
        ) from error
    if not content:
        raise tt.errors.ValueRangeError(f"image::read_file(): expected a non empty file: '{filename}'")
    return tt.from_numpy(np.frombuffer(content, np.uint8).copy())


@custom_op("image::write_file", schema="(str filename, Tensor data) -> Tensor", tags=_DATA_DEPENDENT)
def write_file(filename: str, data: Tensor) -> Tensor:
    """Write bytes into a file, and return none, as PyTorch's operator returns a tensor that nothing reads."""
    content = _bytes_of("write_file", data)
    try:
        Path(filename).write_bytes(content)
    except OSError as error:
        raise tt.errors.ValueRangeError(
            f"image::write_file(): [Errno {error.errno}] {os.strerror(error.errno or 0)}: '{filename}'"
        ) from error
    return tt.empty(0, dtype=tt.uint8)


@custom_op("image::_jpeg_version", schema="() -> int")
def jpeg_version() -> int:
    """Return the version of libjpeg's interface: 62 for libjpeg-turbo, which Pillow is built with; -1 if unknown."""
    return 62 if is_compiled_against_turbo() else -1


@custom_op("image::_is_compiled_against_turbo", schema="() -> bool")
def is_compiled_against_turbo() -> bool:
    """Return whether Pillow decodes JPEGs by libjpeg-turbo."""
    return bool(features.check_feature("libjpeg_turbo"))
