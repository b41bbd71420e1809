"""Bodies and queries of the API; records of the floors below are converted to these; start with
`jobs`.

- `jobs`, `named_jobs`, `comparisons`, `webhooks`: jobs and what belongs to them.
- `datasets`, `uploads`, `methods`, `steps`: data that come in; the catalogue; methods with params.
- `results`: what jobs leave; `documented`: schemas of what is sent as it was stored.
- `trees`, `queries`, `figures`: trees, queries of their forms and cuts, drawings of clients.
- `views`, `nodes`, `features`, `clusters`, `tangles`: parts of trees.
- `confusions`, `class_merges`, `consensus`: of classes, and of several trees.
- `statements`, `editions`, `shares`: what a user says and changes of a tree, and shows to others.
- `evaluations`, `predictions`, `calibrations`, `drifts`, `maps`, `heatmaps`, `namings`,
  `attachments`: of rows.
- `models`, `model_evaluations`, `paths`: models, measured classifiers, clusters over time.
- `transformations`, `stretches`: rows transformed, and the features that are stretched.
- `pages`, `problems`, `health`, `waiting`: pages of lists, problems, health, what lacks a package.
- `usage`, `expiry`, `annotations`: what a caller uses; when it may go; names and tags.
"""
