"""Files of arrays: the accepted formats of uploads, and how a file becomes the input of a role.

Start with `catalogue`: it recognises a file's format and reads it. Each format has a reader, which
parses bytes to a plain table (`tables`) and refuses what is not of its format:

- `npy`, `npz`, `safetensors`: arrays; `raw` maps arrays that are stored uncompressed.
- `arrow`, `parquet` (`parquet_footer`): record batches, which `batches` turns into arrays.
- `csv`, `libsvm`, `arff`, `json`, `jsonl`: text.
- `packed`: files and bodies packed by gzip or zstd, unpacked while they arrive.
- `image_zip`: images in a zip archive; `archives` opens these, and `npz`, with bounds.

`inline` has the lists that a request carries itself, `strict_json` what JSON it may send.
`roles` turns a table into the value of a role, or refuses it, by means of `columns`, `labels` (rows
with several labels or none, indicators), `distances` (condensed, or below 0 by rounding), `edges`
(a graph of labels) and `items` (columns of any kinds). What it forgives becomes a warning of the
job by `models.inputs.notes`.
`facts` describes a file and limits its size in memory; `refusals` has the errors that several
readers share. `trees` reads uploaded trees. `table_writers` writes tables as CSV, JSON and Arrow.
"""
