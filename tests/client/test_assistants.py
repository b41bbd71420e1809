"""What tools of assistants take, and what hears of their waiting."""

from __future__ import annotations

from typing import Any

import pytest

from umbel_client.errors import InputError
from umbel_client.progress import bar_of, began, watched

pytestmark = pytest.mark.needs("mcp")


class _Jobs:
    """A service that remembers which jobs were cancelled."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    def job(self, job_id: str) -> Any:
        class Job:
            def cancel(_) -> None:
                self.cancelled.append(job_id)

        return Job()


def test_progress_only_grows_and_uploads_are_its_beginning() -> None:
    from umbel_client.assistants.waiting import Watcher

    heard: list[float] = []
    watcher = Watcher(_Jobs(), lambda fraction, _: heard.append(fraction))
    with watched(watcher):
        for fraction in (0.0, 0.5, 1.0, 0.0, 1.0):  # Two uploads.
            bar_of(None, "uploading").update(fraction, "")
        began("job_1", True)
        bar = bar_of(None, "hac")
        for fraction in (0.0, 0.5, 0.25, 1.0):
            bar.update(fraction, "")
        bar_of(False, "silent").update(2.0, "")
    bar_of(None, "afterwards").update(2.0, "")
    assert heard == pytest.approx([0, 0.05, 0.1, 0.55, 1])


def test_a_call_that_stops_cancels_its_job_and_no_other() -> None:
    from umbel_client.assistants.waiting import Interrupted, Watcher

    jobs = _Jobs()
    waiting = Watcher(jobs, lambda *_: None)
    waiting.began("job_1", True)
    waiting.stop()
    assert jobs.cancelled == ["job_1"]
    with pytest.raises(Interrupted):
        waiting.update(0.5, "")
    # One that only looks on leaves the job alone.
    looking = Watcher(jobs, lambda *_: None)
    looking.began("job_2", False)
    looking.stop()
    assert jobs.cancelled == ["job_1"]
    # Before its job is known, the wait for it is interrupted, which cancels it.
    early = Watcher(jobs, lambda *_: None)
    early.stop()
    with watched(early), pytest.raises(Interrupted):
        began("job_3", True)


def test_inputs_are_bounded_and_labels_are_given_in_one_way() -> None:
    from umbel_client.assistants import values

    assert values.by_role({"features": [[1.0]]}, ["a"]) == {"features": [[1.0]], "labels": ["a"]}
    longest = values.MAX_INLINE
    # Four characters of a list of one text are brackets and quotes.
    assert values.given("documents", ["x" * (longest - 4)])
    with pytest.raises(InputError, match="give its path"):
        values.given("documents", ["x" * (longest - 3)])
    with pytest.raises(InputError, match="the argument `labels`"):
        values.by_role({"labels": ["a"]}, taken=("labels",))
    with pytest.raises(InputError, match="it takes 'hierarchy'"):
        values.by_role({"logits": [[1.0]]}, taken=("hierarchy",))
    with pytest.raises(InputError, match="see `methods`"):
        values.by_role({"params": ["a"]}, other=("params",))


def test_a_picture_that_is_too_large_says_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from umbel_client.assistants import reading

    class Kept:
        def tree(self, _: str) -> Any:
            return self

        def content(self, form: str, **query: Any) -> bytes:
            assert (form, query["px"]) == (".png", 900)
            return b"12345"

    monkeypatch.setattr(reading, "MAX_PICTURE", 5)
    tools = reading.Reading(Kept())
    assert tools.picture("tr_1", px=900).data == b"12345"
    monkeypatch.setattr(reading, "MAX_PICTURE", 4)
    with pytest.raises(InputError, match="fewer pixels than 900"):
        tools.picture("tr_1", px=900)
