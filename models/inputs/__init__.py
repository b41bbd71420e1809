"""What goes into a method: values by role, read by rows, checked.

Start with `data`.

- `data`: the inputs of a method by role, already parsed.
- `frames`: where rows lie and how large they are: moves and scales them for all that measures.
- `rows`: a matrix that is read by rows; `images`: images as its rows; `items`: a table of items.
- `odd_columns`, `far_rows`: warnings of columns that are likely not meant as features, and of rows
  beside which others seem to be one.
- `exact`: whole numbers that double precision would round are refused.
- `label_sets`, `label_nodes`: rows with several labels or none; labels as nodes of a hierarchy.
- `known_clusters`: what a user says of rows: together, or not; `pairs`: pairs of rows.
- `notes`: what reading an input decided, forgave or found odd becomes a warning.
- `checks`: what is refused before any work.
"""
