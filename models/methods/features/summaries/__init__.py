"""Rows summed up in subclusters, which add up.

- `subclusters`: BIRCH's tree, grown from rows or joined from the trees of their shares.
"""
