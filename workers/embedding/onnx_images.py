"""A model of images in ONNX, with the image processor that transformers keeps beside it.

A folder has `model.onnx` (or `onnx/model.onnx`), which takes `pixel_values` alone, and
`preprocessor_config.json`, which says how an image becomes them: resized, its middle cut out,
rescaled, less a mean and over a deviation for each channel. A file that leaves one of them open is
refused: a default that is not the model's makes wrong vectors without a warning.
"""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.arrays import Array, Single
from models.items.facts import MEDIA
from workers.embedding.onnx_session import (
    Unusable,
    is_normalized,
    json_of,
    normalized,
    path_of,
    run,
    session_of,
    shortened,
)

if TYPE_CHECKING:
    from PIL import Image

CONFIG = "preprocessor_config.json"
_PIXELS = "pixel_values"
_OUTPUTS = ("image_embeds", "pooler_output")
"""The vectors of images by the names that transformers gives them; else the first output."""
_PROCESSORS = ("CLIP", "ViT", "DeiT", "Bit", "Siglip")
"""Processors that do what is done here and nothing else, by the beginning of their names."""
_ENDINGS = ("ImageProcessor", "ImageProcessorFast", "FeatureExtractor")
_MOST_SIDE = 4096
_LONGEST_SIDE = 1 << 16
"""The longest side of an image that is resized by its shorter one."""
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(frozen=True, slots=True)
class Processor:
    """How an image becomes pixels.

    shortest : the shorter side that it is resized to, or `size` (height, width), or neither.
    resample : Pillow's number of the way. crop : (height, width) of the middle, or None.
    scale : of the bytes. mean, deviation : (3,) of the channels.
    """

    shortest: int | None
    size: tuple[int, int] | None
    resample: int
    crop: tuple[int, int] | None
    scale: float
    mean: Single
    deviation: Single

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Processor:
        """What a file says. Raises Unusable."""
        name = config.get("image_processor_type", config.get("feature_extractor_type", "ViT"))
        known = {begin + end for begin in _PROCESSORS for end in _ENDINGS} | {"ViT"}
        if name not in known or "crop_pct" in config:
            raise Unusable(
                f"{CONFIG} is of {str(name)[:80]!r}; {', '.join(_PROCESSORS)} are run here."
            )
        crop = None
        if _flag(config, "do_center_crop", "crop_size" in config):
            crop = _pair(config, "crop_size")
        shortest, size, resample = None, None, 0
        if _flag(config, "do_resize", True):
            own = _needed(config, "size")
            if isinstance(own, Mapping) and set(own) == {"shortest_edge"}:
                shortest = _side(own["shortest_edge"], "size")
            elif not isinstance(own, Mapping) and crop is not None:
                shortest = _side(own, "size")
            else:
                size = _pair(config, "size")
            resample = _needed(config, "resample")
            if type(resample) is not int or not 0 <= resample <= 5:
                raise Unusable(f"'resample' of {CONFIG} is a number from 0 to 5.")
        scale, mean, deviation = 1.0, [0.0] * 3, [1.0] * 3
        if _flag(config, "do_rescale", True):
            scale = config.get("rescale_factor", 1 / 255)
            (scale,) = _numbers([scale], 1, "rescale_factor")
        if _flag(config, "do_normalize", True):
            mean = _numbers(_needed(config, "image_mean"), 3, "image_mean")
            deviation = _numbers(_needed(config, "image_std"), 3, "image_std")
            if not all(value > 0 for value in deviation):
                raise Unusable(f"'image_std' of {CONFIG} has a number that is not above 0.")
        return cls(
            shortest,
            size,
            resample,
            crop,
            scale,
            np.array(mean, np.float32),
            np.array(deviation, np.float32),
        )

    def pixels(self, image: Image.Image) -> Single:
        """(3, height, width) of an image in RGB; what is cut out beyond its edge is black.

        Raises Unusable for one that is much longer than wide.
        """
        from PIL import Image as images

        if self.shortest is not None:
            short = min(image.size)
            size = tuple(
                self.shortest if side == short else int(self.shortest * side / short)
                for side in image.size
            )
            if max(size) > _LONGEST_SIDE:
                raise Unusable(
                    f"An image of {image.width} x {image.height} would be {size[0]} x {size[1]} "
                    f"before its middle is cut out; {_LONGEST_SIDE} is the longest side."
                )
            image = image.resize((size[0], size[1]), images.Resampling(self.resample))
        elif self.size is not None:
            height, width = self.size
            image = image.resize((width, height), images.Resampling(self.resample))
        if self.crop is not None:
            height, width = self.crop
            left, top = (image.width - width) // 2, (image.height - height) // 2
            image = image.crop((left, top, left + width, top + height))
        values = np.asarray(image, np.float32) * np.float32(self.scale)
        return np.ascontiguousarray(((values - self.mean) / self.deviation).transpose(2, 0, 1))


class ImageModel:
    """A model in memory. normalized : whether vectors get length 1."""

    def __init__(self, folder: Path, threads: int) -> None:
        """Raises Unusable, MemoryError."""
        self._session = session_of(folder, threads)
        self.processor = Processor.of(json_of(path_of(folder, CONFIG), {}))
        self.normalized = is_normalized(folder)
        inputs = {each.name: each.type for each in self._session.get_inputs()}
        if list(inputs) != [_PIXELS] or inputs[_PIXELS] not in _TYPES:
            raise Unusable(
                f"model.onnx takes {', '.join(inputs) or 'nothing'}; a model of images takes "
                f"{_PIXELS} alone, numbers of 16 or 32 bits."
            )
        self._type = _TYPES[inputs[_PIXELS]]
        outputs = [each.name for each in self._session.get_outputs()]
        self._output = next((name for name in _OUTPUTS if name in outputs), outputs[0])

    def vectors(self, addresses: list[str]) -> Single:
        """(n, width) the vectors of images as `data:` addresses.

        Where each part has a vector, (images, parts, width), it is the first (CLS) one. Raises
        Unusable, with the place of an image that cannot be read, MemoryError.
        """
        pixels = [self._pixels(address, place) for place, address in enumerate(addresses)]
        for place, each in enumerate(pixels):
            if each.shape != pixels[0].shape:
                raise Unusable(
                    f"{CONFIG} makes images of several sizes, {pixels[0].shape[1:]} and "
                    f"{each.shape[1:]}; with 'crop_size', or a height and a width as 'size', "
                    "they have one.",
                    place,
                )
        given = {_PIXELS: np.stack(pixels).astype(self._type)}
        values: Array = run(self._session, self._output, given)
        if values.ndim == 3:
            values = values[:, 0]
        if values.ndim != 2 or values.dtype.kind != "f" or len(values) != len(addresses):
            raise Unusable(
                f"model.onnx gives {self._output} of shape {values.shape} for {len(addresses)} "
                "images; it is a vector for each image, or for each of its parts."
            )
        values = values.astype(np.float32)
        return np.ascontiguousarray(normalized(values) if self.normalized else values)

    def _pixels(self, address: str, place: int) -> Single:
        try:
            return self.processor.pixels(image_of(address))
        except Unusable as error:
            raise Unusable(str(error), place) from None


def image_of(address: str) -> Image.Image:
    """The image of a `data:` address in RGB, upright, its first frame. Raises Unusable."""
    from PIL import Image as images
    from PIL import ImageOps

    try:
        content = base64.b64decode(address.partition(",")[2])
        with warnings.catch_warnings():
            warnings.simplefilter("error", images.DecompressionBombWarning)
            image = images.open(io.BytesIO(content), formats=list(MEDIA))
            return ImageOps.exif_transpose(image).convert("RGB")
    except MemoryError:
        raise
    except Exception as error:
        raise Unusable(f"An image cannot be read: {shortened(error)}") from None


def _needed(config: Mapping[str, Any], name: str) -> Any:
    if name not in config:
        raise Unusable(f"{CONFIG} has no {name!r}.")
    return config[name]


def _flag(config: Mapping[str, Any], name: str, default: bool) -> bool:
    value = config.get(name, default)
    if type(value) is not bool:
        raise Unusable(f"{name!r} of {CONFIG} is true or false.")
    return value


def _side(value: Any, name: str) -> int:
    if type(value) is not int or not 1 <= value <= _MOST_SIDE:
        raise Unusable(f"{name!r} of {CONFIG} is a whole number from 1 to {_MOST_SIDE}.")
    return value


def _pair(config: Mapping[str, Any], name: str) -> tuple[int, int]:
    """(height, width), by name or as one number."""
    own = _needed(config, name)
    if isinstance(own, Mapping) and set(own) == {"height", "width"}:
        return _side(own["height"], name), _side(own["width"], name)
    if isinstance(own, Mapping):
        raise Unusable(f"{name!r} of {CONFIG} has other sides than a height and a width.")
    return _side(own, name), _side(own, name)


def _numbers(values: Any, n: int, name: str) -> list[float]:
    fits = isinstance(values, list) and len(values) == n
    if not fits or not all(type(v) in (int, float) and math.isfinite(v) for v in values):
        raise Unusable(f"{name!r} of {CONFIG} is not {n} numbers, each finite.")
    return [float(value) for value in values]
