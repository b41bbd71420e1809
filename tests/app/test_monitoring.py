"""The dashboard and the alerts in `docs/monitoring` use metrics and labels that are served."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.app.conftest import Start, new_job
from tests.conftest import ROOT
from workers.telemetry.job_counts import Meter
from workers.telemetry.store_size import StoreSize

FOLDER = ROOT / "docs" / "monitoring"
_SELECTOR = re.compile(r"(umbel_\w+)(?:\{([^}]*)\})?")
_BY = re.compile(r"by \(([^)]*)\)")


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / "grafana.json").read_text())
    return loaded


def alerts() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    return [rule for group in loaded["groups"] for rule in group["rules"]]


def expressions() -> list[str]:
    panels = [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]
    return panels + [rule["expr"] for rule in alerts()]


@pytest.fixture
def served(start: Start) -> dict[str, set[str]]:
    """The labels of each series that is served after one job of each kind of event."""
    api = start()
    job_id = api.client.post("/v1/jobs", json=new_job()).json()["id"]
    api.client.post("/v1/jobs", json=new_job())
    api.finish(job_id)
    redis, prefix = api.service.redis, api.settings.key_prefix
    meter = Meter(redis, api.settings, "l2h")
    with meter.stage("compute"):
        meter.memory(1)
    meter.send()
    # What only fits in pieces and webhooks leave.
    redis.hincrby(f"{prefix}metrics", "pieces owner", 1)
    redis.hincrby(f"{prefix}hook_counts", "failed", 1)
    redis.delete(f"{prefix}only:store-size")
    StoreSize(api.service.blobs, redis, prefix, 100.0).measure()
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(api.client.get("/metrics").text):
        for sample in family.samples:
            labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


def test_every_metric_and_label_is_served(served: dict[str, set[str]]) -> None:
    for expression in expressions():
        names = _SELECTOR.findall(expression)
        assert names, expression
        assert {name for name, _ in names} <= set(served), expression
        own = set.intersection(*(served[name] for name, _ in names)) | {"instance"}
        grouped = {label.strip() for part in _BY.findall(expression) for label in part.split(",")}
        assert grouped <= own, expression
        for name, matchers in names:
            used = re.findall(r"(\w+)\s*(?:=~|!=|=)", matchers)
            assert set(used) <= served[name], expression


def test_every_metric_is_on_the_dashboard(served: dict[str, set[str]]) -> None:
    text = " ".join(expressions())
    ends = "_bucket", "_count", "_sum", "_created"
    families = {re.sub("|".join(f"{end}$" for end in ends), "", name) for name in served}
    assert not [family for family in families if family not in text]


def test_metrics_of_the_service_are_not_added_up_over_instances() -> None:
    """Each API shows the same: only what is of requests is summed without `instance`."""
    for expression in expressions():
        if "umbel_request" in expression:
            continue
        for by in re.findall(r"sum(?: by \(([^)]*)\))?\s*\(", expression):
            assert "instance" in by, expression


def test_legends_name_labels_of_the_expression() -> None:
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            labels = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            assert all(re.search(rf"by \([^)]*\b{label}\b", target["expr"]) for label in labels)


def test_the_form_of_dashboard_and_alerts() -> None:
    panels = dashboard()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    names = [rule["alert"] for rule in alerts()]
    assert len(set(names)) == len(names)
    for rule in alerts():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert rule["expr"].count("(") == rule["expr"].count(")")
