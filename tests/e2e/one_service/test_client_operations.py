"""The Python client reaches every operation of the service, but for those that are named here."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.conftest import ROOT
from tests.document_kit import spelled_out
from tests.e2e.conftest import Service
from umbel_client import (
    Attachment,
    Calibration,
    Drift,
    Heatmap,
    Job,
    Map,
    Naming,
    Placement,
    Tree,
    Umbel,
    encodings,
)
from umbel_client import problems as refusals

DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text())


def _name(path: str, operation: dict[str, Any]) -> str:
    """The id of an operation, with its form where the document has one operation for several."""
    form = "" if path in DOCUMENT["paths"] else f"_{path.partition('.')[2].replace('.', '_')}"
    return f"{operation['operationId']}{form}"


OPERATIONS = {
    _name(path, operation): (verb.upper(), path)
    for path, verbs in spelled_out(DOCUMENT)["paths"].items()
    for verb, operation in verbs.items()
    if verb in ("get", "post", "put", "patch", "delete")
}

NOT_REACHED = {
    "get_livez": "a probe of the operator's machinery",
    "get_readyz": "a probe of the operator's machinery",
    "get_metrics": "read by Prometheus",
}
"""Operations that the client has no call for, with the reason."""

RNG = np.random.default_rng(5)
NAMES = ["ant", "bee", "cat", "dog"]
TRUE = np.arange(60) % 4
LOGITS = (RNG.normal(size=(60, 4)) + 3 * np.eye(4)[TRUE]).astype(np.float32)
DRAWING = [{"kind": "stroke", "colour": "#0072b2", "width": 1, "path": "M10 50L200 50"}]


class World:
    """A client whose requests are noted, and one of each thing, made when it is first needed."""

    def __init__(self, service: Service) -> None:
        self.requests: list[tuple[str, str]] = []
        self.service = service
        self.umbel = Umbel(service.url)
        self.umbel._connection.opened().event_hooks["request"].append(self._note)

    def _note(self, request: httpx.Request) -> None:
        self.requests.append((request.method, request.url.path))

    @cached_property
    def tree(self) -> Tree:
        return self.umbel.run("l2h", logits=LOGITS, names=NAMES)

    def failed(self) -> Job:
        job = self.umbel.submit("hac", distances=[[0.0, 1.0], [2.0, 0.0]])
        with pytest.raises(refusals.UnusableInput):
            job.wait()
        job.refresh()
        return job

    @cached_property
    def other(self) -> Tree:
        return self.umbel.run("l2h", logits=LOGITS, names=NAMES, aggregation="sum")

    @cached_property
    def agreed(self) -> Tree:
        return self.umbel.consensus([self.tree, self.other])

    @cached_property
    def learned(self) -> Tree:
        params = {"max_iter": 60, "n_init": 1, "batch_size": 64, "keep_steps": 3}
        return self.umbel.run("hyphc", params=params, features=LOGITS)

    @cached_property
    def moving(self) -> Tree:
        rows = RNG.normal(size=(60, 4)) + 4 * np.eye(4)[TRUE % 2]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        times = np.repeat([2001, 2002, 2003], 20)
        return self.umbel.run("tvmf", features=rows, timestamps=times, n_clusters=2, n_init=1)

    @cached_property
    def stretched(self) -> Tree:
        labels = [str(label) if at < 30 else None for at, label in enumerate(TRUE % 2)]
        rows = RNG.normal(size=(60, 4)) + 4 * np.eye(4)[TRUE % 2]
        return self.umbel.run("fda", features=rows, labels=labels, n_clusters=2)

    @cached_property
    def attachment(self) -> Attachment:
        return self.tree.attach({"class": [NAMES[each] for each in TRUE], "n": TRUE})

    def pictures(self) -> Attachment:
        """An image for each leaf."""
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for number in range(4):
                picture = io.BytesIO()
                Image.new("RGB", (2, 2), (number, 0, 0)).save(picture, "png")
                archive.writestr(f"{number}.png", picture.getvalue())
        made = self.service.client.post(
            "/v1/datasets?role=items",
            content=file.getvalue(),
            headers={"Content-Type": "application/zip"},
        )
        return self.tree.attach(made.json()["id"])

    def calibrated(self) -> Calibration:
        return self.tree.calibrate([NAMES[each] for each in TRUE], LOGITS, alpha=0.2)

    calibration = cached_property(calibrated)

    def aliased(self, alias: str) -> None:
        self.umbel.set_alias(alias, self.tree)

    def placed(self) -> Placement:
        return self.tree.place_in(["pet/cat", "pet/dog", "insect/bee", "insect/ant"])

    placement = cached_property(placed)

    def drifted(self) -> Drift:
        return self.tree.drift(LOGITS, LOGITS)

    drift = cached_property(drifted)

    def drawn(self) -> Heatmap:
        return self.tree.heatmap(features=LOGITS)

    heatmap = cached_property(drawn)

    def laid_out(self) -> Map:
        return self.tree.lay_out()

    map = cached_property(laid_out)

    def named(self) -> Naming:
        return self.tree.name_nodes("labels", labels=[NAMES[each] for each in TRUE])

    naming = cached_property(named)

    def comparison(self) -> Any:
        return self.umbel.compare(["hac"], features=LOGITS, seeds=1)

    compared = cached_property(comparison)

    def labelled(self) -> Any:
        return self.tree.label([{"known": 1, "name": "one"}])


@pytest.fixture(scope="module")
def world(service: Service) -> Iterator[World]:
    world = World(service)
    with world.umbel:
        yield world


def _resumed(world: World) -> Any:
    begun = httpx.post(f"{world.service.url}/v1/uploads?role=features").json()["id"]
    return world.umbel.upload(LOGITS, resume=begun)


def _interrupted(world: World) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        world.umbel.upload(LOGITS, progress=stop)


def _token(world: World) -> None:
    share = world.tree.share()
    assert share.url is not None
    with Umbel(world.umbel.url, share.url.partition("#")[2]) as reader:
        reader._connection.opened().event_hooks["request"].append(world._note)
        assert reader.shared()["tree"] == world.tree.id


def _classified(world: World) -> Any:
    classes = [NAMES[each] for each in TRUE]
    model = world.umbel.run("mlr", features=LOGITS, labels=classes).model()
    return model.evaluate(classes, features=LOGITS)


def _no_pictures(world: World) -> None:
    with pytest.raises(refusals.NotFound):
        world.tree.node_picture(0)


CALLS: dict[str, Callable[[World], Any]] = {
    "list_attachments": lambda w: w.umbel.attachments(),
    "get_attachment": lambda w: w.umbel.attachment(w.attachment.id),
    "delete_attachment": lambda w: w.tree.attach({"n": TRUE}).delete(),
    "list_attachment_columns": lambda w: w.umbel.attachment(w.attachment.id),
    "get_attachment_node_values": lambda w: w.attachment.values("n"),
    "get_attachment_item": lambda w: w.attachment.item(3),
    "get_attachment_image": lambda w: w.pictures().image(0, "image"),
    "get_attachment_matches": lambda w: w.attachment.matches("class", equals="ant"),
    "get_node_examples": lambda w: w.attachment.examples(0, n=2),
    "list_calibrations": lambda w: w.umbel.calibrations(words="none"),
    "get_calibration": lambda w: w.umbel.calibration(w.calibration.id),
    "delete_calibration": lambda w: w.calibrated().delete(),
    "get_selective_curve": lambda w: w.umbel.calibration(w.calibration.id),
    "get_calibration_groups": lambda w: w.umbel.calibration(w.calibration.id),
    "get_pairs_needing_data": lambda w: w.umbel.calibration(w.calibration.id),
    "get_suspected_labels": lambda w: w.umbel.calibration(w.calibration.id),
    "create_calibration": lambda w: w.calibrated(),
    "list_aliases": lambda w: (w.aliased("a1"), w.umbel.aliases()),
    "get_alias": lambda w: (w.aliased("a2"), w.umbel.alias("a2")),
    "get_alias_history": lambda w: (w.aliased("a3"), w.umbel.alias("a3")),
    "set_alias": lambda w: w.aliased("a4"),
    "roll_back_alias": lambda w: (
        w.aliased("a5"),
        w.umbel.set_alias("a5", w.other),
        w.umbel.roll_back("a5"),
    ),
    "delete_alias": lambda w: (w.aliased("a6"), w.umbel.remove_alias("a6")),
    "create_comparison": lambda w: w.comparison(),
    "list_comparisons": lambda w: w.umbel.comparisons(),
    "get_comparison": lambda w: w.umbel.comparison(w.compared.id),
    "delete_comparison": lambda w: w.comparison().delete(),
    "make_consensus": lambda w: w.umbel.consensus([w.tree, w.other]),
    "create_dataset": lambda w: w.umbel.upload([1, 2], "labels"),
    "list_datasets": lambda w: w.umbel.datasets(words="none"),
    "get_dataset": lambda w: w.umbel.dataset(w.labelled().id),
    "delete_dataset": lambda w: w.labelled().delete(),
    "update_dataset": lambda w: w.labelled().update(tags=["a"]),
    "get_dataset_content": lambda w: w.labelled().content(),
    "get_dataset_statements": lambda w: w.labelled().statements(),
    "create_placement": lambda w: w.placed(),
    "list_placements": lambda w: w.umbel.placements(),
    "get_placement": lambda w: w.umbel.placement(w.placement.id),
    "delete_placement": lambda w: w.placed().delete(),
    "list_drifts": lambda w: w.umbel.drifts(),
    "delete_drift": lambda w: w.drifted().delete(),
    "get_drift": lambda w: w.umbel.drift(w.drift.id),
    "get_drift_nodes": lambda w: w.umbel.drift(w.drift.id),
    "create_drift": lambda w: w.drifted(),
    "create_edition": lambda w: w.tree.edit(),
    "create_embedding": lambda w: _embedding(w),
    "list_editions": lambda w: w.tree.editions(),
    "get_edition": lambda w: w.umbel.edition(w.tree.edit().id),
    "update_edition": lambda w: w.tree.edit().title("other"),
    "delete_edition": lambda w: w.tree.edit().delete(),
    "change_edition": lambda w: w.tree.edit().note(1, "small"),
    "get_edition_history": lambda w: w.tree.edit().history(),
    "draw_figure": lambda w: w.umbel.figure(DRAWING, width=300, height=100, width_mm=85),
    "list_heatmaps": lambda w: w.umbel.heatmaps(),
    "delete_heatmap": lambda w: w.drawn().delete(),
    "get_heatmap": lambda w: w.umbel.heatmap(w.heatmap.id),
    "get_heatmap_axes": lambda w: w.umbel.heatmap(w.heatmap.id),
    "get_heatmap_tile": lambda w: w.umbel.heatmap(w.heatmap.id),
    "create_heatmap": lambda w: w.drawn(),
    "create_job": lambda w: w.umbel.submit("hac", features=LOGITS),
    "list_jobs": lambda w: w.umbel.jobs(),
    "get_job": lambda w: w.umbel.job(str(w.tree.job)),
    "delete_job": lambda w: w.umbel.submit("hac", features=LOGITS).delete(),
    "update_job": lambda w: w.heatmap.update(name="matrix", tags=["a"]),
    "list_pauses": lambda w: w.umbel.pauses(),
    "pause": lambda w: w.umbel.pause("method", "bvmf", "a test"),
    "resume": lambda w: (w.umbel.pause("tenant", "none"), w.umbel.resume("tenant", "none")),
    "list_workers": lambda w: w.umbel.workers(),
    "retry_job": lambda w: w.failed().retry(),
    "cancel_job": lambda w: w.umbel.submit("hac", features=LOGITS).cancel(),
    "follow_job": lambda w: w.umbel.submit("hac", features=LOGITS).wait(),
    "get_evaluated_nodes": lambda w: w.tree.evaluate(TRUE, per_node=True),
    "get_predictions": lambda w: _predictions(w),
    "get_evaluation_tables": lambda w: _tables(w),
    "list_maps": lambda w: w.umbel.maps(),
    "get_map": lambda w: w.umbel.map(w.map.id),
    "delete_map": lambda w: w.laid_out().delete(),
    "get_positions": lambda w: w.map.content("/positions"),
    "select_on_map": lambda w: w.map.select([(-9, -9), (9, -9), (9, 9), (-9, 9)]),
    "create_map": lambda w: w.tree.map(),
    "list_methods": lambda w: w.umbel.catalogue(),
    "get_method": lambda w: w.umbel.method("hac"),
    "get_model": lambda w: w.tree.model(),
    "delete_model": lambda w: w.umbel.run("kmeans", features=LOGITS).model().delete(),
    "update_model": lambda w: w.tree.model().update(description="a note"),
    "get_model_content": lambda w: w.tree.model().content(),
    "evaluate_model": _classified,
    "get_stretched_features": lambda w: w.stretched.model().features(),
    "get_paths": lambda w: w.moving.model().paths(),
    "predict_with_model": lambda w: w.tree.model().predict(logits=LOGITS[:3]),
    "transform_with_model": lambda w: w.stretched.model().transform(features=LOGITS),
    "list_namings": lambda w: w.umbel.namings(),
    "delete_naming": lambda w: w.named().delete(),
    "get_naming": lambda w: w.umbel.naming(w.naming.id),
    "get_node_names": lambda w: w.umbel.naming(w.naming.id),
    "create_naming": lambda w: w.named(),
    "get_shared": _token,
    "get_share": lambda w: w.umbel.share(w.tree.share().id),
    "delete_share": lambda w: w.tree.revoke(w.tree.share()),
    "create_share": lambda w: w.tree.share(map=w.map),
    "list_shares": lambda w: w.tree.shares(),
    "import_tree": lambda w: w.umbel.import_tree("((a,b),c);"),
    "list_trees": lambda w: w.umbel.trees(words="none"),
    "get_tree": lambda w: w.tree.content(""),
    "delete_tree": lambda w: w.umbel.import_tree("((a,b),c);").delete(),
    "update_tree": lambda w: w.tree.update(name="animals"),
    "get_assignments": lambda w: w.tree.content("/assignments", k=2),
    "create_attachment": lambda w: w.tree.attach({"n": TRUE}),
    "get_confusions": lambda w: w.tree.confusions(),
    "cut_tree": lambda w: w.tree.cut(2),
    "evaluate_tree": lambda w: w.tree.evaluate(TRUE),
    "label_tree": lambda w: w.labelled(),
    "get_layers": lambda w: w.tree.layers(),
    "get_levels": lambda w: w.tree.levels(),
    "get_merges": lambda w: w.tree.merges(),
    "get_node": lambda w: w.tree.node(1),
    "get_agreement": lambda w: w.agreed.agreement(0),
    "get_members": lambda w: w.tree.members(1),
    "get_node_picture": _no_pictures,
    "get_node_outliers": lambda w: w.attachment.outliers(0, "doubt"),
    "get_place": lambda w: w.tree.place(7),
    "list_tree_steps": lambda w: w.learned.steps(),
    "predict": lambda w: w.tree.predict(LOGITS[:3]),
    "search_tree": lambda w: w.tree.search("an"),
    "tangle_trees": lambda w: w.tree.tangle(w.other),
    "get_flows": lambda w: w.tree.flows([2, 3]),
    "view_tree": lambda w: w.tree.view(max_nodes=3),
    "create_upload": lambda w: w.umbel.upload(LOGITS),
    "get_upload": _resumed,
    "delete_upload": _interrupted,
    "complete_upload": lambda w: w.umbel.upload(LOGITS),
    "put_part": lambda w: w.umbel.upload(LOGITS),
    "get_usage": lambda w: w.umbel.usage(),
    "list_audit": lambda w: w.umbel.audit(action="POST", limit=3),
    "get_version": lambda w: w.umbel.version(),
    "get_webhook_secret": lambda w: w.umbel.webhook_secret(),
}
"""For each operation a call that uses it. Forms by a suffix are not here: `content` reaches all."""

FORM = re.compile(r"/v1/(\w+)/\{\w+\}(.*\.(?:[a-z]+\.)?[a-z]+)")
"""The collection and the form in an address with a suffix."""
HOLDERS: dict[str, Callable[[World], Any]] = {
    "attachments": lambda w: w.attachment,
    "calibrations": lambda w: w.calibration,
    "comparisons": lambda w: w.compared,
    "drifts": lambda w: w.drift,
    "heatmaps": lambda w: w.heatmap,
    "maps": lambda w: w.map,
    "models": lambda w: w.moving.model(),
    "namings": lambda w: w.naming,
    "placements": lambda w: w.placement,
    "trees": lambda w: w.tree,
}
QUERIES: dict[str, Callable[[World], dict[str, Any]]] = {
    "/tangle": lambda w: {"other": w.other},
    "/flows": lambda w: {"levels": "2,3"},
    "/matches": lambda w: {"column": 1, "low": 1},
    "/nodes/{node}/outliers": lambda w: {"by": "doubt"},
}
FORMS = {
    name for name, (verb, path) in OPERATIONS.items() if verb == "GET" and FORM.fullmatch(path)
}


def _form(world: World, path: str) -> bytes:
    matched = FORM.fullmatch(path)
    assert matched
    collection, form = matched.groups()
    holder = HOLDERS[collection](world)
    if form.startswith("/features") and collection == "models":
        holder = world.stretched.model()
    if form.startswith("/steps"):
        holder = world.learned
    queries = (query(world) for part, query in QUERIES.items() if form.startswith(part))
    content: bytes = holder.content(re.sub(r"\{\w+\}", "1", form), **next(queries, {}))
    return content


def _predictions(world: World) -> Any:
    world.tree.predict(LOGITS)
    jobs = world.umbel.jobs(limit=1)
    return jobs[0].content("/predictions")


def _tables(world: World) -> Any:
    _classified(world)
    return world.umbel.jobs(limit=1)[0].content("/tables")


def _embedding(world: World) -> None:
    """This service has no endpoint of embeddings."""
    with pytest.raises(refusals.InvalidRequest, match="no embedder"):
        world.umbel.embed(["a fox"])


def _operation(method: str, path: str) -> str:
    """The operation of a request: of the addresses that fit, the one that says most."""
    fits = [
        (len(re.sub(r"\{\w+\}", "", template)), name)
        for name, (verb, template) in OPERATIONS.items()
        if verb == method
        and re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template)), path)
    ]
    return max(fits)[1]


def test_every_operation_has_a_call_or_a_reason() -> None:
    assert CALLS.keys() | FORMS | NOT_REACHED.keys() == OPERATIONS.keys()
    assert not CALLS.keys() & NOT_REACHED.keys()
    assert not CALLS.keys() & FORMS


def _needs(operation: str) -> list[str]:
    if operation.endswith("_pdf"):
        return ["typst"]
    return ["torch"] if operation == "list_tree_steps" else []


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(name, marks=pytest.mark.needs(*_needs(name)))
        for name in sorted({*CALLS, *FORMS})
    ],
)
def test_an_operation_is_reached(
    world: World, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if operation.endswith(("upload", "part")):
        monkeypatch.setattr(encodings, "PART_BYTES", 500)
    del world.requests[:]
    if operation in FORMS:
        assert _form(world, OPERATIONS[operation][1])
    else:
        CALLS[operation](world)
    assert operation in {_operation(*request) for request in world.requests}


@pytest.mark.parametrize("noun", ["attachments", "heatmaps", "maps"])
def test_the_list_of_a_tree_is_the_list_of_all_with_a_filter(world: World, noun: str) -> None:
    """The document has it once."""
    made = {"attachments": lambda: world.tree.attach({"n": TRUE}), "heatmaps": world.drawn}
    one = made.get(noun, world.laid_out)()
    of_tree = [each.id for each in getattr(world.tree, noun)()]
    filtered = [each.id for each in getattr(world.umbel, noun)(tree=world.tree.id)]
    assert one.id in of_tree
    assert of_tree == filtered
