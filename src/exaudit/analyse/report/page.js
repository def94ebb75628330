"use strict";
// Shows the documents of the page, a few at a time. Texts go through textContent alone, so they stay texts, and what
// would turn the writing direction or hide shows as its number. Each text is isolated from those beside it.
(function () {
  const source = document.getElementById("documents");
  if (!source) return;
  const { names, rows, kind } = JSON.parse(source.textContent);
  const form = document.getElementById("filters");
  const shelf = document.getElementById("shelf");
  const PER_PAGE = 20;
  let page = 0, found = rows;

  const unseen = /(?![\u200c\u200d\n])[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;
  const number = (c) => {
    const code = c.codePointAt(0), digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return "\\" + { 2: "x", 4: "u", 8: "U" }[digits] + code.toString(16).padStart(digits, "0");
  };
  const visible = (text) => text.replace(unseen, number);
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = visible(text);
    return element;
  };
  // Of two classes, a row has 0 or 1 and the places of positive words; from here on, lists of classes.
  const several = kind !== undefined;
  if (!several) rows.forEach((row) => {
    row.p = [row.p];
    if ("t" in row) row.t = [row.t];
    for (const key of ["d", "y"]) if (row[key]) row[key] = row[key].map((place) => [place, 1]);
  });
  const carried = (pairs) => new Map((pairs || []).map(([place, ...classes]) => [place, classes]));
  const called = (classes) => classes.map((c) => names[c]).join(", ") || "none";
  const same = (a, b) => a.join() === b.join();
  const wrong = (row) => "t" in row && !same(row.t, row.p);

  function word(row, sets, text, n) {
    const kinds = ["d", "y", "f", "g"].filter((kind) => sets[kind].has(n));
    if (several && sets.d.has(n)) kinds.push("c" + sets.d.get(n)[0] % 8);
    const span = make("span", kinds.join(" "), text);
    const facts = ["score " + (several ? "for " + names[row.b[n]] + " " : "") + (row.s[n] / 100).toFixed(2)];
    if (sets.g.has(n)) facts.push("for " + names[0]);
    if (row.k) facts.push("K-NN " + (row.k[n] / 100).toFixed(2));
    if (row.n) facts.push("nearest exemplar at " + (row.n[n] / 10).toFixed(1));
    if (row.f) facts.push(sets.f.has(n) ? "refused" : "admitted");
    if (row.y && several) facts.push("truly " + called(sets.y.get(n) || []));
    else if (row.y) facts.push(sets.y.has(n) ? "truly " + names[1] : "truly " + names[0]);
    span.title = visible(facts.join(" · "));
    return span;
  }

  // The classes of a word stand behind it, and once behind words in a row that have the same.
  function labels(sets, n) {
    const of = (place) => [sets.d.get(place) || [], sets.y.get(place) || []];
    const [decided, truly] = of(n), [next, after] = of(n + 1);
    if (same(decided, next) && same(truly, after)) return [];
    return [
      ...decided.map((c) => make("span", "l c" + c % 8, names[c])),
      ...truly.filter((c) => !decided.includes(c)).map((c) => make("span", "m", names[c])),
    ];
  }

  function article(row) {
    const box = make("article", wrong(row) ? "wrong" : "");
    const head = make("h3"), named = (classes) => make("bdi", "", called(classes));
    head.append(make("bdi", "", row.i), " · predicted ", named(row.p), " (" + row.o.toFixed(2) + ")");
    if (wrong(row)) head.append(" · wrong: truly ", named(row.t));
    else if ("t" in row) head.append(" · right");
    if ("a" in row) head.append(row.a ? " · admitted" : " · refused");
    box.append(head);
    if (row.r) box.append(make("p", "reason", "Refused: " + row.r));
    const text = make("p");
    text.dir = "auto";
    const sets = { d: carried(row.d), y: carried(row.y), f: new Set(row.f), g: new Set(row.g) };
    row.w.split("\n").forEach((token, n) =>
      text.append(word(row, sets, token, n), ...(several ? labels(sets, n) : []), " "));
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
    const has = (classes, wanted) => wanted === "none" ? !classes.length : classes.includes(Number(wanted));
    const text = want("text").toLowerCase();
    found = rows.filter((row) =>
      (!want("error") || ("t" in row && wrong(row) === (want("error") === "wrong"))) &&
      (!want("predicted") || has(row.p, want("predicted"))) &&
      (!want("truth") || ("t" in row && has(row.t, want("truth")))) &&
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
