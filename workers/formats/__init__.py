"""Files of arrays: the accepted formats of uploads, and how a file becomes the input of a role.

Start with `catalogue`: it recognises a file's format and reads it. Each format has a reader, which
parses bytes to a plain table (`tables`) and refuses what is not of its format:

- `npy`, `npz`, `safetensors`: arrays; `raw` maps arrays that are stored uncompressed.
- `arrow`, `parquet` (`parquet_footer`): record batches, which `batches` turns into arrays.
- `csv`, `libsvm`, `arff`, `json`, `jsonl`: text.
- `image_zip`: images in a zip archive; `archives` opens these, and `npz`, with bounds.

`packed` unpacks gzip and zstd. `inline` has a request's own lists, `strict_json` the JSON it may
send. `roles` turns a table into the value of a role, or refuses it, by means of `columns`, `labels`
(several a row or none, indicators), `distances` (condensed ones), `edges` (a graph of labels) and
`items` (columns of any kinds). `facts` describes a file and limits its size in memory; `refusals`
has shared errors. `trees` reads uploaded trees, `table_writers` writes CSV, JSON and Arrow.
"""
