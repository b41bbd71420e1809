"""Pictures of trees and numbers as SVG, PNG and PDF, and trees as text for a terminal.

Start with `svg`, the picture of a tree, or `stream`, that of clusters over time.

- `svg`: the page of a tree: title, legend, notes.
- `circular`, `rectangular`, `icicle`: the three shapes of a tree.
- `part`: the folded part of a tree with places, labels and colours.
- `stream`, `panels`, `moving`, `timeline`: the picture of clusters over time.
- `bars`, `selective`, `moves`, `mosaic`: other pictures.
- `marks`, `lettering`, `palette`: SVG elements, text inside them, colours.
- `paper`: sizes, and a drawn picture as a file.
- `typefaces`, `typesetting`: fonts of this machine; texts cut by font.
- `renderer`, `render`: SVG to PNG and PDF, in a separate process.
- `outline`: a tree as lines of text.
"""
