// The page Queue: one document after another, decided with the keyboard.
import { api } from "./api.js";
import { $, counted, failed, fill, make, named, notify, setup, signed } from "./dom.js";
import { follow, seeVersion, version } from "./shell.js";
import { flags, strength, tags, Words } from "./words.js";

const state = { queue: null, at: 0, view: null, chosen: new Set(), last: [] };
const words = new Words($("queue-words"));
const current = () => state.queue.documents[state.at];

function progress() {
  const { queue } = state;
  $("queue-progress").max = Math.max(1, queue.total);
  $("queue-progress").value = queue.decided;
  $("queue-count").textContent = `${queue.decided} of ${counted(queue.total, "document")} decided` + (queue.added ? `, ${queue.added} in the support set` : "");
  $("queue-undo").disabled = !state.last.length;
  $("queue-export").hidden = queue.decided === 0;
  $("queue-add").hidden = queue.decided === queue.added;
}

async function show() {
  progress();
  const one = current();
  $("queue").hidden = !one;
  $("empty").hidden = Boolean(one);
  if (!one) { fill($("empty"), make("p", {}, "Nothing waits here.")); return; }
  const view = await api(`/api/file/documents/${one.place}`);
  state.view = view;
  seeVersion(view.version);
  fill($("queue-title"), `${state.at + 1} of ${state.queue.documents.length} `, make("bdi", { class: "dim id" }, view.id));
  fill($("queue-said"), "The model says ", make("b", {}, make("bdi", {}, named(view.decided))), ` (${signed(Math.max(...view.outputs))})`);
  $("queue-reason").textContent = view.reason ? `Refused: ${view.reason}` : "";
  $("queue-evidence").href = `/?place=${one.place}`;
  words.show(view.tokens, view.gaps);
  const found = flags(view, "model", view.classes.map(() => 0)), against = new Set(view.against);
  words.paint(found.map((own, n) => (own.classes.length ? ["f", `s${strength(own.strength, "model")}`, ...(view.classes.length > 1 ? [`c${own.classes[0] % 8}`] : [])] : against.has(n) ? ["a"] : [])), tags(found, view.classes));
  state.chosen = new Set(one.decision ? one.decision.label : state.queue.several ? view.decided : []);
  choices();
}

function choices() {
  const one = current(), { names, several } = state.queue;
  fill($("queue-choices"), ...names.map((name, n) => make("button", { type: "button",
    "aria-pressed": String(several ? state.chosen.has(name) : Boolean(one.decision && one.decision.label.includes(name))),
    onclick: () => choose(name) }, make("bdi", {}, name), n < 9 && make("kbd", {}, n + 1))));
  $("enter-does").textContent = several ? "save these labels" : "agree with the model";
}

function choose(name) {
  if (!state.queue.several) return decide([name]);
  if (state.chosen.has(name)) state.chosen.delete(name); else state.chosen.add(name);
  choices();
}

async function decide(label) {
  const one = current();
  try {
    const saved = await api(`/api/queue/${one.place}`, { method: "PUT", json: { label, revision: one.revision } });
    state.last.push(state.at);
    Object.assign(one, { revision: saved.revision, decision: { label, added: false } });
    state.queue.decided = saved.decided;
    const next = state.queue.documents.findIndex((each, n) => n > state.at && !each.decision);
    if (next < 0) notify("That was the last one.");
    else state.at = next;
    await show();
  } catch (error) { await told(error); }
}

async function withdraw() {
  const n = state.last.pop();
  if (n === undefined) return;
  state.at = n;
  const one = current();
  try {
    const saved = await api(`/api/queue/${one.place}?revision=${one.revision}`, { method: "DELETE" });
    Object.assign(one, { revision: saved.revision, decision: null });
    state.queue.decided = saved.decided;
    await show();
  } catch (error) { await told(error); }
}

async function told(error) {
  failed(error);
  if (error.status === 409) await load();
}

const go = (n) => { state.at = Math.max(0, Math.min(state.queue.documents.length - 1, n)); show().catch(failed); };
document.addEventListener("keydown", (event) => {
  if (!state.view || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog, a")) return;
  const { names, several } = state.queue;
  const key = event.key.toLowerCase();
  if (/^[1-9]$/.test(key) && Number(key) <= names.length) choose(names[Number(key) - 1]);
  else if (key === "enter" && !event.target.closest("button")) decide(several ? [...state.chosen] : state.view.decided);
  else if (key === "j") go(state.at + 1);
  else if (key === "k") go(state.at - 1);
  else if (key === "u") withdraw();
  else return;
  event.preventDefault();
});
$("queue-back").addEventListener("click", () => go(state.at - 1));
$("queue-on").addEventListener("click", () => go(state.at + 1));
$("queue-undo").addEventListener("click", withdraw);
$("queue-add").addEventListener("click", async () => {
  try {
    const made = await api("/api/queue/add", { method: "POST", json: { version: version() } });
    seeVersion(made.number);
    notify(`Saved as edit ${made.number}: ${made.what}`);
    await follow();
    await load();
  } catch (error) { await told(error); }
});

async function load() {
  const file = await api("/api/file");
  if (file.name === null) {
    $("empty").hidden = false;
    fill($("empty"), make("p", {}, "Open a file first, on the page ", make("a", { href: "/" }, "Label"), "."));
    return;
  }
  state.queue = await api("/api/queue");
  $("queue-bar").hidden = false;
  $("queue-keys").textContent = Math.min(9, state.queue.names.length);
  $("queue-lead").textContent = state.queue.refused ?
    "What the admission rule refused, hardest first. Your decisions are kept as you make them, and can go into the support set or out as a file." :
    "No admission limits were fitted, so these are all documents, the least sure first. Your decisions are kept as you make them.";
  const waiting = state.queue.documents.findIndex((each) => !each.decision);
  state.at = waiting >= 0 ? waiting : 0;
  await show();
}
await load().catch(failed);
document.body.dataset.ready = "true";
