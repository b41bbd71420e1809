"""Write `app/dashboard/metrics.json`: the page's texts for each metric of trees and classifiers.

It is a file, so that the API need not import the metrics. A test compares it with the catalogue.
"""

from __future__ import annotations

import json
from pathlib import Path

from models.metrics import catalogue
from models.metrics.classification import scores

PATH = Path(__file__).parent.parent / "app" / "dashboard" / "metrics.json"


def text() -> str:
    """The expected content of the file."""
    listed = [
        {
            "id": metric.id,
            "title": metric.title,
            "needs": list(metric.needs),
            "looks_at": metric.looks_at,
            "better": metric.better,
            "definition": metric.definition,
        }
        for metric in catalogue.METRICS.values()
    ]
    listed += [
        {
            "id": name,
            "title": metric.title,
            "needs": ["labels"],
            "looks_at": "classifier",
            "better": metric.better,
            "definition": metric.definition,
        }
        for name, metric in scores.METRICS.items()
    ]
    return json.dumps(listed, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), "utf-8")
