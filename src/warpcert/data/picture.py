"""`load_picture`: one PNG or JPEG file."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from warpcert.data.reason import reason

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 1 << 26
"""The largest picture read: a small file can unpack to more memory than there is."""

_CONVERSION = {"1": "L", "L": "L", "LA": "L", "P": "RGB", "PA": "RGB", "RGB": "RGB", "RGBA": "RGB"}
_DEEP_GREY = ("I;16", "I")


def load_picture(path: Path) -> NDArray[Any]:
    """The image (1, C, H, W) of a PNG or JPEG file: uint8, or float32 for a 16-bit PNG.

    Grey stays one channel, colour and palettes become three. An alpha channel is dropped when
    everything is opaque and refused otherwise, since the colour behind it is anybody's guess.
    16-bit grey is value / 65535 in float32; 16-bit colour is refused. An EXIF orientation is
    applied, colour profiles are not.
    """
    picture, deep_colour = _decode(path)
    if deep_colour:
        raise ValueError(f"{path} has 16 bits per colour: save it with 8 bits, or 16-bit grey")
    if picture.mode in _DEEP_GREY:
        return _deep_grey(picture, path)[None, None]
    if picture.mode not in _CONVERSION:
        raise ValueError(f"{path} has colours of kind {picture.mode}: save it as grey or RGB")
    pixels = np.asarray(_opaque(picture, path))
    return pixels[None, None] if pixels.ndim == 2 else pixels.transpose(2, 0, 1)[None]


def _decode(path: Path) -> tuple[Image, bool]:
    """The decoded picture, upright, and whether its colours had 16 bits, now lost."""
    from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415 - only this needs it

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path, formats=("PNG", "JPEG")) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    raise Image.DecompressionBombError
                deep = any("16" in str(tile[3]) for tile in picture.tile)
                picture.load()
                return ImageOps.exif_transpose(picture), deep and picture.mode not in _DEEP_GREY
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        line = f"{path} has more than {MOST_PIXELS >> 20} megapixels: make it smaller"
    except UnidentifiedImageError:
        line = f"{path} is not a PNG or JPEG file, or its beginning is damaged: save it again"
    except Exception as error:  # decoders raise errors of many unrelated classes
        line = f"{path} cannot be read ({reason(error)}): save it again"
    raise ValueError(line)


def _deep_grey(picture: Image, path: Path) -> NDArray[np.float32]:
    """The values (H, W) of a 16-bit grey picture."""
    values = np.asarray(picture).astype(np.int64)
    if "transparency" in picture.info and (values == picture.info["transparency"]).any():
        raise ValueError(_transparent(path))
    return values.astype(np.float32) / np.float32(65535)


def _opaque(picture: Image, path: Path) -> Image:
    """The picture without its alpha channel, if it has one in which every pixel is opaque."""
    mode = _CONVERSION[picture.mode]
    if "A" in picture.getbands() or "transparency" in picture.info:
        full = picture.convert("RGBA")
        if np.asarray(full)[..., 3].min() < 255:
            raise ValueError(_transparent(path))
        picture = full if mode == "RGB" else picture
    return picture.convert(mode)


def _transparent(path: Path) -> str:
    return f"{path} has transparent pixels: save it on a background"
