"""The page: its files, and `routes`, which serve them and the sample's.

The scripts are in `js` (`js/pages`: a module for each page; `js/tree/draw`: pictures of the tree,
round or not), the styles in `style`; CONTRIBUTING says how they are checked.
"""
