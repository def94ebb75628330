"""Short fingerprints of the documents that a model was trained on, so that it can tell them when it sees them again."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import blake2b

from exaudit.data.document import Document

__all__ = ["digest", "pack", "unpack"]

BYTES = 6  # a thousand documents against a million: the chance that two look the same is 4 in a million


def digest(document: Document) -> str:
    """Of the words alone: neither the label nor the space between words makes another document."""
    words = "\0".join(document.tokens).encode(errors="surrogatepass")
    return blake2b(words, digest_size=BYTES).hexdigest()


def pack(documents: Iterable[Document], before: str = "") -> str:
    """The digests of documents, and of those packed `before`, in one line, for the record of a model."""
    found = {digest(document) for document in documents} | unpack(before)
    return b64encode(bytes.fromhex("".join(sorted(found)))).decode()


def unpack(packed: str) -> frozenset[str]:
    together = b64decode(packed).hex()
    return frozenset(together[i : i + 2 * BYTES] for i in range(0, len(together), 2 * BYTES))
