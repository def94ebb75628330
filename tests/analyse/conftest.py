"""Makes the hand-made documents of this folder importable by their name."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile("analyse", deadline=None)  # a busy machine is not a defect
settings.load_profile("analyse")
