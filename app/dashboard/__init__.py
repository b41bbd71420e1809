"""The page: its files, and `routes`, which serve them and the sample's.

The scripts are in `js`, the styles in `style`; CONTRIBUTING says how they are checked.
"""
