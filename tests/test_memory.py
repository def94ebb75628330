"""How much memory is left: of the machine, and of the container."""

from __future__ import annotations

from pathlib import Path

import pytest

from exaudit._memory import available_memory


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
