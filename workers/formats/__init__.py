"""Files of arrays: what an upload may be, and how it becomes the input of a role.

Start with `catalogue`: it recognises a file's format and reads it. Each format has a reader, which
parses bytes to a plain table (`tables`) and refuses what is not of its format:

- `npy`, `npz`, `safetensors`: arrays; `raw` maps those that lie in a file as they are.
- `arrow`, `parquet` (`parquet_footer`): record batches, which `batches` turns into arrays.
- `csv`, `libsvm`, `json`, `jsonl`: text.

`roles` turns a table into the value of a role, or refuses it. `facts` is what is known of a file
and how large it may become; `refusals` what several readers refuse alike. `trees` reads uploaded
trees. `table_writers` writes tables as CSV, JSON and Arrow, for results and answers.
"""
