// Why a word was decided as it was: its exemplars, and the sum over them, drawn so that the bars add up.
import { $, fill, make, named, setup, signed } from "./dom.js";

const WIDTH = 380, LEFT = 34, RIGHT = 62, ROW = 20;

function sum(found) {
  const terms = found.exemplars.filter((one) => one.term !== null);
  const rows = [["β", found.beta], ...terms.map((one, n) => [String(n + 1), one.term])];
  let at = 0;
  const bars = rows.map(([name, value]) => { const from = at; at += value; return { name, value, from, to: at }; });
  const ends = [0, found.offset, ...bars.map((bar) => bar.to)];
  const low = Math.min(...ends), high = Math.max(...ends), span = high - low || 1;
  const x = (value) => LEFT + ((value - low) / span) * (WIDTH - LEFT - RIGHT);
  const height = ROW * (bars.length + 1) + 8;
  const label = (text, px, y, kind, anchor) => make("text", { x: px, y, class: kind, "text-anchor": anchor }, text);
  const parts = [make("line", { x1: x(found.offset), x2: x(found.offset), y1: 2, y2: height - 2, class: "boundary" },
    make("title", {}, `boundary ${found.offset.toFixed(2)}`))];
  bars.forEach((bar, n) => {
    const y = ROW * n + 4, up = bar.value >= 0;
    parts.push(make("g", { class: up ? "up" : "down" },
      label(bar.name, LEFT - 8, y + 11, "name", "end"),
      make("rect", { x: x(Math.min(bar.from, bar.to)), y, width: Math.max(1.5, Math.abs(x(bar.to) - x(bar.from))), height: ROW - 7 }),
      make("line", { x1: x(bar.to), x2: x(bar.to), y1: y, y2: y + ROW + (n === bars.length - 1 ? 6 : 0), class: "step" }),
      label(signed(bar.value, 3), WIDTH - 4, y + 11, "value", "end")));
  });
  const y = ROW * bars.length + 6;
  parts.push(make("g", { class: "sum" },
    label("Σ", LEFT - 8, y + 11, "name", "end"),
    make("rect", { x: x(Math.min(0, found.output)), y, width: Math.max(1.5, Math.abs(x(found.output) - x(0))), height: ROW - 6 }),
    label(signed(found.output, 3), WIDTH - 4, y + 11, "value", "end")));
  const told = `beta ${found.beta.toFixed(3)} and ${terms.length} terms add up to ${found.output.toFixed(3)}; ` +
    `above ${found.offset.toFixed(2)} the K-NN says ${found.about}`;
  return make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": told, class: "sum-plot" }, parts);
}

function gauge(found) {
  const far = Math.max(found.distance, found.limit) * 1.25, x = (value) => 8 + (value / far) * (WIDTH - 16);
  const within = found.distance <= found.limit;
  return make("svg", { viewBox: `0 0 ${WIDTH} 40`, role: "img", class: "gauge",
    "aria-label": `nearest exemplar at ${found.distance.toFixed(2)}, limit ${found.limit.toFixed(2)}` },
    make("rect", { x: 8, y: 14, width: WIDTH - 16, height: 8, rx: 4, class: "track" }),
    make("rect", { x: 8, y: 14, width: x(found.limit) - 8, height: 8, rx: 4, class: "within" }),
    make("line", { x1: x(found.limit), x2: x(found.limit), y1: 8, y2: 28, class: "boundary" }),
    make("circle", { cx: x(found.distance), cy: 18, r: 6, class: within ? "ok" : "far" }),
    make("text", { x: x(found.limit), y: 38, "text-anchor": x(found.limit) > WIDTH - 60 ? "end" : "middle", class: "name" }, `limit ${found.limit.toFixed(1)}`),
    make("text", { x: Math.min(x(found.distance), WIDTH - 40), y: 9, "text-anchor": "middle", class: "value" }, found.distance.toFixed(1)));
}

function exemplar(one, n, found, edit) {
  const agrees = one.label.includes(found.about);
  const sentence = make("p", { class: "sentence", dir: "auto" }, one.cut[0] && "… ", one.before.join(" "), " ",
    make("mark", { class: one.predicted ? "w f s3" : "w plain" }, one.word), " ", one.after.join(" "), one.cut[1] && " …");
  const facts = make("p", { class: "facts" },
    make("span", {}, "distance ", make("b", {}, one.distance.toFixed(2))),
    one.weight !== null && make("span", {}, "weight ", make("b", {}, one.weight.toFixed(3))),
    make("span", {}, "model ", make("b", {}, one.predicted ? "yes" : "no"), ` (${signed(one.score)})`),
    make("span", { class: agrees ? "tag yes" : "tag no" }, "document: ", make("bdi", {}, named(one.label))),
    one.word_label !== null && make("span", { class: "tag" }, one.word_label ? "word: yes" : "word: no"));
  const act = (kind) => () => edit(kind, one, found);
  return make("li", {}, make("span", { class: "rank" }, n + 1), make("div", {}, sentence, facts,
    make("p", { class: "exemplar-actions" }, make("button", { type: "button", class: "link", onclick: act("relabel") }, "Relabel"),
      make("button", { type: "button", class: "link", onclick: act("relabel-word") }, "Label the word"),
      make("button", { type: "button", class: "link", onclick: act("remove") }, "Remove"),
      make("bdi", { class: "dim id" }, `${one.id} : ${one.position}`))));
}

// `edit` is called with a kind of edit and an exemplar; `about` with another class to explain.
export function showEvidence(found, { edit, about }) {
  const says = found.output === null ? null : found.output > found.offset;
  const title = $("evidence-title");
  fill(title, "“", make("bdi", {}, found.token), "”");
  const lines = [make("p", { class: "claim" },
    "The model ", make("b", {}, found.flagged ? "flags" : "does not flag"), " it for ", make("bdi", {}, found.about),
    ` (${signed(found.score)}).`,
    says !== null && [" The K-NN says ", make("b", {}, says ? "yes" : "no"), ` (${signed(found.output - found.offset)}).`])];
  if (found.classes.length > 1) {
    const select = make("select", { "aria-label": "Class to explain", onchange: (event) => about(event.target.value) },
      found.classes.map((name) => make("option", { selected: name === found.about, dir: "auto" }, name)));
    lines.push(make("label", { class: "field-inline" }, "About ", select));
  }
  if (found.refusal) lines.push(make("p", { class: "refusal" }, make("b", {}, "Refused. "), found.refusal));
  else if (found.admitted) lines.push(make("p", { class: "admitted" }, make("b", {}, "Admitted"),
    found.admitted_by === "promise" ? ": the model’s answer on this word is one that the promise is about." : ": the K-NN’s answer may be relied on."));
  if (found.output !== null) lines.push(make("h3", {}, "The sum that decides"),
    make("p", { class: "formula" }, "β + Σ wₖ (tanh sₖ + γ Yₖ)"), sum(found),
    make("p", { class: "dim small" }, "Right of the dashed line, at ", found.offset.toFixed(2), ", the K-NN says ", make("bdi", {}, found.about), ". Rows are exemplars."));
  if (found.limit !== null) lines.push(make("h3", {}, "Distance of the nearest exemplar"), gauge(found));
  lines.push(make("h3", {}, "Exemplars, nearest first"),
    make("ol", { class: "exemplars" }, found.exemplars.map((one, n) => exemplar(one, n, found, edit))));
  fill($("evidence-body"), ...lines);
}
