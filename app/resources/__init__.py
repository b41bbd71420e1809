"""What a client sees: a folder for each resource, with its routes, schemas, forms and picture.

Start with `jobs`, and with `drifts` for a kind of work on a tree. Resources know nothing of each
other, but for `trees`; what two need stands in `app.creation`, `app.http` or `app.pictures`.

- `jobs`, `methods`, `comparisons`: runs of methods and the catalogue.
- `datasets`, `embeddings`, `statements`: data, uploaded, embedded or stated of a tree.
- `trees`, `aliases`, `consensus`, `namings`, `editions`, `tangles`, `placements`, `flows`,
  `shares`: trees, made, named, changed, compared, searched for what is odd, level by level, shown.
- `attachments`, `maps`, `heatmaps`, `figures`: items and pictures of a tree.
- `models`, `predictions`, `evaluations`, `calibrations`, `drifts`, `confusions`: models, and what
  they do on rows.
- `problems`: pages that explain the types of problems.
- `service`: health, version, usage.
"""
