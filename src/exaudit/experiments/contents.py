"""Every table and figure of the paper by its number, and where it is here, or why it is not.

Tables are counted in the order of the paper's source, those of the appendices after those of the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from exaudit._tables import escaped
from exaudit.experiments.paper_comparison import PaperComparison

__all__ = ["CONTENTS", "Item", "contents_markdown"]

WHOLE = "whole sentences of the corpus, which may not be passed on: a run writes them to"


@dataclass(frozen=True)
class Item:
    """One table, figure or figure in the text; `tables` are the ids of ours, `why` says what is missing."""

    number: str
    place: str
    title: str
    experiment: str
    tables: tuple[str, ...] = ()
    why: str = ""


CONTENTS = (
    Item("Figure 1", "section 3", "Overview of the methods", "fce", why="a drawing without figures"),
    Item("Table 1", "section 4", "FCE test, document labels only", "fce", ("fce-zero-shot",)),
    Item("Table 2", "section 4", "FCE test, beside models that see token labels", "fce", ("fce-supervised",)),
    Item("Table 3", "section 4", "FCE test, decision rules and the K-NN", "fce", ("fce-rules",)),
    Item("Table 4", "section 4", "The K-NNs on K-NN dev", "fce", ("fce-knn-dev", "fce-knn-parameters")),
    Item("Figure 2", "section 4", "Approximation on K-NN dev by magnitude", "fce", ("fce-figure-2",)),
    Item("In the text", "section 4", "The search over K", "fce", ("fce-knn-search",)),
    Item("Table 5", "section 4", "FCE+news2k, with and without news in the support set", "fce", ("fce-news",)),
    Item("In the text", "section 4", "uniCNN+news50k on FCE test, 39.57", "fce", ("fce-in-text",)),
    Item("Table 6", "section 4", "FCE+news2k, admitted tokens only", "fce", ("fce-constraints",)),
    Item("Figure 3", "section 4", "Magnitude as a measure of reliability", "fce", ("fce-figure-3",)),
    Item("Table 7", "section 5", "Review sentiment", "sentiment", ("sentiment-review",)),
    Item("Table 8", "section 5", "Review sentiment, admitted reviews only", "sentiment", ("sentiment-constraints",)),
    Item("Table 9", "section 5", "Sentiment diffs, tuned boundary", "sentiment", ("sentiment-tokens",)),
    Item("Table 10", "section 5", "Sentiment diffs with decision rules", "sentiment", ("sentiment-rules",)),
    Item("Table 11", "section 5", "Contrast sets", "sentiment", ("contrast-review",)),
    Item("Table 12", "section 5", "Contrast sets with decision rules", "sentiment", ("contrast-rules",)),
    Item("Figure 4", "section 5", "Re-edits and support sets", "sentiment", why="a drawing without figures"),
    Item("Table 13", "section 6", "Original or revised", "annotation", ("annotation-domain",)),
    Item("Table 14", "section 6", "Unigrams by total score", "annotation", ("annotation-unigrams",)),
    Item("Table 15", "section 6", "5-grams by mean score", "annotation", ("annotation-5grams",)),
    Item(
        "Table 16", "section 6", "Top revised reviews", "annotation", ("annotation-top",),
        "their scores are shown; the reviews are not",
    ),
    Item("Table 17", "section 6", "Original or contrast set", "annotation", ("annotation-contrast",)),
    Item(
        "Table 18", "appendix B", "Five sentences under cnn, uniCNN, uniCNN+mm and uniCNN+S*", "fce",
        why=f"{WHOLE} examples/",
    ),
    Item(
        "Table 19", "appendix B", "Their exemplars, uniCNN+mm", "fce", ("fce-exemplars",),
        f"distances are shown; {WHOLE} examples/mm.md",
    ),
    Item(
        "Table 20", "appendix B", "Their exemplars, uniCNN+S*", "fce", ("fce-exemplars",),
        f"distances are shown; {WHOLE} examples/supervised.md",
    ),
    Item("Table 21", "appendix B", "Unigrams of the training sentences", "fce", ("fce-unigrams",)),
    Item("Table 22", "appendix B", "FCE+news2k by quartile of magnitude", "fce", ("fce-quantiles",)),
    Item(
        "Table 23", "appendix C", "How token labels are made from diffs", "sentiment",
        why="an example; `exaudit diff` does the same",
    ),
    Item("Table 24", "appendix C", "Review sentiment by encoder", "sentiment", ("sentiment-frozen",)),
    Item("Table 25", "appendix C", "SemEval-2017", "sentiment", ("sentiment-semeval",)),
    Item(
        "Table 26", "appendix D", "Sentences of CAD dev, marked", "annotation",
        why=f"{WHOLE} examples/revised.md",
    ),
    Item(
        "Table 27", "appendix D", "Sentences of the contrast dev set, marked", "annotation",
        why=f"{WHOLE} examples/contrast.md, if imdb_contrast/dev_original.tsv and dev_contrast.tsv are at hand",
    ),
    Item("Online appendix", "", "FCE test with BERT-base", "fce", ("fce-online",)),
)  # fmt: skip


def contents_markdown(comparison: PaperComparison) -> str:
    """A page with each of them: how many of its rows have a figure here, and why others have none."""
    rows = {table.id: table.rows for table in comparison.tables}
    ngrams = {table.id: table.why for table in comparison.ngram_tables}
    lines = ["| in the paper | what | here | rows with figures | |", "|---|---|---|---|---|"]
    for item in CONTENTS:
        begun = item.experiment in comparison.experiments
        here = [f"[{id}]({item.experiment}.md)" if begun else id for id in item.tables]
        own = [row for id in item.tables for row in rows.get(id, ()) if not row.cited]
        told = f"{sum(row.ours is not None for row in own)} of {len(own)}" if own else ""
        whys = [item.why, *(ngrams.get(id) or "" for id in item.tables)]
        whys += ["not run yet"] if item.tables and not begun else []
        place = f"{item.number}, {item.place}" if item.place else item.number
        why = escaped("; ".join(filter(None, whys)))
        lines.append(f"| {place} | {escaped(item.title)} | {', '.join(here)} | {told} | {why} |")
    title = "# The paper's tables and figures by number"
    note = "Rows that the paper quotes from others are not counted. Why a row has no figure stands below its table."
    return "\n\n".join([title, note, "\n".join(lines)]) + "\n"
