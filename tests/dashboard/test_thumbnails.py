"""Points that are images: their pictures in notes, on the map and at nodes."""

from __future__ import annotations

import numpy as np

from tests.dashboard.conftest import Open
from tests.dashboard.planted import until
from tests.e2e.client import Api, npy
from tests.needs_kit import need


def test_images_are_shown_without_being_attached(look: Open, api: Api) -> None:
    need("torch")
    images = np.random.default_rng(0).integers(0, 60, (40, 8, 8)).astype(np.uint8)
    images[20:, :4] += 180
    features = api.upload(npy(images), role="features", name="halves.npy")
    params = {"n_clusters": 2, "pretrain_epochs": 1, "epochs": 1}
    job = api.run("deepect", {"features": features}, params=params, name="Halves")
    page = look(f"/trees/{job['result']['tree']}?map=pca&node=0")
    page.watch.expected.append("GPU stall due to ReadPixels")  # type: ignore[attr-defined]
    # At the node.
    page.locator(".is-tiled .item-image img").first.wait_for()
    # On the map: few points are apart from each other, and more of them once it is near.
    thumbnails = page.locator(".map-thumbnails img")
    thumbnails.first.wait_for(state="attached")
    pixels = "image => [image.complete, image.naturalWidth, image.naturalHeight]"
    until(page, lambda: thumbnails.first.evaluate(pixels) == [True, 8, 8])
    boxes = thumbnails.evaluate_all(
        "all => all.map(each => each.getBoundingClientRect()).map(({x, y}) => [x, y])"
    )
    apart = np.abs(np.array(boxes)[:, None] - np.array(boxes)[None]).max(axis=2)
    assert (apart + 99 * np.eye(len(boxes)) > 36).all()
    # In the note of the root.
    page.locator(".tree-stage").focus()
    stage = page.locator(".tree-stage").bounding_box()
    assert stage is not None
    page.mouse.move(stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2)
    page.locator(".tree-tip .item-image img").first.wait_for()
