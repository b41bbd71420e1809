"""The routes of the API, a module for each kind of resource; `app.main` mounts all of them.

Start with `jobs`.

- `jobs`, `webhooks`, `comparisons`: runs of methods, and the requests sent when they end.
- `datasets`, `uploads`: uploaded data, whole or in parts; `changes`: names and tags, afterwards.
- `methods`: the catalogue; `imports`, `trees`, `consensus`, `namings`: imported trees, whole ones,
  one of several, named.
- `statements`, `editions`, `shares`: what a user says and changes of a tree, and links to it.
- `views`, `nodes`, `clusters`, `tangles`, `features`, `confusions`, `class_merges`: parts of trees.
- `assignments`, `attachments`, `maps`, `heatmaps`, `evaluations`, `predictions`, `calibrations`,
  `drifts`: of rows. `models`, `model_evaluations`, `paths`: fitted models, what they do on rows
  with known labels, and clusters over time.
- `transformations`, `stretches`: rows transformed by a model, and the features that it stretches.
- `health`, `version`, `usage`: liveness, metrics; the version; what a caller uses of what it may.
- `figures`: drawings as files; `dashboard`: the page and its files.
"""
