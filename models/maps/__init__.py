"""Maps: the points of a tree as positions in the plane, beside the tree.

Start with `mapping`, which lays out the points as `options` say.

- `options`: which map, and its terms.
- `principal`: the leading principal components of many rows; the map `pca`.
- `umap_layout`, `tsne_layout`: maps of neighbourhoods, by the libraries umap-learn and openTSNE.
- `disc`: points of the Poincaré ball in its disc, for the methods that place points there.
- `faithfulness`: how many nearest neighbours a map keeps.
- `selection`: the points within an outline, and the node that fits them best.
"""
