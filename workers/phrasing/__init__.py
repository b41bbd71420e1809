"""Names of nodes phrased by a language model, where the operator has set one.

Start with `names`: what is sent of a naming, and what becomes of the answers.

- `names`: the names of a naming, within the operator's bounds, and kept for the next one.
- `chat`: one question to a chat endpoint in OpenAI's form.
"""
