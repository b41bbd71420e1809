"""Trees: lists, forms, removal.

Start with `routes`.

- `routes`: the operations.
- `schemas`: what goes over the wire.
- `forms`, `documented`: how it is served, by suffix or `Accept`, and what the document says of it.
- `coloring`: categories that colour a tree.
- `item_columns`: columns of items beside it.
- `shown`: a tree with the names of a naming and the changes of an edition.
- `assignments`: the cluster of each row.
- `clusters`: a cut without its rows.
- `imports`: trees made elsewhere.
- `nodes`: one node and what is under it.
- `steps`: the trees that a fit had on its way.
- `views`: parts to draw, search, suggested levels.
"""
