"""Example sentences, with the exemplars of their words or without, as in appendices B and D: pages for the folder of a
run. They hold whole sentences of the corpora: not to pass on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exaudit._files import replace_file
from exaudit.analyse.exemplars import ExemplarTable
from exaudit.experiments.run import Run
from exaudit.experiments.scoring import Scored

__all__ = ["examples_markdown", "marked_markdown", "write_examples"]

MARKED = "Positive words are _marked_"


def write_examples(run: Run, name: str, page: str) -> None:
    path = run.folder / "examples" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    with replace_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def marked_markdown(title: str, scored: Scored) -> str:
    """Truth and predictions of each document."""
    lines = [f"# {title}", "", f"{MARKED}.", ""]
    for one, start in zip(scored.scores, scored.ends.tolist(), strict=False):
        tokens = one.document.tokens
        lines += [f"## {one.document.id}", ""]
        if len(scored.truth):
            truth = scored.truth[start : start + len(tokens)].tolist()
            lines.append(f"- True: {_marked(tokens, truth, set())}")
        decided = [int(margin > 0) for margin in one.margins]
        lines += [f"- Pred.: {_marked(tokens, decided, set())}", ""]
    return "\n".join(lines)


def examples_markdown(title: str, tables: Sequence[ExemplarTable]) -> str:
    """Truth and predictions of each sentence, then of the sentence of each word's nearest exemplar.

    Words that are labelled, or predicted, positive stand between underscores; [n] is the place of a word.
    """
    lines = [f"# {title}", "", f"{MARKED}; [n] is the place of a word, counted from 0.", ""]
    for table in tables:
        lines += [f"## {table.document.id}", "", *_lines(table), ""]
    return "\n".join(lines)


def _lines(table: ExemplarTable) -> Iterator[str]:
    tags = {row.position for row in table.rows}
    tokens = table.document.tokens
    if table.token_truth is not None:
        yield f"- True: {_marked(tokens, table.token_truth, tags)}"
    yield f"- Pred.: {_marked(tokens, table.decisions, tags)}"
    for row in table.rows:
        found, place = row.exemplar, f"[{row.position}]"
        own = {found.position: row.position}
        known = [label or 0 for label in found.token_labels]
        yield f"- Exemplar {place} Dist.: {found.distance:.1f}"
        yield f"- Exemplar {place} True: {_marked(found.tokens, known, own)}"
        yield f"- Exemplar {place} Pred.: {_marked(found.tokens, row.predictions, own)}"


def _marked(tokens: Sequence[str], positive: Sequence[int], tags: set[int] | dict[int, int]) -> str:
    words = []
    for n, (token, yes) in enumerate(zip(tokens, positive, strict=True)):
        plain = "".join(f"\\{c}" if c in "\\`*_{}[]<>#|" else c for c in token)
        tag = f"[{tags[n] if isinstance(tags, dict) else n}]" if n in tags else ""
        words.append((f"_{plain}_" if yes == 1 else plain) + tag)
    return " ".join(words)
