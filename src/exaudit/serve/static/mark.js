// The page Mark: words by mouse or keyboard, in documents that tell most about the boundary.
import { api } from "./api.js";
import { $, counted, failed, fill, make, notify, setup, signed } from "./dom.js";
import { Words } from "./words.js";

const state = { found: null, at: 0, marks: [], by: 0 };
const words = new Words($("mark-words"), { choose: (n) => toggle(n), key: press });
const current = () => state.found.documents[state.at];
const carries = (n, c) => state.marks[c].has(n);

function put(n, on, c = state.by) {
  if (on && state.found.exclusive) state.marks.forEach((own) => own.delete(n));
  if (on) state.marks[c].add(n); else state.marks[c].delete(n);
}
function toggle(n) {
  if (dragged) return;
  put(n, !carries(n, state.by));
  paint();
}
function press(event) {
  const { key, shiftKey } = event;
  if (key === "Enter") save();
  else if (key === " ") toggle(words.at);
  else if (shiftKey && ["ArrowLeft", "ArrowRight"].includes(key)) {
    put(words.at, true);
    const rtl = getComputedStyle(words.box).direction === "rtl";
    words.focus(words.at + ((key === "ArrowRight") !== rtl ? 1 : -1));
    put(words.at, true);
    paint();
  } else if (/^[1-9]$/.test(key) && Number(key) <= state.found.classes.length) by(Number(key) - 1);
  else return false;
  event.preventDefault();
  return true;
}

function paint() {
  const one = current(), flagged = one.tokens.map(() => false);
  one.flagged.forEach((own) => own.forEach((n) => { flagged[n] = true; }));
  const classes = (n) => state.marks.flatMap((own, c) => (own.has(n) ? [c] : []));
  words.paint(one.tokens.map((_, n) => {
    const mine = classes(n);
    return [...(mine.length ? ["m", `c${mine[0] % 8}`] : []), ...(flagged[n] ? ["said"] : [])];
  }), state.found.classes.length === 1 ? [] : one.tokens.map((_, n) => classes(n).map((c) => state.found.classes[c]).join(" + ")));
  words.spans.forEach((span, n) => span.setAttribute("aria-pressed", classes(n).length > 0));
}

function show() {
  const one = current();
  $("mark-title").textContent = `Document ${state.at + 1} of ${state.found.documents.length}`;
  $("mark-why").textContent = one.why;
  // What the model flags is a start; what was marked before stays.
  state.marks = (one.marks || one.flagged).map((own) => new Set(own));
  by(Math.max(0, state.marks.findIndex((own) => own.size)));
  words.show(one.tokens, one.gaps);
  paint();
  const { marked, needed } = state.found;
  $("marked-progress").max = needed;
  $("marked-progress").value = Math.min(marked, needed);
  $("marked-count").textContent = marked < needed ? `${marked} of ${needed} documents marked` : `${counted(marked, "document")} marked`;
  const few = state.found.documents.length < needed && `It takes ${counted(needed, "marked document")}; the open file has ${counted(state.found.documents.length, "document")}.`;
  if (marked < needed) fill($("boundary-result"), make("p", { class: "dim" }, few || `Mark ${counted(needed - marked, "more document")} to see it.`));
  $("boundary-try").disabled = $("boundary-set").disabled = marked < needed;
  fill($("mark-list"), ...state.found.documents.map((each, n) => make("li", {}, make("button", {
    type: "button", class: each.marks ? "done" : "", "aria-current": n === state.at ? "true" : false,
    "aria-label": `Document ${n + 1}${each.marks ? ", marked" : ""}`, onclick: () => go(n) }, each.marks ? "✓" : n + 1))));
}

function go(n) {
  state.at = Math.max(0, Math.min(state.found.documents.length - 1, n));
  show();
  words.focus(0);
}

async function save() {
  const one = current(), marks = state.marks.map((own) => [...own].sort((a, b) => a - b));
  try {
    const saved = await api(`/api/marks/${one.place}`, { method: "PUT", json: { marks, revision: one.revision } });
    Object.assign(one, { marks, revision: saved.revision });
    state.found.marked = saved.marked;
    const waiting = state.found.documents.findIndex((each, n) => n > state.at && !each.marks);
    go(waiting >= 0 ? waiting : state.at);
    if (saved.marked === state.found.needed) notify("Ten documents are marked: you can set the boundary now.");
  } catch (error) {
    failed(error);
    if (error.status === 409) await load();
  }
}

function by(c) {
  state.by = c;
  for (const input of $("mark-classes").querySelectorAll("input")) input.checked = Number(input.value) === c;
}

let dragging = null, dragged = false;
const wordAt = (event) => { const word = event.target.closest && event.target.closest(".w"); return word ? Number(word.dataset.n) : null; };
$("mark-words").addEventListener("pointerdown", (event) => {
  const n = wordAt(event);
  dragged = false;
  if (n !== null && event.pointerType === "mouse") { dragging = { from: n, on: !carries(n, state.by) }; event.preventDefault(); }
});
$("mark-words").addEventListener("pointerover", (event) => {
  const n = wordAt(event);
  if (!dragging || n === null || (n === dragging.from && !dragged)) return;
  dragged = true;
  for (let each = Math.min(n, dragging.from); each <= Math.max(n, dragging.from); each += 1) put(each, dragging.on);
  paint();
});
document.addEventListener("pointerup", () => { dragging = null; setTimeout(() => { dragged = false; }); });

// -- the boundary --------------------------------------------------------------------------------------------

const figure = (value) => (value ? `${value.value.toFixed(2)} (${value.low.toFixed(2)} to ${value.high.toFixed(2)})` : "–");
const plain = (value) => (value === null ? "–" : value.toFixed(2));

async function boundary(saving) {
  fill($("boundary-result"), make("p", { class: "dim" }, "Looking…"));
  try {
    const found = await api("/api/marks/boundary", { method: "POST", json: { beta: Number($("beta").value), save: saving } });
    const head = ["Class", "boundary now", "by the marks", "precision now", "to expect", "recall now", "to expect"];
    fill($("boundary-result"),
      make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Boundary" }, make("table", {}, make("thead", {}, make("tr", {}, head.map((name, n) => make("th", { scope: "col", class: n ? "n" : false }, name)))),
        make("tbody", {}, found.classes.map((own) => make("tr", {}, make("td", { dir: "auto" }, own.name),
          make("td", { class: "n" }, signed(own.before)), make("td", { class: "n" }, make("b", {}, signed(own.after))),
          make("td", { class: "n" }, plain(own.precision_before)), make("td", { class: "n" }, figure(own.precision)),
          make("td", { class: "n" }, plain(own.recall_before)), make("td", { class: "n" }, figure(own.recall))))))),
      make("p", { class: "dim" }, `By ${counted(found.documents, "marked document")}; 95% intervals. “Now” is on the same documents.`,
        found.classes.some((own) => own.smoothing > 1) && " Phrases are marked, so scores are averaged over some words.",
        found.knn && ` The K-NN: ${found.knn}.`));
    if (saving) { notify("The boundary is set, and kept in the model folder."); $("boundary-undo").hidden = false; await load(); }
  } catch (error) { fill($("boundary-result")); failed(error); }
}
$("boundary-try").addEventListener("click", () => boundary(false));
$("boundary-set").addEventListener("click", () => boundary(true));
$("boundary-undo").addEventListener("click", async () => {
  try {
    await api("/api/marks/boundary/undo", { method: "POST" });
    notify("The boundary is the one before again.");
    $("boundary-undo").hidden = true;
    fill($("boundary-result"));
    await load();
  } catch (error) { failed(error); }
});
$("mark-save").addEventListener("click", save);
$("mark-back").addEventListener("click", () => go(state.at - 1));
$("mark-on").addEventListener("click", () => go(state.at + 1));
$("mark-clear").addEventListener("click", () => { state.marks.forEach((own) => own.clear()); paint(); words.focus(0); });

async function load() {
  const file = await api("/api/file");
  $("empty").hidden = file.name !== null;
  $("marking").hidden = $("marked-bar").hidden = file.name === null;
  if (file.name === null) return;
  state.found = await api("/api/marks");
  const { classes } = state.found;
  fill($("carry"), ...(classes.length === 1 ? [make("b", {}, make("bdi", {}, classes[0]))] : ["a class"]));
  const legend = $("mark-classes").querySelector("legend");
  $("mark-classes").hidden = classes.length === 1;
  fill($("mark-classes"), legend, ...classes.map((name, c) => make("label", { class: `c${c % 8}` },
    make("input", { type: "radio", name: "mark-class", value: c, checked: c === state.by, onchange: () => by(c) }),
    make("bdi", {}, name), c < 9 && make("kbd", {}, c + 1))));
  const model = await api("/api/model");
  $("boundary-undo").hidden = !model.can_undo_boundary;
  const waiting = state.found.documents.findIndex((each) => !each.marks);
  state.at = waiting >= 0 ? waiting : 0;
  show();
}
await load().catch(failed);
document.body.dataset.ready = "true";
