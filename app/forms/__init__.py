"""The forms in which results are served, and how a client chooses among them.

Start with `form`: `mount` makes the pair of routes by suffix and by `Accept`.

- `form`: a form, the choice of one, the routes and the response.
- `assignments`, `positions`: the forms of the clusters of rows, and of a map.
- `confusions`, `class_merges`: of classes that are taken for others, or merged.
- `tree`, `tangles`: the forms of a tree, Newick to PDF; of two trees side by side.
- `paths`: the forms of clusters over time.
- `cluster_paths`: these paths, for chosen clusters and a few periods at a time.
- `stretches`, `heatmaps`: of features that a transformation stretches; of clusters as a matrix.
- `pictures`, `figures`, `node_pictures`: SVG, PNG, PDF; what a client drew; images of nodes.
- `parts`, `coloring`: parts of a tree as JSON, piece by piece; categories that colour a tree.
- `tables`, `selective_curve`, `drift`: of a stored table, a calibration's curve, what moved.
- `items`, `item_columns`: what is attached to a tree: examples and values of nodes; in pictures.
- `stored`: stored trees and models for routes.
"""
