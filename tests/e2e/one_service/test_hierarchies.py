"""A hierarchy as an input: a tree in each form, by HTTP, by the client and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Service
from umbel_client import InputError, Umbel

NESTED = {
    "name": "all",
    "children": [{"name": "größer", "children": [{"name": "a"}, {"name": "b c"}]}, {"name": "d'e"}],
}
NODES = [
    {"id": 0, "name": "all"},
    {"id": 1, "name": "größer", "parent": 0},
    {"id": 2, "name": "d'e", "parent": 0},
    {"id": 3, "name": "a", "parent": 1},
    {"id": 4, "name": "b c", "parent": 1},
]
NEWICK = "((a:1,'b c':2)größer:1,'d''e':3)all;"
NEXUS = "#NEXUS\nbegin trees;\ntranslate 1 a, 2 'b c', 3 'd''e';\ntree t=((1,2)größer,3)all;end;"
PATHS = ["all/größer/a", "all/größer/b c", "all/d'e"]
# all ── größer ── a, b c
#  └──── d'e

FILES: dict[str, tuple[str, str | None, str]] = {
    # what: (ending, media type, content)
    "newick": ("nwk", "text/x-nh", NEWICK),
    "newick of no type": ("newick", None, NEWICK),
    "nexus": ("nex", "text/x-nexus", NEXUS),
    "nested": ("json", "application/json", json.dumps(NESTED)),
    "nodes": ("json", "application/json", json.dumps(NODES)),
    "newick in json": ("json", "application/json", json.dumps(NEWICK)),
    "paths": ("json", "application/json", json.dumps(PATHS)),
    "newick as text": ("txt", "text/x-nh", NEWICK),
    "newick with a BOM": ("nwk", "text/x-nh", "\ufeff" + NEWICK),
}
INLINE: list[Any] = [NEWICK, [NEWICK], NEXUS, [NESTED], NODES, PATHS]
LABELS = ["a", "d'e", "b c", "a"]


def test_every_form_by_every_door(service: Service, tmp_path: Path, capsys: Any) -> None:
    """All give what the imported tree gives, in which labels are its leaves."""

    def imported(text: str) -> str:
        headers = {"Content-Type": "text/x-nh"}
        answer = service.client.post("/v1/trees", content=text.encode(), headers=headers)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def evaluated(hierarchy: Any) -> Any:
        body = {"labels": LABELS, "hierarchy": hierarchy}
        answer = service.client.post(
            f"/v1/trees/{tree}/evaluations", json=body, headers={"Prefer": "wait=60"}
        )
        assert answer.status_code == 200, (hierarchy, answer.text)
        return answer.json()["metrics"]

    tree = imported("((a,d)x,(b,c)y);")
    expected = evaluated(imported(NEWICK))
    for value in INLINE:
        assert evaluated(value) == expected, value
    with Umbel(service.url) as umbel:
        for what, (ending, media, content) in FILES.items():
            answer = service.client.post(
                "/v1/datasets?role=hierarchy",
                content=content.encode(),
                headers={"Content-Type": media} if media else {},
            )
            assert answer.status_code == 201, (what, answer.text)
            assert evaluated(answer.json()["id"]) == expected, what
            path = tmp_path / f"{what}.{ending}"
            path.write_text(content, encoding="utf-8")
            given = umbel.tree(tree).evaluate(LABELS, hierarchy=path)
            assert dict(given) == expected, what
        for value in (NEWICK, NEXUS, NESTED, PATHS):
            given = umbel.tree(tree).evaluate(LABELS, hierarchy=value)
            assert dict(given) == expected, value
        with pytest.raises(InputError, match="there is no file"):
            umbel.tree(tree).evaluate(LABELS, hierarchy="none.nwk")
