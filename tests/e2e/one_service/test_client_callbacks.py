"""Trees of the epochs of a training, against a running service.

The libraries of training are not installed here: what they call is called in their place.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.e2e.conftest import Service
from umbel_client import Umbel, UmbelWarning
from umbel_client.callbacks import ClassTrees, Epoch, MLflow, TensorBoard, WeightsAndBiases

NAMES = ["ant|bee", "<b>cat", "dog", "eel"]
TRUE = np.repeat(np.arange(4), 25)


def logits(sharpness: float) -> npt.NDArray[np.float32]:
    """As of a network that has learned so much; the same rows at each step."""
    noise = np.random.default_rng(7).normal(size=(100, 4))
    return (noise + sharpness * np.eye(4)[TRUE]).astype(np.float32)


@pytest.fixture
def umbel(service: Service) -> Iterator[Umbel]:
    with Umbel(service.url) as umbel:
        yield umbel


def test_each_epoch_has_its_tree_confusions_and_drift(umbel: Umbel) -> None:
    received: list[Epoch] = []
    trees = ClassTrees(NAMES, umbel=umbel, to=[received.append], every=2, tags=["t"])
    for step, sharpness in enumerate((0.5, 0.6, 6.0)):
        trees(logits(sharpness), TRUE, step=step)
    assert [epoch.step for epoch in trees.epochs] == [0, 2]
    assert received == trees.epochs
    first, last = trees.epochs
    assert first.drift is None
    assert last.drift is not None
    assert last.metrics["moves"] == last.drift.n_moves > 0
    assert last.metrics["right"] == pytest.approx((logits(6.0).argmax(1) == TRUE).mean())
    assert first.metrics["right"] == pytest.approx((logits(0.5).argmax(1) == TRUE).mean())
    assert {pair["name"] for pair in first.confusions} <= set(NAMES)
    assert last.png.startswith(b"\x89PNG")
    assert last.tree.facts.name == "validation, step 2"


def test_a_tree_may_grow_from_step_to_step(umbel: Umbel) -> None:
    trees = ClassTrees(NAMES, umbel=umbel, grow=True, drift=False)
    trees(logits(3.0), TRUE, step=0)
    grown = trees(logits(3.5), TRUE, step=1)
    assert grown is not None
    both = np.concatenate([logits(3.0), logits(3.5)])
    whole = umbel.run("l2h", logits=both, names=NAMES)
    assert grown.tree.newick() == whole.newick()


def test_training_goes_on_without_the_service_and_hears_of_it_once() -> None:
    with Umbel("http://127.0.0.1:1", retries=0) as nowhere:
        trees = ClassTrees(umbel=nowhere)
        with pytest.warns(UmbelWarning, match="training goes on"):
            assert trees(logits(1.0), step=0) is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert trees(logits(1.0), step=1) is None


def test_what_a_tracker_raises_does_not_end_training(umbel: Umbel) -> None:
    def broken(epoch: Epoch) -> None:
        raise RuntimeError("no room")

    after: list[Epoch] = []
    trees = ClassTrees(umbel=umbel, to=[broken, after.append])
    with pytest.warns(UmbelWarning, match="no room"):
        assert trees(logits(1.0), step=4) is not None
    assert len(after) == 1


class Recorded:
    """An object whose methods note what they are called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def called(*values: Any, **_: Any) -> Any:
            self.calls.append((name, values))
            return values

        return called

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [values for called, values in self.calls if called == name]


def test_trackers(umbel: Umbel, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow, wandb, writer, run = Recorded(), Recorded(), Recorded(), Recorded()
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    trackers = [MLflow(), WeightsAndBiases(run), TensorBoard(writer)]
    trees = ClassTrees(NAMES, umbel=umbel, to=trackers)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UmbelWarning)
        epoch = trees(logits(0.5), TRUE, step=3)
    assert epoch is not None
    (metrics,) = mlflow.of("log_metrics")[0]
    assert metrics["umbel/right"] == epoch.metrics["right"]
    assert len(mlflow.of("log_artifacts")) == 1
    (logged,) = run.of("log")[0]
    assert logged["umbel/step"] == 3
    assert {"umbel/tree", "umbel/confusions", "umbel/right"} <= set(logged)
    (tag, pixels, step) = writer.of("add_image")[0]
    assert (tag, pixels.shape[2], step) == ("umbel/tree", 3, 3)
    text = writer.of("add_text")[0][1]
    assert text.count("\n") == 1 + len(epoch.confusions)
    assert "ant\\|bee" in text
    assert "<b>" not in text


def callback_of(name: str, base: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The callback of a library, whose base class is an empty one."""
    parts = base.split(".")
    for end in range(1, len(parts)):
        module = types.ModuleType(".".join(parts[:end]))
        monkeypatch.setitem(sys.modules, module.__name__, module)
    setattr(module, parts[-1], type(parts[-1], (), {}))
    monkeypatch.delitem(sys.modules, f"umbel_client.callbacks.{name}", raising=False)
    return import_module(f"umbel_client.callbacks.{name}").UmbelCallback


class Sent:
    """In place of `ClassTrees`: what it was called with."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, Any, int]] = []

    def __call__(self, rows: Any, labels: Any = None, *, step: int) -> None:
        self.rows.append((np.asarray(rows), None if labels is None else np.asarray(labels), step))


@pytest.mark.needs("torch")
def test_lightning_sends_all_batches_of_the_first_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    kind = callback_of("lightning", "lightning.pytorch.Callback", monkeypatch)
    sent = Sent()
    callback = kind(sent)
    trainer = types.SimpleNamespace(sanity_checking=True, is_global_zero=True, current_epoch=5)
    rows, labels = torch.tensor(logits(1.0)), torch.tensor(TRUE)

    def validated() -> None:
        callback.on_validation_epoch_start(trainer, None)
        for loader, part in ((0, slice(0, 60)), (0, slice(60, 100)), (1, slice(0, 9))):
            given = {"logits": rows[part].requires_grad_(), "labels": labels[part]}
            callback.on_validation_batch_end(trainer, None, given, None, 0, loader)
        callback.on_validation_epoch_end(trainer, None)

    validated()
    assert not sent.rows
    trainer.sanity_checking = False
    validated()
    validated()
    assert [step for *_, step in sent.rows] == [5, 5]
    for found, classes, _ in sent.rows:
        np.testing.assert_array_equal(found, logits(1.0))
        np.testing.assert_array_equal(classes, TRUE)
    with pytest.raises(ValueError, match="validation_step must give"):
        callback.on_validation_batch_end(trainer, None, torch.tensor(1.0), None, 0)


def test_transformers_sends_what_was_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = callback_of("transformers", "transformers.TrainerCallback", monkeypatch)
    sent = Sent()
    callback = kind(sent, lambda predictions: {"n": float(len(predictions.label_ids))})
    found = types.SimpleNamespace(predictions=(logits(1.0), "hidden"), label_ids=TRUE)
    assert callback.compute_metrics(found) == {"n": 100.0}
    state = types.SimpleNamespace(is_world_process_zero=True, global_step=12)
    callback.on_evaluate(None, state, None, metrics={})
    callback.on_evaluate(None, state, None, metrics={})
    ((rows, labels, step),) = sent.rows
    np.testing.assert_array_equal(rows, logits(1.0))
    np.testing.assert_array_equal(labels, TRUE)
    assert step == 12


@pytest.mark.parametrize("probabilities", [False, True])
def test_keras_sends_logits(probabilities: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = callback_of("keras", "keras.callbacks.Callback", monkeypatch)
    sent = Sent()
    scores = np.array([[0.25, 0.75], [1.0, 0.0]], np.float32)
    callback = kind(sent, "x", np.eye(2)[[1, 0]], probabilities=probabilities)
    callback.model = types.SimpleNamespace(predict=lambda x, **_: scores)
    callback.on_epoch_end(2)
    ((rows, labels, step),) = sent.rows
    assert np.isfinite(rows).all()
    certain = np.log([[0.25, 0.75], [1.0, np.finfo(np.float32).tiny]]) if probabilities else scores
    np.testing.assert_allclose(rows, certain, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(labels, [1, 0])
    assert step == 2
