"""The Python client against the service: what a user does, with both clients."""

from __future__ import annotations

import asyncio
import importlib
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.cluster.hierarchy as hierarchy
import scipy.sparse as sp

from tests.e2e.conftest import Service, until
from tests.needs_kit import need
from umbel_client import (
    AsyncUmbel,
    InputError,
    Job,
    JobCancelled,
    Tree,
    Umbel,
    UmbelWarning,
    WaitTimeout,
    encodings,
)
from umbel_client import problems as refusals

RNG = np.random.default_rng(0)
TRUE = np.repeat([0, 1, 2], 10)
FEATURES = RNG.normal(size=(30, 4)) + 6 * TRUE[:, None]
LOGITS = (RNG.normal(size=(60, 4)) + 3 * np.eye(4)[np.arange(60) % 4]).astype(np.float32)
NAMES = ["ant", "bee", "cat", "dog"]
SLOW: dict[str, Any] = {
    "method": "corrmnl",
    "params": {"n_samples": 100000, "burn_in": 100000, "n_chains": 16},
    "features": FEATURES,
    "labels": TRUE,
}
"""A run that takes hours unless it is cancelled, by a method that imports nothing large."""


@pytest.fixture(scope="module")
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


@pytest.fixture(scope="module")
def tree(umbel: Umbel) -> Tree:
    return umbel.run("l2h", logits=LOGITS, names=NAMES, name="animals")


@pytest.fixture(scope="module")
def points(umbel: Umbel) -> Tree:
    """A tree over rows."""
    return umbel.run("hac", features=FEATURES, linkage="ward")


def test_a_tree_says_what_it_is(tree: Tree, umbel: Umbel) -> None:
    assert (tree.n_leaves, tree.n_points, tree.facts.method) == (4, 60, "l2h")
    assert "l2h: 4 leaves, 60 points" in repr(tree)
    assert tree.metrics["n_empty_classes"] == 0
    assert umbel.tree(tree.id).facts == tree.facts
    assert umbel.version()["api"] == "1"
    assert tree.url == f"{umbel.url}/#/trees/{tree.id}"


def test_a_notebook_shows_its_picture(tree: Tree) -> None:
    html = tree._repr_html_()
    assert "data:image/svg+xml;base64," in html
    assert f'href="{tree.url}"' in html
    assert (tree._repr_svg_() or "").startswith("<svg")
    assert tree.png(px=200).startswith(b"\x89PNG")


def test_forms_of_a_tree_are_the_same_tree(tree: Tree, points: Tree) -> None:
    newick = tree.newick()
    assert all(name in newick for name in NAMES)
    assert tree.nexus().startswith("#NEXUS")
    graph = tree.to_networkx()
    assert graph.number_of_nodes() == len(tree.nodes()) == 7
    assert {graph.nodes[node].get("name") for node in graph if not graph[node]} == set(NAMES)
    expected = hierarchy.linkage(FEATURES, "ward")
    np.testing.assert_allclose(points.linkage(), expected, rtol=1e-9)


@pytest.mark.needs("ete4")
def test_packages_that_are_there_are_used(tree: Tree) -> None:
    assert set(tree.to_ete().leaf_names()) == set(NAMES)


@pytest.mark.needs("pandas")
def test_a_tree_is_a_data_frame(tree: Tree) -> None:
    frame = tree.to_pandas()
    assert frame["size"].tolist() == [node["size"] for node in tree.nodes()]
    assert frame["parent"].isna().tolist() == [True] + [False] * 6


def test_cuts_agree_with_scipy(points: Tree) -> None:
    clusters = points.assignments(k=3)
    flat = hierarchy.fcluster(hierarchy.linkage(FEATURES, "ward"), 3, "maxclust")
    assert len(set(zip(clusters, flat, strict=True))) == 3
    np.testing.assert_array_equal(points.assignments(levels=[2, 3])[:, 1], clusters)
    cut = points.cut(k=3)
    assert sorted(cluster.size for cluster in cut.clusters) == [10, 10, 10]
    assert cut.low is not None
    np.testing.assert_array_equal(points.assignments(height=cut.low), clusters)
    assert all(level.k >= 1 for level in points.levels())


def test_a_tree_without_levels_says_why(umbel: Umbel) -> None:
    tree = umbel.import_tree("(a,b);")
    with pytest.warns(UmbelWarning, match="No level stands out. A tree with fewer than three"):
        assert tree.levels() == []


@pytest.mark.needs("typst")
def test_a_picture_is_saved_as_pdf(points: Tree, tmp_path: Path) -> None:
    points.save(tmp_path / "figure.pdf", width_mm=85)
    assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_saved_forms_are_those_of_the_ending(points: Tree, tmp_path: Path) -> None:
    points.save(tmp_path / "tree.linkage.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "tree.linkage.npy"), points.linkage())
    points.save(tmp_path / "my.tree.nwk")
    assert (tmp_path / "my.tree.nwk").read_text() == points.newick()


def test_evaluations_and_predictions(tree: Tree, points: Tree, umbel: Umbel) -> None:
    evaluation = points.evaluate(TRUE, cut={"k": 3})
    assert evaluation["dendrogram_purity"] == 1.0
    assert evaluation["nmi"] == pytest.approx(1.0)
    n_datasets = len(umbel.datasets(limit=100))
    places = tree.predict(LOGITS[:5])
    leaves = {node["id"]: node["name"] for node in tree.nodes()}
    assert [leaves[leaf] for leaf in places.leaf] == [NAMES[c] for c in LOGITS[:5].argmax(1)]
    assert places.paths[0][-1] == places[0]["leaf"]
    true = [NAMES[number] for number in LOGITS[:5].argmax(1)]
    new = tree.evaluate(true, rows=LOGITS[:5], metrics=["leaf_purity"])
    assert new == {"leaf_purity": 1.0}
    assert new.placed is not None
    assert (new.placed["n_rows"], new.placed["method"]) == (5, "l2h")
    assert tree.evaluate(true, rows={"logits": LOGITS[:5]}, metrics=["leaf_purity"]) == new
    with pytest.raises(InputError, match="twice"):
        tree.evaluate(true, rows={"features": LOGITS[:5]}, features=LOGITS[:5])
    # What was uploaded for a prediction alone does not stay.
    assert len(umbel.datasets(limit=100)) == n_datasets
    assert tree.model().inputs == ("logits",)


def test_calibrations(tree: Tree, umbel: Umbel) -> None:
    labels = [NAMES[c] for c in np.arange(60) % 4]
    calibration = tree.calibrate(labels, LOGITS, alpha=0.2, name="sure")
    assert (calibration.alpha, calibration.warnings) == (0.2, ())
    assert calibration.curve[-1]["error"] == 0
    assert [group["n_rows"] for group in calibration.groups] == [48]
    assert len(calibration.suspects) == calibration.body["result"]["n_suspects"]
    assert len(calibration.pairs) == calibration.body["result"]["n_pairs"]
    assert len(calibration.to_pandas()) == len(calibration.curve)
    assert "miss at most 0.2, all, 48 rows" in repr(calibration)
    again = umbel.calibration(calibration.id)
    assert (again.body, again.curve) == (calibration.body, calibration.curve)
    assert [each.id for each in umbel.calibrations(name="sure")] == [calibration.id]
    places = tree.predict(LOGITS[:5], calibration=calibration, alpha=0.5)
    assert [len(nodes or ()) for nodes in places.nodes] == [1] * 5
    by_model = tree.model().predict(logits=LOGITS[:5], calibration=calibration.id, alpha=0.5)
    assert by_model.nodes == places.nodes
    sets = tree.calibrate(labels, LOGITS, alpha=0.2, answer="set", score="aps", per="subtree")
    assert len(sets.groups) == 2
    with pytest.raises(refusals.TooFewRows, match="in all"):
        tree.calibrate(labels, LOGITS, alpha=0.01)
    with pytest.raises(refusals.UnknownLabel):
        tree.calibrate(["lion"] * 60, LOGITS)


def test_drifts(tree: Tree, umbel: Umbel) -> None:
    labels = [NAMES[c] for c in np.arange(60) % 4]
    batch = np.concatenate([np.tile(LOGITS[::4], (4, 1)), LOGITS])
    drift = tree.drift(
        np.tile(LOGITS, (3, 1)),
        {"logits": batch},
        reference_labels=labels * 3,
        batch_labels=[*labels[::4] * 4, *labels],
        level=0.01,
        name="Monday",
    )
    # Each ant is there five times.
    assert drift.moved
    assert "ant" in {move["name"] for move in drift.moves if move["direction"] == "gained"}
    assert len(drift.nodes) == len(drift.to_pandas()) == len(tree.nodes())
    assert drift.nodes[0]["n_after"] == 120
    assert drift._repr_svg_() == drift.svg
    assert drift.svg.startswith("<svg")
    assert "from 180 to 120 rows" in repr(drift)
    again = umbel.drift(drift.id)
    assert (again.body, again.nodes) == (drift.body, drift.nodes)
    assert [each.id for each in umbel.drifts(name="Monday")] == [drift.id]
    with pytest.warns(UmbelWarning, match="not even a total change"):
        tree.drift(LOGITS[:1], LOGITS[:1])


def test_heatmaps(points: Tree, umbel: Umbel) -> None:
    names = ["a", "b", "c", "d"]
    heatmap = points.heatmap(cut={"k": 3}, scale="none", feature_names=names, name="three")
    assert heatmap.matrix.shape == (3, 4)
    assert heatmap.matrix.dtype == np.float32
    assert [row["size"] for row in heatmap.rows] == [10, 10, 10]
    assert sorted(column["name"] for column in heatmap.columns) == names
    assert heatmap.merges.shape == (3, 3)
    columns = [column["column"] for column in heatmap.columns]
    means = [FEATURES[number == TRUE][:, columns].mean(axis=0) for number in range(3)]
    order = np.argsort(heatmap.matrix[:, 0])
    np.testing.assert_allclose(heatmap.matrix[order], means, atol=1e-3)
    assert list(heatmap.to_pandas().columns) == [column["name"] for column in heatmap.columns]
    assert heatmap._repr_svg_() == heatmap.svg
    assert heatmap.svg.startswith("<svg")
    assert repr(heatmap) == f"<Heatmap {heatmap.id}: features, 3 x 4>"
    again = umbel.heatmap(heatmap.id)
    assert again.body == heatmap.body
    assert (again.matrix == heatmap.matrix).all()
    with pytest.warns(UmbelWarning, match="There are 4 columns; the 2 that"):
        assert points.heatmap(n_columns=2).matrix.shape == (30, 2)
    distances = points.heatmap("distances", metric="cophenetic")
    assert distances.columns == distances.rows
    assert (distances.matrix == distances.matrix.T).all()
    assert len(distances.merges) == 0


def test_a_matrix_of_several_tiles(umbel: Umbel) -> None:
    rows = RNG.normal(size=(300, 2))
    heatmap = umbel.run("hac", features=rows).heatmap("distances")
    own = rows[[int(row["name"]) for row in heatmap.rows]]
    expected = np.linalg.norm(own[:, None] - own, axis=2)
    assert heatmap.high is not None
    np.testing.assert_allclose(heatmap.matrix, expected, atol=heatmap.high / 1e5)
    assert heatmap._repr_svg_() is None


@pytest.mark.needs("openTSNE")
def test_a_map_of_neighbourhoods(tree: Tree) -> None:
    with pytest.warns(UserWarning, match="`perplexity` is 19.6667 and not 25"):
        laid_out = tree.map("tsne", perplexity=25, wait_s=60)
    assert laid_out.shape == (60, 2)


def test_maps(tree: Tree) -> None:
    plane = tree.map()
    assert (plane.shape, plane.dtype) == ((60, 2), np.float32)
    doubled = np.hstack([LOGITS, LOGITS])
    np.testing.assert_allclose(
        np.abs(tree.map(features=doubled)), np.sqrt(2) * np.abs(plane), rtol=1e-3
    )
    with pytest.raises(refusals.InvalidRequest, match="perplexity is no term of pca"):
        tree.map("pca", perplexity=25)


def test_what_the_points_are(points: Tree, umbel: Umbel) -> None:
    with pytest.raises(InputError, match="nothing is attached"):
        points.examples(0)
    table = {"class": [NAMES[each] for each in TRUE], "n": [*range(len(TRUE) - 1), np.nan]}
    attachment = points.attach(table, name="classes")
    assert attachment.basis == "features"
    assert [each["kind"] for each in attachment.columns] == ["category", "number"]
    assert attachment.columns[1]["n_missing"] == 1
    assert "class (category)" in repr(attachment)
    central, unsure = points.examples(0), points.examples(0, by="unsure", attachment=attachment)
    assert central[0]["score"] < unsure[0]["score"]
    assert central[0]["values"]["class"] == NAMES[TRUE[central[0]["item"]]]
    for items, sentence in (
        ({"a": [1], "b": [1, 2]}, "different lengths"),
        ({"a": []}, "no rows"),
        ({"a": [object()]}, "type object at row 0"),
        ([[1, 2], [3, 4]], "named columns"),
    ):
        with pytest.raises(InputError, match=sentence):
            points.attach(items)


def test_names_of_nodes(points: Tree, umbel: Umbel) -> None:
    naming = points.name_nodes("labels", labels=[NAMES[each] for each in TRUE], name="true")
    assert naming.names[0] == "ant (33%)"
    assert naming.sent is None
    assert "by labels" in repr(naming)
    assert len(naming.to_pandas()) == len(naming.names)
    assert "ant (33%)" in points.newick(names=naming)
    assert points.nodes(names=naming.id)[0]["name"] == "ant (33%)"
    assert "bee" in points.svg(names=naming, shape="icicle")
    again = umbel.naming(naming.id)
    assert (again.body, again.names) == (naming.body, naming.names)
    assert [each.id for each in umbel.namings(name="true")] == [naming.id]
    # The features of the fit are used.
    assert points.name_nodes("features").names


def test_editions_and_links(umbel: Umbel, service: Service) -> None:
    tree = umbel.import_tree("((rose:1,tulip:1,lily:1)flower:1,oak:2)plant;")
    edition = tree.edit("for the paper")
    edition.rename(1, "in bloom")
    garden = edition.merge([2, 4], "garden")
    assert edition.apply({"op": "colour", "node": 1, "colour": "#d55e00"}) == []
    label = "'in bloom'[&!color=#d55e00]"
    merged = f"(((rose:0.5,lily:0.5)garden:0.5,tulip:1.0){label}:1.0,oak:2.0)plant;"
    assert tree.newick(edition=edition).strip() == merged
    assert {each["id"]: each["name"] for each in tree.nodes(edition=edition.id)}[garden] == "garden"
    edition.undo()
    edition.redo()
    edition.dissolve(garden)
    edition.title(None)
    assert (edition.name, edition.revision) == (None, 8)
    assert [each["kind"] for each in edition.history()][:4] == ["title", "edit", "redo", "undo"]
    other = tree.edition(edition.id)
    other.collapse(1)
    with pytest.raises(refusals.PreconditionFailed):
        edition.expand(1)
    edition.refresh()
    edition.expand(1)
    share = tree.share(days=1, edition=edition, name="for ada")
    assert share.url is not None
    token = share.url.partition("#")[2]
    shown = service.client.get("/v1/shared", headers={"Authorization": f"Bearer {token}"})
    assert (shown.json()["tree"], shown.json()["edition"]) == (tree.id, edition.id)
    assert [each.id for each in tree.shares()] == [share.id]
    assert tree.shares()[0].url is None
    tree.revoke(share)
    assert tree.shares() == []
    copy = tree.edit(source=edition)
    assert tree.newick(edition=copy) == tree.newick(edition=edition)
    edition.delete()
    assert [each["id"] for each in tree.editions()] == [copy.id]


@pytest.mark.parametrize(
    "value",
    [
        FEATURES,
        FEATURES.astype(np.float32),
        FEATURES.astype(np.float16),
        FEATURES.tolist(),
        FEATURES > 5,
        FEATURES.astype(">f4"),
    ],
    ids=["f8", "f4", "f2", "list", "bool", "big-endian"],
)
def test_every_kind_of_matrix_is_an_input(umbel: Umbel, value: Any) -> None:
    assert umbel.run("kmeans", features=value, n_clusters=2).n_points == 30


@pytest.mark.needs("torch")
def test_tensors_are_inputs(umbel: Umbel) -> None:
    import torch

    for value in (torch.tensor(FEATURES, requires_grad=True), torch.tensor(FEATURES).bfloat16()):
        assert umbel.run("kmeans", features=value, n_clusters=2).n_points == 30


def test_sparse_matrices_files_and_datasets_are_inputs(umbel: Umbel, tmp_path: Path) -> None:
    assert umbel.run("kmeans", features=sp.csr_array(FEATURES), n_clusters=2).n_points == 30
    path = tmp_path / "rows.csv"
    np.savetxt(path, FEATURES, delimiter=",")
    assert umbel.run("kmeans", features=path, n_clusters=2).n_points == 30
    dataset = umbel.upload(FEATURES, name="rows")
    np.testing.assert_array_equal(dataset.array(), FEATURES)
    assert umbel.run("kmeans", features=dataset, n_clusters=2).n_points == 30
    dataset.delete()


def test_a_large_array_goes_in_parts(umbel: Umbel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encodings, "PART_BYTES", 400)
    fractions: list[float] = []
    dataset = umbel.upload(FEATURES, progress=lambda done, _: fractions.append(done))
    assert len(fractions) == 3
    np.testing.assert_array_equal(dataset.array(), FEATURES)
    dataset.delete()


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_data_frames_are_inputs(umbel: Umbel, package: str) -> None:
    need(package)
    frame = importlib.import_module(package).DataFrame({f"c{i}": FEATURES[:, i] for i in range(4)})
    assert umbel.run("kmeans", features=frame, n_clusters=2).n_points == 30


def test_a_method_is_a_function(umbel: Umbel) -> None:
    tree = umbel.methods.kmeans(features=FEATURES, n_clusters=3, seed=1, progress=False)
    assert tree.n_leaves == 3
    assert tree.assignments().shape == (30,)


def test_a_comparison_is_a_table(umbel: Umbel) -> None:
    runs = ["hac", ("kmeans", {"n_clusters": 3}), {"method": "gmm", "params": {"n_clusters": 3}}]
    table = umbel.compare(runs, features=FEATURES, labels=TRUE, seeds=2, metrics=["nmi"])
    assert [row["method"] for row in table.rows()] == ["hac", "kmeans", "gmm"]
    assert table.rows()[0]["nmi"] == pytest.approx(1.0)
    assert "nmi" in table._repr_html_()
    assert umbel.comparison(table.id).table == table.table
    assert table.id in [each.id for each in umbel.comparisons()]


def test_imported_trees(umbel: Umbel, points: Tree) -> None:
    imported = umbel.import_tree("((a:1,b:1):1,c:2);")
    assert imported.n_leaves == 3
    with pytest.raises(refusals.CannotPredict):
        imported.predict([[1.0, 2.0]])
    assert umbel.import_tree(["x/a", "x/b", "y"]).n_leaves == 3
    texts = ("((a:1,b:1):1,c:2);", "((a:2,b:2):1,c:3);", "((a:1,c:1):1,b:2);")
    agreed = umbel.consensus([umbel.import_tree(text) for text in texts], name="agreed")
    assert (f"){2 / 3}:" in agreed.newick(), agreed.facts.name) == (True, "agreed")
    assert umbel.import_tree(points.linkage()).n_leaves == 30
    again = umbel.import_tree(points.to_networkx(), name="graph")
    assert sorted(node["height"] for node in again.nodes()) == pytest.approx(
        sorted(node["height"] for node in points.nodes())
    )
    with pytest.raises(refusals.NotBinary):
        umbel.import_tree("((a,b,c),d);").linkage()


def test_refusals_are_exceptions_by_their_type(umbel: Umbel, service: Service) -> None:
    with pytest.raises(refusals.InvalidRequest, match="'ward'") as caught:
        umbel.run("hac", features=FEATURES, linkage="x")
    assert caught.value.pointers == [("params", "linkage")]
    assert caught.value.request_id
    bad = FEATURES.copy()
    bad[1, 2] = np.nan
    with pytest.raises(refusals.NotFinite, match="row 1, column 2") as failed:
        umbel.run("hac", features=bad)
    assert failed.value.job
    with pytest.raises(refusals.UnknownMethod, match="kmeans"):
        umbel.run("kmean", features=FEATURES)
    with pytest.raises(refusals.NotFound):
        umbel.tree("tr_" + "0" * 26)
    with pytest.raises(InputError, match="no such input; its inputs are features"):
        umbel.run("hac", featurs=FEATURES)
    with pytest.raises(refusals.WrongInput, match="kmeans"):
        umbel.run("kmeans")


def test_a_refused_run_leaves_no_dataset(umbel: Umbel) -> None:
    before = [dataset.id for dataset in umbel.datasets(limit=100)]
    with pytest.raises(refusals.InvalidRequest):
        umbel.run("hac", features=FEATURES.astype(np.float32), linkage="x")
    assert [dataset.id for dataset in umbel.datasets(limit=100)] == before


def test_warnings_of_the_job_are_pythons(umbel: Umbel) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = umbel.run("kmeans", features=FEATURES, n_clusters=3, max_iter=1, seed=3)
    assert tree.warnings
    assert [str(each.message) for each in caught] == list(tree.warnings)


def test_a_job_goes_on_by_itself(umbel: Umbel) -> None:
    job = umbel.submit("kmeans", features=FEATURES, n_clusters=2)
    assert job.wait(progress=False).n_leaves == 2
    assert job.ended
    assert umbel.job(job.id).status == "succeeded"
    job.delete()
    with pytest.raises(refusals.NotFound):
        job.refresh()


def slow_job(umbel: Umbel) -> Job:
    """The newest job of the slow method."""
    return umbel.jobs(method=SLOW["method"], limit=1)[0]


def ended(job: Job) -> bool:
    job.refresh()
    return job.ended


def test_ctrl_c_cancels_the_job(umbel: Umbel) -> None:
    began = threading.Event()

    def interrupt() -> None:
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    # Whoever starts tests in the background may have them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            umbel.run(**SLOW, progress=lambda *_: began.set())
    finally:
        signal.signal(signal.SIGINT, before)
    job = slow_job(umbel)
    until(lambda: ended(job))
    assert job.status == "cancelled"
    with pytest.raises(JobCancelled):
        job.wait()


def test_a_wait_that_is_over_says_so(umbel: Umbel) -> None:
    with pytest.raises(WaitTimeout):
        umbel.run(**SLOW, wait_s=0.3)
    job = slow_job(umbel)
    assert not job.ended
    job.cancel()
    until(lambda: ended(job))


def test_asyncio_runs_several_at_once_and_cancels(service: Service, umbel: Umbel) -> None:
    async def used() -> None:
        async with AsyncUmbel(service.url) as asynchronous:
            runs = [asynchronous.methods.hac(features=FEATURES + shift) for shift in (0, 1)]
            first, second = await asyncio.gather(*runs)
            np.testing.assert_allclose(await first.linkage(), await second.linkage(), atol=1e-9)
            assert (await first.evaluate(TRUE, cut={"k": 3}))["nmi"] == pytest.approx(1.0)
            assert "data:image" in first._repr_html_()
            with pytest.raises(refusals.InvalidRequest):
                await asynchronous.run("hac", features=FEATURES, linkage="x")
            slow = asynchronous.run(**SLOW)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(slow, 1.0)

    asyncio.run(used())
    asynchronous = AsyncUmbel(service.url)
    # Two event loops, one after the other.
    assert asyncio.run(asynchronous.jobs(limit=1))[0].id == asyncio.run(asynchronous.jobs())[0].id
    job = slow_job(umbel)
    until(lambda: ended(job))
    assert job.status == "cancelled"


def test_clients_and_trees_can_be_copied(umbel: Umbel, tree: Tree) -> None:
    copy = pickle.loads(pickle.dumps(tree))
    assert copy.newick() == tree.newick()
    assert pickle.loads(pickle.dumps(umbel)).url == umbel.url


def test_the_environment_names_the_service(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UMBEL_URL", service.url + "/")
    monkeypatch.setenv("UMBEL_KEY", "a-key")
    umbel = Umbel()
    assert umbel.url == service.url
    assert umbel.jobs(limit=1) is not None
    assert "a-key" not in repr(umbel._connection.settings)
    monkeypatch.delenv("UMBEL_URL")
    assert Umbel().url == "http://127.0.0.1:8000"
    for wrong in ("localhost:8000", "http://x:99999", "ftp://x"):
        with pytest.raises(InputError, match="is no address"):
            Umbel(wrong)


def test_confusions_of_classes(service: Service) -> None:
    logits = np.array([[4.0, 1, 0], [3, 1, 0], [0.5, 1, 0], [0, 3, 2], [0, 1, 2]])
    tree = Umbel(service.url).run("l2h", logits=logits, names=["x", "y", "z"])
    confusions = tree.confusions(["x", "x", "x", "y", "y"])
    assert [(pair["name"], pair["taken_for_name"], pair["mass"]) for pair in confusions] == [
        ("x", "y", 1.0),
        ("y", "z", 1.0),
    ]
    assert (confusions.source, confusions.warnings) == ("labels", [])
    alone = tree.confusions()
    assert (alone.source, len(alone)) == ("logits", 6)
    assert "6 pairs by logits" in repr(alone)
    order = [["x", "y", "z"].index(str(name)) for name in confusions.names]
    expected = np.array([[2, 1, 0], [0, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(confusions.matrix, expected[np.ix_(order, order)])
    assert len(confusions.to_pandas()) == 2
    merges = tree.merges(["x", "x", "x", "y", "y"])
    assert [step["n_classes"] for step in merges] == [3, 2, 1]
    assert len(merges.to_pandas()) == 3
    by_number = tree.confusions(np.array([0, 0, 0, 1, 1]))
    np.testing.assert_array_equal(by_number.matrix, confusions.matrix)


def test_things_are_made_with_description_and_tags(umbel: Umbel) -> None:
    notes = {"description": "of petals", "tags": ["sepals", "caf\u00e9 & co"]}
    dataset = umbel.upload(FEATURES, **notes)
    tree = umbel.run("kmeans", features=dataset, n_clusters=3, **notes)
    imported = umbel.import_tree("((a:1,b:1):1,c:2);", **notes)
    assert tree.job is not None
    for body in (dataset.body, umbel.job(tree.job).body, tree.model().body):
        assert {name: body[name] for name in notes} == notes
    for facts in (tree.facts, imported.facts):
        assert (facts.description, list(facts.tags)) == ("of petals", notes["tags"])
    assert {each["id"] for each in umbel.trees(tags=["sepals"])} == {tree.id, imported.id}
    assert [each.id for each in umbel.datasets(tags=["sepals"])] == [dataset.id]
    assert [each.id for each in umbel.jobs(tags="sepals")] == [tree.job]


def test_things_are_renamed_and_listed_by_tag(umbel: Umbel) -> None:
    tree = umbel.run("kmeans", features=FEATURES, n_clusters=3, name="first")
    assert tree.job is not None
    assert tree.facts.model is not None
    job, model = umbel.job(tree.job), umbel.model(tree.facts.model)
    dataset = umbel.upload(FEATURES, name="points")
    for thing in (job, model, dataset, tree):
        thing.update(name="flowers", tags=["thesis", "caf\u00e9 & co"])
        thing.update(description="kept")
        thing.update(name=None)
    for body in (job.body, model.body, dataset.body):
        assert (body["name"], body["description"]) == (None, "kept")
        assert body["tags"] == ["thesis", "caf\u00e9 & co"]
    assert tree.facts == umbel.tree(tree.id).facts
    assert (tree.facts.name, tree.facts.description) == (None, "kept")
    assert [each.id for each in umbel.jobs(tags=["caf\u00e9 & co", "thesis"])] == [job.id]
    assert [each.id for each in umbel.datasets(tags="thesis")] == [dataset.id]
    assert [each["id"] for each in umbel.trees(tags=["thesis"])] == [tree.id]
    assert umbel.jobs(tags=["thesis"], name="flowers") == []
    assert tree.id in [each["id"] for each in umbel.trees()]
    with pytest.raises(refusals.InvalidRequest):
        job.update(tags=[" "])


def test_an_upload_of_what_is_there_gives_what_is_there(
    umbel: Umbel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = umbel.upload(LOGITS, "logits", name="once")
    assert umbel.upload(LOGITS, "logits", name="once").id != first.id
    newest = umbel.datasets(name="once", limit=1)[0].id
    assert umbel.upload(LOGITS, "logits", name="once", dedupe=True).id == newest
    monkeypatch.setattr(encodings, "PART_BYTES", 400)
    assert umbel.upload(LOGITS, "logits", name="once", dedupe=True).id == newest
    assert umbel.upload(LOGITS, "logits", name="twice", dedupe=True).id != newest


def test_trees_of_a_comparison_are_kept(umbel: Umbel) -> None:
    table = umbel.compare(["hac", "kmeans"], features=FEATURES, labels=TRUE, keep_trees=True).rows()
    for row in table:
        tree = umbel.tree(row["tree"])
        assert (tree.facts.method, tree.n_points) == (row["method"], 30)
    assert umbel.comparisons(status="succeeded", limit=1)[0].rows() == table
