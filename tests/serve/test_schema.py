"""Whatever fits the schema, or just does not, is answered, and never with a 5xx."""

from __future__ import annotations

import contextlib
import warnings

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from exaudit.serve.workbench import Workbench
from webclient import CSRF, Client

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that it brings
    schemathesis = pytest.importorskip("schemathesis")

LONG_WORK = ("/api/support/build", "/api/model/refit")
EXAMPLES = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_the_schema_survives(opened: tuple[Workbench, Client]) -> None:
    _, client = opened
    schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json"))
    schema.config.update(base_url=client.address)
    called: dict[tuple[str, str], set[int]] = {}

    def send(case: schemathesis.Case) -> None:
        answer = case.call(headers=CSRF)
        called.setdefault((case.method, case.path), set()).add(answer.status_code)
        assert answer.status_code < 500, (case.as_curl_command(), answer.text)
        if answer.status_code >= 400:
            assert set(answer.json()) == {"error"}

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path in LONG_WORK:
            continue
        for mode in schemathesis.GenerationMode:
            with contextlib.suppress(Unsatisfiable):  # nothing can be wrong where nothing is given
                EXAMPLES(given(case=operation.as_strategy(generation_mode=mode))(send))()
    assert len(called) > 25
    assert {409, 422} <= set.union(*called.values())
