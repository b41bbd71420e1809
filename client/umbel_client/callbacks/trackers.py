"""Where the trees of epochs are logged: MLflow, Weights & Biases, TensorBoard."""

from __future__ import annotations

import csv
import io
import tempfile
from pathlib import Path
from typing import Any

from umbel_client.callbacks.class_trees import Epoch
from umbel_client.packages import package

_COLUMNS = ("name", "taken_for_name", "mass", "share", "cost")
"""What a table shows of a confusion."""


class MLflow:
    """Log each epoch to the active run of MLflow: figures as `umbel/...`, under `umbel/` as
    artifacts the picture, the tree as Newick, and the confusions that cost most as CSV.

    Raises MissingPackage where MLflow is not installed.
    """

    def __init__(self, prefix: str = "umbel") -> None:
        self._mlflow = package("mlflow", "MLflow()")
        self._prefix = prefix

    def __call__(self, epoch: Epoch) -> None:
        """Log one epoch."""
        metrics = {f"{self._prefix}/{name}": value for name, value in epoch.metrics.items()}
        self._mlflow.log_metrics(metrics, step=epoch.step)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in _files(epoch).items():
                path = Path(folder) / f"step-{epoch.step:06d}{name}"
                path.write_bytes(content)
            self._mlflow.log_artifacts(folder, artifact_path=self._prefix)


class WeightsAndBiases:
    """Log each epoch to a run of Weights & Biases: figures, the picture as an image, confusions as
    a table. run : the run; None: the active one.

    Raises MissingPackage where wandb is not installed.
    """

    def __init__(self, run: Any = None, prefix: str = "umbel") -> None:
        self._wandb = package("wandb", "WeightsAndBiases()")
        self._run = run
        self._prefix = prefix

    def __call__(self, epoch: Epoch) -> None:
        """Log one epoch."""
        logged: dict[str, Any] = {
            f"{self._prefix}/{name}": value for name, value in epoch.metrics.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tree.png"
            path.write_bytes(epoch.png)
            logged[f"{self._prefix}/tree"] = self._wandb.Image(
                str(path), caption=epoch.tree.facts.name
            )
            rows = [[each[name] for name in _COLUMNS] for each in epoch.confusions]
            table = self._wandb.Table(columns=list(_COLUMNS), data=rows)
            logged[f"{self._prefix}/confusions"] = table
            logged[f"{self._prefix}/step"] = epoch.step
            run = self._run if self._run is not None else self._wandb.run
            if run is None:
                raise RuntimeError("there is no active run: wandb.init() comes first")
            # Its own counter goes on; the step of training is a figure beside the others.
            run.log(logged)


class TensorBoard:
    """Log each epoch to TensorBoard. writer : a `SummaryWriter` of `torch.utils.tensorboard`, or
    what has its `add_scalar`, `add_image` and `add_text`.

    Raises MissingPackage where Pillow, which reads the picture, is not installed.
    """

    def __init__(self, writer: Any, prefix: str = "umbel") -> None:
        self._writer = writer
        self._image = package("PIL.Image", "TensorBoard()")
        self._prefix = prefix

    def __call__(self, epoch: Epoch) -> None:
        """Log one epoch."""
        import numpy as np

        for name, value in epoch.metrics.items():
            self._writer.add_scalar(f"{self._prefix}/{name}", value, epoch.step)
        with self._image.open(io.BytesIO(epoch.png)) as image:
            pixels = np.asarray(image.convert("RGB"))
        self._writer.add_image(f"{self._prefix}/tree", pixels, epoch.step, dataformats="HWC")
        head = "| class | taken for | rows | share |\n|---|---|---|---|\n"
        lines = [
            f"| {_plain(each['name'])} | {_plain(each['taken_for_name'])} | {each['mass']:.4g} "
            f"| {each['share']:.3f} |"
            for each in epoch.confusions
        ]
        self._writer.add_text(f"{self._prefix}/confusions", head + "\n".join(lines), epoch.step)


def _files(epoch: Epoch) -> dict[str, bytes]:
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(_COLUMNS)
    writer.writerows([each[name] for name in _COLUMNS] for each in epoch.confusions)
    return {
        ".png": epoch.png,
        ".nwk": epoch.tree.newick().encode(),
        "-confusions.csv": table.getvalue().encode(),
    }


def _plain(name: object) -> str:
    """A name in a cell of Markdown."""
    return str(name).replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
