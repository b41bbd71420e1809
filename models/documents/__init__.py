"""Words of documents as numbers; start with `tokens`.

- `tokens`: the words of a text, stop words, stems.
- `vocabulary`: which words count, and documents as numbers of words.
- `counts`: how often words occur in documents, and near each other.
"""
