"""Files of arrays: the accepted formats of uploads, and how a file becomes the input of a role.

Start with `catalogue`: it recognises a file's format and reads it; `endings` lists what is taken.
Each format has a reader, which parses bytes to a plain table (`tables`) and refuses what is not of
its format: `npy`, `npz`, `safetensors` (`raw` maps what is stored plainly); `arrow`, `parquet`
(`parquet_footer`) in `batches` (`arrow_types`); `h5ad` (`hdf5`); `csv` (`csv_dialect`,
`csv_header`, `csv_text`, `csv_spaces`), `excel` (`sheet_sizes`, `hidden_cells`), `libsvm`, `arff`,
`json` (`json_tables`), `jsonl`, `image_zip`; `archives`.

`packed` unpacks files; `encodings` turns UTF-16 into UTF-8. `table_files` reads the chosen columns
of a table; `column_roles` proposes what they are (`quantities`). `roles` turns a table into the
value of a role, or refuses it, by means of `columns`, `labels` (several a row or none, indicators),
`distances`, `edges` (a graph of labels) and `items` (columns of any kinds). `gaps` counts empty
cells, `recognition` knows formats by their first bytes, `facts` describes a file and limits its
size in memory; `refusals` has shared errors, `inline` the lists of a request, `strict_json` its
JSON; `repeated_names`; `trees` reads uploaded trees (`tree_documents`), `table_writers` writes.
"""
