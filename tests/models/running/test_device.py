"""Missing devices, and threads restored afterwards."""

from __future__ import annotations

import pytest
import torch

from models.errors import UsageError
from models.running.device import computing, require

pytestmark = pytest.mark.needs("torch")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_refused() -> None:
    require("cpu")
    with pytest.raises(UsageError, match="there is no GPU where the job runs") as caught:
        require("cuda")
    assert (caught.value.code, caught.value.where) == ("no-gpu", {"parameter": "device"})


def test_threads_and_gradients_are_as_before_afterwards() -> None:
    before = torch.get_num_threads()
    with computing(before + 1):
        assert torch.get_num_threads() == before + 1
        assert not torch.is_grad_enabled()
    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()


def test_a_gpu_that_is_too_small_is_a_users_error() -> None:
    with pytest.raises(UsageError, match="Lower 'batch_size'"), computing(1):
        raise torch.OutOfMemoryError


def test_sums_have_a_fixed_order_where_there_is_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    with computing(1):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
