"""Files of arrays: the accepted formats of uploads, and how a file becomes the input of a role.

Start with `catalogue`: it recognises a file's format and reads it. Each format has a reader, which
parses bytes to a plain table (`tables`) and refuses what is not of its format: `npy`, `npz`,
`safetensors` (`raw` maps what is stored uncompressed); `arrow`, `parquet` (`parquet_footer`) in
`batches` (`arrow_types`); `h5ad` (`hdf5`); `csv` (`csv_dialect`, `csv_text`), `excel`
(`sheet_sizes`), `libsvm`, `arff`, `json` (`json_tables`), `jsonl`; `image_zip` (`archives`).

`packed` unpacks gzip, zstd, bzip2 and xz; `encodings` turns UTF-16 into UTF-8. `table_files` looks
at the columns of a table with names, and reads the chosen ones; `column_roles` proposes which of
them are features, ids, labels or texts. `roles` turns a table into the value of a role, or refuses
it, by means of `columns`, `labels` (several a row or none, indicators), `distances` (condensed
ones), `edges` (a graph of labels) and `items` (columns of any kinds). `gaps` counts empty cells,
`recognition` knows formats by their first bytes, `facts` describes a file and limits its size in
memory; `refusals` has shared errors, `inline` the lists of a request, `strict_json` its JSON;
`trees` reads uploaded trees (`tree_documents`: text or JSON), `table_writers` writes.
"""
