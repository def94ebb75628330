// One dialog for every edit of the support set: what, a preview of what would flip, why, and only then save.
import { api, finished } from "./api.js";
import { $, counted, failed, fill, make, named, notify, setup } from "./dom.js";
import { follow, seeVersion, version } from "./shell.js";

const dialog = $("edit");
let now = null; // the edit that is drafted
let trial = 0;

// Radios of the classes; boxes where a document may have several labels.
function choices(title, selected, change, { none = null, unknown = false } = {}) {
  const several = setup.kind === "multilabel";
  const options = setup.names.map((name) => ({ name, value: [name], on: selected !== null && selected.includes(name) }));
  if (none !== null) options.push({ name: none, value: [], on: selected !== null && !selected.length });
  if (unknown) options.push({ name: "not known", value: null, on: selected === null });
  const inputs = options.map((option) => {
    const box = several && option.value && option.value.length;
    const input = make("input", { type: box ? "checkbox" : "radio", name: box ? false : "edit-label", checked: option.on });
    input.addEventListener("change", () => {
      if (!several) return change(option.value);
      if (!box) { inputs.forEach((other) => { if (other !== input) other.checked = false; }); return change(option.value); }
      inputs.forEach((other) => { if (other.type === "radio") other.checked = false; });
      change(setup.names.filter((_, n) => inputs[n].checked));
    });
    return input;
  });
  return make("fieldset", { class: "rules" }, make("legend", {}, title),
    options.map((option, n) => make("label", {}, inputs[n], make("bdi", {}, option.name))));
}

async function preview() {
  const mine = ++trial;
  fill($("edit-flips"));
  $("edit-save").disabled = !now.ready();
  if (!now.ready()) { $("edit-summary").textContent = "Choose a label to see."; return; }
  $("edit-summary").textContent = "Looking…";
  try {
    const started = await api("/api/support/preview", { method: "POST", json: { edit: now.edit, rule: now.rule } });
    const job = await finished(started.job, (told) => {
      if (mine === trial && told.total) $("edit-summary").textContent = `Looking… ${told.done} of ${told.total}`;
    });
    if (mine !== trial) return;
    if (job.status === "cancelled") { $("edit-summary").textContent = "The preview was cancelled."; return; }
    const found = await api(`/api/support/preview/${started.job.id}`);
    const rule = { knn: "K-NN", exag: "ExAG", exat: "ExAT" }[found.rule];
    const drawn = found.tried < found.documents ? ` in ${counted(found.tried, "document")} drawn from ${found.documents.toLocaleString("en")}` : "";
    $("edit-summary").textContent = !found.documents ? "No file is open, so there is nothing to compare." :
      found.count ? `By ${rule}, ${counted(found.count, "word")}${drawn || ` of ${found.words.toLocaleString("en")}`} would flip:` :
        `By ${rule}, no decision${drawn || ` on ${counted(found.documents, "document")}`} would flip.`;
    fill($("edit-flips"), ...found.flips.slice(0, 50).map((flip) => make("li", {},
      make("b", {}, make("bdi", {}, flip.word)), " ", make("span", { class: "dim" }, named(flip.before)), " → ",
      make("span", { class: "tag yes" }, named(flip.after)), " ", make("bdi", { class: "dim" }, flip.id))));
  } catch (error) {
    if (mine === trial) { $("edit-summary").textContent = error.message; $("edit-save").disabled = true; }
  }
}

export function openEdit(kind, { id, position, word, label = [], wordLabel = null, about, text, place, rule }) {
  const edit = { kind };
  const binary = setup.kind === "binary";
  const fields = [];
  let ready = () => true;
  const what = make("p", {});
  if (kind === "relabel") {
    edit.id = id;
    $("edit-title").textContent = "Relabel a document of the support set";
    what.append("Document ", make("bdi", { class: "id" }, id), ", labelled ", make("b", {}, make("bdi", {}, named(label))));
    const other = binary ? setup.names.filter((name) => !label.includes(name)) : null;
    edit.label = other;
    ready = () => edit.label !== null && named([...edit.label].sort()) !== named([...label].sort());
    fields.push(choices("New label", other || label, (value) => { edit.label = value; preview(); },
      setup.kind === "multilabel" ? { none: "none of them" } : {}));
  } else if (kind === "relabel-word") {
    Object.assign(edit, { id, position, label: null });
    $("edit-title").textContent = "Label a word of the support set";
    what.append("The word ", make("b", {}, make("bdi", {}, word)), " in document ", make("bdi", { class: "id" }, id));
    let touched = false;
    ready = () => touched;
    const set = (value) => { edit.label = value; touched = true; preview(); };
    if (binary) {
      const options = [[`carries ${about}`, [about]], ["does not", []], ["not known", null]];
      const on = wordLabel === null ? 2 : wordLabel.length ? 0 : 1;
      fields.push(make("fieldset", { class: "rules" }, make("legend", {}, "It"), options.map(([name, value], n) =>
        make("label", {}, make("input", { type: "radio", name: "edit-label", checked: n === on, onchange: () => set(value) }), name))));
    } else fields.push(choices("It carries", wordLabel, set, { none: "none of them", unknown: true }));
  } else if (kind === "remove") {
    edit.id = id;
    $("edit-title").textContent = "Remove a document from the support set";
    what.append("Document ", make("bdi", { class: "id" }, id), ", labelled ", make("b", {}, make("bdi", {}, named(label))));
  } else {
    $("edit-title").textContent = "Add to the support set";
    if (place !== undefined && place !== null) edit.place = place; else edit.text = text;
    edit.label = label;
    ready = () => setup.kind === "multilabel" || edit.label.length === 1;
    what.append("With all of its words as examples.");
    fields.push(choices("Label", label, (value) => { edit.label = value; preview(); },
      setup.kind === "multilabel" ? { none: "none of them" } : {}));
  }
  now = { edit, ready, rule: rule === "model" ? null : rule };
  fill($("edit-what"), what);
  fill($("edit-fields"), ...fields);
  $("edit-reason").value = "";
  dialog.showModal();
  const chosen = dialog.querySelector("input:checked");
  if (chosen) chosen.focus();
  preview();
}

const edited = async (made) => {
  seeVersion(made.number);
  document.dispatchEvent(new CustomEvent("exaudit:edited", { detail: made }));
  await follow();
  document.dispatchEvent(new CustomEvent("exaudit:settled", { detail: made }));
};

export async function step(which) {
  try {
    const made = await api(`/api/support/${which}`, { method: "POST", json: { version: version() } });
    notify(`Saved as edit ${made.number}: ${made.what}`);
    await edited(made);
  } catch (error) { await told(error); }
}

async function told(error) {
  failed(error);
  if (error.status === 409) {
    const support = await api("/api/support?count=0");
    seeVersion(support.version);
    document.dispatchEvent(new CustomEvent("exaudit:edited"));
  }
}

$("edit-cancel").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => { trial += 1; });
$("edit-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if ($("edit-save").disabled) return;
  $("edit-save").disabled = true;
  try {
    const made = await api("/api/support/edits", {
      method: "POST", json: { edit: now.edit, version: version(), reason: $("edit-reason").value },
    });
    dialog.close();
    const note = notify(`Saved as edit ${made.number}: ${made.what}`, { action: { name: "Undo", run: () => step("undo") } });
    if (document.activeElement.matches(":focus-visible")) note.querySelector("button").focus(); // else it is far away by keyboard
    await edited(made);
  } catch (error) {
    dialog.close();
    await told(error);
  }
});
