"""Small tables as real tools export them, each with what is right."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Real:
    """A file, and what is right.

    ending : of its name. features : the names of the columns in order. values : the matrix. ids,
    labels : None where the table has none. words : what each of the warnings together must name.
    refusal : parts of the sentence that refuses it; nothing else counts then. gap : parts of the
        warning of an empty cell.
    """

    name: str
    ending: str
    content: bytes
    features: tuple[str, ...] = ()
    values: tuple[tuple[float, ...], ...] = ()
    ids: tuple[str, ...] | None = None
    labels: tuple[str | int, ...] | None = None
    words: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    gap: tuple[str, ...] = ()

    @property
    def format(self) -> str:
        """The format as the service names it."""
        return {"tsv": "csv", "txt": "csv"}.get(self.ending, self.ending)


IRIS = pd.DataFrame(
    {"width": [1.5, 2.0, 9.25], "height": [3, 4, 6], "species": ["cat", "cat", "dog"]},
    index=["r1", "r2", "r3"],
)
_OF_IRIS = ("width", "height")
_VALUES = ((1.5, 3.0), (2.0, 4.0), (9.25, 6.0))
_IDS, _LABELS = ("r1", "r2", "r3"), ("cat", "cat", "dog")


def _iris(name: str, ending: str, content: str | bytes, *, ids: bool = True) -> Real:
    own = content.encode() if isinstance(content, str) else content
    words = ("'species'",)
    return Real(name, ending, own, _OF_IRIS, _VALUES, _IDS if ids else None, _LABELS, words)


def _pandas() -> list[Real]:
    counted = IRIS.reset_index(drop=True)
    parquet = io.BytesIO()
    IRIS.to_parquet(parquet)
    return [
        _iris("pandas to_csv", "csv", IRIS.to_csv()),
        _iris("pandas to_csv index=False", "csv", IRIS.to_csv(index=False), ids=False),
        Real(
            *("pandas to_csv of a counted index", "csv", counted.to_csv().encode()),
            *(_OF_IRIS, _VALUES, ("0", "1", "2"), _LABELS, ("''", "'species'")),
        ),
        _iris("pandas to_csv sep=tab", "tsv", IRIS.to_csv(sep="\t")),
        _iris("pandas to_parquet", "parquet", parquet.getvalue()),
        *(
            _iris(f"pandas to_json {orient}", "json", IRIS.to_json(orient=orient))
            for orient in ("split", "index", "columns", "table")
        ),
        _iris("pandas to_json records", "json", IRIS.to_json(orient="records"), ids=False),
        _iris(
            "pandas to_json lines", "jsonl", IRIS.to_json(orient="records", lines=True), ids=False
        ),
        Real(
            *("pandas to_json values", "json", IRIS.to_json(orient="values").encode()),
            refusal=("row 0, column 2", "'cat'"),
        ),
    ]


def _r() -> list[Real]:
    quoted = '"{}"{m}1{d}5{m}3{m}"cat"\n"{}"{m}2{m}4{m}"cat"\n"{}"{m}9{d}25{m}6{m}"dog"\n'
    header = '"width"{m}"height"{m}"species"\n'
    return [
        _iris(
            "R write.csv", "csv", '"",' + header.format(m=",") + quoted.format(*_IDS, m=",", d=".")
        ),
        _iris(
            *("R write.csv2", "csv"),
            '"";' + header.format(m=";") + quoted.format(*_IDS, m=";", d=","),
        ),
        _iris("R write.table", "txt", header.format(m=" ") + quoted.format(*_IDS, m=" ", d=".")),
        _iris(
            *("R write.table sep=tab quote=FALSE", "tsv"),
            (header.format(m="\t") + quoted.format(*_IDS, m="\t", d=".")).replace('"', ""),
        ),
    ]


def _excel() -> list[Real]:
    text = "Käufer;Umsatz;Anteil;Art\r\nÄnne;1.234,5;5 %;cat\r\nBob;2,5;10 %;dog\r\n"
    of_text = (
        *(("Umsatz", "Anteil"), ((1234.5, 0.05), (2.5, 0.1)), ("Änne", "Bob"), None),
        ("'Anteil'", "'Art'"),
    )
    book, titled, sink, other = openpyxl.Workbook(), openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in (
        ["name", "day", "n", "x"],
        ["a", dt.date(2024, 1, 1), 1, 0.5],
        ["b", dt.date(2024, 1, 2), 2, 1.5],
    ):
        book.active.append(row)
    book.create_sheet("notes").append(["nothing"])
    book.save(sink)
    for row in (["Sales of 2024", None, None], ["name", "n", "x"], ["a", 1, 0.5]):
        titled.active.append(row)
    titled.save(other)
    return [
        Real("Excel UTF-8 with BOM", "csv", text.encode("utf-8-sig"), *of_text),
        Real("Excel Windows-1252", "csv", text.encode("cp1252"), *of_text),
        Real("Excel with sep=", "csv", ("sep=;\r\n" + text).encode(), *of_text),
        Real(
            *("Excel .xlsx", "xlsx", sink.getvalue()),
            *(("n", "x"), ((1.0, 0.5), (2.0, 1.5)), ("a", "b"), None, ("'day'", "'notes'")),
        ),
        Real(
            *("Excel .xlsx below a title", "xlsx", other.getvalue()),
            refusal=("line 1 of the sheet", "column 1", "Remove titles"),
        ),
    ]


def _tools() -> list[Real]:
    cells = ",n_genes,pct_counts_mt,leiden\nAAAC-1,1200,0.5,0\nAAAG-1,900,0.25,1\nAATC-1,200,0,0\n"
    topics = (
        "Topic,Count,Name,Representation,Representative_Docs\n"
        "-1,10,-1_the_of,\"['the', 'of']\",\"['one longer document of many words', 'another']\"\n"
        "0,7,0_cat_dog,\"['cat', 'dog']\",\"['one more document of so many words', 'another']\"\n"
    )
    runs = (
        "Start Time,Duration,Run ID,Name,Status,params.lr,params.depth,metrics.acc\n"
        "2024-01-01 10:00:00,3.2s,0a1b2c,bold-cat-1,FINISHED,0.1,3,0.9\n"
        "2024-01-01 10:05:00,3.4s,1a1b2c,calm-dog-2,FINISHED,0.01,4,{}\n"
    )
    lineage = (
        "id,latitude,kingdom,phylum,class,order,family,genus,species\n"
        "17,1.5,Animalia,Chordata,Aves,Passeriformes,Paridae,Parus,Parus major\n"
        "18,2.5,Animalia,Chordata,Aves,Passeriformes,Paridae,Periparus,Periparus ater\n"
    )
    survey = 'ResponseId,age,smoker,agree,income\nR_1,34,yes,80%,"1,200"\nR_2,{},no,75%,900\n'
    vectors = io.BytesIO()
    pq.write_table(
        pa.table(
            {
                "id": ["a", "b"],
                "text": ["cats sleep", "dogs run"],
                "embedding": pa.array([[1.0, 2.0], [3.0, 4.5]], pa.list_(pa.float32())),
            }
        ).replace_schema_metadata({b"huggingface": b'{"info": {"features": {}}}'}),
        vectors,
    )
    lines = [
        {"id": "a", "text": "cats sleep", "embedding": [1.0, 2.0]},
        {"id": "b", "text": "dogs run", "embedding": [3.0, 4.5]},
    ]
    of_vectors = (("embedding",), ((1.0, 2.0), (3.0, 4.5)), ("a", "b"), None, ("'text'",))
    ranks = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
    return [
        Real(
            *("scanpy obs.csv", "csv", cells.encode(), ("n_genes", "pct_counts_mt")),
            ((1200.0, 0.5), (900.0, 0.25), (200.0, 0.0)),
            *(("AAAC-1", "AAAG-1", "AATC-1"), (0, 1, 0), ("''", "'leiden'")),
        ),
        Real(
            *("BERTopic get_topic_info", "csv", topics.encode(), ("Count",), ((10.0,), (7.0,))),
            *(("-1_the_of", "0_cat_dog"), (-1, 0)),
            ("'Topic'", "'Representation'", "'Representative_Docs'"),
        ),
        Real(
            *("MLflow runs.csv", "csv", runs.format("0.8").encode()),
            ("params.lr", "params.depth", "metrics.acc"),
            ((0.1, 3.0, 0.9), (0.01, 4.0, 0.8)),
            *(("0a1b2c", "1a1b2c"), None, ("'Start Time'", "'Duration'", "'Name'", "'Status'")),
        ),
        Real(
            *("MLflow runs.csv with a blank", "csv", runs.format("").encode()),
            gap=("row 1", "'metrics.acc'", "line 3"),
        ),
        Real(
            *("iNaturalist lineage", "csv", lineage.encode(), ("latitude",), ((1.5,), (2.5,))),
            *(("17", "18"), None, tuple(f"'{rank}'" for rank in ranks)),
        ),
        Real(
            *("survey", "csv", survey.format(45).encode(), ("age", "smoker", "agree", "income")),
            ((34.0, 1.0, 0.8, 1200.0), (45.0, 0.0, 0.75, 900.0)),
            *(("R_1", "R_2"), None, ("'smoker'", "'agree'", "1,234")),
        ),
        Real(
            *("survey with a gap", "csv", survey.format("").encode()),
            gap=("row 1", "'age'", "line 3"),
        ),
        Real("embeddings of datasets", "parquet", vectors.getvalue(), *of_vectors),
        Real(
            *("embeddings in lines", "jsonl"),
            "".join(json.dumps(line) + "\n" for line in lines).encode(),
            *of_vectors,
        ),
    ]


_ALL = (*_pandas(), *_r(), *_excel(), *_tools())
TABLES = {real.name: real for real in _ALL if not real.gap}
GAPS = {real.name: real for real in _ALL if real.gap}
"""Tables with an empty cell among their features."""


def permuted(frame: pd.DataFrame, order: list[int]) -> pd.DataFrame:
    """The frame with its columns in another order."""
    return frame[[frame.columns[at] for at in order]]


WRITERS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    "csv": lambda frame: frame.to_csv(index=False).encode(),
    "json": lambda frame: frame.to_json(orient="records").encode(),
    "jsonl": lambda frame: frame.to_json(orient="records", lines=True).encode(),
    "parquet": lambda frame: frame.to_parquet(index=False),
}
"""How a frame without its index becomes a file of a format."""


def frame_of(n_rows: int, seed: int) -> pd.DataFrame:
    """A table with columns of every kind, of numbers that are exact in float64."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"r{row}" for row in range(n_rows)],
            "customer_id": rng.permutation(n_rows) + 100,
            "alias": [f"a{row}" for row in rng.permutation(n_rows)],
            "width": rng.integers(0, 9, n_rows) / 2,
            "height": rng.integers(0, 9, n_rows) / 4,
            "species": rng.choice(["cat", "dog"], n_rows),
            "target": rng.integers(0, 2, n_rows),
            "born": [f"2020-01-{1 + row % 28:02d}" for row in range(n_rows)],
            "depth": rng.integers(0, 90, n_rows) / 8,
        }
    )
