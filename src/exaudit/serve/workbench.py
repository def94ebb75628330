"""The workbench: one model with its support set, one open file, and what people do with them."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exaudit._files import folder_beside, put_folder, read_json
from exaudit._progress import watched
from exaudit.audit import Auditor
from exaudit.audit.guarantor import Admit
from exaudit.audit.looks import Look, Looks
from exaudit.audit.place import ModelPlace
from exaudit.data.document import Document
from exaudit.data.labels import LabelSet
from exaudit.errors import ExauditError, SupportError
from exaudit.model.model import Model
from exaudit.serve.batching import Batcher
from exaudit.serve.jobs import Job, Jobs
from exaudit.serve.opened import OpenFile
from exaudit.serve.promised import Promised, drift_of
from exaudit.serve.state import ConflictError, StateFolder

__all__ = ["NotFoundError", "Workbench"]

TEXTS = 200  # pasted texts whose evidence can still be asked for
WORDS = 2_000_000  # of them together
FILES = 4  # that were open before, and need not be looked up again


class NotFoundError(ExauditError):
    """What is asked for is not there (any more)."""


class Workbench:
    """All that the pages talk to. Its state is in a folder; what it holds in memory can be had again from there.

    Parameters
    ----------
    model
        The model folder.
    state
        Where the work of people is kept; `workbench` in the model folder by default.
    support, device, encoder, stream
        As for `Auditor.open`.
    """

    def __init__(
        self,
        model: Path,
        state: Path | None = None,
        *,
        support: str | None = None,
        device: str = "auto",
        encoder: str | None = None,
        stream: bool = False,
    ) -> None:
        self.folder = model
        self.place = ModelPlace.of(model, support)
        self._options: dict[str, Any] = {"device": device, "encoder": encoder, "stream": stream}
        self.auditor = Auditor.open(model, support=support, **self._options)
        self.looks = Looks(self.auditor, has_support=self.place.has_support())
        self.promised = Promised(self.auditor)
        self.state = StateFolder(state or model / "workbench")
        self.jobs = Jobs(self.plain)
        self.editing = threading.RLock()  # held while something of the model or the support set is changed
        self.file: OpenFile | None = None
        self.opening: Job | None = None
        self._checking: Job | None = None
        self._texts: OrderedDict[str, Look] = OrderedDict()
        self._word_labels = (-1, False)  # of an edit of the support set: whether any word is labelled
        self._lock = threading.Lock()
        self._batcher: Batcher[Look] = Batcher(self._look_up)

    def close(self) -> None:
        self.jobs.close()
        self._batcher.close()

    def plain(self, message: str) -> str:
        """A message without the paths of this machine."""
        for path, name in (
            (self.state.folder, "the workbench"),
            (self.place.location, "the support set"),
            (self.folder, "the model"),
        ):
            for spelling in {str(path), str(Path(path).absolute())}:
                message = message.replace(spelling, name)
        return message.encode(errors="replace").decode()

    @property
    def labels(self) -> LabelSet:
        return self.auditor.labels

    @property
    def model(self) -> Model:
        return self.auditor.model

    @property
    def has_support(self) -> bool:
        return self.looks.has_support

    def prepare(self) -> None:
        """Load the model, and the vectors of the support set, before somebody waits for them."""
        if self.has_support and len(self.auditor.support):
            self.auditor.prepare()
        self.looks.of([Document.from_text("ready", id="ready")])

    # -- rules -------------------------------------------------------------------------------------------

    def rules(self) -> dict[str, str | None]:
        """What may decide about words: each with the reason why it cannot just now, or None."""
        if not self.has_support or not len(self.auditor.support):
            why = "there is no support set yet"
            return {"model": None, "exag": why, "exat": why, "knn": why}
        return {
            "model": None,
            "exag": None,
            "exat": None if self._has_word_labels() else "no word of the support set is labelled",
            "knn": self._why_no_knn(),
        }

    def _has_word_labels(self) -> bool:
        """Whether any word of the support set is labelled; looked at once for each of its versions."""
        support = self.auditor.support
        if self._word_labels[0] != support.number:
            found = bool(support.exemplars(vectors=False).token_labels.any())
            self._word_labels = support.number, found
        return self._word_labels[1]

    def _why_no_knn(self) -> str | None:
        knn = self.auditor.knn
        if knn is None:
            return "no K-NN was fitted yet"
        if knn.boundaries != self.model.word_boundaries:
            return "the boundary of the words has moved since the K-NN was fitted: fit it again"
        if self.looks.k < max(each.k for each in knn.knns):
            return "the support set has fewer exemplars than the K-NN asks for"
        return None

    def admitting(self) -> Admit | None:
        """What admits answers: the promise, where one stands, or else the limits. After an edit, the promise is checked
        again in the background, and nothing is admitted until that is done."""
        standing = self.promised.standing
        if standing == "unchecked":
            self._check_promise()
            return None
        return "promise" if standing == "holds" else "mean" if self.has_limits else None

    @property
    def has_limits(self) -> bool:
        """Whether there are admission limits for the K-NN as it is."""
        limits, knn = self.auditor.admission, self.auditor.knn
        if limits is None or knn is None or not self.has_support or not len(self.auditor.support):
            return False
        return self._why_no_knn() is None and limits.fits(knn.knns)

    @property
    def version(self) -> int:
        """The number of the last edit of the support set; -1 without one."""
        if not self.has_support:
            return -1
        self.auditor.support.refresh()
        return self.auditor.support.number

    def check_version(self, seen: int) -> None:
        """Refuse an edit by somebody who has not seen the last one."""
        if seen != self.version:
            raise ConflictError(
                "somebody else has edited the support set meanwhile; look at its history, then try again"
            )

    def need_support(self) -> None:
        if not self.has_support:
            raise SupportError("there is no support set yet; build one on the page Correct")

    # -- texts -------------------------------------------------------------------------------------------

    async def label(self, text: str) -> tuple[str, Look]:
        """Look up a pasted text, together with those of others. Gives the key by which it can be asked about."""
        key = hashlib.sha256(text.encode()).hexdigest()[:20]
        document = Document.from_text(text, id=key, cut=self.model.settings.tokens)
        if not document.tokens:
            raise SupportError("the text has no words")
        look = self._held(key)
        if look is None:
            look = await asyncio.wrap_future(self._batcher.submit(document))
            self._keep(key, look)
        return key, self._scored_anew(look)

    def text(self, key: str) -> Look:
        """A text that was labelled not long ago; looked up again, if the support set has other exemplars now."""
        look = self._held(key)
        if look is None:
            known = self._texts.get(key)
            if known is None:
                raise NotFoundError("this text is no longer known; label it again")
            (look,) = self.looks.of([known.scores.document])
            self._keep(key, look)
        return self._scored_anew(look)

    def _scored_anew(self, look: Look) -> Look:
        """By the boundaries that the model has now."""
        views = look.scores.views
        columns = [np.stack([getattr(view, name) for view in views], 1) for name in ("positive", "negative")]
        output = np.array([view.output for view in views], np.float32)
        return replace(look, scores=self.model.scores_of(look.scores.document, output, *columns))

    def _held(self, key: str) -> Look | None:
        """A text that was looked up, if its exemplars are still the nearest."""
        look = self._texts.get(key)
        if look is None or look.rows.shape[1] != self.looks.k or not self.looks.holds(look.number, look.rows):
            return None
        return look

    def _keep(self, key: str, look: Look) -> None:
        with self._lock:
            self._texts[key] = look
            self._texts.move_to_end(key)
            words = sum(len(each.scores.document.tokens) for each in self._texts.values())
            while len(self._texts) > TEXTS or (words > WORDS and len(self._texts) > 1):
                _, old = self._texts.popitem(last=False)
                words -= len(old.scores.document.tokens)

    def _look_up(self, documents: Sequence[Document]) -> list[Look]:
        return self.looks.of(documents)

    # -- the open file -----------------------------------------------------------------------------------

    def need_file(self) -> OpenFile:
        if self.file is None:
            raise NotFoundError("no file is open; open one on the page Label")
        return self.file

    def open(
        self, name: str, documents: Iterable[Document], *, fingerprint: str, total: int | None = None
    ) -> Job:
        """Look up the documents of a file in the background; what is open stays so until that is done.

        fingerprint : of the content of the file: the same one need not be looked up again.
        """
        key = hashlib.sha256(f"{self.place.fingerprint} {fingerprint}".encode()).hexdigest()[:20]
        self.opening = self.jobs.start(
            f"open {name}", lambda job: self._open(name, documents, key, total, job)
        )
        return self.opening

    def reopen(self) -> Job | None:
        """Open what was open when the workbench was last closed."""
        told = self.state.read(
            "open.json", lambda value: isinstance(value, dict) and {"key", "name"} <= set(value)
        )
        if told is None or not str(told["key"]).isalnum():
            return None
        folder = self.state.folder / "files" / told["key"]
        if not OpenFile.is_whole(folder):
            return None
        kept = OpenFile(folder, self.model)
        self.opening = self.jobs.start(
            f"open {told['name']}",
            lambda job: self._open(told["name"], kept.documents(), told["key"], len(kept), job),
        )
        return self.opening

    def _open(self, name: str, documents: Iterable[Document], key: str, total: int | None, job: Job) -> int:
        folder = self.state.place("files") / key
        found = OpenFile(folder, self.model) if OpenFile.is_whole(folder) else None
        if found is None or found.k != self.looks.k or not self.looks.holds(found.number, found.rows):
            # What is there can be read meanwhile, and has the same documents.
            with folder_beside(folder) as draft:
                with watched(job.heed):  # the encoder's progress is that of a few documents
                    OpenFile.write(draft, name, documents, self.looks, job.tell, total)
                put_folder(draft, folder, replace=True)
            found = OpenFile(folder, self.model)
        before, self.file = self.file, found
        if before is not None and before.folder == folder:
            found.admitted = before.admitted  # until it is known anew
        self.state.write("open.json", {"key": key, "name": name})
        self._admit(found, job)
        self._forget_files(folder)
        return len(found)

    def _admit(self, file: OpenFile, job: Job) -> None:
        """Note which answers on a file are admitted; those of one that has drifted are not, by a promise."""
        job.tell("admission", 0, None)
        self.promised.check()
        file.drift = file.doubt = None
        if self.promised.standing == "holds":
            try:
                file.drift = drift_of(file, self.auditor)
            except ExauditError as error:
                file.doubt = str(error)
        if (by := self.admitting()) is not None:
            file.admit(self.looks, by, range(len(file)), job.tell)

    def _check_promise(self) -> None:
        """In the background, unless that is under way."""

        def work(job: Job) -> None:
            if self.promised.standing == "unchecked":
                self.promised.check()
                if self.file is not None:
                    self._admit(self.file, job)

        with self._lock:
            if self._checking is None or self._checking.ended:
                self._checking = self.jobs.start("check the promise again", work)
                if self.opening is None or self.opening.ended:
                    self.opening = self._checking

    def _forget_files(self, folder: Path) -> None:
        """Give up what was looked up of files that were open long ago; what people did to them is kept elsewhere."""
        others = [each for each in folder.parent.iterdir() if each != folder and OpenFile.is_whole(each)]
        for old in sorted(others, key=lambda each: each.stat().st_mtime)[:-FILES]:
            shutil.rmtree(old, ignore_errors=True)

    def kept_files(self) -> dict[str, str]:
        """Names of the files that were open before, by their keys."""
        now = None if self.file is None else self.file.folder.name
        there = [each for each in sorted((self.state.folder / "files").glob("*")) if OpenFile.is_whole(each)]
        return {each.name: read_json(each / "file.json")["name"] for each in there if each.name != now}

    def kept_file(self, key: str) -> OpenFile:
        """One of them."""
        if key not in self.kept_files():
            raise NotFoundError("this file is no longer kept; open it again")
        return OpenFile(self.state.folder / "files" / key, self.model)

    def close_file(self) -> None:
        self.file = None
        self.state.forget("open.json")

    def look(self, place: int) -> Look:
        """A document of the open file; looked up again, if the support set has other exemplars now."""
        file = self.need_file()
        if not 0 <= place < len(file):
            raise NotFoundError(f"the file has {len(file):,} documents, from 0; there is no document {place}")
        return self.look_at(file, place)

    def look_at(self, file: OpenFile, place: int) -> Look:
        """A document of a file, looked up again if it has to be."""
        look = file.look(place)
        if not self.looks.holds(look.number, look.rows):
            (look,) = self.looks.of([look.scores.document])
        return look

    # -- changes -----------------------------------------------------------------------------------------

    def follow(self, touched: Sequence[int] | None) -> None:
        """After an edit: note anew which answers of the open file are admitted; of the documents that it touched, or
        of all, which are then looked up again."""
        file = self.file
        if file is None:
            return
        if touched is not None:
            if self.admitting() == "mean":
                file.admit(self.looks, "mean", touched)
            return
        key = file.folder.name
        self.opening = self.jobs.start(
            f"look up {file.name} again",
            lambda job: self._open(file.name, file.documents(), key, len(file), job),
        )

    def use(self, model: Model) -> None:
        """Go on with the same model and other boundaries."""
        with self.editing:
            support = self.auditor.support if self.has_support else None
            self.auditor = Auditor(model, support, place=self.place, **self._options)
            self.looks = Looks(self.auditor, has_support=support is not None)
            self.promised = Promised(self.auditor)
            if self.file is not None:
                self.file.model = model
                if (by := self.admitting()) is not None:
                    self.file.admit(self.looks, by, range(len(self.file)))

    def refit(self, documents: Sequence[Document]) -> None:
        """Fit the K-NN and the admission limits on held-out documents."""
        self.auditor.fit_knn(documents)
        self.auditor.fit_admission(documents)
        self.follow(None)
