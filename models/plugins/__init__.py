"""Methods of other distributions, named by the entry points `umbel.methods`.

- `entry_points`: the entry points, read and not imported.
- `loading`: a plug-in imported and checked; one that cannot be used is left out with the problem.
"""
