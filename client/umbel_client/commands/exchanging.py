"""`umbel export` and `umbel annotations`: files of other programs."""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from umbel_client import exchange
from umbel_client.client import Umbel
from umbel_client.commands import outputs
from umbel_client.commands.outputs import say, warn
from umbel_client.commands.values import input_of, lines
from umbel_client.commands.work import cut_of, service
from umbel_client.errors import InputError
from umbel_client.quoting import path_shown
from umbel_client.results import Predictions

_OF_LEAVES: Mapping[str, Callable[..., dict[str, str]]] = {
    "itol": exchange.itol,
    "microreact": exchange.microreact,
}


def export(arguments: Namespace) -> None:
    """`umbel export`. Raises InputError for options that the form does not take."""
    of_tasks = arguments.form == "label-studio"
    for option in ("rows", "texts"):
        if (getattr(arguments, option) is None) == of_tasks:
            needed = "needs" if of_tasks else "takes no"
            raise InputError(f"--{option}", f"{arguments.form} {needed} --{option}.")
    if of_tasks:
        _tasks(arguments)
        return
    cut = cut_of(arguments.cut)
    if cut is None:
        raise InputError("--cut", "which clusters have colours? --cut k=5")
    with service(arguments, kept=True) as umbel:
        files = _OF_LEAVES[arguments.form](umbel.tree(arguments.id), **cut)
    folder = Path(arguments.place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = f"{path_shown(arguments.place)} cannot be a folder: {error.strerror}."
        raise InputError("place", why) from None
    for name, text in files.items():
        outputs.saved(text.encode(), str(folder / name))
        say(f"  {folder / name}", arguments.quiet)


def _tasks(arguments: Namespace) -> None:
    if arguments.cut is not None:
        raise InputError("--cut", "label-studio takes no --cut.")
    texts = _texts(arguments.texts)
    outputs.suffix_of(arguments.place, (".json",), "place")
    with service(arguments, kept=True) as umbel:
        predictions = _predicted(umbel, arguments.id, input_of("rows", arguments.rows))
        tasks = exchange.label_studio_tasks(
            texts,
            predictions,
            n=arguments.most,
            field=arguments.field,
            from_name=arguments.choices,
        )
    _save(tasks, arguments.place)
    say(f"  {len(tasks)} of {len(texts)} rows", arguments.quiet)


def labelled(arguments: Namespace) -> None:
    """`umbel annotations`. Raises InputError for a file that is not such an export."""
    outputs.suffix_of(arguments.out, (".json",), "out")
    found = _json(arguments.file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = exchange.label_studio_labels(found, arguments.n_rows, from_name=arguments.choices)
    _save(labels, arguments.out)
    warn([str(each.message) for each in caught], arguments.quiet)
    n_labelled = sum(label is not None for label in labels)
    say(f"  {n_labelled} of {len(labels)} rows have labels", arguments.quiet)


def _predicted(umbel: Umbel, own: str, rows: Any) -> Predictions:
    if not own.startswith("md_"):
        return umbel.tree(own).predict(rows)
    model = umbel.model(own)
    if len(model.inputs) != 1:
        raise InputError("id", f"the model needs {', '.join(model.inputs)}; one input is taken.")
    return model.predict(**{model.inputs[0]: rows})


def _texts(path: str) -> list[Any]:
    suffix = outputs.suffix_of(path, (".txt", ".json"), "--texts")
    return lines("texts", Path(path)) if suffix == ".txt" else _json(path)


def _json(path: str) -> list[Any]:
    try:
        found = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError("file", f"{path_shown(path)} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise InputError("file", f"{path_shown(path)} is not a list in JSON.")
    return found


def _save(value: list[Any], path: str) -> None:
    outputs.saved((json.dumps(value, ensure_ascii=False) + "\n").encode(), path)
