"""The Python client on parts of a tree and on what is made of it, with both clients."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.conftest import Service
from umbel_client import AsyncUmbel, InputError, Tree, Umbel
from umbel_client import problems as refusals

RNG = np.random.default_rng(2)
TRUE = np.repeat([0, 1, 2], 10)
FEATURES = RNG.normal(size=(30, 4)) + 8 * TRUE[:, None]
NAMES = ["ant", "bee", "cat"]


@pytest.fixture(scope="module")
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


@pytest.fixture(scope="module")
def points(umbel: Umbel) -> Tree:
    """A tree over rows, of three clusters far apart."""
    return umbel.run("hac", features=FEATURES, linkage="ward")


@pytest.fixture(scope="module")
def plants(umbel: Umbel) -> Tree:
    # plant 0: (flower 1: rose 2, tulip 3), oak 4
    return umbel.import_tree("((rose:1,tulip:1)flower:1,oak:2)plant;")


def clusters_of(tree: Tree) -> dict[int, int]:
    """The node of each true class."""
    cluster = tree.assignments(k=3)
    nodes = {each.id: each.node for each in tree.cut(k=3).clusters}
    return {label: nodes[int(cluster[label == TRUE][0])] for label in range(3)}


def test_nodes_and_points(plants: Tree, points: Tree) -> None:
    flower = plants.node(1)
    assert (flower["name"], [each["name"] for each in flower["child_nodes"]]) == (
        "flower",
        ["rose", "tulip"],
    )
    assert [each["name"] for each in plants.search("o", limit=2)] == ["oak", "flower"]
    edition = plants.edit()
    edition.rename(4, "oak tree")
    assert plants.search("tree", edition=edition)[0]["node"] == 4
    assert plants.search("tree") == []
    assert plants.place(2)["name"] == "oak"
    assert [node["name"] for node in plants.view(root=1)["nodes"]] == ["flower", "rose", "tulip"]
    nodes = clusters_of(points)
    members = points.members(nodes[1])
    assert sorted(each["row"] for each in members) == [*range(10, 20)]
    assert len(points.members(0, limit=7)) == 7
    counts = points.node(nodes[1], labels=[NAMES[each] for each in TRUE])["labels"]
    assert [(each["label"], each["count"]) for each in counts["mix"]] == [("bee", 10)]


def test_two_trees_side_by_side(umbel: Umbel, plants: Tree) -> None:
    assert plants.tangle(plants)["entanglement"] == 0
    other = umbel.import_tree("((rose,oak),tulip);")
    assert len(plants.tangle(other.id)["links"]) == 3
    assert plants.content("/tangle.svg", other=other).startswith(b"<svg")
    agreed = umbel.consensus([plants, other], rule="extended")
    assert sorted(agreed.agreement(0)["having"]) == sorted([plants.id, other.id])


def test_what_is_known_becomes_labels(points: Tree, umbel: Umbel) -> None:
    nodes = clusters_of(points)
    known = {"known": nodes[0], "name": "ants"}
    labels = points.label([known, {"known": nodes[2], "name": "cats"}], name="known ones")
    assert labels.body["role"] == "labels"
    assert labels.statements()["tree"] == points.id
    assert labels.statements()["statements"][0]["name"] == "ants"
    assert [each.id for each in umbel.datasets(words="known ones")] == [labels.id]
    inside = points.node(nodes[0])["children"][0]
    with pytest.raises(refusals.Contradiction):
        points.label([known, {"known": inside, "name": "bees"}])


def test_items_by_condition(points: Tree, umbel: Umbel) -> None:
    table = {"class": [NAMES[each] for each in TRUE], "n": [*range(30)]}
    made = points.attach(table, name="things")
    attachment = umbel.attachment(made.id)
    assert attachment.columns == made.columns
    nodes = clusters_of(points)
    matches = {each["node"]: each for each in attachment.matches("class", equals="cat")}
    assert (matches[nodes[2]]["n_matches"], matches[nodes[2]]["n"]) == (10, 10)
    assert matches[nodes[0]]["n_matches"] == 0
    low = {each["node"]: each["n_matches"] for each in attachment.matches(1, low=5, high=11)}
    assert (low[nodes[0]], low[nodes[1]]) == (5, 2)
    means = {each["node"]: each["value"] for each in attachment.values("n")}
    assert means[nodes[1]] == pytest.approx(14.5)
    assert attachment.item(12)["values"] == {"class": "bee", "n": 12}
    assert attachment.examples(nodes[1], n=2) == points.examples(nodes[1], n=2, attachment=made)
    assert [each.id for each in points.attachments()] == [made.id]
    assert made.id in {each.id for each in umbel.attachments(name="things")}
    with pytest.raises(InputError, match="'colour'; its columns are 'class', 'n'"):
        attachment.values("colour")
    with pytest.raises(InputError, match="read it by its id"):
        points.attachments()[0].values("n")


def test_maps_are_read_again(points: Tree, umbel: Umbel, tmp_path: Path) -> None:
    positions = points.map(name="plane of parts")
    points.lay_out(seed=1, name="other").delete()
    (found,) = umbel.maps(name="plane of parts")
    assert [each.id for each in points.maps()] == [found.id]
    plane = umbel.map(found.id)
    assert repr(plane) == f"<Map {plane.id}: 30 points by pca>"
    np.testing.assert_array_equal(plane.positions(), positions)
    by_leaf = plane.positions("leaves")
    np.testing.assert_array_equal(np.sort(by_leaf, axis=0), np.sort(positions, axis=0))
    own = positions[TRUE == 2]
    low, high = own.min(axis=0) - 1, own.max(axis=0) + 1
    corners = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
    selected = plane.select(corners, limit=1)
    assert selected["n_points"] == 10
    assert selected["items"][0]["node"] == clusters_of(points)[2]
    plane.save(tmp_path / "plane.svg", color_by="cluster:3", width_mm=85)
    assert 'width="85mm"' in (tmp_path / "plane.svg").read_text()
    plane.save(tmp_path / "plane.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "plane.npy"), positions)


def test_what_is_made_of_a_tree_is_described_saved_and_removed(
    points: Tree, umbel: Umbel, tmp_path: Path
) -> None:
    heatmap = points.heatmap(cut={"k": 3}, name="three")
    heatmap.update(description="for the paper", tags=["paper"])
    assert (heatmap.name, heatmap.description, heatmap.tags) == (
        "three",
        "for the paper",
        ("paper",),
    )
    again = umbel.heatmap(heatmap.id)
    assert (again.description, again.tags, again.status) == (
        "for the paper",
        ("paper",),
        "succeeded",
    )
    assert [each.id for each in umbel.heatmaps(words="PAPER")] == [heatmap.id]
    assert heatmap.id in {each.id for each in points.heatmaps()}
    heatmap.save(tmp_path / "matrix.png", px=300)
    assert (tmp_path / "matrix.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(refusals.ProblemError):
        heatmap.save(tmp_path / "matrix.xlsx")
    assert not (tmp_path / "matrix.xlsx").exists()
    heatmap.delete()
    with pytest.raises(refusals.NotFound):
        umbel.heatmap(heatmap.id)
    naming = points.name_nodes("labels", labels=[NAMES[each] for each in TRUE])
    naming.save(tmp_path / "names.csv")
    assert (tmp_path / "names.csv").read_text().startswith("node,")
    points.save(tmp_path / "named.nwk", names=naming)
    assert "cat" in (tmp_path / "named.nwk").read_text()
    table = umbel.compare(["hac"], features=FEATURES, labels=TRUE, metrics=["nmi"])
    table.save(tmp_path / "table.csv")
    assert "nmi" in (tmp_path / "table.csv").read_text()
    table.update(tags=["paper"])
    assert umbel.comparison(table.id).tags == ("paper",)


def test_every_node_of_an_evaluation(points: Tree) -> None:
    evaluation = points.evaluate(TRUE, per_node=True)
    purity = {each["node"]: each["purity"] for each in evaluation.nodes}
    assert purity[0] == pytest.approx(1 / 3)
    assert all(purity[node] == 1 for node in clusters_of(points).values())
    assert points.evaluate(TRUE).nodes == []


def test_a_reader_of_a_link(plants: Tree, umbel: Umbel) -> None:
    edition = plants.edit()
    edition.rename(0, "all")
    share = plants.share(edition=edition)
    assert share.url is not None
    assert umbel.share(share.id).body["edition"] == edition.id
    with Umbel(umbel.url, share.url.partition("#")[2]) as reader:
        shown = reader.shared()
        tree = shown["tree"], shown["edition"]
        assert tree == (plants.id, edition.id)
        with pytest.raises(refusals.ProblemError):
            reader.trees()
    with pytest.raises(refusals.NotFound):
        umbel.shared()
    plants.revoke(share)


def test_an_edition_that_somebody_else_changed(plants: Tree, umbel: Umbel) -> None:
    edition = plants.edit("mine")
    umbel.edition(edition.id).rename(1, "theirs")
    with pytest.raises(refusals.PreconditionFailed, match="changed") as caught:
        edition.rename(1, "mine")
    assert caught.value.status == 412
    edition.refresh()
    edition.rename(1, "mine")
    assert "mine" in plants.newick(edition=edition)


def test_a_drawing_of_ones_own(umbel: Umbel) -> None:
    items = [{"kind": "text", "x": 10, "y": 50, "text": "rose", "size": 12, "colour": "#000000"}]
    drawn = umbel.figure(items, width=100, height=60, width_mm=50, form="png")
    assert drawn.startswith(b"\x89PNG")


@pytest.mark.needs("typst")
def test_a_drawing_of_ones_own_as_pdf(umbel: Umbel) -> None:
    drawn = umbel.figure([], width=100, height=60, width_mm=50, form="pdf")
    assert drawn.startswith(b"%PDF")


def test_the_same_with_asyncio(service: Service, points: Tree, tmp_path: Path) -> None:
    async def used() -> None:
        async with AsyncUmbel(service.url) as umbel:
            tree = await umbel.tree(points.id)
            assert [each["id"] for each in await tree.search("", limit=0)] == []
            heatmap = await tree.heatmap(cut={"k": 3})
            await heatmap.update(tags=["async"])
            assert heatmap.tags == ("async",)
            await heatmap.save(tmp_path / "matrix.svg")
            attachment = await tree.attach({"n": TRUE})
            assert (await attachment.item(3))["values"] == {"n": 0}
            assert len(await attachment.values("n")) == len(points.nodes())
            plane = await tree.lay_out("pca", name="by asyncio")
            assert (await plane.positions()).shape == (30, 2)
            edition = await tree.edit()
            await edition.note(0, "all of them")
            assert (await tree.nodes(edition=edition))[0]["note"] == "all of them"
            await heatmap.delete()

    asyncio.run(used())
    assert (tmp_path / "matrix.svg").read_text().startswith("<svg")
