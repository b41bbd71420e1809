"""The client for asyncio: the blocking classes with `await`. Written by `make client`.

Start with `client`, which has `AsyncUmbel`.

- `client`
- `dataset`
- `edition`
- `job`
- `model`
- `tree`
"""
