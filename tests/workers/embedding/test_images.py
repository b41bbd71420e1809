"""Images by a model in a folder: pixels as by processors of transformers, and what is refused."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.workers.embedding.onnx_kit import (
    PROCESSOR,
    described,
    image_folder,
    of_images_in_onnx,
    stand_ins,
)
from workers.embedding.local import LocalEmbedder
from workers.embedding.onnx_images import ImageModel, Processor, image_of
from workers.embedding.onnx_session import Unusable
from workers.embedding.resident import ResidentEmbedder
from workers.settings import WorkerSettings
from workers.webhooks.questions import NotAnswered

Make = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A folder with a model, by a stand-in for onnxruntime."""
    packages = tmp_path / "packages"
    packages.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{stand_ins(packages)}:{':'.join(sys.path)}")
    monkeypatch.syspath_prepend(packages)
    own = sys.modules.pop("onnxruntime", None)

    def make(model: bytes | None = None, **changes: Any) -> Path:
        described_model = described(inputs=["pixel_values"], output="image_embeds")
        return image_folder(tmp_path / "seeing", model or described_model, **changes)

    yield make
    sys.modules.pop("onnxruntime", None)
    if own is not None:
        sys.modules["onnxruntime"] = own


def picture(width: int, height: int, mode: str = "RGB") -> Image.Image:
    rng = np.random.default_rng(width * height)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), np.uint8)).convert(mode)


def address(image: Image.Image, form: str = "PNG", **save: Any) -> str:
    content = io.BytesIO()
    image.save(content, form, **save)
    return "data:image/x;base64," + base64.b64encode(content.getvalue()).decode()


def test_pixels_by_definition() -> None:
    """Resized by the shorter side, the middle cut out, rescaled, less the mean over the deviation:
    of an image that is twice as high as the cut and one pixel too wide."""
    image = picture(10, 8)
    config = {**PROCESSOR, "size": {"shortest_edge": 8}, "crop_size": {"height": 4, "width": 6}}
    found = Processor.of(config).pixels(image)
    bytes_ = np.asarray(image, np.float64)
    for channel in range(3):
        for row in range(4):
            for column in range(6):
                value = bytes_[row + 2, column + 2, channel] / 255
                value = (value - PROCESSOR["image_mean"][channel]) / PROCESSOR["image_std"][channel]
                assert found[channel, row, column] == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize(
    ("changes", "shape"),
    [
        ({}, (4, 4)),
        ({"size": 6, "crop_size": 4}, (4, 4)),
        ({"size": 5, "crop_size": None}, (5, 5)),
        ({"size": {"height": 3, "width": 7}, "crop_size": None}, (3, 7)),
        ({"size": {"shortest_edge": 5}, "crop_size": None}, (5, 8)),
        ({"crop_size": {"height": 9, "width": 9}}, (9, 9)),
        ({"do_resize": False, "do_center_crop": False}, (6, 10)),
    ],
)
def test_the_size_of_an_image(changes: dict[str, Any], shape: tuple[int, int]) -> None:
    config = {name: value for name, value in {**PROCESSOR, **changes}.items() if value is not None}
    assert Processor.of(config).pixels(picture(10, 6)).shape == (3, *shape)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"image_processor_type": "ConvNextImageProcessor"}, "is of 'ConvNextImageProcessor'"),
        ({"size": None}, "has no 'size'"),
        ({"resample": None}, "has no 'resample'"),
        ({"image_mean": None}, "has no 'image_mean'"),
        ({"image_std": [1, 1, 0]}, "not above 0"),
        ({"image_mean": [1, 1]}, "not 3 numbers"),
        ({"size": {"longest_edge": 4}}, "other sides"),
        ({"crop_size": 0}, "from 1 to 4096"),
        ({"do_resize": "yes"}, "true or false"),
    ],
)
def test_what_a_processor_leaves_open_is_refused(changes: dict[str, Any], why: str) -> None:
    config = {name: value for name, value in {**PROCESSOR, **changes}.items() if value is not None}
    with pytest.raises(Unusable, match=why):
        Processor.of(config)


def test_an_image_is_upright_and_in_rgb() -> None:
    image = picture(4, 2)
    turned = image_of(address(image, exif=b"Exif\x00\x00" + orientation(6)))
    assert turned.size == (2, 4)
    assert image_of(address(picture(3, 3, "L"))).mode == "RGB"
    assert image_of(address(picture(3, 3, "P"), "GIF")).mode == "RGB"


def orientation(value: int) -> bytes:
    """EXIF with an orientation alone."""
    exif = Image.Exif()
    exif[0x0112] = value
    return exif.tobytes().removeprefix(b"Exif\x00\x00")


def test_vectors_are_the_model_s_of_length_one(folder: Make) -> None:
    model = ImageModel(folder(), threads=1)
    images = [picture(5, 9), picture(8, 4, "L")]
    found = model.vectors([address(image) for image in images])
    for vector, image in zip(found, images, strict=True):
        mean = model.processor.pixels(image.convert("RGB")).mean(axis=(1, 2))
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), rtol=1e-5)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (described(inputs=["input_ids", "pixel_values"]), "takes input_ids, pixel_values"),
        (described(inputs=[]), "takes nothing"),
    ],
)
def test_a_model_of_something_else_is_refused(folder: Make, model: bytes, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        ImageModel(folder(model), threads=1)


def test_a_folder_without_the_processor_is_refused(folder: Make) -> None:
    own = folder()
    (own / "preprocessor_config.json").unlink()
    with pytest.raises(Unusable, match=r"no file preprocessor_config\.json"):
        ImageModel(own, threads=1)


def test_an_image_that_cannot_be_read_is_named_and_the_process_stays(folder: Make) -> None:
    settings = WorkerSettings(embedding_image_model=str(folder()))
    embedder = ResidentEmbedder.of(settings)
    assert embedder is not None
    good = address(picture(6, 6))
    broken = good[: len(good) // 2]
    with pytest.raises(NotAnswered, match="An image cannot be read") as refused:
        embedder.vectors("image", [good, broken])
    assert refused.value.item == 1
    long = address(Image.new("RGB", (60_000, 2)))
    with pytest.raises(NotAnswered, match="60000 x 2") as refused:
        embedder.vectors("image", [long])
    assert embedder.vectors("image", [good]).shape == (1, 3)
    embedder.close()


def test_a_model_that_is_replaced_meanwhile_may_be_tried_again(folder: Make) -> None:
    own = folder()
    settings = WorkerSettings(embedding_image_model=str(own))
    before = ResidentEmbedder.of(settings)
    assert before is not None
    assert ResidentEmbedder.of(settings, before) is before
    (own / "model.onnx").write_bytes(described(inputs=["pixel_values"], changed=True))
    after = ResidentEmbedder.of(settings, before)
    assert after is not None
    with pytest.raises(NotAnswered, match="replaced") as refused:
        before.vectors("image", [address(picture(6, 6))])
    assert refused.value.passes
    assert after.vectors("image", [address(picture(6, 6))]).shape == (1, 3)
    after.close()


def test_images_of_several_sizes_are_refused_in_words(folder: Make) -> None:
    model = ImageModel(folder(crop_size=None), threads=1)
    with pytest.raises(Unusable, match="several sizes"):
        model.vectors([address(picture(5, 9)), address(picture(9, 9))])


@pytest.mark.slow
@pytest.mark.needs("onnxruntime")
def test_a_model_of_images_in_onnx(tmp_path: Path) -> None:
    own = image_folder(tmp_path / "seeing", of_images_in_onnx())
    embedder = LocalEmbedder.of(WorkerSettings(embedding_image_model=str(own)))
    assert embedder is not None
    image = picture(5, 9)
    (found,) = embedder.vectors("image", [address(image)])
    mean = Processor.of(PROCESSOR).pixels(image).mean(axis=(1, 2))
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), rtol=1e-4)
    embedder.close()
