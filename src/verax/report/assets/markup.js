/* Elements and words for the eye. Text reaches the page as textContent only. */

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const button = (text, attributes) => make("button", { type: "button", ...attributes }, text);
const press = (element, on) => element.setAttribute("aria-pressed", String(on));
const signed = (value) => (Math.abs(value) < 5e-5 ? "" : value < 0 ? "−" : "+") + Math.abs(value).toFixed(4);
const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

/** Control characters would be invisible, or turn the text around: they are written out. So are
    soft hyphens, fillers and other letters that show nothing; what joins emoji is left. */
function visible(token) {
  const unseen = /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]/g;
  const written = (mark, digits) => (c) => `\\${mark}${c.charCodeAt(0).toString(16).padStart(digits, "0")}`;
  const shown = token.replace(/[\u0000-\u001f\u007f-\u009f]/g, written("x", 2)).replace(unseen, written("u", 4));
  return shown.trim() === "" ? "\u2423" : shown;
}

/** The share of annotators who marked each word, from runs [first, after, share]. */
function sharesOf(marks, count) {
  const shares = new Float32Array(count);
  for (const [first, after, share] of marks || []) shares.fill(share, first, after);
  return shares;
}

/** Words joined by blanks, each run that people marked in an element of its own. */
function underlined(tokens, first, last, shares) {
  const parts = [];
  for (let from = first; from < last; ) {
    let to = from + 1;
    while (to < last && shares[to] === shares[from]) to += 1;
    const text = tokens.slice(from, to).map(visible).join(" ");
    if (parts.length) parts.push(" ");
    parts.push(shares[from] > 0 ? line(shares[from], text) : text);
    from = to;
  }
  return parts;
}

const line = (share, text) => make("span", { class: share > 0.5 ? "marked" : "marked marked-some" }, text);

/** What lines under words mean; nothing where there are none. */
function meaningOfLines(marks) {
  if (!marks) return [];
  const said = [line(1, "underlined"), `: ${marks.most}`];
  if (marks.some) said.push("; ", line(0.5, "dotted"), `: ${marks.some}`);
  return [make("span", { class: "marks-legend" }, ...said)];
}

/** What a class is called; a mere number says that it is one. */
const classed = (name) => (/^\d+$/.test(name) ? `class ${name}` : visible(name));
