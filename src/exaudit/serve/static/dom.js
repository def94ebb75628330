// Elements. Texts go in as text alone, so they stay texts; what would turn the writing direction or hide shows as its
// number.
const unseen = /(?![\u200c\u200d\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cn}]/gu;

export const visible = (text) => String(text).replace(unseen, (c) => {
  const code = c.codePointAt(0), digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  return "\\" + { 2: "x", 4: "u", 8: "U" }[digits] + code.toString(16).padStart(digits, "0");
});

export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "text", "circle", "path", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.setAttribute("class", value);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

// In place of what an element holds; what is false or missing is left out.
export const fill = (element, ...children) => element.replaceChildren(...make("div", {}, ...children).childNodes);

export const $ = (id) => document.getElementById(id);
export const setup = JSON.parse($("setup").textContent);
export const named = (names) => (names.length ? names.join(" + ") : "none");
export const signed = (value, digits = 2) => {
  const size = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(size) ? "−" : "+") + size;
};
export const counted = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

export function notify(text, { error = false, action } = {}) {
  const box = make("div", { class: error ? "note error" : "note" }, make("span", {}, text));
  const close = () => box.remove();
  if (action) box.append(make("button", { type: "button", onclick: () => { close(); action.run(); } }, action.name));
  box.append(make("button", { type: "button", class: "quiet", "aria-label": "Dismiss", onclick: close }, "×"));
  $("notices").append(box);
  const expire = () => (box.matches(":hover, :focus-within") ? setTimeout(expire, 2000) : close());
  setTimeout(expire, error ? 12000 : 8000);
  return box;
}

export const failed = (error) => {
  if (error.name !== "AbortError") notify(error.message, { error: true });
};
