"""The model card: what a person should know of a model before using it, as Markdown."""

from __future__ import annotations

from typing import Any

from exaudit.data.labels import LabelSet
from exaudit.model.trust import sentences

__all__ = ["card"]


def card(description: dict[str, Any]) -> str:
    """A card from the same facts that model.json holds."""
    labels, head, record, encoder = (description[k] for k in ("labels", "head", "record", "encoder"))
    settings, history = description["settings"], record["history"]
    lines = [
        "# A document classifier with a decision for every word",
        "",
        f"{_task(LabelSet.from_json(labels))} Made with exaudit "
        f"{description['exaudit']} after Schmaltz (2021), *Detecting Local Insights from Global Labels*.",
        "",
        "## Use",
        "",
        "```",
        "exaudit label THIS_FOLDER new.jsonl --out labelled.jsonl",
        "```",
        "",
        "## Training",
        "",
        f"- documents: {record['documents']:,} for training, {record['dev_documents']:,} for choosing the epoch",
        f"- loss: {record['loss']}" + (f", after {_initial_loss(record)}" if record.get("initial") else ""),
        _epoch(record, history),
        f"- seed: {settings['seed']}; batch {settings['batch_size']}; learning rate {settings['learning_rate']}; "
        f"recipe {settings['recipe']}",
        f"- decision boundaries: documents {_numbers(description['document_boundaries'])}, "
        f"tokens {_numbers(description['word_boundaries'])}",
        f"- texts without tokens are cut into tokens by: {settings.get('tokens', 'whitespace')}",
        f"- head: {head['filters']} filters of width {', '.join(map(str, head['widths']))}, "
        f"{head['vocabulary']:,} word embeddings",
        f"- encoder: {_encoder(encoder, record)}",
        "",
        "## On the dev documents",
        "",
        *_table(record["dev"]),
        *_words(description, LabelSet.from_json(labels)),
        "",
        "## Limits",
        "",
        "- The epoch was chosen on these dev documents, so the figures above flatter; evaluate on a test set.",
        "- " + _token_note(record),
        "- Text unlike the training documents is scored all the same: build a support set and use admission.",
        "",
    ]
    return "\n".join(lines)


def _task(labels: LabelSet) -> str:
    if labels.kind == "binary":
        negative, positive = (_plain(name) for name in labels.names)
        return (
            f"Tells **{positive}** (positive class) from **{negative}**, and marks the words that carry the positive "
            "class."
        )
    names = ", ".join(f"**{_plain(name)}**" for name in labels.names)
    what = "one of" if labels.kind == "multiclass" else "none, one or several of"
    return (
        f"Gives every document {what} {len(labels)} classes ({names}), and marks the words that carry each."
    )


def _numbers(values: list[float]) -> str:
    some = ", ".join(f"{value:.3f}" for value in values[:10])
    return some if len(values) <= 10 else f"{some}, ..."


def _initial_loss(record: dict[str, Any]) -> str:
    initial = record.get("initial") or ""
    return initial if isinstance(initial, str) else initial["loss"]  # 0.1 wrote the loss alone


def _epoch(record: dict[str, Any], history: dict[str, Any]) -> str:
    tuning = record["tuning"] or {}
    pretraining = _pretraining(tuning)
    of = f"epoch kept: {history['best']} of {len(history['epochs'])}, by dev {record['criterion']}"
    if "kept" not in tuning:
        how = ", ".join(part for part in (pretraining, _precision(tuning)) if part)
        return f"- {of}" + (f"; encoder tuned {how}" if how else "")
    merits = ", ".join(f"{who} {merit:.3f}" for who, merit in tuning["dev"].items())
    parts = ("by teacher and student", pretraining, _precision(tuning["student"]))
    how = ", ".join(part for part in parts if part)
    return f"- encoder tuned {how}; kept: {tuning['kept']} (dev documents: {merits}); teacher's {of}"


def _pretraining(tuning: dict[str, Any]) -> str:
    found = tuning.get("pretraining") or tuning.get("rehearsal") or {}  # as 0.1 called it
    return "after pre-training on synthetic errors" if found.get("kept") else ""


def _precision(tuning: dict[str, Any]) -> str:
    found = tuning.get("precision", "float32")
    return "" if found == "float32" else f"in {found}"


def _plain(name: str) -> str:
    """A label name that cannot break out of the Markdown around it."""
    return "".join(c if c.isalnum() or c in " -_." else f"&#{ord(c)};" for c in str(name))


def _encoder(encoder: dict[str, Any] | None, record: dict[str, Any]) -> str:
    if encoder is None:
        return "none (word embeddings only)"
    kind = "tuned, in this folder" if encoder["name"] == "encoder" else f"{_plain(encoder['name'])}, frozen"
    layers = ", ".join(map(str, encoder["layers"]))
    precision = f"; in {record['precision']}" if record.get("precision") else ""  # 0.1 did not tell
    return f"{kind}; layers {layers}{precision}; fingerprint `{encoder['fingerprint'][:16]}`"


def _words(description: dict[str, Any], labels: LabelSet) -> list[str]:
    names = [f"**{_plain(view.positive)}**" for view in labels.views]
    told = sentences(description["record"].get("words"), description["word_boundaries"], names)
    return ["", *(f"- {line}" for line in told)] if told else []


def _token_note(record: dict[str, Any]) -> str:
    if "token" in (record["loss"], _initial_loss(record)):
        return "The token decisions were trained on token labels."
    boundary = record.get("boundary") or {}
    if boundary.get("by", boundary.get("level")) in ("tokens", "token"):  # `level` until 0.1
        return "No token label was used in training, but some were used to set the boundary of the token decisions."
    if record["criterion"] == "token-f0.5":
        return "No token label was used in training, but those of the dev documents chose the epoch."
    return "No token label was used in training: the token decisions follow from document labels alone."


def _table(dev: dict[str, Any]) -> list[str]:
    rows = ["| level | " + " | ".join(dev["document"]) + " |", "|---" * (len(dev["document"]) + 1) + "|"]
    rows.append("| document | " + " | ".join(f"{v:.3f}" for v in dev["document"].values()) + " |")
    if "token" in dev:
        rows += ["", "| level | " + " | ".join(dev["token"]) + " |", "|---" * (len(dev["token"]) + 1) + "|"]
        rows.append("| token | " + " | ".join(f"{v:.3f}" for v in dev["token"].values()) + " |")
    return rows
