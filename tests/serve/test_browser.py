"""The workbench in a real browser: the story of a person who finds a wrong decision and corrects it."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from exaudit.audit import Auditor
from exaudit.data.document import Document
from exaudit.serve.workbench import Workbench
from tiny import cued, tiny_labeler
from webclient import Client, Serve, unlike

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

FLAGS = (
    "--no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-dev-shm-usage"
)
PAGES = ("/", "/correct", "/mark", "/queue", "/features", "/reliability", "/compare", "/model", "/api")
NASTY = """<script>document.title = "broken"</script> "quotes" 'n <img src=x onerror=alert(1)> &amp; \u202e turned"""
AXE = os.environ.get("EXAUDIT_AXE")  # the file axe.min.js of npm's axe-core

Page = playwright.Page
expect = playwright.expect
expect.set_options(timeout=15_000)  # the server and the browser share a busy machine with other tests


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split(), headless=True)
        yield running
        running.close()


@pytest.fixture
def page(browser: playwright.Browser) -> Iterator[Page]:
    """A fresh page, which must have had nothing to complain of in the end."""
    said: list[str] = []
    context = browser.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    made = context.new_page()
    made.set_default_timeout(15_000)
    made.on(
        "console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None
    )
    made.on("pageerror", lambda error: said.append(str(error)))
    yield made
    context.close()
    assert [
        line for line in said if "409 (Conflict)" not in line
    ] == []  # the browser's own line on a conflict


def visit(page: Page, client: Client, path: str) -> None:
    page.goto(client.address + path)
    if path != "/api":
        page.wait_for_selector("body[data-ready]")


def flagged(page: Page, box: str = "#words") -> list[str]:
    return page.locator(f"{box} .w.f").all_text_contents()


def find_flip(page: Page, client: Client) -> tuple[int, int]:
    """A document and a word of it that ExAG flags."""
    for place in range(40):
        view = client.get(f"/api/file/documents/{place}")
        for n, (margin, gate) in enumerate(
            zip(view["margins"][0], view["borne_out"]["exag"][0], strict=True)
        ):
            if margin > 0 and gate:
                return place, n
    raise AssertionError("ExAG flags no word")


def test_a_wrong_exemplar_is_found_corrected_and_brought_back(
    page: Page, opened: tuple[Workbench, Client]
) -> None:
    bench, client = opened
    place, n = find_flip(page, client)
    visit(page, client, f"/?place={place}")
    page.get_by_label("ExAG").check()
    word = page.locator(f'#words .w[data-n="{n}"]')
    expect(word).to_have_class(re.compile(r"\bf\b"))
    word.click()
    first = page.locator(".exemplars li").first
    expect(first).to_contain_text("document: positive")
    first.get_by_role("button", name="Relabel").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("negative")).to_be_checked()
    expect(dialog.locator("#edit-summary")).to_contain_text("would flip")
    expect(dialog.locator(".flips")).to_contain_text(word.text_content() or "")
    before = bench.version
    dialog.get_by_label("Reason").fill("it complains")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(word).not_to_have_class(re.compile(r"\bf\b"))
    expect(first).to_contain_text("document: negative")
    assert bench.version == before + 1
    page.get_by_role("button", name="Undo").click()
    expect(word).to_have_class(re.compile(r"\bf\b"))
    visit(page, client, "/correct")
    expect(page.locator("#history tr").nth(1)).to_contain_text("it complains")
    expect(page.locator("#history tr").first).to_contain_text("undid edit")
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("#history tr").first).to_contain_text("redid edit")
    page.locator("#undo").click()
    expect(page.locator("#history tr")).to_have_count(6)


def test_with_three_classes_too(page: Page, serve: Serve, tmp_path: Path) -> None:
    documents = cued(120)
    tiny_labeler(epochs=20).fit(documents[:90], dev=documents[90:]).save(tmp_path / "model")
    Auditor.open(tmp_path / "model", device="cpu").build(documents[:90])
    bench, client = serve(tmp_path / "model")
    client.wait(bench.open("cued", cued(30, seed=5), fingerprint="cued").id)
    place, n, c = next(
        (place, n, c)
        for place in range(30)
        for c, own in enumerate(client.get(f"/api/file/documents/{place}")["margins"])
        for n in range(len(own))
        if own[n] > 0 and client.get(f"/api/file/documents/{place}")["borne_out"]["exag"][c][n]
    )
    name, other = bench.labels.names[c], bench.labels.names[(c + 1) % 3]
    visit(page, client, f"/?place={place}")
    page.get_by_label("ExAG").check()
    word = page.locator(f'#words .w[data-n="{n}"]')
    expect(word).to_have_class(re.compile(rf"\bf\b.*\bc{c}\b"))
    word.click()
    expect(page.get_by_label("Class to explain")).to_have_value(name)
    first = page.locator(".exemplars li").first
    expect(first).to_contain_text(f"document: {name}")
    first.get_by_role("button", name="Relabel").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("#edit-save")).to_be_disabled()
    dialog.get_by_label(other).check()
    expect(dialog.locator(".flips")).to_contain_text(word.text_content() or "")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_hidden()
    expect(word).not_to_have_class(re.compile(rf"\bc{c}\b"))
    expect(first).to_contain_text(f"document: {other}")
    page.get_by_role("button", name="Undo").click()
    expect(word).to_have_class(re.compile(rf"\bf\b.*\bc{c}\b"))
    for path in ("/features", "/reliability", "/model", "/queue"):
        visit(page, client, path)
    while not page.locator("#queue-words .w.f").count():
        before = page.locator("#queue-title").text_content()
        page.keyboard.press("j")
        expect(page.locator("#queue-title")).not_to_have_text(before or "")
    expect(page.locator("#queue-words .w[data-tag]").first).to_be_visible()  # its class, besides the colour


def test_a_promise_is_told_and_withdrawn(page: Page, promising: tuple[Workbench, Client]) -> None:
    bench, client = promising
    for admitted, word in ((True, "Admitted"), (False, "Refused: trust")):
        listed = client.get(f"/api/file/documents?admitted={str(admitted).lower()}")["documents"]
        visit(page, client, f"/?place={listed[0]['place']}&word=0")
        expect(page.locator("#admission")).to_contain_text(word)
        expect(page.locator("#promise")).to_contain_text("at most 40% are wrong, with 90% confidence")
        expect(page.locator("#withdrawn")).to_be_hidden()
        expect(page.locator("#evidence-body")).to_contain_text(re.compile("the promise is about|trust"))
    client.wait(bench.open("odd.jsonl", unlike(40), fingerprint="odd").id)
    visit(page, client, "/")
    expect(page.locator("#withdrawn")).to_contain_text("The promise is withdrawn for this file")
    expect(page.locator("#admission")).to_contain_text("Refused: the promise is withdrawn: ")
    page.get_by_role("link", name="Compare them").click()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("main")).to_contain_text("Drift: the 40 documents are not like")
    page.get_by_label("Beside").select_option(label="fresh.jsonl")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("h1")).to_have_text("fresh.jsonl against odd.jsonl")


def test_of_two_browsers_the_later_is_told(
    page: Page, browser: playwright.Browser, opened: tuple[Workbench, Client]
) -> None:
    bench, client = opened
    place, n = find_flip(page, client)
    other = browser.new_context().new_page()
    for each in (page, other):
        visit(each, client, f"/?place={place}&word={n}")
        each.locator(".exemplars li").first.get_by_role("button", name="Relabel").click()
        expect(each.locator("#edit-save")).to_be_enabled()
    before = bench.version
    other.locator("#edit-save").click()
    expect(other.locator("#notices")).to_contain_text("Saved as edit")
    page.locator("#edit-save").click()
    expect(page.locator("#notices")).to_contain_text("somebody else has edited the support set")
    assert bench.version == before + 1
    other.get_by_role("button", name="Undo").click()
    expect(other.locator("#notices")).to_contain_text("undid edit")
    other.context.close()


def test_the_boundary_moves_words_and_the_share_of_the_file(
    page: Page, opened: tuple[Workbench, Client]
) -> None:
    _, client = opened
    place, _ = find_flip(page, client)
    visit(page, client, f"/?place={place}")
    effect = page.locator("#boundary-effect")
    expect(effect).to_contain_text("of the words in the file")
    before, told = flagged(page), effect.text_content()
    slider = page.locator("#boundary")
    slider.focus()
    for _ in range(60):
        slider.press("ArrowRight")
    assert effect.text_content() != told
    slider.evaluate("e => { e.value = e.max; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert flagged(page) == []
    expect(page.locator("#words .w.g")).to_have_count(len(before))
    slider.evaluate("e => { e.value = e.min; e.dispatchEvent(new Event('input', {bubbles: true})); }")
    assert len(flagged(page)) > len(before)
    page.locator("#boundary-reset").click()
    assert flagged(page) == before
    expect(effect).to_have_text(told or "")


def test_words_are_walked_and_explained_by_keyboard(page: Page, opened: tuple[Workbench, Client]) -> None:
    _, client = opened
    visit(page, client, "/?place=0")
    page.locator("#words .w").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator('#words .w[data-n="2"]')).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".exemplars li").first).to_be_visible()
    expect(page.locator('#words .w[data-n="2"]')).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#evidence-title")).to_contain_text(
        page.locator('#words .w[data-n="2"]').text_content() or ""
    )
    output = float((page.locator(".sum-plot .sum .value").text_content() or "").replace("−", "-"))
    terms = [
        float(text.replace("−", "-"))
        for text in page.locator(".sum-plot g:not(.sum) .value").all_text_contents()
    ]
    assert sum(terms) == pytest.approx(output, abs=0.006)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus is there; it must be seen wherever it stops."""
    for _ in range(80):
        page.keyboard.press("Tab")
        stop = page.evaluate_handle("document.activeElement")
        seen = "e => [e, e.closest('label')].some(o => o && getComputedStyle(o).outlineStyle !== 'none')"
        assert stop.evaluate(seen), stop.evaluate("e => e.outerHTML.slice(0, 200)")
        if stop.evaluate("(e, selector) => e.matches(selector)", selector):
            return
    raise AssertionError(f"Tab does not come to {selector}")


def test_the_story_by_keyboard_alone(page: Page, opened: tuple[Workbench, Client]) -> None:
    bench, client = opened
    place, n = find_flip(page, client)
    visit(page, client, f"/?place={place}")
    before, flag = bench.version, re.compile(r"\bf\b")
    tab_to(page, "#rules input")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_label("ExAG")).to_be_checked()
    tab_to(page, "#words .w")
    for _ in range(n):
        page.keyboard.press("ArrowRight")
    word = page.locator(f'#words .w[data-n="{n}"]')
    expect(word).to_have_class(flag)
    page.keyboard.press("Enter")
    expect(page.locator(".exemplars li").first).to_be_visible()
    tab_to(page, ".exemplars button")
    page.keyboard.press("Enter")
    expect(page.locator("#edit-summary")).to_contain_text("would flip")
    tab_to(page, "#edit-reason")
    page.keyboard.type("it complains")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    expect(word).not_to_have_class(flag)
    page.keyboard.press("Enter")
    expect(word).to_have_class(flag)
    expect(word).to_be_focused()
    assert bench.version == before + 2


def test_three_documents_are_marked_by_mouse_and_keyboard(
    page: Page, opened: tuple[Workbench, Client]
) -> None:
    _, client = opened
    visit(page, client, "/mark")
    expect(page.locator("#marked-count")).to_have_text("0 of 10 documents marked")
    words = page.locator("#mark-words .w")
    page.locator("#mark-clear").click()
    words.nth(1).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#mark-words .m")).to_have_count(3)
    page.keyboard.press("Enter")
    expect(page.locator("#marked-count")).to_have_text("1 of 10 documents marked")
    page.locator("#mark-clear").click()
    first, last = words.nth(0).bounding_box(), words.nth(2).bounding_box()
    assert first is not None
    assert last is not None
    page.mouse.move(first["x"] + 3, first["y"] + 5)
    page.mouse.down()
    page.mouse.move(last["x"] + 3, last["y"] + 5, steps=12)
    page.mouse.up()
    expect(page.locator("#mark-words .m")).to_have_count(3)
    page.locator("#mark-save").click()
    expect(page.locator("#marked-count")).to_have_text("2 of 10 documents marked")
    page.locator("#mark-clear").click()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.locator("#marked-count")).to_have_text("3 of 10 documents marked")
    expect(page.locator("#boundary-set")).to_be_disabled()
    visit(page, client, "/mark")
    expect(page.locator(".dots .done")).to_have_count(3)
    with page.expect_download() as download:
        page.locator("#export").click()
    lines = [json.loads(line) for line in Path(download.value.path()).read_text().splitlines()]
    assert [sum(line["token_labels"]) for line in lines] == [3, 3, 1]
    assert [line["token_labels"][:4] for line in lines[:2]] == [[0, 1, 1, 1], [1, 1, 1, 0]]


def test_the_queue_is_decided_by_keyboard_and_survives_a_reload(
    page: Page, opened: tuple[Workbench, Client]
) -> None:
    _, client = opened
    visit(page, client, "/queue")
    title = page.locator("#queue-title")
    first = title.text_content()
    page.keyboard.press("1")
    expect(title).not_to_have_text(first or "")
    page.keyboard.press("k")
    expect(title).to_have_text(first or "")
    pressed = page.locator("#queue-choices button[aria-pressed=true]")
    expect(pressed).to_contain_text("negative")
    page.keyboard.press("j")
    expect(title).not_to_have_text(first or "")
    second = title.text_content()
    page.keyboard.press("Enter")
    expect(title).not_to_have_text(second or "")
    expect(page.locator("#queue-count")).to_contain_text("2 of")
    page.keyboard.press("u")
    expect(title).to_have_text(second or "")
    expect(page.locator("#queue-count")).to_contain_text("1 of")
    page.keyboard.press("j")
    expect(title).not_to_have_text(second or "")
    page.keyboard.press("k")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator("#queue-count")).to_contain_text("1 of")
    expect(title).to_have_text(second or "")


def test_features_lead_to_their_occurrences(page: Page, opened: tuple[Workbench, Client]) -> None:
    _, client = opened
    visit(page, client, "/features?class=positive&minimum=1")
    link = page.locator("td a").first
    phrase = (link.text_content() or "").lower()
    link.click()
    page.wait_for_selector("body[data-ready]")
    expect(page.locator(".document").first).to_be_visible()
    place = int(page.locator(".document").first.get_attribute("data-place") or "")
    assert phrase in " ".join(client.get(f"/api/file/documents/{place}")["tokens"]).lower()


def test_a_file_of_2000_documents_some_of_them_odd(
    page: Page, serve: Serve, splits: dict[str, list[Document]], tmp_path: Path
) -> None:
    _, client = serve()
    words = [token for document in splits["train"] for token in document.tokens]
    texts = [
        f"{' '.join(document.tokens[:5])} #{n}" for n, document in enumerate((splits["train"] * 7)[:1996])
    ]
    odd = [
        NASTY,
        "هذا الكتاب رائع جدا والقصة جميلة",
        "这本书 非常 精彩 值得 一读",
        " ".join((words * 3)[:20_000]),
    ]
    with open(tmp_path / "odd.jsonl", "w", encoding="utf-8") as file:
        for n, text in enumerate([*odd, *texts]):
            file.write(json.dumps({"id": str(n), "text": text}) + "\n")
    visit(page, client, "/")
    page.locator("#tab-file").click()
    page.locator("#upload").set_input_files(tmp_path / "odd.jsonl")
    expect(page.locator("#found")).to_have_text("2,000 documents", timeout=60_000)
    shown = page.locator("#words")
    expect(shown).to_contain_text('<script>document.title = "broken"</script> "quotes"')
    expect(shown).to_contain_text("\\u202e")
    assert page.title() == "Label · exaudit"
    assert page.locator("#words script, #words img").count() == 0
    page.locator(".document").nth(1).click()
    expect(shown).to_contain_text("رائع")
    assert shown.evaluate("e => getComputedStyle(e).direction") == "rtl"
    page.locator("#words .w").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator('#words .w[data-n="1"]')).to_be_focused()
    page.locator(".document").nth(2).click()
    expect(shown).to_contain_text("精彩")
    page.locator(".document").nth(3).click()
    expect(page.locator("#document-id")).to_contain_text("20,000 words")
    page.locator('#words .w[data-n="1"]').click()
    expect(page.locator(".exemplars li").first).to_be_visible()
    page.locator("#on").click()
    expect(page.locator("#page")).to_have_text("2 of 100")
    page.get_by_label("Search").fill("#1995")
    expect(page.locator("#found")).to_have_text("1 document")
    page.locator("#close-file").click()
    expect(page.locator("#no-file")).to_be_visible()


def test_a_pasted_text_is_labelled(page: Page, opened: tuple[Workbench, Client]) -> None:
    _, client = opened
    visit(page, client, "/")
    page.locator("#tab-text").click()
    page.locator("#text").fill("The film was superb .\n\nI loved it .")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#document-id")).to_have_text("Your text · 9 words")
    assert (page.locator("#words").text_content() or "").count("\n\n") == 1
    page.locator('#words .w[data-n="3"]').click()
    expect(page.locator(".exemplars li").first).to_be_visible()
    page.locator("#add").click()
    expect(page.locator("#edit-summary")).to_contain_text("40 documents")
    page.locator("#edit-cancel").click()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_narrow_screen_and_the_dark(
    page: Page, opened: tuple[Workbench, Client], path: str
) -> None:
    _, client = opened
    page.set_viewport_size({"width": 360, "height": 740})
    visit(page, client, path)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


@pytest.mark.skipif(AXE is None, reason="EXAUDIT_AXE does not name axe.min.js")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_axe_finds_nothing_serious(
    page: Page, opened: tuple[Workbench, Client], scheme: str, width: int
) -> None:
    assert AXE is not None
    _, client = opened
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": width, "height": 900})
    place, n = find_flip(page, client)
    for path in (f"/?place={place}&word={n}", *PAGES[1:]):
        visit(page, client, path)
        if path.startswith("/?"):
            page.wait_for_selector(".exemplars li")
        page.evaluate(Path(AXE).read_text())
        found = page.evaluate("axe.run().then(r => r.violations)")
        serious = [
            (each["id"], each["nodes"][0]["html"][:120], each["nodes"][0]["failureSummary"][:200])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert (path, serious) == (path, [])
