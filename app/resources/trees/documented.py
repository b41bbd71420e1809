"""What the document says of a tree in its forms."""

from __future__ import annotations

from typing import Any

from app.http.problems import ANYWHERE, responses
from app.resources.trees.forms import FORMS
from app.resources.trees.schemas import NestedTreeBody, TreeBody

_HCLUST: dict[str, Any] = {
    "type": "object",
    "description": "R's hclust: negative numbers in `merge` are leaves, counted from 1.",
    "required": ["merge", "height", "order", "labels"],
    "properties": {
        "merge": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "height": {"type": "array", "items": {"type": "number"}},
        "order": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "array", "items": {"type": "string"}},
    },
}

_TEXTS = {
    "text/x-nh": "(rose:1.0,tulip:1.0);",
    "text/x-nexus": "#NEXUS\nBEGIN TAXA;\n  DIMENSIONS NTAX=2;\n  TAXLABELS\n    rose\n    tulip;\n"
    "END;\nBEGIN TREES;\n  TREE tree = [&R] (rose:1.0,tulip:1.0);\nEND;\n",
    "text/csv": "id,parent,height,size,name\r\n0,,1.0,2,\r\n1,0,0.0,1,rose\r\n2,0,0.0,1,tulip\r\n",
}
"""One tree in the text forms."""


def documented_forms(*problems: str) -> dict[int | str, dict[str, Any]]:
    """The answers of an operation that has a tree in all forms. problems : further ones."""
    content: dict[str, Any] = {
        form.media: {"schema": {"type": "string", "format": "binary"}}
        for form in FORMS
        if form.media != "application/json"
    }
    content["application/vnd.umbel.hclust+json"] = {
        "schema": _HCLUST,
        "example": {
            "merge": [[-1, -2]],
            "height": [1.0],
            "order": [1, 2],
            "labels": ["rose", "tulip"],
        },
    }
    text = {"schema": {"type": "string"}}
    content |= {media: {**text, "example": example} for media, example in _TEXTS.items()}
    return {
        200: {
            "model": TreeBody | NestedTreeBody,
            "description": "The tree in the requested form.",
            "content": content,
            "headers": {
                "ETag": {"description": "ETag of this form.", **text},
                "Warning": {"description": "What this form cannot represent.", **text},
            },
        },
        304: {"description": "The client has the current version."},
        **responses(*ANYWHERE, "not-found", "not-acceptable", "invalid-request", *problems),
    }
