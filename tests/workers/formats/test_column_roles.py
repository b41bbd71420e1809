"""What each column of a table is taken as."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from models.errors import UsageError
from workers.formats.catalogue import inspect
from workers.formats.column_roles import Choice, Column, Seen, propose, warnings
from workers.work.sources import Source, looked_at, values_of

AB = (Seen("a", "number"), Seen("b", "number"))


def roles(*seen: Seen, choice: Choice | None = None) -> dict[str, str | None]:
    columns = propose(seen, choice) if choice else propose(seen)
    assert [column.name for column in columns] == [each.name for each in seen]
    return {column.name: column.role for column in columns}


@pytest.mark.parametrize(
    "name",
    [
        *("", "Unnamed: 0", "unnamed: 12", "__index_level_0__", "index", "level_0", "Index", "row"),
        *("rownames", "row_id", "id", "ID", "customer_id", "uuid", "Id", "sampleId", "barcode"),
    ],
)
def test_a_saved_index_and_ids_are_no_features(name: str) -> None:
    found = roles(Seen(name, "integer", differ=True), *AB)
    assert found == {name: "id", "a": "feature", "b": "feature"}
    columns = propose([Seen(name, "integer", differ=True), *AB])
    (note,) = warnings(columns)
    assert repr(name) in note
    assert "ids of the rows" in note


@pytest.mark.parametrize("name", ["row", "index", "key", "id"])
def test_numbers_that_repeat_are_no_ids(name: str) -> None:
    assert roles(Seen(name, "integer"), *AB)[name] == "feature"


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "Unnamed: 0.1", "__index_level_0__"])
def test_a_saved_index_is_never_a_feature(name: str) -> None:
    assert roles(Seen(name, "integer"), *AB)[name] is None
    assert roles(Seen(name, "number", differ=True), *AB)[name] is None


def test_a_declared_index_is_the_ids() -> None:
    assert roles(*AB, Seen("gene", "text", differ=True, index=True))["gene"] == "id"


@pytest.mark.parametrize(
    "name",
    ["label", "labels", "class", "target", "Species", "category", "true_label", "y_true"],
)
@pytest.mark.parametrize("kind", ["text", "integer"])
def test_labels(name: str, kind: str) -> None:
    seen = Seen(name, kind)  # type: ignore[arg-type]
    assert roles(*AB, seen)[name] == "label"
    assert "the labels" in warnings(propose([*AB, seen]))[0]


@pytest.mark.parametrize("name", ["x", "y", "z", "width", "weight", "group", "n_classes"])
def test_numbers_are_features(name: str) -> None:
    columns = propose([*AB, Seen(name, "integer", differ=True), Seen("t", "boolean")])
    assert {column.role for column in columns} == {"feature"}
    assert warnings(columns) == ()


def test_texts_dates_and_others_are_left_out_and_named() -> None:
    seen = [
        *AB,
        Seen("when", "date", differ=True),
        Seen("colour", "text", length=4),
        Seen("review", "text", length=12),
        Seen("essay", "text", length=400),
        Seen("image", "other"),
        Seen("sample_weight", "number"),
    ]
    found = roles(*seen)
    assert found["review"] == "text"
    assert found["sample_weight"] == "weight"
    assert [found[name] for name in ("when", "colour", "essay", "image")] == [None] * 4
    (note,) = warnings(propose(seen))
    for each in seen[2:]:
        assert repr(each.name) in note


@pytest.mark.parametrize(
    ("first", "second", "role"),
    [
        (Seen("species", "text"), Seen("target", "integer"), "label"),
        (Seen("cell_type", "text"), Seen("leiden", "integer"), "label"),
        (Seen("label", "integer"), Seen("class", "integer"), "label"),
        (Seen("id", "integer", differ=True), Seen("customer_id", "integer", differ=True), "id"),
        (Seen("name", "text", differ=True), Seen("", "integer", differ=True), "id"),
        (Seen("gene", "text", differ=True, index=True), Seen("id", "text", differ=True), "id"),
        (Seen("run id", "text", differ=True), Seen("Name", "text", differ=True), "id"),
    ],
)
def test_one_of_several_is_taken_and_the_others_are_no_features(
    first: Seen, second: Seen, role: str
) -> None:
    for order in ((first, *AB, second), (second, *AB, first)):
        assert roles(*order) == {first.name: role, "a": "feature", "b": "feature"} | {
            second.name: None
        }
        (note,) = warnings(propose(order))
        assert repr(second.name) in note


@pytest.mark.parametrize("name", ["leiden", "louvain", "seurat_clusters", "Topic", "cell_type"])
def test_clusters_of_other_tools_are_labels(name: str) -> None:
    assert roles(*AB, Seen(name, "integer"))[name] == "label"


def test_a_label_beside_a_chosen_one_is_no_feature() -> None:
    found = roles(*AB, Seen("label", "integer"), choice=Choice(label="a"))
    assert found == {"a": "label", "b": "feature", "label": None}


def test_the_ranks_of_a_lineage_are_left_out() -> None:
    ranks = ["kingdom", "phylum", "class", "order", "family", "genus", "species"]
    seen = [*AB, *(Seen(rank, "text", differ=rank == "species") for rank in ranks)]
    assert [roles(*seen)[rank] for rank in ranks] == [None] * 7
    assert "'species'" in warnings(propose(seen))[0]
    assert roles(*AB, Seen("class", "text"), Seen("species", "text"))["class"] == "label"


def test_a_column_of_vectors_is_the_features() -> None:
    found = roles(Seen("embedding", "vector"), *AB, Seen("text", "text", length=90))
    assert found == {"embedding": "feature", "a": None, "b": None, "text": "text"}


def test_a_text_that_differs_is_the_ids_where_nothing_else_is() -> None:
    gene = Seen("gene", "text", differ=True, length=6)
    assert roles(gene, *AB)["gene"] == "id"
    assert roles(gene, Seen("id", "integer", differ=True), *AB)["gene"] is None
    assert roles(Seen("gene", "text", differ=False, length=6), *AB)["gene"] is None


def test_what_is_chosen_stays() -> None:
    seen = [Seen("id", "integer", differ=True), *AB, Seen("label", "integer")]
    chosen = Choice(features=("b", "id"))
    assert roles(*seen, choice=chosen) == {
        "id": "feature",
        "a": None,
        "b": "feature",
        "label": None,
    }
    assert warnings(propose(seen, chosen), chosen) == ()
    chosen = Choice(label="a", id="label")
    assert roles(*seen, choice=chosen) == {
        "id": "feature",
        "a": "label",
        "b": "feature",
        "label": "id",
    }
    assert roles(*seen, choice=Choice(features=("a,b",)))["b"] == "feature"


def test_roles_do_not_depend_on_the_order_of_columns() -> None:
    seen = [Seen("id", "text", differ=True), *AB, Seen("label", "text"), Seen("text", "text")]
    first = roles(*seen)
    for order in itertools.permutations(seen):
        assert roles(*order) == first


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (Choice(features=("A",)), ["'A'", "'a' is written otherwise"]),
        (Choice(features=("widht",)), ["'widht'", "Did you mean 'width'"]),
        (Choice(features=("a", "a")), ["chosen twice"]),
        (Choice(features=("a",), id="a"), ["chosen twice", "as id and as feature"]),
        (Choice(features=("word",)), ["'word'", "holds text"]),
        (Choice(label="nothing"), ["no column 'nothing'", "'a'", "'word'"]),
    ],
)
def test_a_wrong_choice_is_refused_by_name(choice: Choice, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        propose([*AB, Seen("width", "number"), Seen("word", "text")], choice)
    for word in words:
        assert word in caught.value.detail


def test_columns_are_kept_as_json() -> None:
    column = Column(name="a", type="number", role="feature")
    assert Column.model_validate_json(column.model_dump_json()) == column


def test_a_job_before_the_inspection_reads_the_table_alike(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("id;label;x;y\na1;p;1,5;2\nb2;q;3,5;4\nc3;p;2,5;12%\n".replace("12%", "7"))
    facts = inspect("csv", path, None, role="features")
    later = Source(role="features", kind="dataset", path=path, format="csv", inspected=False)
    found = looked_at(later)
    assert found.columns == facts.columns
    assert found.warnings == facts.warnings
    labels = looked_at(later.model_copy(update={"role": "labels"}))
    assert values_of([labels])["labels"].tolist() == ["p", "q", "p"]  # type: ignore[union-attr]
    assert labels.warnings == ()
    known = later.model_copy(update={"inspected": True})
    assert looked_at(known) is known


def test_a_column_that_may_be_weights_is_a_feature_with_a_warning() -> None:
    seen = [*AB, Seen("weights", "number")]
    columns = propose(seen)
    assert columns[2].role == "feature"
    (note,) = warnings(columns, Choice(), seen)
    assert "'weights'" in note
    assert "?weight_column=" in note


@pytest.mark.parametrize("name", ["sample_weight", "pweight", "Survey Weight", "sampling_weights"])
def test_weights_by_their_name(name: str) -> None:
    assert roles(*AB, Seen(name, "number"))[name] == "weight"


def test_weights_are_named_among_what_is_no_feature() -> None:
    seen = [*AB, Seen("sample_weight", "number")]
    columns = propose(seen)
    assert columns[2].role == "weight"
    (note,) = warnings(columns, Choice(), seen)
    assert "'sample_weight' is taken as the weights of the rows" in note
