from __future__ import annotations

import subprocess
import sys

import exaudit


def test_public_names_are_sorted_and_real() -> None:
    assert exaudit.__all__ == sorted(exaudit.__all__)
    assert set(exaudit.__all__) == set(exaudit._HOME)
    for name in exaudit.__all__:
        assert getattr(exaudit, name).__name__ == name


def test_unknown_names_are_refused() -> None:
    assert not hasattr(exaudit, "nothing_of_that_name")


def test_compute_rooms_need_no_store_web_or_terminal() -> None:
    """They also run where only torch, numpy, safetensors, transformers and tqdm are installed."""
    code = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"lance", "pyarrow", "typer", "click", "rich", "sklearn", "jinja2"}:
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import exaudit.encode, exaudit.encode.cache, exaudit.encode.transformer, exaudit.head.training, exaudit.head.tuning
import exaudit.support.search, exaudit.support.memory, exaudit.decide
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_help_does_not_load_torch() -> None:
    code = "import sys; from exaudit.cli import run; run(['--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
