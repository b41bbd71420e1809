"""Which column of a table is what: features, ids, labels, texts, weights, or none of these.

`propose` reads the names and what was seen of each column, and takes what the uploader chose. The
rules, in this order:

- What was chosen stays. If features were chosen, no other column is one.
- A column of vectors is the features, where there is one; numbers beside it are not.
- The index that pandas, R or Excel saved is the ids: a declared index, a column without a name,
  `Unnamed: 0`, `index` and the like, if the values differ. So is a column called `id`, `key` or
  `uuid`, alone or after a mark (`customer_id`), if its values are texts or integers that differ,
  and one called `X`, `n`, `obs` and the like that counts the rows from 0 or 1.
- `label`, `class`, `target`, `species` and the like are the labels, if they are texts, or integers
  under a name that says so; so are clusters under the names that tools give them (`leiden`,
  `Topic`). The ranks of a lineage (`kingdom` to `species`), three or more, are not.
- Where several columns could be the same, texts come before numbers, then a declared index, then
  `id`, `label` and the names of texts, then `run_id` and the like, then the first in the alphabet:
  the order of the table does not count. The others are nothing, and no features.
- `text`, `document`, `review` and the like, and texts of more than 40 characters in the mean, are
  the texts; `sample_weight` is the weights.
- Other numbers and truths are features. The first text column whose values all differ, and are no
  numbers with units, is the ids, where no other is. What remains is nothing.

Nothing of it is silent: `warnings` names what is not among the features.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from models.errors import UsageError, listed, shown
from workers.formats.csv_dialect import AS_FOUND, Written
from workers.formats.quantities import are_quantities
from workers.formats.tables import is_written_number

Kind: TypeAlias = Literal["number", "integer", "boolean", "text", "date", "vector", "other"]
ColumnRole: TypeAlias = Literal["feature", "id", "label", "text", "weight"]

COLUMN_OF: dict[str, ColumnRole] = {
    "labels": "label",
    "names": "id",
    "documents": "text",
    "sample_weight": "weight",
}
"""The column that is the value of an input which takes one, where a table has several."""
NUMERIC = frozenset({"number", "integer", "boolean"})
LONG_TEXT = 40
"""Mean length in characters from which on a column of text is one of texts."""

_EXAMPLES, _EXAMPLE = 3, 40
_MOST_NAMED = 50
_SAVED = re.compile(r"|unnamed: ?\d+(_level_\d+)?(\.\d+)*|__index_level_\d+__", re.IGNORECASE)
_INDEX = re.compile(
    r"index(\.\d+)?|level_\d|row|rowid|rownames?|row[ _.](id|number|names?)|obs_names?",
    re.IGNORECASE,
)
_ID = re.compile(r"(.*[ _.\-])?(id|ids|uuid|guid|key|barcode)|.*[a-z](Id|ID)", re.ASCII)
_KEY = re.compile("id|uuid|guid|key|barcode", re.IGNORECASE)
_COUNTER = re.compile(
    r"#|i|n|x|v1|x1|\.\.\.1|no\.?|nr\.?|num(ber)?|rn|idx|ix|pos(ition)?|obs(ervation)?|samples?|cells?"
    r"|case|column ?1|field ?1",
    re.IGNORECASE,
)
"""Names of a column that counts the rows: R's, Excel's, and those that people give."""
_NAME = re.compile(r"(.*[ _.\-])?(name|title)", re.IGNORECASE)
_LABEL = re.compile(
    r"(true[ _.]?)?(labels?|class|classes|targets?|category|categories|species|ground[ _.]?truth"
    r"|y_true|diagnosis|clusters?|(seurat|leiden|louvain)([ _.]clusters?)?|cell[ _.]?type|topic)",
    re.IGNORECASE,
)
_RANK = re.compile(r"(.*[ _.\-])?rank(s|ing)?([ _.\-].*)?", re.IGNORECASE)
_PADDED = re.compile(r"\s*0\d", re.ASCII)
"""A number that begins as codes do: of postal areas, of products."""
_BRACKETS = re.compile(
    r"\s*(?:array|tensor)?[\[({]+\s*(?:(?:np\.\w+|tensor)\()?\s*[-+]?\.?\d", re.ASCII
)
_RANKS = frozenset(
    {"domain", "superkingdom", "kingdom", "phylum", "division", "class", "order", "family"}
    | {"subfamily", "tribe", "genus", "species", "subspecies"}
)
_FEWEST_RANKS = 3
_TEXT = re.compile(
    r"texts?|documents?|docs?|sentences?|reviews?|abstracts?|content|body|description|message|tweet",
    re.IGNORECASE,
)
_PLURAL: dict[Kind, str] = {
    "number": "numbers",
    "integer": "integers",
    "boolean": "truths",
    "text": "texts",
    "date": "dates",
    "vector": "vectors",
    "other": "other types",
}
_WEIGHTS = "the weights of the rows, which methods with the input 'sample_weight' use"
_WEIGHT = re.compile(
    r"(sampl(e|ing)|case|row|survey|design|observation|instance|frequency|freq|probability|prob"
    r"|[fp])[ _.]?(weights?|wts?)",
    re.IGNORECASE,
)
_MAYBE_WEIGHT = re.compile("weights|wts", re.IGNORECASE)


class Column(BaseModel):
    """A column of a table, and what it is used as; None: as nothing. examples : its first values as
    written, shortened."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: Kind
    role: ColumnRole | None = None
    examples: tuple[str, ...] = ()


class Choice(BaseModel):
    """What the uploader says of a table: the chosen columns by name, empty or None where nothing
    was chosen, and how a CSV file is written."""

    model_config = ConfigDict(frozen=True)

    features: tuple[str, ...] = ()
    id: str | None = None
    label: str | None = None
    text: str | None = None
    weight: str | None = None
    csv: Written = AS_FOUND

    def __bool__(self) -> bool:
        return bool(self.features) or any((self.id, self.label, self.text, self.weight))

    def singles(self) -> dict[str, ColumnRole]:
        """The chosen columns but the features, with their roles."""
        own: tuple[tuple[str | None, ColumnRole], ...] = (
            (self.id, "id"),
            (self.label, "label"),
            (self.text, "text"),
            (self.weight, "weight"),
        )
        return {name: role for name, role in own if name is not None}


UNCHOSEN = Choice()


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a column.

    differ : whether no two values that were seen are the same. length : mean length of its texts,
    in characters. index : whether the file declares it as the index of its rows. examples : its
    first values. whole : whether its numbers are integers, though they may be written with
    decimals. counts : whether they are 0, 1, 2, ... or 1, 2, 3, ... from row to row. twice : the
    first two rows of one value. beside : whether it stands beside a matrix of features, and is none
    unless it is chosen. padded : the first of its integers that is written with zeros before it.
    shuffled : whether they are these in another order. day : the first of its integers, if all are
    days written as 20200131. spoilt : the row and the first word among texts that are numbers for
    the most part.
    """

    name: str
    kind: Kind
    differ: bool = False
    length: float = 0.0
    index: bool = False
    examples: tuple[str, ...] = ()
    whole: bool = False
    counts: bool = False
    twice: tuple[int, int] | None = None
    beside: bool = False
    padded: str | None = None
    shuffled: bool = False
    day: str | None = None
    spoilt: tuple[int, str] | None = None


def propose(seen: Sequence[Seen], choice: Choice = UNCHOSEN) -> tuple[Column, ...]:
    """The columns with their roles.

    Raises UsageError `wrong-input` for a chosen column that the table does not have, naming those
    that it has and a near one, for one that is chosen twice, and for features that are not numbers.
    """
    role_of = _chosen(seen, choice)
    free = [each for each in seen if each.name not in role_of]
    taken = set(role_of.values())
    if not choice.features:
        vectors = [each for each in free if each.kind == "vector"]
        if vectors:
            role_of[min(vectors, key=_rank).name] = "feature"
        ranks = _ranks(seen)
        apart: set[str] = set()
        for role, test in (("id", _is_id), ("label", _is_label), ("text", _is_text)):
            could = [
                each
                for each in free
                if each.name not in role_of and each.name not in ranks and test(each)
            ]
            if role not in taken and could:
                role_of[min(could, key=_rank).name] = role  # type: ignore[assignment]
            if role not in taken or role == "label":
                apart.update(each.name for each in could)
        # Groups of rows, such as customers, are no quantities either.
        apart.update(each.name for each in free if each.whole and is_id_name(each.name))
        for each in sorted(free, key=_rank):
            if each.name in role_of:
                continue
            if _WEIGHT.fullmatch(each.name.strip()) and "weight" not in role_of.values():
                role_of[each.name] = "weight"
            elif each.kind in NUMERIC and not (
                vectors or each.beside or each.name in apart or _is_saved(each)
            ):
                role_of[each.name] = "feature"
    if "id" not in role_of.values():
        ranks = _ranks(seen)
        texts = (
            each
            for each in free
            if each.kind == "text" and each.name not in role_of and each.name not in ranks
            if each.spoilt is None and not are_quantities(each.examples)
        )
        found = next((each for each in texts if each.differ and each.length <= LONG_TEXT), None)
        if found is not None:
            role_of[found.name] = "id"
    return tuple(
        Column(
            name=each.name,
            type=each.kind,
            role=role_of.get(each.name),
            examples=tuple(text[:_EXAMPLE] for text in each.examples[:_EXAMPLES]),
        )
        for each in seen
    )


def warnings(
    columns: Sequence[Column], choice: Choice = UNCHOSEN, seen: Sequence[Seen] = ()
) -> tuple[str, ...]:
    """What was decided and not chosen: the columns that are not among the features, and features
    that seem to be something else."""
    if choice.features:
        return ()
    free = [column for column in columns if column.name not in choice.singles()]
    return (*_apart(columns, choice), *_doubtful(columns, seen), *numbers_as_texts(free))


def _doubtful(columns: Sequence[Column], seen: Sequence[Seen]) -> Iterator[str]:
    own = set(features(columns))
    # One column may be an index; several are ranks.
    ranks = {each.name for each in seen if each.shuffled and each.name in own}
    shuffled = {name for name in ranks if len(ranks) == 1 and not _RANK.fullmatch(name.strip())}
    for each in seen:
        if (each.counts or each.name in shuffled) and each.name in own and len(own) > 1:
            how = (
                "counts the rows" if each.counts else "has the numbers of the rows in another order"
            )
            yield (
                f"Column {shown(each.name)} {how} and is among the features; if it is an index, "
                "choose it with ?id_column=, or the features with ?columns=."
            )
        elif each.day is not None and each.name in own:
            yield (
                f"Column {shown(each.name)} has days as integers, such as {shown(each.day)}, and "
                "is among the features: the difference of two is no number of days. Choose the "
                "features with ?columns=."
            )
    for each in seen:
        if each.twice is not None and is_id_name(each.name):
            yield (
                f"Column {shown(each.name)} is not taken as the ids of the rows: row "
                f"{each.twice[1]} has that of row {each.twice[0]} (counted from 0)."
            )
    for each in seen:
        if each.padded is not None and each.name in own and len(own) > 1:
            yield (
                f"Column {shown(each.name)} has numbers that begin with 0, such as "
                f"{shown(each.padded)}, as ids and codes do, and is among the features; if it is "
                "none, choose ids with ?id_column=, or the features with ?columns=."
            )
    used = {column.name for column in columns if column.role is not None}
    for each in seen:
        if each.spoilt is not None and each.name not in used:
            row, word = each.spoilt
            yield (
                f"Column {shown(each.name)} is no feature: it has numbers and words, "
                f"{shown(word, 40)} at row {row} (counted from 0) first. Write numbers as numbers, "
                "and leave the cell empty where a value is missing."
            )
    heavy = [name for name in sorted(own) if _MAYBE_WEIGHT.fullmatch(name.strip())]
    if heavy and len(own) > len(heavy) and of_role(columns, "weight") is None:
        yield (
            f"Column {shown(heavy[0])} is among the features; if it is the weights of the rows, "
            "choose it with ?weight_column=."
        )
    labels = [name for name in sorted(own) if _LABEL.fullmatch(name.strip())]
    if labels and len(own) > len(labels):
        yield (
            f"Numbers with decimals are no labels, so that they are among the features: "
            f"{listed(labels, _MOST_NAMED)}. Choose the features with ?columns=."
        )


def numbers_as_texts(columns: Sequence[Column]) -> Iterator[str]:
    """What may be features, if it were not written as texts: lists of numbers, and numbers."""
    texts = [own for own in columns if own.type == "text" and own.examples]
    lists = [own.name for own in texts if all(map(_BRACKETS.match, own.examples))]
    plain = [
        own.name
        for own in texts
        if all(map(is_written_number, own.examples))
        and not any(map(_PADDED.match, own.examples))
        and not _is_text_or_index(own.name.strip())
    ]
    around = [
        f"{shown(own.name)} ({shown(own.examples[0])})"
        for own in texts
        if are_quantities(own.examples) and not _is_text_or_index(own.name.strip())
    ]
    if around:
        yield (
            f"Numbers with units or signs around them are texts, and no features: "
            f"{', '.join(around[:20])}. Write the numbers alone if they are meant to be."
        )
    if lists:
        yield (
            f"Lists of numbers that are written as texts are no features: {listed(lists, 20)}. "
            "Write them as lists, in Parquet or JSON lines, or as a column for each number."
        )
    if plain:
        yield (
            f"Numbers that are written as texts are no features: {listed(plain, 20)}. Write them "
            "as numbers if they are meant to be."
        )


def no_features(columns: Sequence[Column], role: str, notes: Sequence[str]) -> UsageError:
    """The error for a table of which no column is a feature."""
    has = listed([f"{column.name} ({column.type})" for column in columns], 20)
    first = f"Input {role!r} must be a matrix of numbers; no column of the table is a feature."
    parts = (first, f"It has {has}.", *numbers_as_texts(columns), *notes)
    return UsageError(" ".join(parts), code="wrong-input", role=role)


def _apart(columns: Sequence[Column], choice: Choice) -> tuple[str, ...]:
    chosen = choice.singles()
    apart = [column for column in columns if column.role != "feature" and column.name not in chosen]
    if not apart or not any(column.role == "feature" for column in columns):
        return ()
    of_role = {
        "id": "the ids of the rows",
        "label": "the labels",
        "text": "the texts",
        "weight": _WEIGHTS,
    }
    parts = [
        f"{shown(column.name)} is taken as {of_role[column.role]}"
        for column in apart
        if column.role is not None
    ]
    unused: dict[str, list[str]] = {}
    for column in apart:
        if column.role is None:
            unused.setdefault(_PLURAL[column.type], []).append(column.name)
    parts += [f"left out: {listed(names, _MOST_NAMED)} ({what})" for what, names in unused.items()]
    return (
        f"Columns that are not among the features: {'; '.join(parts)}. Choose others with "
        "?columns= (features), ?id_column=, ?label_column=, ?text_column= and ?weight_column=.",
    )


def features(columns: Iterable[Column]) -> tuple[str, ...]:
    """The names of the features, in the order of the table."""
    return tuple(column.name for column in columns if column.role == "feature")


def of_role(columns: Iterable[Column], role: ColumnRole) -> str | None:
    """The name of the column that has this role."""
    return next((column.name for column in columns if column.role == role), None)


def _chosen(seen: Sequence[Seen], choice: Choice) -> dict[str, ColumnRole]:
    by_name = {each.name: each for each in seen}
    role_of: dict[str, ColumnRole] = {}
    chosen: list[tuple[str, ColumnRole]] = [
        *choice.singles().items(),
        *((name, "feature") for name in _one_by_one(choice.features, by_name)),
    ]
    for name, role in chosen:
        if name not in by_name:
            raise UsageError(
                f"The table has no column {shown(name)}.{_near(name, list(by_name))} It has "
                f"{listed(list(by_name), 20)}.",
                code="wrong-input",
            )
        if name in role_of:
            raise UsageError(
                f"Column {shown(name)} is chosen twice, as {role_of[name]} and as {role}; a column "
                "is one thing.",
                code="wrong-input",
            )
        if role == "feature" and by_name[name].kind not in (*NUMERIC, "vector"):
            raise UsageError(
                f"Column {shown(name)} is chosen as a feature and holds {by_name[name].kind}; "
                "features are numbers.",
                code="wrong-input",
            )
        role_of[name] = role
    return role_of


def _one_by_one(chosen: Sequence[str], known: Collection[str]) -> Iterator[str]:
    """The chosen names; several with commas between them are several, if all are known."""
    for name in chosen:
        parts = [part.strip() for part in name.split(",")]
        yield from parts if name not in known and set(parts) <= set(known) else [name]


def _near(name: str, names: list[str]) -> str:
    import difflib

    folded = {each.strip().casefold(): each for each in reversed(names)}
    same = folded.get(name.strip().casefold())
    if same is not None:
        return f" {shown(same)} is written otherwise: case and spaces count."
    close = difflib.get_close_matches(name, names, n=1)
    return f" Did you mean {shown(close[0])}?" if close else ""


def _rank(seen: Seen) -> tuple[bool, bool, bool, bool, str]:
    """Which of several columns comes first, whatever their order in the table: texts, a declared
    index, the plainest name."""
    name = seen.name.strip().lower()
    return (
        seen.kind != "text",
        not seen.index,
        name not in ("id", "label") and not _TEXT.fullmatch(name),
        not _ID.fullmatch(name),
        name,
    )


def _ranks(seen: Sequence[Seen]) -> frozenset[str]:
    """The columns of texts that are the ranks of a lineage; none where these are few."""
    own = [each for each in seen if each.name.strip().lower() in _RANKS and each.kind == "text"]
    return frozenset(each.name for each in own if len(own) >= _FEWEST_RANKS)


def _is_saved(seen: Seen) -> bool:
    """Whether it is an index that some program wrote of itself."""
    return seen.index or _SAVED.fullmatch(seen.name.strip()) is not None


def _is_id(seen: Seen) -> bool:
    if not seen.differ or not (seen.whole or seen.kind in ("text", "integer", "date")):
        return False
    name = seen.name.strip()
    if seen.counts and _COUNTER.fullmatch(name):
        return True
    if _is_saved(seen) or _INDEX.fullmatch(name):
        return True
    if seen.kind != "date" and is_id_name(name):
        return True
    return seen.kind == "text" and _NAME.fullmatch(name) is not None


def is_id_name(name: str) -> bool:
    """Whether ids of rows are called so."""
    name = name.strip()
    return bool(_ID.fullmatch(name) or _ID.fullmatch(name.lower()))


def is_key_name(name: str) -> bool:
    """Whether it says no more than that it holds the ids of the rows."""
    return _KEY.fullmatch(name.strip()) is not None


def is_text_by_name(name: str, *, whole: bool) -> bool:
    """Whether words among the numbers of a column make it one of texts, not of spoilt numbers: it
    is called as ids and names are, or, if its numbers are integers, as labels are (whole)."""
    plain = name.strip()
    return (
        is_id_name(plain) or _NAME.fullmatch(plain) is not None or (whole and is_label_name(plain))
    )


def _is_text_or_index(name: str) -> bool:
    """Whether numbers under this name may well be texts."""
    index = _SAVED.fullmatch(name) or _INDEX.fullmatch(name) or _COUNTER.fullmatch(name)
    return index is not None or is_text_by_name(name, whole=True)


def _is_label(seen: Seen) -> bool:
    kind = seen.whole or seen.kind in ("text", "integer", "boolean")
    return kind and is_label_name(seen.name)


def is_label_name(name: str) -> bool:
    """Whether labels of rows are called so."""
    return _LABEL.fullmatch(name.strip()) is not None


def _is_text(seen: Seen) -> bool:
    if seen.kind != "text":
        return False
    return bool(_TEXT.fullmatch(seen.name.strip())) or seen.length > LONG_TEXT
