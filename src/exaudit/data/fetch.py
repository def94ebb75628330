"""The paper's data sets, fetched from their public origins and checked against catalogue.json.

Nothing is fetched unless asked for, and only from the catalogue's https addresses or a mirror that the user
names; nothing is kept that is not, byte for byte, what the catalogue says.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import IO, Any, Literal
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from exaudit._files import replace_file, sha256_file
from exaudit._progress import progress
from exaudit._version import __version__
from exaudit.errors import DataError, SettingError

__all__ = ["DataSet", "Fetched", "RemoteFile", "catalogue", "data_folder", "fetch", "read_catalogue"]

CHUNK = 1 << 16
TIMEOUT = 30.0  # seconds without a byte
AGAIN = "run the command again; if it stays so, name a mirror in EXAUDIT_FETCH_BASE"


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set: where it goes, where it comes from, and how it is known to be the right one.

    It has `sha256` and `bytes`; or, where the file could not be had when the catalogue was made, the id that
    upstream's git gives its content (`git_blob`) and a size that it may not exceed (`max_bytes`).
    """

    path: str
    url: str
    sha256: str | None = None
    bytes: int | None = None
    git_blob: str | None = None
    max_bytes: int = 0

    @property
    def limit(self) -> int:
        return self.max_bytes if self.bytes is None else self.bytes

    def fault(self, path: Path) -> str | None:
        """What tells the file at `path` from the catalogue's; None if nothing does."""
        size = path.stat().st_size
        if self.bytes is not None and size != self.bytes:
            return f"it has {size:,} bytes, the catalogue says {self.bytes:,}"
        if self.sha256 is not None and (found := sha256_file(path)) != self.sha256:
            return f"its SHA-256 is {found}, the catalogue says {self.sha256}"
        if self.git_blob is not None and (found := _git_blob(path)) != self.git_blob:
            return f"its git blob id is {found}, the catalogue says {self.git_blob}"
        return None


@dataclass(frozen=True)
class DataSet:
    """A data set of the catalogue. `not_fetched` says of files that cannot be offered why not."""

    name: str
    title: str
    licence: str
    restricted: bool
    terms: tuple[str, ...]
    citation: tuple[str, ...]
    origin: str
    files: tuple[RemoteFile, ...]
    not_fetched: Mapping[str, str]

    def licence_text(self) -> str:
        """What to know before using it: the licence, its terms and what to cite."""
        return "\n".join(
            [f"{self.name}: {self.title}", f"Licence: {self.licence}", "", *self.terms, "", "Cite:"]
            + [f"- {work}" for work in self.citation]
        )

    def summary(self) -> str:
        """Its entry in the list of what can be fetched."""
        sizes = [file.bytes for file in self.files if file.bytes is not None]
        unsized = [file.path for file in self.files if file.bytes is None]
        size = f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB"
        size += f", and of a size not known beforehand: {', '.join(unsized)}" if unsized else ""
        lines = [f"{self.name}: {self.title}", f"  {size}", f"  licence: {self.licence}"]
        lines += ["  needs `accept_licence`"] if self.restricted else []
        return "\n".join(lines + [f"  not fetched: {path}: {why}" for path, why in self.not_fetched.items()])


@dataclass(frozen=True)
class Fetched:
    """A file that is now in its place: fetched anew, fetched in place of another one, or right already."""

    path: Path
    outcome: Literal["fetched", "replaced", "kept"]


@cache
def catalogue() -> Mapping[str, DataSet]:
    """The data sets that exaudit knows, by name."""
    return read_catalogue(files("exaudit.data").joinpath("catalogue.json").read_text(encoding="utf-8"))


def read_catalogue(text: str) -> Mapping[str, DataSet]:
    """A catalogue from its JSON; no file of it may land outside its folder or go unchecked."""
    return {name: _data_set(name, entry) for name, entry in json.loads(text)["sets"].items()}


def data_folder() -> Path:
    """Where data sets are kept: `$EXAUDIT_DATA`, or `data` in the present folder."""
    return Path(os.environ.get("EXAUDIT_DATA") or "data")


def fetch(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    accept_licence: bool = False,
    base: str | None = None,
    sets: Mapping[str, DataSet] | None = None,
    desc: str | None = "",
) -> list[Fetched]:
    """Bring every file of a data set to `folder`/`name`, with its licence; what is right already stays.

    `base` (or `$EXAUDIT_FETCH_BASE`) is a mirror with the catalogue's paths: https, or http on 127.0.0.1.
    After a failure the files that were finished stay, so that the next call goes on from there.
    """
    sets = catalogue() if sets is None else sets
    if name not in sets:
        raise SettingError(f"there is no data set {name!r} to fetch; choose one of {', '.join(sorted(sets))}")
    data = sets[name]
    if data.restricted and not accept_licence:
        raise SettingError(
            f"the licence of {name} has terms that you must accept first ({data.licence}); "
            "read them, and if you agree, run the command again with `accept_licence`"
        )
    base = _checked_base(base or os.environ.get("EXAUDIT_FETCH_BASE") or None)
    home = (data_folder() if folder is None else Path(folder)) / name
    home.mkdir(parents=True, exist_ok=True)
    _write(home / "LICENCE.txt", data.licence_text())  # first: the data never lie there without it
    opener = _opener(local=base is not None and _is_local(base))
    done: list[Fetched] = []
    for file in data.files:
        target = home / file.path
        there = target.is_file()
        if there and file.fault(target) is None:
            done.append(Fetched(target, "kept"))
            continue
        try:
            _download(file, _address(file.url, base), target, opener, desc and f"{desc} {file.path}")
        except DataError as error:
            raise DataError(
                f"{error} ({len(done)} of {len(data.files)} files of {name} are in place)"
            ) from None
        done.append(Fetched(target, "replaced" if there else "fetched"))
    _write(home / "SOURCE.txt", _source_text(data, home))
    return done


def _download(
    file: RemoteFile, url: str, target: Path, opener: request.OpenerDirector, desc: str | None
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(target) as temporary:
        with (
            open(temporary, "wb") as out,
            closing(_chunks(opener, url)) as chunks,
            progress(total=file.bytes, unit="B", unit_scale=True, desc=desc) as bar,
        ):
            for chunk in chunks:
                if out.tell() + len(chunk) > file.limit:
                    raise DataError(
                        f"{url}: this is another file: it is larger than the catalogue's {file.limit:,} "
                        f"bytes; nothing of it was kept. To mend it, {AGAIN}"
                    )
                out.write(chunk)
                bar.update(len(chunk))
        if fault := file.fault(temporary):
            raise DataError(
                f"{url}: this is another file: {fault}; nothing of it was kept. To mend it, {AGAIN}"
            )


def _chunks(opener: request.OpenerDirector, url: str) -> Generator[bytes, None, None]:
    """The body at `url`, in pieces; whatever goes wrong on the way is a DataError that names it."""
    came = announced = 0
    wanted = request.Request(url, headers={"User-Agent": f"exaudit/{__version__}"})
    try:
        with opener.open(wanted, timeout=TIMEOUT) as answer:
            announced = int(answer.headers.get("Content-Length", 0))
            while chunk := answer.read(CHUNK):
                came += len(chunk)
                yield chunk
    except HTTPError as error:
        with closing(error):
            raise DataError(f"{url}: {_refusal(error)}") from None
    except (HTTPException, OSError, ValueError) as error:  # ValueError: a length that makes no sense
        reason = error.reason if isinstance(error, URLError) else error
        raise DataError(
            f"{url}: cannot be reached, or broke off after {came:,} bytes "
            f"({reason or type(error).__name__}); check the connection and {AGAIN}"
        ) from None
    if came < announced:
        raise DataError(f"{url}: the connection ended after {came:,} of {announced:,} bytes; {AGAIN}")


def _refusal(error: HTTPError) -> str:
    if 300 <= error.code < 400:
        return (
            f"redirected to {error.headers.get('Location')} (status {error.code}), which is not followed: "
            "only a few redirects are, and only to https; name a mirror in EXAUDIT_FETCH_BASE"
        )
    return f"the server answered {error.code} {error.reason}; {AGAIN}"


class _Redirects(request.HTTPRedirectHandler):
    """Follows redirects to https only, or within this machine where the mirror is on it."""

    def __init__(self, local: bool) -> None:
        self.local = local

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> request.Request | None:
        if not (_is_https(newurl) or (self.local and _is_local(newurl))):
            raise HTTPError(req.full_url, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def http_error_302(self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError:  # an address that makes no sense
            raise HTTPError(req.full_url, code, msg, headers, fp) from None

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _opener(*, local: bool) -> request.OpenerDirector:
    """Knows http and https and nothing else: the usual one would read file:, ftp: and data: addresses too."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler({} if local else None),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
        _Redirects(local),
    ):
        opener.add_handler(handler)
    return opener


def _is_https(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" and bool(parts.hostname)


def _is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname == "127.0.0.1"


def _checked_base(base: str | None) -> str | None:
    try:
        good = base is None or (re.search(r"[\s?#@]", base) is None and (_is_https(base) or _is_local(base)))
    except ValueError:
        good = False
    if not good:
        raise SettingError(
            f"{base!r} cannot be a mirror; give an https:// address, or http://127.0.0.1:PORT on this machine"
        )
    return base


def _address(url: str, base: str | None) -> str:
    return url if base is None else base.rstrip("/") + urlsplit(url).path


def _data_set(name: str, entry: Mapping[str, Any]) -> DataSet:
    if re.fullmatch(r"[a-z0-9_]+", name) is None:
        raise DataError(f"the catalogue names a data set {name!r}; use small letters, digits and _")
    if not entry["licence"] or not entry["citation"]:
        raise DataError(f"the catalogue gives no licence or no citation for {name}; add them")
    return DataSet(
        name=name,
        title=entry["title"],
        licence=entry["licence"],
        restricted=entry["restricted"],
        terms=tuple(entry["terms"]),
        citation=tuple(entry["citation"]),
        origin=entry["origin"],
        files=tuple(_remote_file(name, RemoteFile(**file)) for file in entry["files"]),
        not_fetched={file["path"]: file["why"] for file in entry["not_fetched"]},
    )


def _remote_file(name: str, file: RemoteFile) -> RemoteFile:
    where = f"the catalogue's file {file.path!r} of {name}"
    pure = PurePosixPath(file.path)
    if not pure.parts or str(pure) != file.path or pure.is_absolute() or re.search(r"\.\.|[\\:]", file.path):
        raise DataError(f"{where} would land outside its folder; give a plain relative path")
    if file.path in ("LICENCE.txt", "SOURCE.txt"):
        raise DataError(f"{where} has the name of a file that exaudit writes itself; give it another one")
    if not _is_https(file.url):
        raise DataError(f"{where} comes from {file.url!r}; give an https address")
    by_sha256 = re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "") and file.bytes is not None and file.bytes > 0
    by_git = re.fullmatch(r"[0-9a-f]{40}", file.git_blob or "") and file.max_bytes > 0
    if not (by_sha256 or by_git):
        raise DataError(f"{where} cannot be checked; give sha256 and bytes, or git_blob and max_bytes")
    return file


def _git_blob(path: Path) -> str:
    """The id that git gives the content of a file."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _source_text(data: DataSet, home: Path) -> str:
    lines = [f"{data.name}: {data.title}", f"Origin: {data.origin}", "Licence and citation: LICENCE.txt", ""]
    for file in data.files:
        digest = file.sha256 or sha256_file(home / file.path)
        lines += [file.path, f"  from {file.url}", f"  SHA-256 {digest}"]
    return "\n".join(lines + [f"not fetched: {path}: {why}" for path, why in data.not_fetched.items()])


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_bytes() != f"{text}\n".encode():
        with replace_file(path) as temporary:
            temporary.write_bytes(f"{text}\n".encode())
