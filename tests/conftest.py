"""Shared by all tests: one seed, two threads at most, no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # so that tests can import `tiny`
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # several processes of tests share the cores

import numpy as np
import pytest
import torch
from hypothesis import settings

settings.register_profile("seeded", derandomize=True, deadline=None)  # the same examples in every run
settings.load_profile("seeded")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)
    np.random.seed(0)
