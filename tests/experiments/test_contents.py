from __future__ import annotations

from exaudit.experiments.contents import CONTENTS, contents_markdown
from exaudit.experiments.paper import paper_tables
from exaudit.experiments.paper_comparison import OURS, PaperComparison
from exaudit.experiments.registry import EXPERIMENTS


def test_every_table_and_figure_of_the_paper_has_an_entry_or_a_sentence() -> None:
    numbers = [item.number for item in CONTENTS if item.number.startswith(("Table", "Figure"))]
    assert sorted(numbers) == sorted(
        [*(f"Table {n}" for n in range(1, 28)), *(f"Figure {n}" for n in range(1, 5))]
    )
    assert all(item.tables or item.why for item in CONTENTS)
    assert {item.experiment for item in CONTENTS} == set(EXPERIMENTS)


def test_every_table_here_is_listed() -> None:
    listed = {id for item in CONTENTS for id in item.tables}
    assert listed >= set(paper_tables())
    assert listed <= {*paper_tables(), *OURS}


def test_the_page_counts_rows_and_links_to_what_was_begun(comparison: PaperComparison) -> None:
    page = contents_markdown(comparison)
    assert (
        "| Table 1, section 4 | FCE test, document labels only | [fce-zero-shot](fce.md) | 3 of 7 |  |"
        in page
    )
    assert "| Table 7, section 5 | Review sentiment | sentiment-review |  | not run yet |" in page
    assert "| Figure 1, section 3 | Overview of the methods |  |  | a drawing without figures |" in page
