"""Trees, clusters over time and bars as SVG and PNG, and trees as text for a terminal.

Start with `svg`, the picture of a tree, or `stream`, that of clusters over time.

- `svg`: the page of a tree: title, legend, notes.
- `circular`, `rectangular`, `icicle`: the three shapes of a tree.
- `part`: the folded part of a tree with places, labels and colours.
- `stream`, `panels`, `moving`, `timeline`: the picture of clusters over time.
- `bars`, `selective`, `moves`: numbers by name; a selective curve; what moved.
- `mosaic`: images of a node side by side.
- `marks`, `lettering`: SVG elements, text inside them.
- `palette`: colours.
- `png`, `render`: SVG to PNG, in a separate process.
- `outline`: a tree as lines of text.
"""
