"""What other tools write in trees, and what of it is read; start with `annotations`.

- `annotations`: comments of Newick, and labels that are support.
- `support`: support of nodes on one scale.
- `fields`: names of the fields of JSON nodes.
- `separators`: other marks between the parts of class paths.
- `contents`: Newick and Nexus known by their beginnings.
- `rounding`: values below 0 by rounding alone.
"""
