"""The mark of a store's format: made once, raised by newer versions, respected by older ones."""

from __future__ import annotations

import json

import pytest

from workers.errors import FatalError
from workers.stores.objects import format as store_format
from workers.stores.objects.blobs import Blobs
from workers.stores.objects.format import open_store, require_readable
from workers.stores.objects.layout import FORMAT_MARK


def test_a_store_is_marked_when_it_is_first_opened(blobs: Blobs) -> None:
    require_readable(blobs)
    assert blobs.size(FORMAT_MARK) is None
    open_store(blobs)
    mark = blobs.get(FORMAT_MARK)
    assert json.loads(mark)["format"] == 1
    open_store(blobs)
    assert blobs.get(FORMAT_MARK) == mark


def test_an_upgrade_raises_the_mark(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> None:
    open_store(blobs)
    with monkeypatch.context() as patch:
        patch.setattr(store_format, "FORMAT", 2)
        open_store(blobs)
        assert json.loads(blobs.get(FORMAT_MARK))["format"] == 2
    for check in (open_store, require_readable):
        with pytest.raises(FatalError, match=r"newer version.*format 2.*up to 1"):
            check(blobs)
    assert json.loads(blobs.get(FORMAT_MARK))["format"] == 2


@pytest.mark.parametrize("mark", [b"", b"[]", b'{"format": "2"}', b'{"format": 0}', b"[" * 9999])
def test_a_strange_mark_is_refused(blobs: Blobs, mark: bytes) -> None:
    blobs.put(FORMAT_MARK, mark)
    with pytest.raises(FatalError, match="cannot be read"):
        open_store(blobs)
