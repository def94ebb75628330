"use strict";
// Shows the documents of the page, a few at a time. Texts go through textContent alone, so they stay texts.
(function () {
  const source = document.getElementById("documents");
  if (!source) return;
  const { names, rows } = JSON.parse(source.textContent);
  const form = document.getElementById("filters");
  const shelf = document.getElementById("shelf");
  const PER_PAGE = 20;
  let page = 0, found = rows;

  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const wrong = (row) => "t" in row && row.t !== row.p;

  function word(row, sets, text, n) {
    const kinds = ["d", "y", "f"].filter((kind) => sets[kind].has(n));
    const span = make("span", kinds.join(" "), text);
    const facts = ["score " + (row.s[n] / 100).toFixed(2)];
    if (row.k) facts.push("K-NN " + (row.k[n] / 100).toFixed(2));
    if (row.n) facts.push("nearest exemplar at " + (row.n[n] / 10).toFixed(1));
    if (row.f) facts.push(sets.f.has(n) ? "refused" : "admitted");
    if (row.y) facts.push(sets.y.has(n) ? "truly " + names[1] : "truly " + names[0]);
    span.title = facts.join(" · ");
    return span;
  }

  function article(row) {
    const box = make("article", wrong(row) ? "wrong" : "");
    let head = row.i + " · predicted " + names[row.p] + " (" + row.o.toFixed(2) + ")";
    if ("t" in row) head += wrong(row) ? " · wrong: truly " + names[row.t] : " · right";
    if ("a" in row) head += row.a ? " · admitted" : " · refused";
    box.append(make("h3", "", head));
    if (row.r) box.append(make("p", "reason", "Refused: " + row.r));
    const text = make("p");
    const sets = { d: new Set(row.d), y: new Set(row.y), f: new Set(row.f) };
    row.w.split("\n").forEach((token, n) => text.append(word(row, sets, token, n), " "));
    if (row.c) text.append("… and " + row.c + " more words");
    box.append(text);
    return box;
  }

  function show() {
    const last = Math.max(0, Math.ceil(found.length / PER_PAGE) - 1);
    page = Math.min(page, last);
    shelf.replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(article));
    document.getElementById("found").textContent = found.length + " of " + rows.length + " documents fit";
    document.getElementById("page").textContent = "page " + (page + 1) + " of " + (last + 1);
    document.getElementById("back").disabled = page === 0;
    document.getElementById("on").disabled = page === last;
  }

  function filter() {
    const want = (name) => form.elements[name].value;
    const text = want("text").toLowerCase();
    found = rows.filter((row) =>
      (!want("error") || ("t" in row && wrong(row) === (want("error") === "wrong"))) &&
      (!want("predicted") || row.p === Number(want("predicted"))) &&
      (!want("truth") || row.t === Number(want("truth"))) &&
      (!want("admitted") || row.a === Number(want("admitted"))) &&
      (!text || row.w.replaceAll("\n", " ").toLowerCase().includes(text)));
    page = 0;
    show();
  }

  const need = { error: "t", truth: "t", admitted: "a" };
  for (const [name, key] of Object.entries(need))
    if (!rows.some((row) => key in row)) form.elements[name].parentElement.hidden = true;
  form.hidden = false;
  document.getElementById("pages").hidden = false;
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("back").addEventListener("click", () => { page -= 1; show(); });
  document.getElementById("on").addEventListener("click", () => { page += 1; show(); });
  show();
})();
