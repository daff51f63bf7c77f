"""Files of images."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import tt

OPS = tt.ops.image
UNCHANGED, GRAY, GRAY_ALPHA, RGB, RGB_ALPHA = range(5)


def pixels(*shape, dtype=np.uint8):
    return np.random.default_rng(0).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def encoded(array, name, **options):
    stream = io.BytesIO()
    (array if isinstance(array, Image.Image) else Image.fromarray(array)).save(stream, name, **options)
    return tt.from_numpy(np.frombuffer(stream.getvalue(), np.uint8).copy())


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 2), (5, 7, 3), (5, 7, 4)])
def test_a_png_keeps_its_pixels_and_channels(shape):
    array = pixels(*shape)
    result = OPS.decode_png(encoded(array, "PNG"), UNCHANGED)
    assert result.dtype == tt.uint8
    np.testing.assert_array_equal(result, np.atleast_3d(array).transpose(2, 0, 1))
    assert tt.equal(OPS.decode_image(encoded(array, "PNG"), UNCHANGED), result)


@pytest.mark.parametrize(("mode", "channels"), [(GRAY, 1), (GRAY_ALPHA, 2), (RGB, 3), (RGB_ALPHA, 4)])
@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 2), (5, 7, 3), (5, 7, 4)])
def test_a_png_is_converted(mode, channels, shape):
    array = pixels(*shape)
    result = OPS.decode_png(encoded(array, "PNG"), mode)
    assert result.shape == (channels, 5, 7)
    colours, alpha = array.reshape(5, 7, -1), None
    if colours.shape[-1] in (2, 4):
        colours, alpha = colours[..., :-1], colours[..., -1]
    if channels in (2, 4):
        np.testing.assert_array_equal(result[-1], np.full((5, 7), 255) if alpha is None else alpha)
    if channels >= 3:
        np.testing.assert_array_equal(result[:3], np.broadcast_to(colours.transpose(2, 0, 1), (3, 5, 7)))
    else:
        brightness = colours.mean(-1) if colours.shape[-1] == 1 else colours @ [0.2989, 0.587, 0.1141]
        assert np.abs(result[0].numpy() - brightness).max() < 1.01  # rounded down, with weights of 15 bits


def test_colours_of_a_palette():
    palette = Image.fromarray(pixels(6, 6, 3)).quantize(16)
    expected = np.asarray(palette.convert("RGB")).transpose(2, 0, 1)
    data = encoded(palette, "PNG", transparency=0)
    np.testing.assert_array_equal(OPS.decode_png(data, RGB), expected)
    np.testing.assert_array_equal(OPS.decode_png(data, UNCHANGED), np.asarray(palette)[None])
    result = OPS.decode_png(data, RGB_ALPHA)
    np.testing.assert_array_equal(result[:3], expected)
    np.testing.assert_array_equal(result[3], np.where(np.asarray(palette) == 0, 0, 255))
    assert OPS.decode_png(encoded(palette, "PNG"), RGB_ALPHA)[3].unique().tolist() == [255]


def test_cmyk_stays_unless_colours_are_asked_for():
    image = Image.fromarray(np.full((16, 16, 3), (200, 100, 50), np.uint8)).convert("CMYK")
    data = encoded(image, "JPEG")
    assert OPS.decode_jpeg(data, UNCHANGED).shape == (4, 16, 16)
    colours = OPS.decode_jpeg(data, RGB)
    assert np.abs(colours[:, 8, 8].numpy().astype(int) - (200, 100, 50)).max() <= 4


def test_gray_of_16_bits_keeps_them():
    array = pixels(5, 7, dtype=np.uint16)
    for mode, channels in {UNCHANGED: 1, GRAY: 1, GRAY_ALPHA: 2, RGB: 3, RGB_ALPHA: 4}.items():
        result = OPS.decode_png(encoded(array, "PNG"), mode)
        assert (result.dtype, result.shape) == (tt.uint16, (channels, 5, 7))
        np.testing.assert_array_equal(result[0].numpy(), array)
        np.testing.assert_array_equal(result[-1].numpy(), 65535 if channels in (2, 4) else array)


def test_colours_of_16_bits_are_refused_instead_of_halved():
    data = encoded(pixels(2, 2, 3), "PNG")
    data[24] = 16  # the number of bits, in the header
    data[29:33] = tt.tensor(list(_checksum(bytes(data[12:29].tolist()))), dtype=tt.uint8)
    with pytest.raises(tt.errors.UnsupportedError, match="colours or transparency of 16 bits"):
        OPS.decode_png(data, UNCHANGED)


def _checksum(data):
    import zlib

    return zlib.crc32(data).to_bytes(4, "big")


@pytest.mark.parametrize(("mode", "pillow"), [(UNCHANGED, "RGB"), (RGB, "RGB")])
def test_a_jpeg_gives_what_pillow_gives(mode, pillow):
    data = encoded(pixels(16, 24, 3), "JPEG")
    expected = Image.open(io.BytesIO(bytes(data.tolist()))).convert(pillow)
    np.testing.assert_array_equal(OPS.decode_jpeg(data, mode), np.asarray(expected).transpose(2, 0, 1))
    assert tt.equal(OPS.decode_image(data, mode), OPS.decode_jpeg(data, mode))


def test_gray_of_a_jpeg_is_its_own_brightness():
    gray = pixels(16, 24)
    data = encoded(gray, "JPEG", quality=100)
    assert np.abs(OPS.decode_jpeg(data, UNCHANGED)[0].numpy().astype(int) - gray).max() <= 4
    assert OPS.decode_jpeg(encoded(pixels(16, 24, 3), "JPEG"), GRAY).shape == (1, 16, 24)
    with pytest.raises(tt.errors.ValueRangeError, match="no transparency"):
        OPS.decode_jpeg(data, RGB_ALPHA)


def test_the_orientation_of_a_camera_is_applied_if_asked():
    image, exif = Image.fromarray(pixels(8, 16, 3)), Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    for name, decode in {"JPEG": OPS.decode_jpeg, "PNG": OPS.decode_png}.items():
        data = encoded(image, name, exif=exif)
        as_stored = decode(data, RGB)
        assert as_stored.shape == (3, 8, 16)
        assert tt.equal(decode(data, RGB, True), tt.rot90(as_stored, -1, (1, 2)))


def test_frames_of_a_gif():
    frames = [Image.fromarray(np.full((4, 5, 3), value, np.uint8)) for value in (0, 128, 255)]
    one, several = (
        encoded(frames[1], "GIF"),
        encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]),
    )
    assert tt.equal(OPS.decode_gif(one), tt.full((3, 4, 5), 128, dtype=tt.uint8))
    result = OPS.decode_gif(several)
    assert result.shape == (3, 3, 4, 5) and result[:, 0, 0, 0].tolist() == [0, 128, 255]
    assert tt.equal(OPS.decode_image(several, UNCHANGED), result)


def test_a_webp_without_loss():
    array = pixels(5, 7, 3)
    data = encoded(array, "WEBP", lossless=True)
    np.testing.assert_array_equal(OPS.decode_webp(data, UNCHANGED), array.transpose(2, 0, 1))
    assert tt.equal(OPS.decode_image(data, RGB), OPS.decode_webp(data, RGB))
    with pytest.warns(UserWarning, match="not converted to gray"):
        assert OPS.decode_webp(data, GRAY).shape == (3, 5, 7)


@pytest.mark.parametrize("channels", [1, 3])
def test_encoding(channels):
    image = tt.from_numpy(pixels(channels, 8, 16))
    for level in (0, 6, 9):
        assert tt.equal(OPS.decode_png(OPS.encode_png(image, level), UNCHANGED), image)
    # Noise is what a JPEG keeps worst; a smooth image stays.
    smooth = tt.arange(128, dtype=tt.uint8).reshape(1, 8, 16).expand(channels, -1, -1)
    decoded = OPS.decode_jpeg(OPS.encode_jpeg(smooth, 95), UNCHANGED)
    assert (decoded.int() - smooth.int()).abs().max().item() <= 4
    assert len(OPS.encode_jpeg(image, 10)) < len(OPS.encode_jpeg(image, 90))


def test_files(tmp_path):
    file = tmp_path / "ü.bin"
    OPS.write_file(str(file), tt.tensor([1, 2, 255], dtype=tt.uint8))
    assert file.read_bytes() == b"\x01\x02\xff"
    assert OPS.read_file(str(file)).tolist() == [1, 2, 255]
    with pytest.raises(RuntimeError, match=r"No such file or directory: '.*absent'"):
        OPS.read_file(str(tmp_path / "absent"))
    with pytest.raises(RuntimeError, match="No such file or directory"):
        OPS.write_file(str(tmp_path / "absent" / "x"), tt.ones(1, dtype=tt.uint8))
    file.write_bytes(b"")
    with pytest.raises(RuntimeError, match="expected a non empty file"):
        OPS.read_file(str(file))


@pytest.mark.parametrize("decode", ["decode_image", "decode_png", "decode_jpeg"])
def test_what_is_no_image_is_refused(decode):
    decode = getattr(OPS, decode)
    for bad in (tt.empty(0, dtype=tt.uint8), tt.ones(4), tt.ones(2, 2, dtype=tt.uint8)):
        with pytest.raises(RuntimeError, match=r"expected a non empty 1-dimensional tensor of uint8"):
            decode(bad, UNCHANGED)
    with pytest.raises(RuntimeError, match=r"the data are no image|unsupported image file"):
        decode(tt.ones(40, dtype=tt.uint8), UNCHANGED)


@pytest.mark.parametrize("name", ["PNG", "JPEG"])
def test_a_damaged_file_is_refused(name):
    data = encoded(pixels(64, 64, 3), name)
    with pytest.raises(tt.errors.ValueRangeError, match="the image is damaged"):
        OPS.decode_image(data[: len(data) // 2], UNCHANGED)


def test_wrong_images_modes_and_qualities_are_refused():
    image = tt.zeros(3, 2, 2, dtype=tt.uint8)
    for encode in (OPS.encode_jpeg, OPS.encode_png):
        for bad in (image.float(), image[0]):
            with pytest.raises(RuntimeError, match="should be a 3-dimensional tensor of uint8"):
                encode(bad, 5)
        with pytest.raises(RuntimeError, match="number of channels should be 1 or 3, got: 2"):
            encode(image[:2], 5)
    with pytest.raises(RuntimeError, match="quality is one of 1 to 100, not 0"):
        OPS.encode_jpeg(image, 0)
    with pytest.raises(RuntimeError, match="compression level is one of 0 to 9, not 10"):
        OPS.encode_png(image, 10)
    with pytest.raises(RuntimeError, match="the mode is one of 0 to 4, not 5"):
        OPS.decode_png(OPS.encode_png(image, 6), 5)
