"""The page: its files, and `routes`, which serve them and those of the sample.

The scripts are in `js`, the styles in `style`; CONTRIBUTING says how they are checked.
"""
