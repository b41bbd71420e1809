"""The processes that compute, forked from a template.

Start with `run`, which does a job; it has access to neither Redis nor the object store.

- `template`, `preload`, `compiling`: the process that children are forked from; what it has loaded;
  compiled code at its start.
- `pool`, `output`: the worker's side: starts, feeds and stops children; what they print.
- `process`, `stillness`: the life of a child, and its limits; whether a process still computes.
- `confinement`, `messages`: what the kernel refuses to a child; what it sends its supervisor.
- `run`: one job, from input files to result files; `sources`: where the inputs are.
- `remote_rows`: a matrix that is read by rows in the object store.
- `fit`, `crew`: a plan of one method, or of two; a fit that is cut into pieces.
- `support`, `comparison`, `consensus`: bootstrap support; several methods; one tree of several.
- `apart`, `json_facts`, `json_body`: long JSON documents and bodies, opened for the API.
- `evaluation`, `placing`, `classification`, `calibration`, `drift`, `names`: rows in a tree.
- `mapping`, `heatmaps`, `attachment`, `fit_rows`: points, clusters, items; rows of the fit.
"""
