"""Foreign names in the client's messages: of every script as they are, escaped where unseen."""

from __future__ import annotations

import numpy as np
import pytest

from models import errors
from umbel_client import InputError
from umbel_client.inputs import converted
from umbel_client.quoting import as_arguments, as_options, listed, path_shown, shown, written

pd = pytest.importorskip("pandas")

SEEN = ["größe", "身長", "الطول", "नाम", "it's"]
UNSEEN = ["a\u200bb", "a\nb", "\u202eabc", "\u3164", "\U000e0100x"]
NAMES = [*SEEN, *UNSEEN]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_as_the_service_shows_them(name: str) -> None:
    assert shown(name) == errors.shown(name)
    assert listed([name] * 7) == errors.listed([name] * 7)
    assert written(name) == errors.shown(name)


def test_values_of_other_types_are_shown_as_python_writes_them() -> None:
    assert written(None) == "None"
    assert written(2.5) == "2.5"
    assert written(np.str_("größe")) == "'größe'"


def test_options_without_a_value_have_one_in_commands() -> None:
    sentence = "Upload the columns alone (?columns=...)."
    assert as_arguments(sentence) == "Upload the columns alone (columns=...)."
    assert as_options(sentence) == "Upload the columns alone (--columns NAME)."
    assert as_options(as_arguments(sentence)) == as_options(sentence)


def test_a_path_is_shown_whole() -> None:
    path = "/".join(["folder"] * 100)
    assert path_shown(path) == repr(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_has_the_name_of_a_column(name: str) -> None:
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[name, name])
    with pytest.raises(InputError) as refused:
        converted("features", frame)
    assert errors.shown(name) in str(refused.value)
    assert (name in str(refused.value)) is (name in SEEN)
