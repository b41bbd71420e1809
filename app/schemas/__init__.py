"""Bodies and queries as they go over the wire; records of the floors below become these.

- `jobs`, `comparisons`, `webhooks`: jobs and what belongs to them.
- `datasets`, `uploads`: data that come in.
- `methods`: entries of the catalogue.
- `trees`, `parts`: trees, and the queries of their forms and cuts.
- `looks`: views, nodes, clusters and other views of parts of trees.
- `evaluations`, `predictions`: what is measured and what is placed.
- `models`, `paths`: what was fitted, and clusters over time.
- `pages`, `problems`, `health`: pages of lists, problems, health.
"""
