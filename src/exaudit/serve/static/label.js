// The page Label: a text or the documents of a file, the words of one of them, and the evidence for a word.
import { api, query } from "./api.js";
import { $, counted, failed, fill, make, named, notify, setup, signed } from "./dom.js";
import { openEdit } from "./edit.js";
import { showEvidence } from "./evidence.js";
import { seeVersion, watch } from "./shell.js";
import { flags, strength, tags, Words } from "./words.js";

const PER_PAGE = 20;
const RULES = { model: "Model", knn: "K-NN", exag: "ExAG", exat: "ExAT" };
const state = { view: null, rule: "model", moves: [], word: null, about: null, start: 0, total: 0, shares: {}, hits: {} };
const words = new Words($("words"), { choose: (n) => chooseWord(n) });
const form = $("filters");
let listing = null;

// -- the list ------------------------------------------------------------------------------------------------

function row(one) {
  const snippet = make("span", { class: "snippet", dir: "auto" });
  one.words.forEach((word, n) => snippet.append(one.flagged.includes(n) ? make("b", {}, word) : make("span", {}, word), " "));
  if (one.length > one.words.length) snippet.append("…");
  const button = make("button", { type: "button", class: "document", "data-place": one.place,
    "aria-current": state.view && state.view.place === one.place ? "true" : false, onclick: () => openPlace(one.place) },
    make("span", { class: "row" }, make("span", { class: "tag" }, make("bdi", {}, named(one.decided))), make("span", { class: "dim n" }, signed(one.output, 1)),
      one.wrong && make("span", { class: "tag wrong" }, "✗ truly ", make("bdi", {}, named(one.truth))),
      one.admitted === false && make("span", { class: "tag refused" }, "refused")), snippet,
    make("bdi", { class: "dim id" }, one.id));
  return make("li", {}, button);
}

async function list({ first = false } = {}) {
  if (listing) listing.abort();
  listing = new AbortController();
  const values = Object.fromEntries(new FormData(form));
  try {
    const found = await api(`/api/file/documents?${query({ ...values, start: state.start, count: PER_PAGE })}`, { signal: listing.signal });
    state.total = found.total;
    fill($("documents"), ...found.documents.map(row));
    $("found").textContent = found.total ? counted(found.total, "document") : "No document fits.";
    document.querySelector(".pager").hidden = found.total <= PER_PAGE;
    const last = Math.max(1, Math.ceil(found.total / PER_PAGE));
    $("page").textContent = `${state.start / PER_PAGE + 1} of ${last}`;
    $("back").disabled = state.start === 0;
    $("on").disabled = state.start + PER_PAGE >= found.total;
    if (first && found.documents.length) await openPlace(found.documents[0].place);
    else if (state.view) paint();
  } catch (error) { failed(error); }
}

async function showFile({ first = false } = {}) {
  const file = await api("/api/file");
  const open = file.name !== null;
  $("no-file").hidden = open;
  $("empty-open").hidden = open;
  $("document-empty-told").textContent = open ? "Choose a document, or paste a text." :
    file.opening && !["failed", "cancelled"].includes(file.opening.status) ? "The file is being opened. Meanwhile, you can paste a text." :
      "Paste a text, or open a file of documents, to see what is decided and which words decide it.";
  const gone = open && file.promise && file.promise.status === "withdrawn";
  $("withdrawn").hidden = !gone;
  if (gone) fill($("withdrawn"), make("b", {}, "The promise is withdrawn"), " for this file, which is not like the documents that it was made on: ",
    file.promise.why, ". ", make("a", { href: "/compare" }, "Compare them"));
  $("close-file").hidden = !open;
  for (const part of [form, $("documents"), $("found")]) part.hidden = !open;
  if (!open) document.querySelector(".pager").hidden = true;
  for (const part of form.querySelectorAll("[data-needs]"))
    part.hidden = !(part.dataset.needs === "truth" ? file.has_truth : file.has_admission);
  fill($("open-file"), ...(open ? [make("span", { class: "dim" }, "File"), " ", make("bdi", {}, file.name)] : []));
  state.shares = {};
  if (open) await list({ first });
}

let typing = 0;
form.addEventListener("input", (event) => {
  state.start = 0;
  clearTimeout(typing);
  typing = setTimeout(list, event.target.name === "text" ? 250 : 0);
});
form.addEventListener("submit", (event) => event.preventDefault());
$("back").addEventListener("click", () => { state.start = Math.max(0, state.start - PER_PAGE); list(); });
$("on").addEventListener("click", () => { state.start += PER_PAGE; list(); });
$("close-file").addEventListener("click", async () => {
  await api("/api/file", { method: "DELETE" }).catch(failed);
  if (state.view && state.view.place !== null) {
    state.view = state.word = null;
    $("document").hidden = true;
    $("document-empty").hidden = false;
    clearEvidence();
    history.replaceState(null, "", "/");
  }
  await showFile();
});
$("empty-open").addEventListener("click", () => $("upload").click());
$("upload").addEventListener("change", async (event) => {
  const [chosen] = event.target.files;
  event.target.value = "";
  if (!chosen) return;
  const ending = chosen.name.split(".").pop().toLowerCase();
  const format = { jsonl: "jsonl", ndjson: "jsonl", csv: "csv", tsv: "tsv", conll: "conll" }[ending] || "text";
  try {
    $("document-empty-told").textContent = "The file is being read…";
    const job = await api(`/api/file?${query({ name: chosen.name.slice(0, 200), format })}`, { method: "POST", text: await chosen.text() });
    $("document-empty-told").textContent = "The file is being opened. Meanwhile, you can paste a text.";
    const ended = await watch(job);
    if (ended.status === "cancelled") notify("Opening the file was cancelled.");
    state.start = 0;
    form.reset();
    pick($("tab-file"));
    await showFile({ first: true });
  } catch (error) {
    failed(error);
    await showFile().catch(failed);
  }
});

// -- a document ----------------------------------------------------------------------------------------------

function showView(view) {
  const fresh = !state.view || state.view.id !== view.id || state.view.tokens.length !== view.tokens.length;
  state.view = view;
  seeVersion(view.version);
  if (view.rules[state.rule] !== null) state.rule = "model";
  if (fresh) {
    state.moves = view.classes.map(() => 0);
    state.word = null;
    $("boundary-class").selectedIndex = Math.max(0, view.classes.indexOf(view.decided[0]));
    words.show(view.tokens, view.gaps);
  }
  $("document-empty").hidden = true;
  $("document").hidden = false;
  fill($("document-id"), view.place === null ? "Your text" : make("bdi", {}, view.id), ` · ${counted(view.tokens.length, "word")}`);
  const output = view.outputs[Math.max(0, setup.kind === "binary" ? 0 : view.classes.indexOf(view.decided[0]))];
  fill($("decision"), make("bdi", {}, named(view.decided)), " ",
    make("span", { class: "score" }, setup.kind === "multilabel" && !view.decided.length ? "" : signed(output)),
    view.wrong === true && make("span", { class: "tag wrong" }, "✗ truly ", make("bdi", {}, named(view.truth))),
    view.wrong === false && make("span", { class: "tag right" }, "✓ right"));
  fill($("admission"), ...(view.admitted === null ? [] : view.admitted ?
    [make("span", { class: "admitted" }, make("b", {}, "Admitted"), ": the answer may be relied on.")] :
    [make("span", { class: "refusal" }, make("b", {}, "Refused"), ": ", view.reason || "do not rely on this answer")]));
  $("promise").textContent = promised(view.promise);
  showRules();
  showBoundary();
  paint();
  for (const button of document.querySelectorAll(".document")) {
    if (Number(button.dataset.place) === view.place) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

// What is promised about answers that are admitted, in one line; of a file that has drifted, the reason says it.
function promised(promise) {
  if (!promise || promise.status === "withdrawn") return "";
  if (promise.status === "holds") {
    const [said] = promise.sentences[0].split("; ");
    return `Promised: ${said[0].toLowerCase()}${said.slice(1)}.`;
  }
  return `No promise: ${promise.why}.`;
}

function showRules() {
  const legend = $("rules").querySelector("legend");
  fill($("rules"), legend, Object.entries(RULES).map(([rule, name]) => {
    const why = state.view.rules[rule];
    return make("label", { title: why || false, class: why ? "off" : false },
      make("input", { type: "radio", name: "rule", value: rule, checked: rule === state.rule, disabled: why !== null,
        onchange: () => { state.rule = rule; state.moves.fill(0); showBoundary(); paint(); } }), name);
  }));
}

// The words that were searched for, in a document that was found; in quotation marks, as whole words.
function hits(tokens, text) {
  const whole = /^".+"$/s.test(text), pad = whole ? " " : "", found = new Set();
  const needle = (whole ? text.slice(1, -1) : text).toLowerCase().split(/\s+/).filter(Boolean).join(" ");
  if (!needle) return found;
  const parts = tokens.map((token) => token.toLowerCase()), line = ` ${parts.join(" ")} `;
  let n = 0, start = 1; // the word that the search has come to, and where it begins
  for (let at = line.indexOf(pad + needle + pad); at >= 0; at = line.indexOf(pad + needle + pad, at + 1)) {
    const from = at + pad.length;
    while (n < parts.length && start + parts[n].length <= from) { start += parts[n].length + 1; n += 1; }
    for (let m = n, begins = start; m < parts.length && begins < from + needle.length; m += 1) { found.add(m); begins += parts[m].length + 1; }
  }
  return found;
}

function paint() {
  const view = state.view;
  const plain = flags(view, state.rule, view.classes.map(() => 0)), moved = flags(view, state.rule, state.moves);
  const truly = view.tokens.map(() => []);
  (view.marks || []).forEach((own, c) => own.forEach((n) => truly[n].push(c)));
  const text = view.place === null ? "" : form.elements.text.value;
  if (state.hits.tokens !== view.tokens || state.hits.text !== text) state.hits = { tokens: view.tokens, text, found: hits(view.tokens, text) };
  const searched = state.hits.found;
  const against = new Set(view.against), refused = new Set(view.refused || []);
  const styles = view.tokens.map((_, n) => {
    const kinds = [], now = moved[n], was = plain[n];
    if (now.classes.length) {
      kinds.push("f", `s${strength(now.strength, state.rule)}`);
      if (view.classes.length > 1) kinds.push(`c${now.classes[0] % 8}`);
      if (!was.classes.length) kinds.push("n");
    } else if (was.classes.length) kinds.push("g");
    else if (against.has(n)) kinds.push("a");
    if (truly[n].length) kinds.push("t");
    if (searched.has(n)) kinds.push("q");
    if (refused.has(n) && state.rule === (view.admitted_by === "promise" ? "model" : "knn")) kinds.push("r");
    return kinds;
  });
  words.paint(styles, tags(moved, view.classes));
  words.select(state.word);
  const count = (found) => found.filter((own) => own.classes.length).length.toLocaleString("en");
  const [before, share] = [shareAt(0), shareAt(state.moves[classOf()])], percent = (value) => `${(100 * value).toFixed(1)}%`;
  const changed = state.moves.some((move) => move !== 0), was = (text) => (changed ? ` (before: ${text})` : "");
  $("boundary-effect").textContent = `${count(moved)} of ${counted(view.tokens.length, "word")} flagged here${was(count(plain))}` +
    (share === null ? "" : ` · ${state.shares[state.rule].drawn ? "about " : ""}${percent(share)} of the words in the file` +
      `${view.classes.length > 1 ? ` for ${view.classes[classOf()]}` : ""}${was(percent(before))}`);
}

// -- the boundary --------------------------------------------------------------------------------------------

const classOf = () => Math.max(0, $("boundary-class").selectedIndex);

// The share of the words in the file that are flagged if the boundary of the class moves by so much.
function shareAt(move) {
  const found = state.shares[state.rule];
  if (!found || !found.moves.length) return null;
  const c = classOf(), curve = found.moves[c];
  if (move === 0) return found.flagged[c];
  let n = curve.findIndex((value) => value <= move);
  if (n === 0) return 0;
  if (n < 0) return 1;
  const part = (curve[n - 1] - move) / (curve[n - 1] - curve[n] || 1);
  return found.shares[n - 1] + part * (found.shares[n] - found.shares[n - 1]);
}

async function showBoundary() {
  const slider = $("boundary"), range = state.rule === "knn" ? 1.5 : 4;
  slider.min = -range;
  slider.max = range;
  slider.value = state.moves[classOf()];
  slider.setAttribute("aria-valuetext", signed(state.moves[classOf()]));
  $("boundary-value").textContent = signed(state.moves[classOf()]);
  $("boundary-reset").hidden = state.moves.every((move) => move === 0);
  const { rule } = state;
  if (!state.shares[rule] && state.view && state.view.place !== null) {
    state.shares[rule] = { moves: [] };
    try {
      state.shares[rule] = await api(`/api/file/shares?rule=${rule}`);
      paint();
    } catch (error) { delete state.shares[rule]; failed(error); }
  }
}

$("boundary").addEventListener("input", (event) => {
  state.moves[classOf()] = Number(event.target.value);
  showBoundary();
  paint();
});
$("boundary-class").addEventListener("change", () => { showBoundary(); paint(); });
$("boundary-reset").addEventListener("click", () => { state.moves.fill(0); showBoundary(); paint(); });

// -- evidence ------------------------------------------------------------------------------------------------

const source = () => (state.view.place === null ? `/api/texts/${state.view.key}` : `/api/file/documents/${state.view.place}`);

async function chooseWord(n, about = null) {
  state.word = n;
  state.about = about;
  words.select(n);
  if (state.view.rules.exag !== null) {
    fill($("evidence-body"), make("div", { class: "empty" }, make("p", {}, "There is no support set yet. ",
      make("a", { href: "/correct" }, "Build one"), " to see examples.")));
    return;
  }
  try {
    const found = await api(`${source()}/words/${n}?${query({ about })}`);
    if (state.word !== n) return;
    showEvidence(found, { about: (name) => chooseWord(n, name), edit: (kind, one) => openEdit(kind, {
      id: one.id, position: one.position, word: one.word, label: one.label, wordLabel: one.word_label === null ? null : one.word_label ? [found.about] : [], about: found.about, rule: state.rule,
    }) });
    if (matchMedia("(max-width: 60rem)").matches) $("evidence").scrollIntoView({ block: "start" });
  } catch (error) { failed(error); }
}

async function openPlace(place, { word = null } = {}) {
  try {
    const view = await api(`/api/file/documents/${place}`);
    const another = !state.view || state.view.place !== place;
    showView(view);
    if (another) {
      clearEvidence();
      const hit = $("words").querySelector(".q");
      if (hit && hit.getBoundingClientRect().bottom > innerHeight) hit.scrollIntoView({ block: "center" });
    }
    history.replaceState(null, "", `/?place=${place}`);
    if (word !== null) await chooseWord(word);
  } catch (error) { failed(error); }
}

function clearEvidence() {
  $("evidence-title").textContent = "Evidence";
  fill($("evidence-body"), make("div", { class: "empty" }, make("p", {}, "Choose a word to see the examples behind its decision.")));
}

async function refresh() {
  if (!state.view) return;
  try {
    showView(await api(source()));
    if (state.word === null) return;
    await chooseWord(state.word, state.about);
    if (document.activeElement === document.body) words.spans[state.word].focus({ preventScroll: true });
  } catch (error) { failed(error); }
}
document.addEventListener("exaudit:edited", () => { state.shares = {}; refresh(); });
document.addEventListener("exaudit:settled", () => { list(); if (state.view && state.view.promise) refresh(); });
document.addEventListener("exaudit:job", (event) => { if (/^(open|look|check)/.test(event.detail.what)) showFile({ first: !state.view }).then(() => state.view && showBoundary()).catch(failed); });

// -- a text --------------------------------------------------------------------------------------------------

$("text-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("text").value;
  if (!text.trim()) return;
  try {
    clearEvidence();
    showView(await api("/api/label", { method: "POST", json: { text } }));
    history.replaceState(null, "", "/");
  } catch (error) { failed(error); }
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); $("text-form").requestSubmit(); }
});
$("add").addEventListener("click", () => openEdit("add", {
  place: state.view.place, text: state.view.place === null ? $("text").value : undefined,
  label: state.view.truth || state.view.decided, rule: state.rule,
}));

const tabs = [$("tab-file"), $("tab-text")];
const pick = (tab) => tabs.forEach((each) => {
  const on = each === tab;
  each.setAttribute("aria-selected", on);
  each.tabIndex = on ? 0 : -1;
  $(each.getAttribute("aria-controls")).hidden = !on;
});
tabs.forEach((tab, n) => {
  tab.addEventListener("click", () => pick(tab));
  tab.addEventListener("keydown", (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    pick(tabs[1 - n]);
    tabs[1 - n].focus();
  });
});
pick(tabs.find((tab) => tab.getAttribute("aria-selected") === "true"));

// -- at the start --------------------------------------------------------------------------------------------

const asked = new URLSearchParams(location.search);
for (const name of ["text", "predicted"]) if (asked.has(name)) form.elements[name].value = asked.get(name);
const place = asked.get("place");
if (matchMedia("(max-width: 60rem)").matches) $("more").open = asked.has("predicted");
await showFile({ first: place === null }).catch(failed);
if (place !== null && /^\d+$/.test(place)) await openPlace(Number(place), { word: asked.has("word") ? Number(asked.get("word")) : null });
document.body.dataset.ready = "true";
