"""Every field of a body, and every parameter of a query, that may name a thing: another tenant's is
as unknown as one that does not exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx

from tests.app.tenants_kit import LOGITS, ROWS, made

Case = tuple[str, str, dict[str, Any]]
"""Method, address with its query, and body; `ID` in any of them stands for the id."""

ID = "ID"


def check_fields(stranger: httpx.Client, own: dict[str, str], others: dict[str, str]) -> None:
    """Another tenant's thing is answered as one that nobody has; a thing of the caller is found,
    so that each field is one that is looked at.

    own, others : by kind, a thing of the caller and one of another tenant.
    """
    now = {"Prefer": "wait=0"}
    for kind, (method, address, body) in cases(own):
        answers = []
        for named in (others[kind], nobodys(others[kind]), own[kind]):
            sent = {"json": json.loads(json.dumps(body).replace(ID, named))} if body else {}
            answer = stranger.request(method, address.replace(ID, named), headers=now, **sent)
            answers.append((answer.status_code, shape_of(answer.text, named)))
        case = f"{method} {address} {body}: {answers}"
        assert answers[0] == answers[1], case
        assert answers[0][0] in (404, 422), case
        assert "here is no " in answers[0][1], case
        # It says so of a field that there is not, too.
        assert "here is no " not in answers[2][1], case


def fields_of(owner: httpx.Client) -> dict[str, str]:
    """By kind, a thing of a caller for each field."""
    things = {kind: ids[0] for kind, ids in made(owner).items()}
    contents: dict[str, tuple[str, list[Any]]] = {
        "rows": ("features", ROWS),
        "logits": ("logits", LOGITS),
        "labels": ("labels", [0, 1, 2]),
        "row labels": ("labels", [0, 1, 2, 1]),
        "row classes": ("hierarchy", ["a/0", "a/1", "b/2", "b/3"]),
        "classes": ("hierarchy", ["a/0", "a/1", "b/2"]),
        "items": ("items", [{"word": word} for word in "aab"]),
    }
    for kind, (role, content) in contents.items():
        answer = owner.post(f"/v1/datasets?role={role}", json=content)
        assert answer.status_code == 201, answer.text
        things[kind] = answer.json()["id"]
    fit = {"method": "mlr", "inputs": {"features": ROWS, "labels": [0, 1, 2, 1]}}
    job = owner.post("/v1/jobs", json=fit, headers={"Prefer": "wait=60"}).json()
    return {**things, "classifier": job["result"]["model"]}


def nobodys(named: str) -> str:
    """An id of the same kind that nothing has."""
    prefix, _, rest = named.partition("_")
    return f"{prefix}_{'0' * len(rest)}"


def shape_of(text: str, named: str) -> str:
    """An answer without the id of the request and the one that it names."""
    body = json.loads(text) if text.startswith("{") else {}
    body.pop("request_id", None)
    return json.dumps(body).replace(named, ID)


def cases(own: dict[str, str]) -> Iterator[tuple[str, Case]]:
    """Kind of the thing, and the request. own : by kind, a thing of the caller."""
    tree, model = f"/v1/trees/{own['tree']}", f"/v1/models/{own['model']}"
    of_labels, four = f"/v1/models/{own['classifier']}", [0, 1, 2, 1]
    logits, labels = {"logits": LOGITS}, [0, 1, 2]
    runs = {"runs": [{"method": "hac"}]}
    known = {"inputs": logits, "labels": labels, "alpha": 0.5}
    yield "tree", ("PUT", "/v1/aliases/champion", {"tree": ID})
    yield "rows", ("POST", "/v1/comparisons", {"inputs": {"features": ID}, **runs})
    yield (
        "row labels",
        ("POST", "/v1/comparisons", {"inputs": {"features": ROWS}, "labels": ID, **runs}),
    )
    yield (
        "row classes",
        ("POST", "/v1/comparisons", {"inputs": {"features": ROWS}, "hierarchy": ID, **runs}),
    )
    yield "tree", ("POST", "/v1/consensus", {"trees": [own["tree"], ID]})
    yield "rows", ("POST", "/v1/jobs", {"method": "hac", "inputs": {"features": ID}})
    yield "rows", ("POST", f"{of_labels}/evaluations", {"inputs": {"features": ID}, "labels": four})
    yield (
        "row labels",
        ("POST", f"{of_labels}/evaluations", {"inputs": {"features": ROWS}, "labels": ID}),
    )
    yield (
        "classifier",
        (
            "POST",
            f"{of_labels}/evaluations",
            {"inputs": {"features": ROWS}, "labels": four, "against": ID},
        ),
    )
    yield "logits", ("POST", f"{model}/predictions", {"inputs": {"logits": ID}})
    yield (
        "calibration",
        ("POST", f"{model}/predictions", {"inputs": logits, "calibration": ID, "alpha": 0.2}),
    )
    yield "logits", ("POST", f"{tree}/predictions", {"inputs": {"logits": ID}})
    yield (
        "calibration",
        ("POST", f"{tree}/predictions", {"inputs": logits, "calibration": ID, "alpha": 0.2}),
    )
    yield "items", ("POST", f"{tree}/attachments", {"items": ID})
    yield "logits", ("POST", f"{tree}/calibrations", {**known, "inputs": {"logits": ID}})
    yield "labels", ("POST", f"{tree}/calibrations", {**known, "labels": ID})
    yield "logits", ("POST", f"{tree}/calibrations", {**known, "loss": "cost", "costs": ID})
    yield "drift", ("POST", f"{tree}/calibrations", {**known, "drift": ID, "shift": "rows"})
    yield (
        "calibration",
        ("POST", f"{tree}/calibrations", {"inputs": logits, "labels": labels, "after": ID}),
    )
    for one, other in (("reference", "batch"), ("batch", "reference")):
        samples = {one: {"inputs": {"logits": ID}}, other: {"inputs": logits}}
        yield "logits", ("POST", f"{tree}/drifts", samples)
    yield "edition", ("POST", f"{tree}/editions", {"from": ID})
    yield "labels", ("POST", f"{tree}/evaluations", {"labels": ID})
    yield "tree", ("POST", f"{tree}/evaluations", {"hierarchy": ID})
    yield "logits", ("POST", f"{tree}/evaluations", {"features": ID})
    for role in ("distances", "similarity"):
        yield "logits", ("POST", f"{tree}/evaluations", {role: ID})
    yield "logits", ("POST", f"{tree}/heatmaps", {"what": "features", "inputs": {"features": ID}})
    yield "logits", ("POST", f"{tree}/maps", {"by": "pca", "inputs": {"features": ID}})
    yield "labels", ("POST", f"{tree}/namings", {"by": "labels", "inputs": {"labels": ID}})
    yield "classes", ("POST", f"{tree}/placements", {"hierarchy": ID})
    yield "tree", ("POST", f"{tree}/placements", {"hierarchy": ID})
    yield "edition", ("POST", f"{tree}/shares", {"edition": ID})
    yield "naming", ("POST", f"{tree}/shares", {"names": ID})
    yield "map", ("POST", f"{tree}/shares", {"map": ID})
    yield "rows", ("POST", f"/v1/datasets?role=features&from={ID}", {})
    for form in (
        "view",
        "levels",
        "layers",
        "cut?k=2&",
        "nodes/0",
        "assignments?k=2&",
        "search?q=a&",
    ):
        lead = form if "?" in form else f"{form}?"
        yield "edition", ("GET", f"{tree}/{lead}edition={ID}", {})
        yield "naming", ("GET", f"{tree}/{lead}names={ID}", {})
    yield "attachment", ("GET", f"{tree}/view?color_by={ID}.0", {})
    yield "attachment", ("GET", f"{tree}.svg?color_by={ID}.0", {})
    yield "tree", ("GET", f"{tree}/tangle?other={ID}", {})
    yield "tree", ("GET", f"{tree}/tangle.svg?other={ID}", {})
