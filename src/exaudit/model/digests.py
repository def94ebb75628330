"""Short fingerprints of the documents that a model was trained on, so that it can tell them when it sees them again."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import blake2b

from exaudit.data.document import Document

__all__ = ["digest", "pack", "unpack"]

BYTES = 6  # of ten thousand documents against a million, one in thirty thousand times two would be the same


def digest(document: Document) -> str:
    """Of the words alone: neither the label nor the space between words makes another document."""
    words = "\0".join(document.tokens).encode(errors="surrogatepass")
    return blake2b(words, digest_size=BYTES).hexdigest()


def pack(documents: Iterable[Document]) -> str:
    """The digests of documents in one line, for the record of a model."""
    return b64encode(bytes.fromhex("".join(sorted({digest(d) for d in documents})))).decode()


def unpack(packed: str) -> frozenset[str]:
    together = b64decode(packed).hex()
    return frozenset(together[i : i + 2 * BYTES] for i in range(0, len(together), 2 * BYTES))
