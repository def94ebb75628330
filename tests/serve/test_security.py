from __future__ import annotations

import pytest

from exaudit.errors import SettingError
from exaudit.serve.listening import check_token
from exaudit.serve.workbench import Workbench
from webclient import CSRF, Client, Serve

TOKEN = "a long enough token"


@pytest.fixture(scope="module")
def client(opened: tuple[Workbench, Client]) -> Client:
    return opened[1]


@pytest.mark.parametrize("path", ["/", "/api/file", "/static/base.css", "/nothing", "/api/openapi.json"])
def test_every_answer_carries_the_policy(client: Client, path: str) -> None:
    headers = client.ask("GET", path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


def test_pages_have_nothing_inline_and_nothing_from_elsewhere(client: Client) -> None:
    for path in (
        "/",
        "/correct",
        "/mark",
        "/queue",
        "/features",
        "/reliability",
        "/compare",
        "/model",
        "/api",
    ):
        page = client.ask("GET", path).body.decode()
        assert "</html>" in page
        assert " style=" not in page
        assert " on" + "click=" not in page
        assert "<style" not in page
        outside = page.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in outside
        assert "https://" not in outside


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "127.0.0.1@evil.example", "["]
)
def test_other_hosts_are_refused(client: Client, host: str) -> None:
    assert client.ask("GET", "/api/file", headers={"Host": host}).status == 421


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1:80", "[::1]:9"])
def test_this_machine_may_have_any_port(client: Client, host: str) -> None:
    assert client.ask("GET", "/api/file", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**CSRF, "Origin": "http://evil.example"},
        {**CSRF, "Origin": "null"},
        {**CSRF, "Sec-Fetch-Site": "cross-site"},
        {**CSRF, "Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_others_change_nothing(opened: tuple[Workbench, Client], headers: dict[str, str]) -> None:
    bench, client = opened
    before = bench.version
    for method, path in (("POST", "/api/support/undo"), ("DELETE", "/api/file"), ("PUT", "/api/marks/0")):
        answer = client.ask(method, path, b'{"version": 1}', {**headers, "content-type": "application/json"})
        assert answer.status == 403
    assert bench.version == before
    assert bench.file is not None


def test_a_preflight_of_others_gets_no_leave(client: Client) -> None:
    asked = {"Origin": "http://evil.example", "Access-Control-Request-Headers": "x-exaudit"}
    answer = client.ask("OPTIONS", "/api/support/undo", headers=asked)
    assert answer.status == 405
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_large_requests_are_refused_told_or_not(client: Client) -> None:
    told = {**CSRF, "content-type": "application/json", "content-length": str(1 << 30)}
    assert client.ask("POST", "/api/label", None, told).status == 413
    long = b'{"text": "' + b"a" * (5 << 20) + b'"}'
    assert client.ask("POST", "/api/label", long, {**CSRF, "content-type": "application/json"}).status == 413
    text = {"text": "word " * 90_000}
    assert "text" in client.post("/api/label", text, status=422)["error"]


@pytest.mark.parametrize(
    "path",
    ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd", "/static/"],
)
def test_no_path_leads_out_of_the_static_files(client: Client, path: str) -> None:
    answer = client.ask("GET", path)
    assert answer.status == 404
    assert b"import" not in answer.body


def test_a_name_of_a_file_names_none_on_the_server(opened: tuple[Workbench, Client]) -> None:
    bench, client = opened
    answer = client.ask("POST", "/api/file?name=../../model.json&format=csv", b"nothing", {**CSRF})
    assert answer.status == 400
    assert str(bench.folder) not in answer.body.decode()
    assert list((bench.state.folder / "uploads").iterdir()) == []


def test_errors_carry_no_internals(
    opened: tuple[Workbench, Client], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bench, client = opened
    told = client.ask("GET", "/api/support/document?id=nobody")
    assert told.status == 400
    assert told.json["error"].startswith("the support set: there is no document 'nobody'")
    monkeypatch.setattr(bench, "need_file", lambda: 1 / 0)
    answer = client.ask("GET", "/api/file/documents")
    assert answer.status == 500
    assert answer.json == {"error": "an internal error; the terminal of `exaudit serve` has more"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "ZeroDivisionError" in caplog.text


def test_a_lone_surrogate_is_told_and_not_echoed(client: Client) -> None:
    body = b'{"text": "\\ud800"}'
    answer = client.ask("POST", "/api/label", body, {**CSRF, "content-type": "application/json"})
    assert answer.status == 422


def test_a_token_is_asked_for_everywhere(serve: Serve) -> None:
    _, client = serve(token=TOKEN, hosts=["127.0.0.1"])
    for path in ("/", "/api/file", "/static/base.css", "/?token=another", "/?token="):
        assert client.ask("GET", path).status == 401
    for name, value in (
        ("authorization", f"Bearer {TOKEN}x"),
        ("cookie", "exaudit_token=\xe9"),
        ("cookie", "a=b;;="),
    ):
        assert client.ask("GET", "/", headers={name: value}).status == 401
    assert client.ask("GET", "/api/file", headers={"authorization": f"Bearer {TOKEN}"}).status == 200
    welcome = client.ask("GET", "/queue?token=" + TOKEN.replace(" ", "%20"))
    assert welcome.status == 303
    assert welcome.headers["location"] == "/queue"
    cookie = welcome.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert client.ask("GET", "/queue", headers={"cookie": cookie.split(";")[0]}).status == 200
    assert client.ask("GET", "/", headers={"Host": "localhost"}).status == 421


def test_only_this_machine_needs_no_token() -> None:
    assert check_token("127.0.0.1", None) is None
    assert len(check_token("0.0.0.0", "new") or "") >= 32
    with pytest.raises(SettingError, match=r"at 0\.0\.0\.0 others can reach the workbench"):
        check_token("0.0.0.0", None)
    for bad in ("short", "ä" * 20, "a\n" * 10):
        with pytest.raises(SettingError, match="at least 16 characters"):
            check_token("127.0.0.1", bad)
