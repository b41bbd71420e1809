"""What the work of several kinds is made of, inside the process of a job.

Start with `job`.

- `job`: what a job needs, what it reports, how it ended.
- `sources`, `remote_rows`: where its inputs are, and how they are read.
- `named_columns`: names that tables bring, of columns and rows; new rows matched by name.
- `row_order`: inputs brought into one order by the ids of their rows.
- `empty_cells`: a cell or column of a table, refused by the name of the column.
- `bare_rows`, `drawn_rows`: rows without a value, noise of a fit; inputs of some rows alone.
- `plan`, `support`: a fit of one or two methods; the same fit repeated.
- `placing`: new rows in a tree by its model; `fit_rows`: the rows that a fit saw.
- `crew`, `row_shares`: the pieces of a job, computed here or elsewhere; shares of rows in them.
"""
