"""An untrained model of the embedded kind."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def model():
    """A small Llama with random weights; tests that use it change nothing in it."""
    pytest.importorskip("alfworld", reason="the tokenizer is made from alfworld's tables")
    from rla_agents.tiny.make import new_model

    return new_model(seed=3)
