"""The client for asyncio: the blocking classes with `await`. Written by `make client`.

Start with `client`, which has `AsyncUmbel`.

- `artifact`
- `attachment`
- `calibration`
- `client`
- `comparison`
- `dataset`
- `drift`
- `edition`
- `heatmap`
- `job`
- `map`
- `model`
- `naming`
- `tree`
- `tree_parts`
"""
