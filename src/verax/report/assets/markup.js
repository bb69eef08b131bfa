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
const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(4);
const short = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

/** Control characters would be invisible, or turn the text around: they are written out. */
function visible(token) {
  const shown = token
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`)
    .replace(/[\u200b\u200c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
  return shown.trim() === "" ? "\u2423" : shown;
}
