"""What pictures are made of, as SVG, PNG and PDF, and trees as text for a terminal.

Start with `svg`, the picture of a tree, or `stream`, that of clusters over time.

- `svg`: the page of a tree. `circular`, `rectangular`, `icicle`: its shapes.
- `pictured_tree`: the folded part of a tree with places, labels and colours; `strips`: items
  beside it.
- `stream`, `panels`, `moving`, `timeline`: the picture of clusters over time.
- `mosaic`: images in a grid.
- `labels`: which names a picture has, and where; `inner_names`: the names of inner nodes.
- `marks`, `lettering`, `palette`, `legend`, `raster`: what every picture uses.
- `sheet`: sizes, and a drawn picture as a file.
- `typefaces`, `typesetting`: fonts of this machine; texts cut by font.
- `renderer`, `render`: SVG to PNG and PDF, in a separate process.
- `outline`: a tree as lines of text.
"""
