// The page Correct: the support set, one of its documents, and its history.
import { api, query } from "./api.js";
import { $, failed, fill, make, named, setup } from "./dom.js";
import { openEdit, step } from "./edit.js";
import { seeVersion, watch } from "./shell.js";
import { Words } from "./words.js";

async function show() {
  const support = await api("/api/support?count=200");
  seeVersion(support.version);
  const figures = { documents: support.documents, exemplars: support.exemplars, edits: Math.max(0, support.version) };
  fill($("support-figures"), ...(support.exists ? Object.entries(figures).map(([name, value]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, value.toLocaleString("en")))) : []));
  $("undo").disabled = !support.can_undo;
  $("redo").disabled = !support.can_redo;
  fill($("history"), ...support.history.map((edit) => make("tr", {},
    make("td", { class: "n" }, edit.number), make("td", { dir: "auto" }, edit.what), make("td", { dir: "auto" }, edit.why || "–"),
    make("td", {}, edit.who), make("td", { class: "dim" }, edit.when.slice(0, 16).replace("T", " ")),
    make("td", {}, make("code", {}, edit.version.slice(0, 8))))));
}

async function find(id) {
  const found = await api(`/api/support/document?${query({ id })}`);
  const edit = (kind) => () => openEdit(kind, { id: found.id, label: found.label });
  const box = make("p", { class: "words small", role: "group", "aria-label": "The words; arrow keys move, Enter labels one" });
  const words = new Words(box, { choose: (n) => openEdit("relabel-word", {
    id: found.id, position: n, word: found.tokens[n], wordLabel: found.word_labels[n], about: setup.names[1] }) });
  words.show(found.tokens, ["", ...found.tokens.slice(1).map(() => " "), ""]);
  const labels = found.word_labels.map((own) => own || []);
  words.paint(labels.map((own) => (own.length ? ["t"] : [])), setup.kind === "binary" ? [] : labels.map((own) => own.join(" + ")));
  fill($("found-document"),
    make("p", {}, make("bdi", { class: "dim id" }, found.id), " ", make("span", { class: "tag" }, make("bdi", {}, named(found.label)))), box,
    make("div", { class: "actions" }, make("button", { type: "button", onclick: edit("relabel") }, "Relabel…"),
      make("button", { type: "button", class: "quiet", onclick: edit("remove") }, "Remove…")));
}

$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  find($("find-id").value).catch(failed);
});
$("undo").addEventListener("click", () => step("undo"));
$("redo").addEventListener("click", () => step("redo"));
document.addEventListener("exaudit:edited", () => { show().catch(failed); fill($("found-document")); });
const build = $("build");
if (build) build.addEventListener("click", async () => {
  build.disabled = true;
  try {
    await watch(await api("/api/support/build", { method: "POST" }));
    location.reload();
  } catch (error) { failed(error); build.disabled = false; }
});
await show().catch(failed);
document.body.dataset.ready = "true";
