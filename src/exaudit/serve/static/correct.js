// The page Correct: the support set, one of its documents, and its history.
import { api, query } from "./api.js";
import { $, failed, fill, make, named } from "./dom.js";
import { openEdit, step } from "./edit.js";
import { seeVersion, watch } from "./shell.js";

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
  const binary = found.label.length === 1;
  const edit = (kind) => () => openEdit(kind, { id: found.id, label: found.label });
  fill($("found-document"),
    make("p", {}, make("bdi", { class: "dim id" }, found.id), " ", make("span", { class: "tag" }, make("bdi", {}, named(found.label)))),
    make("p", { class: "words small", dir: "auto" }, found.tokens.map((token, n) => [
      make("span", { class: binary && found.word_labels[n] === 1 ? "w t" : "w" }, token), " "])),
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
