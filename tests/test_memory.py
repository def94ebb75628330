"""How much memory is left: of the machine, and of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from exaudit import _memory
from exaudit._memory import available_memory, give_back_memory


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({}, None),
        ({"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    5 kB\n"}, 5 * 1024),
        ({"proc/meminfo": "nonsense"}, None),
        ({"memory.max": "max\n", "memory.current": "7\n", "memory.stat": ""}, None),
        ({"memory.max": "100\n", "memory.current": "70\n", "memory.stat": "anon 3\ninactive_file 20\n"}, 50),
        ({"memory.max": "100\n", "memory.current": "170\n", "memory.stat": ""}, 0),
        (
            {
                "memory/memory.limit_in_bytes": "100",
                "memory/memory.usage_in_bytes": "60",
                "memory/memory.stat": "",
            },
            40,
        ),
        (  # the limit of a group above one's own holds too
            {
                "proc/self/cgroup": "0::/user/search\n",
                "user/search/memory.max": "max",
                "user/search/memory.current": "20",
                "user/search/memory.stat": "",
                "user/memory.max": "100",
                "user/memory.current": "70",
                "user/memory.stat": "",
                "other/memory.max": "1",
                "other/memory.current": "0",
                "other/memory.stat": "",
            },
            30,
        ),
        (
            {
                "proc/self/cgroup": "5:devices:/\n4:memory:/search\n",
                "memory/search/memory.limit_in_bytes": "100",
                "memory/search/memory.usage_in_bytes": "60",
                "memory/search/memory.stat": "inactive_file 9",
            },
            49,
        ),
    ],
)
def test_the_least_of_what_is_told(files: dict[str, str], left: int | None, tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / (name if name.startswith("proc") else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert available_memory(tmp_path) == left


def test_memory_that_was_freed_is_given_back() -> None:
    status = Path("/proc/self/status")
    if not status.exists() or _memory._malloc_trim() is None:
        pytest.skip("only GNU's C library keeps it, and only Linux tells")

    def held() -> int:
        return int(status.read_text().split("VmRSS:")[1].split()[0])  # kB

    few = [bytearray(100_000) for _ in range(1000)]  # each too small for a mapping of its own
    pins = few[::50]
    del few  # what is left keeps the rest from shrinking
    before = held()
    give_back_memory()
    assert before - held() > 50_000
    assert len(pins) == 20


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_memory, "_malloc_trim", lambda: None)
    give_back_memory()
