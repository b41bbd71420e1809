"""The sizes from which kinds estimate what they take."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.creation.sizes import size_of
from tests.app.conftest import Working
from tests.app.tree_kit import NEWICK, fit, npy, post
from workers.kinds.import_ import ImportOptions
from workers.kinds.kind import OfTree, Options, Size
from workers.kinds.of_fit import OfFit

ROWS = np.arange(12.0).reshape(6, 2)


def test_sizes_are_of_what_is_named(working: Working) -> None:
    service = working.service
    content = npy(ROWS)
    made = working.client.post("/v1/datasets?role=features", content=content).json()
    tree = fit(working, "hac", {"features": made["id"]})
    imported = post(working, NEWICK)
    # Six leaves, five merges, six points.
    n_nodes = 17

    def size(options: Options, inputs: Any = None, inline: Any = None) -> Size:
        return size_of(service, "local", options, inputs or {}, inline or {})

    assert size(OfTree(tree=tree["id"])) == Size(n_nodes=n_nodes, n_trees=1)
    shown = Size(6, 12, len(content), n_nodes, 1)
    assert size(OfFit(tree=tree["id"], of_fit="features")) == shown
    assert size(OfTree(tree=tree["id"]), {"features": made["id"]}) == shown
    trees = {"trees": [tree["id"], imported["id"]]}
    assert size(Options(), trees) == Size(n_nodes=n_nodes + 5 + 3, n_trees=2)
    # Rows of an inline list, and labels; a file that is not parsed.
    lists = {"features": b"[[1,2],[3,4],[5,6]]", "labels": b'["a","b","c"]'}
    found = size(Options(), dict.fromkeys(lists, "inline"), lists)
    assert (found.n_rows, found.n_bytes) == (3, sum(map(len, lists.values())))
    assert size(ImportOptions(format="newick"), {}, {"content": memoryview(b"(a,b);")}) == Size(
        n_bytes=6
    )
    # What is gone or another tenant's counts as nothing.
    gone = {"features": "ds_" + "0" * 26}
    assert size(OfTree(tree="tr_" + "0" * 26), gone) == Size()
    assert size_of(service, "other", OfTree(tree=tree["id"]), {}, {}) == Size()
