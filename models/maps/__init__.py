"""Maps: the points of a tree as positions in the plane, beside the tree.

Start with `mapping`, which lays out the points as `options` say: by principal components, by
neighbourhoods (the libraries umap-learn and openTSNE), points of the Poincaré ball in its disc.

- `options`: which map, and its terms.
- `principal`: the leading principal components of many rows; the map `pca`.
- `kept`: how many nearest neighbours a map keeps.
- `selection`: the points within an outline, and the node that fits them best.
"""
