"""Names, descriptions and tags of datasets, jobs, trees and models, changed afterwards.

`routes`: the operations.
"""
