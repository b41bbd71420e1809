"""Vectors of texts and images by an endpoint, or by a model in a folder, that the operator has set.

Start with `vectors`: what of a job's items the endpoint gets, and what becomes of its answers.

- `vectors`: the vectors of a job, in batches, within the operator's bounds; what is had already, of
  an earlier attempt or of an earlier job, is not sent again.
- `kept`: vectors that were given before, by the hash of what they depend on.
- `meaning`: the texts that are nearest to a question.
- `endpoint`: one batch to an endpoint of embeddings in OpenAI's form.
- `local`: one batch to a process of this machine; `resident`: one that stays for searches.
- `onnx_process`: that process; `onnx_session`, `onnx_texts`, `onnx_images`: its models.
"""
