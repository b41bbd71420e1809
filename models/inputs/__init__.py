"""What goes into a method: values by role, read by rows, checked.

Start with `data`.

- `data`: the inputs of a method by role, already parsed; images as rows.
- `frames`: where rows lie and how large they are: moves and scales them for all that measures.
- `rows`: a matrix that is read by rows; `items`: a table of items.
- `oddities`: warnings of columns that are likely not meant as features, and of rows
  beside which others seem to be one; `stand_ins`: of marks of missing values and totals.
- `reading`: whole numbers that double precision would round are refused; what reading decided,
  forgave or found odd becomes a warning.
- `label_sets`: rows with several labels or none; labels as nodes of a hierarchy.
- `pairs`: pairs of rows, and what a user says of rows: together, or not.
- `checks`: what is refused before any work.
"""
