"""Words of documents as numbers; start with `words`.

- `words`: the words of a text, stop words, stems; which count, and documents as their numbers.
- `counts`: how often words occur in documents, and near each other.
"""
