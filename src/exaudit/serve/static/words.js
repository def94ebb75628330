// A document as words: which of them are flagged, how strongly, and a way through them by keyboard.
import { make, setup, visible } from "./dom.js";

const STEP = { model: 0.9, exag: 0.9, exat: 0.9, knn: 0.3 };

// The classes that each word carries by a rule, strongest first, with the boundary of each class moved.
export function flags(view, rule, moves) {
  const strengths = rule === "knn" ? view.knn : view.margins;
  const gates = view.borne_out[rule];
  return view.tokens.map((_, n) => {
    const carried = [];
    strengths.forEach((own, c) => {
      if (own[n] > moves[c] && (!gates || gates[c][n])) carried.push([own[n] - moves[c], c]);
    });
    carried.sort((a, b) => b[0] - a[0]);
    const kept = setup.kind === "multilabel" ? carried : carried.slice(0, 1);
    return { classes: kept.map(([, c]) => c), strength: kept.length ? kept[0][0] : 0 };
  });
}

// What stands behind the words, where they may carry one of several classes: their names, once for words in a row.
export function tags(found, classes) {
  const told = found.map((own) => own.classes.map((c) => classes[c]).join(" + "));
  return classes.length === 1 ? [] : told.map((text, n) => (text === told[n + 1] ? "" : text));
}

export const strength = (value, rule) => Math.min(5, 1 + Math.floor(value / STEP[rule]));

export class Words {
  // `choose` is called with the place of a word that is clicked, or chosen with Enter.
  constructor(box, { choose, key } = {}) {
    Object.assign(this, { box, choose, key, spans: [], at: 0 });
    box.addEventListener("click", (event) => {
      const word = event.target.closest(".w");
      if (word && choose) { this.focus(Number(word.dataset.n), false); choose(this.at); }
    });
    box.addEventListener("keydown", (event) => this.press(event));
  }

  show(tokens, gaps) {
    const parts = document.createDocumentFragment();
    this.spans = tokens.map((token, n) => {
      parts.append(visible(gaps[n]));
      const span = make("span", { class: "w", "data-n": n, role: this.choose ? "button" : null }, token);
      parts.append(span);
      return span;
    });
    parts.append(visible(gaps[tokens.length]));
    this.at = 0;
    this.box.removeAttribute("dir"); // else the browser looks for the direction once for each of thousands of words
    this.box.replaceChildren(parts);
    this.box.dir = "auto";
    if (this.choose && this.spans.length) {
      this.spans.forEach((span) => { span.tabIndex = -1; });
      this.spans[0].tabIndex = 0;
    }
  }

  // Classes of style for each word, and the tags that stand behind it.
  paint(styles, tags = []) {
    this.spans.forEach((span, n) => {
      const wanted = ("w " + styles[n].join(" ")).trim() + (span.classList.contains("chosen") ? " chosen" : "");
      if (span.className !== wanted) span.className = wanted;
      const told = tags[n] || "";
      if ((span.dataset.tag || "") !== told) {
        if (told) span.dataset.tag = told; else delete span.dataset.tag;
      }
    });
  }

  select(n) {
    for (const span of this.box.querySelectorAll(".chosen")) {
      span.classList.remove("chosen");
      span.removeAttribute("aria-pressed");
    }
    if (n !== null && this.spans[n]) {
      this.spans[n].classList.add("chosen");
      this.spans[n].setAttribute("aria-pressed", "true");
    }
  }

  focus(n, really = true) {
    const next = Math.max(0, Math.min(this.spans.length - 1, n));
    if (this.spans[this.at]) this.spans[this.at].tabIndex = -1;
    this.at = next;
    const span = this.spans[next];
    if (!span) return;
    span.tabIndex = 0;
    if (really) span.focus();
  }

  press(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (this.key && this.key(event)) return;
    const back = getComputedStyle(this.box).direction === "rtl" ? 1 : -1;
    const moves = { ArrowLeft: back, ArrowRight: -back, ArrowUp: -10, ArrowDown: 10 };
    if (event.key in moves) this.focus(this.at + moves[event.key]);
    else if (event.key === "Home") this.focus(0);
    else if (event.key === "End") this.focus(this.spans.length - 1);
    else if ((event.key === "Enter" || event.key === " ") && this.choose) this.choose(this.at);
    else return;
    event.preventDefault();
  }
}
