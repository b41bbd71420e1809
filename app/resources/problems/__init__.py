"""Pages of problems: what the type of a problem means, and what to do.

`routes`: `/problems/{code}`, as a page and as JSON; `table`: what they say.
"""
