"""The client for asyncio: the blocking classes with `await`. Written by `make client`.

Start with `client`, which has `AsyncUmbel`.

- `aliases`
- `artifact`
- `attachment`
- `calibration`
- `client`
- `comparison`
- `core`
- `dataset`
- `drift`
- `edition`
- `heatmap`
- `held`
- `job`
- `lists`
- `map`
- `model`
- `naming`
- `placement`
- `tree`
- `tree_forms`
- `tree_parts`
- `tree_work`
"""
