"""Reports: every text is escaped, files stay small, and a real browser shows them without complaint."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import several
from hypothesis import given
from hypothesis import strategies as st
from scored import LABELS, NAMES, audited, scored
from several import ONE_OF, SEVERAL

from exaudit.analyse.evaluation import Evaluation
from exaudit.analyse.exemplars import ExemplarTable, choose
from exaudit.analyse.report import (
    Beside,
    Documents,
    Fold,
    Matrix,
    Page,
    Plot,
    Section,
    Series,
    Shelf,
    Table,
    Text,
    Words,
    find_format,
    render,
    to_html,
    to_markdown,
)
from exaudit.analyse.report.build import Answers, report_page
from exaudit.analyse.report.exemplar_tables import exemplar_section
from exaudit.analyse.report.svg import PALETTE, svg
from exaudit.audit.evidence import Exemplar
from exaudit.data.labels import LabelSet
from exaudit.errors import SettingError
from exaudit.head.confidence import Confidence
from exaudit.model.folder import save_model
from exaudit.model.scores import MultiScores, TokenScores
from tiny import reviews, tiny_labeler

NASTY = (
    "<script>alert(1)</script> </script> <!-- & &amp; \" ' ` <img/src=x/onerror=alert(1)> \u2028 {{7*7}} ]]> "
)
NASTY += "\\u003c **bold** [link](x) a|b"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Tags(HTMLParser):
    """The tags and the visible text of a page; a browser would see the same."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def nasty() -> TokenScores:
    words = NASTY.split()
    truth = [n % 2 for n in range(len(words))]
    return scored(NASTY, [n - 3.0 for n in range(len(words))], id="<b>id</b>", token_labels=truth)


def plot(*, kind: str = "lines", marks: tuple[tuple[float, str], ...] = ()) -> Plot:
    series = (
        Series(NASTY, (0.0, 1.0, 2.0), (0.2, None, 0.9)),
        Series("other", (0.0, 1.0, 2.0), (0.5, 0.4, 0.1)),
    )
    return Plot(NASTY, NASTY, "x <b>", "y & z", series, kind=kind, marks=marks)  # type: ignore[arg-type]


def page(labels: LabelSet = LABELS, *labelled: TokenScores) -> Page:
    table = Table(NASTY, (NASTY, "b"), ((NASTY, 1.234), (Words.of(NASTY.split(), [1] * 20, [1] * 20), None)))
    shelf = Shelf.of(labelled or [nasty()], labels)
    blocks = (Text(NASTY), table, Beside((table, table)), plot(), plot(kind="bars", marks=((1.0, NASTY),)))
    sections = (Section(NASTY, blocks), Section("The documents", (Documents(shelf),)))
    return Page(NASTY, (NASTY,), sections, {"text": NASTY})


def test_nothing_of_a_text_becomes_a_tag() -> None:
    found = Tags(to_html(page(LabelSet.binary("<i>neg</i>", "<script>pos"))))
    tags = [tag for tag, _ in found.tags]
    assert tags.count("script") == 2, "the data and our own script"
    assert "img" not in tags
    assert "b" not in tags
    assert "i" not in tags
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert any("<script>alert(1)</script>" in text for text in found.text)
    assert not any("49" in text for text in found.text), "a template inside a text must not run"


def test_the_page_reaches_for_nothing() -> None:
    text = to_html(page())
    found = Tags(text)
    assert not any("src" in attributes or "srcset" in attributes for _, attributes in found.tags)
    links = [attributes["href"] for _, attributes in found.tags if "href" in attributes]
    assert all(link is not None and link.startswith("#") for link in links)
    assert "default-src 'none'" in text
    assert "unsafe" not in text
    for kind, content in (("style", r"<style>(.*?)</style>"), ("script", r"<script>(.*?)</script>")):
        (own,) = re.findall(content, text, re.DOTALL)
        assert f"{kind}-src '{hash_of(own)}';" in text
    assert "@import" not in text
    assert "url(" not in text


def hash_of(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def script_of(text: str) -> str:
    match = re.search(r'<script type="application/json" id="documents">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    return match[1]


@given(st.text(min_size=1, max_size=60).filter(lambda text: bool(text.split())))
def test_documents_come_back_from_the_page_as_they_were(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # half a surrogate pair: the readers refuse it
    shelf = Shelf.of([scored(text, [1.0] * len(text.split()))], LABELS)
    data = shelf.to_script()
    assert "<" not in data
    assert json.loads(data)["rows"][0]["w"].split("\n") == text.split()


def test_what_the_shelf_says_of_a_document() -> None:
    plain = scored("good bad", [1.239, -2.0], id="d", output=-0.5, label="pos", token_labels=[1, 0])
    row = Shelf.of([audited(plain, [0.5, -0.25], [3.14, 0.0], [True, False], False)], LABELS).rows[0]
    assert row == {
        "i": "d", "p": 0, "o": -0.5, "w": "good\nbad", "s": [124, -200], "d": [0], "t": 1, "y": [0],
        "k": [50, -25], "n": [31, 0], "f": [1], "a": 0, "r": "2 of 9 tokens admitted",
    }  # fmt: skip


def test_documents_decided_negative_show_the_words_for_it() -> None:
    values = {"output": -1.0, "scores": [1.5, -2.0, -0.5]}
    negative = replace(scored("good dull *so*", id="d", **values), negative_offset=1.0)  # type: ignore[arg-type]
    positive = replace(negative, output=1.0, document=replace(negative.document, id="e"))
    shown = page(LABELS, negative, positive)
    assert ["g" in row for row in Shelf.of([negative, positive], LABELS).rows] == [True, False]
    told = [one.get("for_negative") for one in json.loads(render(shown, "json"))["labelled"]]
    assert told == [[1], None]
    text = to_markdown(shown)
    assert "In brackets: words for neg, in documents decided so." in text
    assert "**good** &#91;dull&#93; &#42;so&#42;" in text
    assert "**good** dull &#42;so&#42;" in text  # of the document decided positive
    assert '<span class="g">framed</span>: in documents decided to be <bdi>neg</bdi>' in render(shown, "html")
    assert "framed" not in render(page(LABELS, scored("good", [1.0])), "html")


def test_json_has_the_documents_as_well() -> None:
    plain = scored("good bad", [1.239, -2.0], id="d", output=-0.5, label="pos", token_labels=[1, 0])
    unknown = scored("x", [1.0], id="e", output=1.0)
    shown = page(LABELS, audited(plain, [0.5, -0.25], [3.14, 0.0], [True, False], False), unknown)
    data = json.loads(render(shown, "json"))
    assert data["text"] == NASTY
    assert data["labelled_note"] == "All 2 documents."
    assert data["labelled"] == [
        {
            "id": "d", "predicted": "neg", "truly": "pos", "output": -0.5, "tokens": ["good", "bad"],
            "scores": [1.24, -2.0], "decided": [0], "truly_positive": [0], "knn": [0.5, -0.25], "distances": [3.1, 0.0],
            "refused": [1], "admitted": False, "reason": "2 of 9 tokens admitted",
        },
        {
            "id": "e", "predicted": "pos", "truly": None, "output": 1.0, "tokens": ["x"], "scores": [1.0],
            "decided": [0],
        },
    ]  # fmt: skip


def test_a_large_set_is_sampled_errors_first_and_says_so() -> None:
    labelled = [
        scored("some words of a review", [0.1] * 5, id=f"d{n}", label="neg" if n % 10 == 0 else "pos")
        for n in range(200)
    ]
    shelf = Shelf.of(labelled, LABELS, budget=6_000)
    shown = [row["i"] for row in shelf.rows]
    assert {f"d{n}" for n in range(0, 200, 10)} <= set(shown), "all errors"
    assert 20 < len(shown) < 200
    assert f"{len(shown)} of 200 documents" in shelf.note
    assert "20 in all" in shelf.note
    again = Shelf.of(labelled[::-1], LABELS, budget=6_000)
    assert {row["i"] for row in again.rows} == set(shown)
    assert Shelf.of(labelled, LABELS).note == "All 200 documents."


def test_five_thousand_reviews_stay_under_fifteen_megabytes() -> None:
    draws = np.random.default_rng(0)
    words = np.array([f"{'word'[: 1 + n % 4]}{n}" for n in range(3000)])
    labelled = []
    for n in range(5000):
        text = " ".join(words[draws.integers(0, 3000, 180)])
        plain = scored(text, draws.normal(-1, 2, 180).tolist(), id=f"review-{n}", label="pos")
        labelled.append(plain)
    text = to_html(page(LABELS, *labelled))
    assert 5e6 < len(text.encode()) < 15e6


def test_plots_are_well_formed_and_described() -> None:
    for one in (plot(), plot(kind="bars"), plot(marks=((0.5, "limit"),))):
        root = ElementTree.fromstring(svg(one, 3))
        space = "{http://www.w3.org/2000/svg}"
        assert root.find(f"{space}title").text == NASTY.replace("\u2028", " ")  # type: ignore[union-attr]
        assert root.find(f"{space}desc").text == NASTY.replace("\u2028", " ")  # type: ignore[union-attr]
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == "plot-3-title plot-3-text"
    colours = re.findall(r'stroke="(#\w+)"', svg(plot(), 1))
    assert {PALETTE[0], PALETTE[1]} <= set(colours)


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=8))
def test_any_numbers_can_be_drawn_inside_the_frame(values: list[float]) -> None:
    series = Series("s", tuple(float(n) for n in range(len(values))), tuple(values))
    for kind in ("lines", "bars"):
        root = ElementTree.fromstring(svg(Plot("t", "d", "x", "y", (series,), kind=kind), 1))  # type: ignore[arg-type]
        box = [float(edge) for edge in root.get("viewBox", "").split()]
        for element in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(element.get("cx", "-1")) <= box[2]
            assert 0 <= float(element.get("cy", "-1")) <= box[3]


def test_logarithmic_axes_have_equal_room_for_equal_factors() -> None:
    drawn = svg(
        Plot("t", "d", "x", "y", (Series("s", (100.0, 1e3, 1e5), (0.2, 2, 20)),), logarithmic=True), 1
    )
    root = ElementTree.fromstring(drawn)
    places = [
        (float(one.attrib["cx"]), float(one.attrib["cy"]))
        for one in root.iter("{http://www.w3.org/2000/svg}circle")
    ]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x2 - x1 == pytest.approx(2 * (x1 - x0), abs=0.3)
    assert y1 - y0 == pytest.approx(y2 - y1, abs=0.3)
    assert y1 < y0
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"0.1", "1", "10", "100", "1,000", "10,000", "100,000"} <= set(texts)


def test_markdown_shows_texts_as_texts() -> None:
    text = to_markdown(page())
    assert "<script" not in text
    assert "&#60;script&#62;" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4), "a pipe of a text must not make a column"


def test_formats_are_told_by_the_ending() -> None:
    assert find_format(Path("a.HTML")) == "html"
    assert find_format(Path("-"), "md") == "md"
    assert json.loads(render(page(), "json"))["text"] == NASTY
    with pytest.raises(SettingError, match=r"cannot tell the format from 'a.pdf'"):
        find_format(Path("a.pdf"))
    with pytest.raises(SettingError, match="no report format 'pdf'"):
        find_format(Path("a.html"), "pdf")


def test_exemplar_tables_show_decided_and_missed_words() -> None:
    plain = scored("a b c d", [1, 1, -1, -1], id="s", label="pos", token_labels=[0, 1, 1, 0])
    one = audited(plain, [1, 1, -1, -1], [0.5] * 4)
    table = ExemplarTable.of(one, NAMES)
    assert [(row.token, row.decided, row.true) for row in table.rows] == [
        ("a", 1, 0),
        ("b", 1, 1),
        ("c", 0, 1),
    ]
    section = exemplar_section([table])
    text = to_html(Page("t", (), (section,)))
    assert "exemplar" in text
    assert "Document s: predicted pos, truly pos" in text
    assert json.dumps(table.to_json())
    silent = scored("x", [-1.0], id="t")
    assert choose([silent, one], LABELS) == [(one, 0)]


class Lines(HTMLParser):
    """The rows of the tables of a page: the texts of the cells, and each marked part with its classes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[list[str]] = []
        self.marks: dict[str, list[tuple[str, str]]] = {}
        self.inside = False
        self.kind = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")
            self.inside = True
        elif tag == "span":
            self.kind = (dict(attrs)["class"] or "").strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "td":
            self.inside = False
        elif tag == "span":
            self.kind = ""

    def handle_data(self, data: str) -> None:
        if not self.inside:
            return
        self.rows[-1][-1] += data
        if self.kind:
            self.marks.setdefault(self.rows[-1][0], []).append((self.kind, data))

    def cell(self, name: str) -> str:
        (found,) = [row[1] for row in self.rows if row[:1] == [name]]
        return found.strip()


def table_of(
    text: str,
    kept: list[float],
    labels: list[int | None],
    *,
    position: int = 0,
    truth: list[int] | None = None,
    offset: float = 0.0,
    id: str = "train-7",
) -> ExemplarTable:
    """The document "a b c", of which b is decided positive, with an exemplar in a text of these scores and labels."""
    plain = replace(scored("a b c", [-1, 1, -1], id="s", token_labels=truth), offset=offset)
    values = np.array(kept, dtype=np.float32)
    near = Exemplar(
        5, id, position, tuple(text.split()), 34.04, kept[position] - offset, "pos", tuple(labels), values
    )
    return ExemplarTable.of(
        replace(audited(plain, [-1, 1, -1], [1] * 3), offset=offset, nearest=(near,) * 3), NAMES
    )


def test_exemplar_tables_mark_all_truth_and_all_predictions() -> None:
    """As the paper's appendix does; the marks are recounted from scores, labels and the boundary."""
    words, kept, labels = "all the informations you need", [0.5, -0.5, 0.9, 0.7, 0.2], [0, 1, 1, 0, 0]
    table = table_of(words, kept, labels, position=2, truth=[0, 1, 1], offset=0.5)
    shown = Lines(to_html(Page("t", (), (exemplar_section([table]),))))
    tokens = words.split()
    assert shown.cell("True") == "a b[1] c[2]"
    assert shown.marks["True"] == [("y", "b"), ("t", "[1]"), ("y", "c"), ("t", "[2]")]
    assert shown.cell("Pred.") == "a b[1] c[2]"
    assert shown.marks["Pred."] == [("d u", "b"), ("t", "[1]"), ("t", "[2]")]
    for place in (1, 2):
        for line, mark, marked in (
            ("True", "y", [w for w, y in zip(tokens, labels, strict=True) if y == 1]),
            ("Pred.", "d u", [w for w, s in zip(tokens, kept, strict=True) if s > 0.5]),
        ):
            name = f"Exemplar [{place}] {line}"
            assert shown.cell(name) == words.replace("informations", f"informations[{place}]")
            assert [text for kind, text in shown.marks[name] if kind == mark] == marked
            assert [text for kind, text in shown.marks[name] if kind != mark] == [f"[{place}]"]
        facts = shown.cell(f"Exemplar [{place}] Dist.")
        assert facts == "34.04 (document train-7, labelled pos; score +0.40)"
    text = to_markdown(Page("t", (), (exemplar_section([table]),)))
    left, right = "&#91;", "&#93;"
    assert f"| True | a <u>b</u>{left}1{right} <u>c</u>{left}2{right} |" in text
    assert f"| Pred. | a **<u>b</u>**{left}1{right} c{left}2{right} |" in text
    name, tagged = f"Exemplar {left}1{right}", f"{left}1{right}"
    assert f"| {name} True | all <u>the</u> <u>informations</u>{tagged} you need |" in text
    assert f"| {name} Pred. | all the **<u>informations</u>**{tagged} **<u>you</u>** need |" in text
    data = json.loads(json.dumps(table.to_json()))
    assert (data["predictions"], data["token_labels"]) == ([0, 1, 0], [0, 1, 1])
    for row in data["rows"]:
        assert row["exemplar"]["document"] == tokens
        assert row["exemplar"]["predictions"] == [0, 0, 1, 1, 0]
        assert row["exemplar"]["token_labels"] == labels
        assert (row["exemplar"]["prediction"], row["exemplar"]["token_label"]) == (1, 1)


def test_exemplar_tables_say_where_truth_is_not_known() -> None:
    unknown = "The token labels of this document are not known."
    shown = Lines(to_html(Page("t", (), (exemplar_section([table_of("x y", [1.0, -1.0], [None, None])]),))))
    assert shown.cell("True") == shown.cell("Exemplar [1] True") == unknown
    assert shown.cell("Exemplar [1] Pred.") == "x[1] y"
    table = table_of("w x y z", [1.0, -1.0, 1.0, 1.0], [None, None, 1, 0], position=1)
    shown = Lines(to_html(Page("t", (), (exemplar_section([table]),))))
    assert shown.cell("Exemplar [1] True") == "w[?] x[1?] y z"
    assert [text for kind, text in shown.marks["Exemplar [1] True"] if kind == "y"] == ["y"]
    assert shown.cell("Exemplar [1] Pred.") == "w x[1] y z"
    data = table.to_json()
    assert data["token_labels"] is None
    assert data["rows"][0]["exemplar"]["token_labels"] == [None, None, 1, 0]
    assert data["rows"][0]["exemplar"]["token_label"] is None


@pytest.mark.parametrize(
    ("count", "position", "first", "last"),
    [(120, 119, 0, 120), (500, 0, 0, 120), (500, 250, 190, 310), (500, 499, 380, 500), (121, 60, 0, 120)],
)
def test_of_long_documents_the_part_around_the_exemplar_is_shown(
    count: int, position: int, first: int, last: int
) -> None:
    words = [f"w{n}" for n in range(count)]
    table = table_of(" ".join(words), [1.0] * count, [1] * count, position=position)
    shown = Lines(to_html(Page("t", (), (exemplar_section([table]),))))
    around = [w + ("[1]" if n == position else "") for n, w in enumerate(words)][first:last]
    literal = " ".join([*(["…"] if first else []), *around, *(["…"] if last < count else [])])
    for line, mark in (("True", "y"), ("Pred.", "d u")):
        assert shown.cell(f"Exemplar [1] {line}") == literal
        marked = [text for kind, text in shown.marks[f"Exemplar [1] {line}"] if kind == mark]
        assert marked == words[first:last]
    assert table.to_json()["rows"][0]["exemplar"]["document"] == words


def test_texts_of_exemplars_stay_texts() -> None:
    count = len(NASTY.split())
    labels = [None, *([1] * (count - 1))]
    table = table_of(NASTY, [1.0] * count, labels, position=3, truth=[0, 1, 0], id="<b>id</b> a|b")
    page = Page("t", (), (exemplar_section([table]),))
    found = Tags(to_html(page))
    tags = [tag for tag, _ in found.tags]
    assert tags.count("script") == 1, "our own"
    assert not {"img", "b"} & set(tags)
    assert Lines(to_html(page)).cell("Exemplar [1] Pred.").split() == [
        word + "[1]" * (n == 3) for n, word in enumerate(NASTY.split())
    ]
    text = to_markdown(page)
    assert set(re.findall(r"<[^>]*>?", text)) == {"<u>", "</u>"}
    assert {line.count("|") for line in text.splitlines() if line.startswith("|")} == {3}


# -- of several classes -----------------------------------------------------------------------------------


def travelling(labels: LabelSet = SEVERAL) -> MultiScores:
    """Two words are decided, one of them as two classes where that may be; the last is missed."""
    own = [[-1.0, -1.0, -1.0], [1.5, -1.0, 2.25], [-1.0, 0.5, -1.0], [-0.25, -1.0, -1.0]]
    label: str | tuple[str, ...] = "food" if labels.kind == "multiclass" else ("food", "sport")
    return several.scored(
        "the train goal soup",
        own,
        [0.5, -1.0, 2.0] if labels.kind == "multilabel" else [-1.5, -3.0, 1.5],
        labels=labels,
        id="d",
        label=label,
        token_labels=["O", "travel", "B-sport", "food"],
    )


def test_what_the_shelf_says_of_several_classes() -> None:
    row = {
        "i": "d", "o": 2.0, "w": "the\ntrain\ngoal\nsoup", "s": [-100, 225, 50, -25], "b": [0, 2, 1, 0],
        "p": [0, 2], "t": [0, 1], "d": [[1, 0, 2], [2, 1]], "y": [[1, 2], [2, 1], [3, 0]],
    }  # fmt: skip
    shelf = Shelf.of([travelling()], SEVERAL)
    assert shelf.rows == (row,)
    assert shelf.wrong == 1
    assert json.loads(shelf.to_script())["kind"] == "multilabel"
    (told,) = shelf.to_json()
    assert (told["predicted"], told["truly"]) == (["food", "travel"], ["food", "sport"])
    assert told["decided"] == [
        {"place": 1, "classes": ["food", "travel"]},
        {"place": 2, "classes": ["sport"]},
    ]
    assert told["strongest"] == ["food", "travel", "sport", "food"]
    (one,) = Shelf.of([travelling(ONE_OF)], ONE_OF).to_json()
    assert (one["predicted"], one["truly"]) == ("travel", "food")


def several_page(labels: LabelSet = SEVERAL) -> Page:
    matrix = Matrix("Documents", ("<b>a</b>", "b|c"), ((3, 1), (0, 0)))
    fold = Fold("<i>more</i>", (matrix, Text("inside")))
    return Page("t", (), (Section("s", (matrix, fold, Documents(Shelf.of([travelling(labels)], labels)))),))


def test_matrices_and_folds() -> None:
    found = Tags(to_html(several_page()))
    tags = [tag for tag, _ in found.tags]
    assert not {"b", "i"} & set(tags)
    shades = [a["class"] for tag, a in found.tags if tag == "td" and (a.get("class") or "").startswith("n h")]
    assert shades == 2 * ["n h7 same", "n h2", "n h0", "n h0 same"]
    assert "<i>more</i>" in found.text
    text = to_markdown(several_page())
    assert "### &#60;i&#62;more&#60;/i&#62;" in text
    assert "| 1 &#60;b&#62;a&#60;/b&#62; | 3 | 1 | 4 |" in text


def test_markdown_names_the_classes_of_words() -> None:
    text = to_markdown(several_page())
    left, right = "&#91;", "&#93;"
    assert "- d, predicted food, travel, truly food, sport: the" in text
    assert f"**<u>train</u>**{left}food, travel; truly travel{right}" in text
    assert f"**<u>goal</u>**{left}sport{right} <u>soup</u>{left}truly food{right}" in text


def test_exemplars_are_chosen_for_the_classes_in_turn() -> None:
    made = several.drawn(ONE_OF, 40)
    chosen = choose(made, ONE_OF, count=7)
    assert [k for _, k in chosen] == [0, 0, 0, 1, 1, 2, 2]
    for scores, k in chosen:
        assert k in scores.decided
    assert len({scores.document.id for scores, _ in chosen}) == 7
    assert choose(made[::-1], ONE_OF, count=7) == chosen


# -- in a browser -----------------------------------------------------------------------------------------


def acting(html: str, script: str) -> str:
    """The page with one more script at its end, which its policy lets run."""
    assert "</body>" in html
    html = html.replace("script-src '", f"script-src '{hash_of(script)}' '")
    return html.replace("</body>", f"<script>{script}</script></body>")


def browse(path: Path, profile: Path) -> tuple[str, list[str]]:
    """The page as Chromium builds it, and what it had to say on its console."""
    assert CHROMIUM is not None
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    flags += (
        " --disable-component-update --disable-sync --disable-dev-shm-usage --enable-logging=stderr --v=0"
    )
    command = [CHROMIUM, *flags.split(), f"--user-data-dir={profile}", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_shows_texts_as_texts_and_filters(tmp_path: Path) -> None:
    labelled = [
        audited(
            nasty(), [1.0] * len(NASTY.split()), [0.5] * len(NASTY.split()), [True] * len(NASTY.split()), True
        ),
        *(
            scored(f"plain review {n}", [1, -1, 2], id=f"r{n}", label="neg" if n % 4 == 0 else "pos")
            for n in range(50)
        ),
    ]
    path = tmp_path / "page.html"
    path.write_text(to_html(page(LABELS, *labelled)), encoding="utf-8")
    dom, console = browse(path, tmp_path / "profile")
    assert console == []
    shown = Tags(dom)
    assert [tag for tag, _ in shown.tags].count("script") == 2
    assert [tag for tag, _ in shown.tags].count("article") == 20
    assert "<b>id</b> · predicted pos" in "".join(shown.text)
    words = [a.get("title") or "" for tag, a in shown.tags if tag == "span"]
    assert any(
        title.startswith("score -3.00 · K-NN 1.00 · nearest exemplar at 0.5 · admitted") for title in words
    )

    act = "const f = document.getElementById('filters'); f.elements.error.value = 'wrong';"
    act += " f.dispatchEvent(new Event('input'));"
    path.write_text(acting(path.read_text(encoding="utf-8"), act), encoding="utf-8")
    dom, console = browse(path, tmp_path / "profile2")
    assert console == []
    assert "13 of 51 documents fit" in dom
    assert dom.count('<article class="wrong">') == 13


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_hides_the_filters_that_nothing_answers(tmp_path: Path) -> None:
    act = "document.title = [...document.querySelectorAll('#filters label')].filter("
    act += (
        "(label) => label.offsetParent !== null).map((label) => label.querySelector('[name]').name).join();"
    )
    always = ["predicted", "text"]
    cases = (
        (scored("a b", [1, -1], id="d"), always),
        (scored("a b", [1, -1], id="d", label="pos"), ["error", "truth", *always]),
        (audited(scored("a b", [1, -1], id="d", label="pos"), [1.0, 1.0], [0.5, 0.5], [True, True], True),
         ["error", "truth", "admitted", *always]),
    )  # fmt: skip
    for n, (document, expected) in enumerate(cases):
        path = tmp_path / f"page{n}.html"
        path.write_text(acting(to_html(page(LABELS, document)), act), encoding="utf-8")
        dom, console = browse(path, tmp_path / f"profile{n}")
        assert console == []
        title = dom.partition("<title>")[2].partition("</title>")[0]
        assert sorted(title.split(",")) == sorted(expected)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_labels_words_with_their_classes(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    act = "const f = document.getElementById('filters'); const told = [];"
    act += "for (const wanted of ['0', '1', '2', 'none']) { f.elements.predicted.value = wanted;"
    act += " f.dispatchEvent(new Event('input')); told.push(document.querySelectorAll('article').length); }"
    act += (
        " f.elements.predicted.value = ''; f.dispatchEvent(new Event('input')); document.title = told.join();"
    )
    path.write_text(acting(to_html(several_page()), act), encoding="utf-8")
    dom, console = browse(path, tmp_path / "profile")
    assert console == []
    assert "<title>1,0,1,0</title>" in dom
    article = dom.partition("<article")[2].partition("</article>")[0]
    shown = Tags("<article" + article)
    assert "d · predicted food, travel (2.00) · wrong: truly food, sport" in "".join(shown.text)
    labels = [a["class"] for tag, a in shown.tags if tag == "span" and (a.get("class") or " ")[0] in "lm"]
    assert labels == ["l c0", "l c2", "l c1", "m"]
    assert [text for text in shown.text if text in several.NAMES] == ["food", "travel", "sport", "food"]
    assert "score for travel 2.25 · truly travel" in article


# -- characters that are not seen -----------------------------------------------------------------------------

UNSEEN = "\x1b[31m \u202eevil\u2066 \x9b2J \U000e0041 zero\u200bwidth"


def unseen_page() -> Page:
    labels = LabelSet.binary("neg", "p\u202eos")
    words = UNSEEN.split()
    document = scored(UNSEEN, [1.0] * len(words), id="i\u202ed", label="p\u202eos")
    table = Table(UNSEEN, (UNSEEN, "b"), ((UNSEEN, 1.234), (Words.of(words, [1] * 9, [1] * 9), None)))
    plotted = replace(plot(), title=UNSEEN, series=(Series(UNSEEN, (0.0, 1.0), (0.2, 0.1)),))
    blocks = (Text(UNSEEN), table, plotted, Documents(Shelf.of([document], labels)))
    return Page(UNSEEN, (UNSEEN,), (Section(UNSEEN, blocks),), {"text": UNSEEN})


@pytest.mark.parametrize("format", ["html", "md", "json"])
def test_unseen_characters_are_shown_by_their_numbers(format: str) -> None:
    text = render(unseen_page(), format)
    assert {c for c in text if not c.isprintable()} <= {"\n", "\t"}
    backslash = "&#92;" if format == "md" else "\\"
    assert f"{backslash}u202eevil{backslash}u2066" in text.replace("\\\\", "\\")
    if format == "json":
        assert json.loads(text)["text"] == UNSEEN, "nothing is lost"


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_chromium_shows_unseen_characters_and_isolates_texts(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(to_html(unseen_page()), encoding="utf-8")
    dom, console = browse(path, tmp_path / "profile")
    assert console == []
    article = dom.partition("<article")[2].partition("</article>")[0]
    assert "<bdi>i\\u202ed</bdi> · predicted <bdi>p\\u202eos</bdi>" in article
    assert '<p dir="auto">' in article
    for shown in ("\\x1b[31m", "\\u202eevil\\u2066", "\\x9b2J", "\\U000e0041", "zero\\u200bwidth"):
        assert f">{shown}</span>" in article


def test_the_page_says_what_is_known_of_the_words(tmp_path: Path) -> None:
    documents = reviews(60)
    model = tiny_labeler(epochs=1).fit(documents).model_
    old = replace(model, record={key: value for key, value in model.record.items() if key != "words"})
    for name, one in (("model", model), ("old", old)):
        save_model(one, tmp_path / name)
    pages = [
        report_page(Answers.of(tmp_path / name, documents, title=name, device="cpu"))
        for name in ("model", "old")
    ]
    told = [[line for line in page.summary if "are flagged in dev documents of" in line] for page in pages]
    assert [len(lines) for lines in told] == [1, 0]
    assert told[0][0].startswith("Words: ")
    assert "flagged in dev documents of class" in " ".join(Tags(to_html(pages[0])).text)


def test_the_page_scores_the_words_that_the_model_decides(tmp_path: Path) -> None:
    documents = reviews(60)
    fitted = tiny_labeler(epochs=1).fit(documents).model_
    model = replace(
        fitted, confidence=Confidence(0.01), word_boundaries=(-1.0,)
    )  # doubt alone keeps a word from being flagged
    save_model(model, tmp_path / "model")
    page = report_page(Answers.of(tmp_path / "model", documents, title="model", device="cpu"))
    own = Evaluation.of(model.label(documents), model.labels).to_json(ci=True)
    assert page.data["evaluation"] == own
    careless = [replace(scores, doubt=0.0) for scores in model.label(documents)]
    assert own != Evaluation.of(careless, model.labels).to_json(ci=True)
