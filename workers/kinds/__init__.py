"""The kinds of work, a module for each; the rest of the floor and the API name none of them.

Start with `kind`, the contract, and `drift`, a whole one.

- `kind`: the contract of a kind; `registry` finds one by its name.
- `fit`, `compare`, `consensus`, `import_`: what makes trees.
- `predict`, `transform`, `calibrate`, `drift`, `evaluate`: what a tree or model does on rows.
- `place`: classes of a tree out of place in a hierarchy of the same classes.
- `map`, `heatmap`, `attach`, `name`: what goes with a tree; `of_fit`: by the rows of its fit.
- `inspect`: an uploaded dataset opened; `embed`: texts or images as vectors.
"""
