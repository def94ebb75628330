"""Fetching data sets, from a server on this machine: what is right is kept, and nothing else ever is."""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from exaudit.cli import run
from exaudit.data import fetch as module
from exaudit.data.fetch import DataSet, catalogue, data_folder, fetch, read_catalogue
from exaudit.errors import DataError, SettingError

ONE, TWO = b"one\n" * 50_000, b"two\r\n"
BLOB = "eeacbdb6b832e024b53d4148bf37fbb054e2f44d"  # git hash-object of TWO


class Origin:
    """A server. `answers` maps a path to (status, headers, body); `asked` lists the paths asked for."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                origin.asked.append(self.path)
                status, headers, body = origin.answers.get(self.path, (404, {}, b"no"))
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.end_headers()
                with suppress(ConnectionError):  # the reader stops where too much comes
                    self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def serve(self, path: str, body: bytes, status: int = 200, **headers: str) -> None:
        self.answers[path] = (status, {"Content-Length": str(len(body)), **headers}, body)


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    for name in ("http_proxy", "HTTP_PROXY", "EXAUDIT_DATA", "EXAUDIT_FETCH_BASE"):
        monkeypatch.delenv(name, raising=False)
    origin = Origin()
    origin.serve("/o/r/c/one.txt", ONE)
    origin.serve("/o/r/c/two.txt", TWO)
    yield origin
    origin.server.shutdown()
    origin.server.server_close()


def entry(path: str, url_path: str, body: bytes, **changes: Any) -> dict[str, Any]:
    known = {"sha256": hashlib.sha256(body).hexdigest(), "bytes": len(body)}
    return {"path": path, "url": f"https://origin.invalid{url_path}", **known, **changes}


def sets(*files: dict[str, Any], restricted: bool = False, **changes: Any) -> dict[str, DataSet]:
    entries = files or (entry("one.txt", "/o/r/c/one.txt", ONE), entry("deep/two.txt", "/o/r/c/two.txt", TWO))
    small = {
        "title": "Small files",
        "licence": "Testers only",
        "restricted": restricted,
        "terms": ["Use them in tests."],
        "citation": ["Tester (2021)."],
        "origin": "https://origin.invalid/o/r",
        "files": list(entries),
        "not_fetched": [{"path": "three.txt", "why": "made by hand"}],
    }
    return dict(read_catalogue(json.dumps({"sets": {"small": {**small, **changes}}})))


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_data_set_comes_whole_and_with_its_licence(origin: Origin, tmp_path: Path) -> None:
    done = fetch("small", tmp_path, base=origin.base, sets=sets())
    assert [file.outcome for file in done] == ["fetched", "fetched"]
    assert [file.path for file in done] == [tmp_path / "small/one.txt", tmp_path / "small/deep/two.txt"]
    assert (tmp_path / "small/one.txt").read_bytes() == ONE
    assert (tmp_path / "small/deep/two.txt").read_bytes() == TWO
    assert names(tmp_path / "small") == {"one.txt", "deep/two.txt", "LICENCE.txt", "SOURCE.txt"}
    licence = (tmp_path / "small/LICENCE.txt").read_text()
    assert all(part in licence for part in ("Testers only", "Use them in tests.", "Tester (2021)."))
    source = (tmp_path / "small/SOURCE.txt").read_text()
    assert "https://origin.invalid/o/r/c/one.txt" in source
    assert hashlib.sha256(ONE).hexdigest() in source
    assert "not fetched: three.txt: made by hand" in source


def test_what_is_right_already_is_not_fetched_again(origin: Origin, tmp_path: Path) -> None:
    fetch("small", tmp_path, base=origin.base, sets=sets())
    assert origin.asked == ["/o/r/c/one.txt", "/o/r/c/two.txt"]
    done = fetch("small", tmp_path, base=origin.base, sets=sets())
    assert [file.outcome for file in done] == ["kept", "kept"]
    assert len(origin.asked) == 2


def test_a_file_that_differs_is_replaced(origin: Origin, tmp_path: Path) -> None:
    fetch("small", tmp_path, base=origin.base, sets=sets())
    (tmp_path / "small/one.txt").write_bytes(b"ONE\n" * 50_000)  # the same size
    done = fetch("small", tmp_path, base=origin.base, sets=sets())
    assert [file.outcome for file in done] == ["replaced", "kept"]
    assert (tmp_path / "small/one.txt").read_bytes() == ONE


def test_a_set_that_broke_off_goes_on_where_it_stopped(origin: Origin, tmp_path: Path) -> None:
    origin.serve("/o/r/c/two.txt", b"busy", status=503)
    with pytest.raises(DataError, match=r"two\.txt: the server answered 503 .*1 of 2 files of small"):
        fetch("small", tmp_path, base=origin.base, sets=sets())
    assert names(tmp_path / "small") == {"one.txt", "LICENCE.txt"}
    origin.serve("/o/r/c/two.txt", TWO)
    origin.asked.clear()
    done = fetch("small", tmp_path, base=origin.base, sets=sets())
    assert [file.outcome for file in done] == ["kept", "fetched"]
    assert origin.asked == ["/o/r/c/two.txt"]


def refused(origin: Origin, tmp_path: Path, match: str, wanted: dict[str, DataSet] | None = None) -> None:
    """The fetch fails with this message, a file of the user's stays as it was, and no half file is left."""
    (tmp_path / "small").mkdir()
    (tmp_path / "small/one.txt").write_bytes(b"mine")
    with pytest.raises(DataError, match=match) as caught:
        fetch("small", tmp_path, base=origin.base, sets=wanted or sets())
    assert f"{origin.base}/o/r/c/one.txt" in str(caught.value)
    assert (tmp_path / "small/one.txt").read_bytes() == b"mine"
    assert names(tmp_path) == {"small/one.txt", "small/LICENCE.txt"}


def test_a_wrong_checksum(origin: Origin, tmp_path: Path) -> None:
    other = ONE[:-1] + b"!"
    origin.serve("/o/r/c/one.txt", other)
    found, known = (hashlib.sha256(body).hexdigest() for body in (other, ONE))
    refused(origin, tmp_path, f"its SHA-256 is {found}, the catalogue says {known}; nothing of it was kept")


def test_a_wrong_git_blob(origin: Origin, tmp_path: Path) -> None:
    wanted = sets(
        entry("one.txt", "/o/r/c/one.txt", ONE, sha256=None, bytes=None, git_blob=BLOB, max_bytes=10**6)
    )
    refused(origin, tmp_path, f"its git blob id is .*, the catalogue says {BLOB}", wanted)


def test_a_file_that_is_not_there(origin: Origin, tmp_path: Path) -> None:
    del origin.answers["/o/r/c/one.txt"]
    refused(origin, tmp_path, "the server answered 404 Not Found; run the command again")


def test_a_body_that_breaks_off(origin: Origin, tmp_path: Path) -> None:
    origin.answers["/o/r/c/one.txt"] = (200, {"Content-Length": str(len(ONE))}, ONE[:1000])
    refused(origin, tmp_path, "ended after 1,000 of 200,000 bytes")


def test_a_body_that_breaks_off_unannounced(origin: Origin, tmp_path: Path) -> None:
    origin.answers["/o/r/c/one.txt"] = (200, {}, ONE[:1000])
    refused(origin, tmp_path, "it has 1,000 bytes, the catalogue says 200,000")


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "5000000"}], ids=["endless", "announced"])
def test_a_body_that_is_too_large_is_cut_short(
    headers: dict[str, str], origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = 0
    update = module.progress

    def counted(*arguments: Any, **options: Any) -> Any:
        bar = update(*arguments, **options)

        def count(number: int) -> None:
            nonlocal written
            written += number

        bar.update = count
        return bar

    monkeypatch.setattr(module, "progress", counted)
    origin.answers["/o/r/c/one.txt"] = (200, headers, b"x" * 5_000_000)
    refused(origin, tmp_path, "larger than the catalogue's 200,000 bytes")
    assert 0 < written <= 200_000


def test_a_server_that_is_not_there(origin: Origin, tmp_path: Path) -> None:
    origin.server.shutdown()
    origin.server.server_close()
    refused(origin, tmp_path, r"cannot be reached.*refused.*check the connection")


@pytest.mark.parametrize(
    "where",
    ["file:///etc/hostname", "ftp://origin.invalid/x", "http://origin.invalid/x", "data:,x", "https://["],
)
@pytest.mark.parametrize("status", [301, 302, 307])
def test_redirects_away_from_https_are_refused(
    status: int, where: str, origin: Origin, tmp_path: Path
) -> None:
    origin.serve("/o/r/c/one.txt", b"", status=status, Location=where)
    refused(origin, tmp_path, re.escape(f"redirected to {where} (status {status}), which is not followed"))


def test_a_redirect_that_goes_in_circles(origin: Origin, tmp_path: Path) -> None:
    origin.serve("/o/r/c/one.txt", b"", status=302, Location="/o/r/c/one.txt")
    refused(origin, tmp_path, "only a few redirects are")


def test_a_redirect_within_the_mirror_is_followed(origin: Origin, tmp_path: Path) -> None:
    origin.serve("/o/r/c/one.txt", b"", status=302, Location="/moved/one.txt")
    origin.serve("/moved/one.txt", ONE)
    assert fetch("small", tmp_path, base=origin.base, sets=sets())[0].outcome == "fetched"
    assert "/moved/one.txt" in origin.asked


def test_https_is_never_led_to_this_machine(origin: Origin) -> None:
    """A redirect from the real origin to http://127.0.0.1 would reach servers that are nobody's business."""
    redirects = module._Redirects(local=False)
    asked = module.request.Request("https://origin.invalid/x")
    with pytest.raises(module.HTTPError) as caught:
        redirects.redirect_request(asked, None, 302, "Found", {}, f"{origin.base}/x")
    caught.value.close()
    led = redirects.redirect_request(asked, None, 302, "Found", {}, "https://other.invalid/x")
    assert led is not None
    assert led.full_url == "https://other.invalid/x"


def test_ctrl_c_leaves_no_half_file(origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> Generator[bytes, None, None]:
        yield ONE[:1000]
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("small", tmp_path, base=origin.base, sets=sets())
    assert names(tmp_path / "small") == {"LICENCE.txt"}


def test_a_file_known_by_its_git_blob(origin: Origin, tmp_path: Path) -> None:
    by_git = {"sha256": None, "bytes": None, "git_blob": BLOB, "max_bytes": 100}
    wanted = sets(entry("two.txt", "/o/r/c/two.txt", TWO, **by_git))
    assert fetch("small", tmp_path, base=origin.base, sets=wanted)[0].outcome == "fetched"
    assert hashlib.sha256(TWO).hexdigest() in (tmp_path / "small/SOURCE.txt").read_text()
    assert fetch("small", tmp_path, base=origin.base, sets=wanted)[0].outcome == "kept"


def test_restricted_terms_must_be_accepted(origin: Origin, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"Testers only.*`accept_licence`"):
        fetch("small", tmp_path, base=origin.base, sets=sets(restricted=True))
    assert origin.asked == []
    assert names(tmp_path) == set()
    fetch("small", tmp_path, base=origin.base, sets=sets(restricted=True), accept_licence=True)
    assert len(origin.asked) == 2


def test_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"no data set 'smal' to fetch; choose one of small"):
        fetch("smal", tmp_path, sets=sets())


@pytest.mark.parametrize(
    "base",
    [
        "http://origin.invalid",
        "http://127.0.0.1.origin.invalid",
        "http://127.0.0.1@origin.invalid",
        "http://user@127.0.0.1",
        "file:///tmp",
        "https://",
        "http://[",
        "origin.invalid",
        "https://origin.invalid/?x=",
    ],
)
def test_mirrors_that_are_refused(base: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"cannot be a mirror; give an https://"):
        fetch("small", tmp_path, base=base, sets=sets())
    assert names(tmp_path) == set()


def test_addresses_without_and_with_a_mirror() -> None:
    url = "https://origin.invalid/o/r/c/one.txt"
    assert module._address(url, None) == url
    assert module._address(url, "https://mirror.invalid/deep/") == "https://mirror.invalid/deep/o/r/c/one.txt"


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/x", "", ".", "a//b", "./a", "a/", "..\\x", "C:x", "LICENCE.txt", "SOURCE.txt"],
)
def test_paths_that_lead_out_of_the_folder_are_refused(path: str) -> None:
    with pytest.raises(DataError, match=r"outside its folder|writes itself"):
        sets(entry(path, "/x", ONE))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"url": "http://origin.invalid/x"}, "https address"),
        ({"url": "file:///x"}, "https address"),
        ({"sha256": "ab"}, "cannot be checked"),
        ({"bytes": None}, "cannot be checked"),
        ({"sha256": None}, "cannot be checked"),
        ({"sha256": None, "git_blob": BLOB}, "cannot be checked"),
    ],
)
def test_files_that_could_not_be_checked_are_refused(changes: dict[str, Any], match: str) -> None:
    with pytest.raises(DataError, match=match):
        sets(entry("one.txt", "/x", ONE, **changes))


@pytest.mark.parametrize("changes", [{"licence": ""}, {"citation": []}])
def test_data_without_a_licence_or_a_citation_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="no licence or no citation for small"):
        sets(**changes)


def test_a_data_set_name_that_is_a_path_is_refused() -> None:
    text = json.dumps({"sets": {"../small": {}}})
    with pytest.raises(DataError, match="small letters"):
        read_catalogue(text)


def test_where_data_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAUDIT_DATA", "/some/where")
    assert data_folder() == Path("/some/where")
    monkeypatch.setenv("EXAUDIT_DATA", "")
    assert data_folder() == Path("data")


# The command line.


@pytest.fixture
def small(origin: Origin, monkeypatch: pytest.MonkeyPatch) -> Origin:
    """The command line knows the data set `small` only, and fetches it from the server."""
    known = sets(restricted=True)
    monkeypatch.setattr(module, "catalogue", lambda: known)
    monkeypatch.setenv("EXAUDIT_FETCH_BASE", origin.base)
    return origin


def test_the_verb(
    small: Origin, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAUDIT_DATA", str(tmp_path / "elsewhere"))
    assert run(["data", "fetch", "small", "--data", str(tmp_path), "--accept-licence"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines() == [str(tmp_path / "small/one.txt"), str(tmp_path / "small/deep/two.txt")]
    assert "small: 2 fetched; all checked" in told.err
    assert not (tmp_path / "elsewhere").exists()
    assert run(["data", "fetch", "small", "--accept-licence"]) == 0
    assert (tmp_path / "elsewhere/small/one.txt").read_bytes() == ONE


def test_the_verb_shows_the_licence_before_anything_is_asked_for(
    small: Origin, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(module, "_download", lambda *_: shown.append(capsys.readouterr().err) or exit(7))
    with pytest.raises(SystemExit):
        run(["data", "fetch", "small", "--data", str(tmp_path), "--accept-licence"])
    assert len(shown) == 1
    assert all(part in shown[0] for part in ("Testers only", "Use them in tests.", "Tester (2021)."))


def test_the_verb_shows_the_terms_that_were_not_accepted(
    small: Origin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["data", "fetch", "small", "--data", str(tmp_path)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "Use them in tests." in told.err
    last = told.err.splitlines()[-1]
    assert last.startswith("exaudit: the licence of small")
    assert "--accept-licence" in last
    assert small.asked == []
    assert names(tmp_path) == set()


def test_the_verb_refuses_an_unknown_name(small: Origin, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "fetch", "smal"]) == 1
    assert capsys.readouterr().err == "exaudit: there is no data set 'smal' to fetch; choose one of small\n"


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_verb_lists_what_can_be_fetched(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["data", "fetch", *arguments]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^(\w+): ", out, re.M) == list(catalogue())
    assert "not fetched: bbc_supplement.tokens: " in out
    assert "needs --accept-licence" in out
    assert names(tmp_path) == set()


# The catalogue that exaudit ships.


def test_the_catalogue_is_well_formed() -> None:
    assert list(catalogue()) == ["fce", "imdb_cad", "imdb_contrast", "news_1b", "semeval2017_task4a"]
    raw = r"https://raw\.githubusercontent\.com/[\w.-]+/[\w.-]+/[0-9a-f]{40}/[\w./-]+"
    for data in catalogue().values():
        assert data.title
        assert data.licence
        assert data.terms
        assert data.citation
        assert data.restricted, "each has terms beyond a free licence"
        assert len({file.path for file in data.files}) == len(data.files)
        assert not {file.path for file in data.files} & set(data.not_fetched)
        for file in data.files:
            assert re.fullmatch(raw, file.url), "https, pinned to a commit"
            assert ".." not in PurePosixPath(file.path).parts
            assert not PurePosixPath(file.path).is_absolute()
            assert 0 < file.limit <= 40_000_000
            if file.sha256 is None:
                assert re.fullmatch("[0-9a-f]{40}", file.git_blob or "")
            else:
                assert re.fullmatch("[0-9a-f]{64}", file.sha256)
                assert file.bytes


def test_only_these_files_are_known_by_their_git_blob() -> None:
    by_git = {f"{d.name}/{f.path}" for d in catalogue().values() for f in d.files if f.sha256 is None}
    assert by_git == {
        "imdb_cad/orig/eighty_percent/train.tsv",
        "imdb_cad/orig/eighty_percent/test.tsv",
        "news_1b/1bw_heldout_00_09.tokens",
    }


@pytest.mark.parametrize("name", ["fce", "imdb_cad", "imdb_contrast", "news_1b", "semeval2017_task4a"])
def test_the_catalogue_agrees_with_data_that_are_here(name: str) -> None:
    folder = Path(os.environ.get("EXAUDIT_DATA", Path(__file__).parents[2] / "shared" / "data")) / name
    here = [file for file in catalogue()[name].files if (folder / file.path).is_file()]
    if not here:
        pytest.skip("the data set is not here")
    assert {file.path: file.fault(folder / file.path) for file in here} == {file.path: None for file in here}
