const at = (id) => document.getElementById(id);

// ---- Elements. Data becomes text, never HTML. Characters that hide or turn a text are shown as escapes.
const kHidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const escape = (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
const visible = (text) => text.replace(/\r\n?/g, "\n").replace(kHidden, escape);
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  if (properties.textContent) element.textContent = visible(String(properties.textContent));
  element.append(...children.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}
const write = (id, text) => { if (at(id).textContent !== text) at(id).textContent = visible(text); };
const row = (first, ...cells) => make("tr", {}, make("th", { scope: "row" }, first), ...cells.map((cell) => make("td", {}, cell)));

// Replaces the children if they differ. A child that has the focus keeps it.
function fill(id, children) {
  const old = at(id).children;
  if (children.length === old.length && children.every((child, index) => child === old[index])) return;
  const focused = document.activeElement;
  at(id).replaceChildren(...children);
  if (focused !== document.activeElement && at(id).contains(focused)) focused.focus();
}

// Hides an element. If the element has the focus, the heading gets it.
function hide(id, isHidden) {
  if (isHidden && at(id).contains(document.activeElement)) at("title").focus();
  at(id).hidden = isHidden;
}
const shortened = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);
const sentence = (value) => (Array.isArray(value) ? value.map(sentence).join(", ") : typeof value === "object" && value ? written(value) : String(value ?? ""));
const count = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;

// Calls `draw` at most once a frame, and later if the page is hidden.
function soon(draw) {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };
}

// Asks whether to do something. Resolves to true if the user agrees.
async function confirmed(question, yes) {
  const dialog = at("confirm");
  write("confirm-text", question);
  at("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  at("confirm-no").focus();  // so that Enter alone changes nothing
  await new Promise((resolve) => { dialog.addEventListener("close", resolve, { once: true }); });
  return dialog.returnValue === "yes";
}
async function attempt(message, action) {
  at(message).textContent = "";
  try {
    await action();
  } catch (error) {
    write(message, error.message);
  }
}

// ---- JSON. A number that JavaScript would change keeps its text.
class Exact {
  constructor(text) { this.text = text; }
  toString() { return this.text; }
}
const kMark = `exact ${Math.random()}`;
const kTokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
function parsed(text) {
  let isExact = false;
  const kept = (token) => {
    if (token[0] === "\"" || String(Number(token)) === token) return token;
    isExact = true;
    return `{"${kMark}":"${token}"}`;
  };
  const marked = text.replace(kTokens, kept);
  return isExact ? JSON.parse(marked, (key, value) => (value?.[kMark] ? new Exact(value[kMark]) : value)) : JSON.parse(text);
}

// Returns JSON text, without the keys in `but`. With an indent, each element has a line.
function written(value, indent = "", margin = "", but = []) {
  if (value instanceof Exact) return value.text;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const isList = Array.isArray(value);
  const inner = margin + indent;
  const items = Object.entries(value).filter(([key]) => isList || !but.includes(key))
    .map(([key, one]) => (isList ? "" : `${JSON.stringify(key)}: `) + written(one, indent, inner, but));
  const [first, last] = isList ? "[]" : "{}";
  if (items.length === 0) return first + last;
  return indent ? `${first}\n${inner}${items.join(`,\n${inner}`)}\n${margin}${last}` : first + items.join(", ") + last;
}
function pretty(value) {
  if (typeof value === "string") return value;
  const short = written(value);
  return short.length < 80 ? short : written(value, "  ");
}

// ---- Times. A job id is the master's local time, so the page learns how far this is from UTC.
let masterOffset = 0;  // in milliseconds
let knowsOffset = Boolean(document.body.dataset.status);  // the embedded engine's job ids are in UTC
const kZone = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts().find((part) => part.type === "timeZoneName").value;
const pad = (number) => String(number).padStart(2, "0");
function timeInJid(jid) {
  const [, ...part] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{3})/.exec(jid) ?? [];
  return part.length ? Date.UTC(part[0], part[1] - 1, ...part.slice(2)) : NaN;
}
function learnOffset(jid) {
  const kQuarter = 900000;
  if (knowsOffset || !timeInJid(jid)) return;
  masterOffset = Math.round((timeInJid(jid) - Date.now()) / kQuarter) * kQuarter;
  knowsOffset = true;
}
const startOf = (jid) => timeInJid(jid) - masterOffset;
const clock = (time) => { const date = new Date(time); return [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":"); };
function moment(time) {
  if (!time) return "";
  const date = new Date(time);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(time)} ${kZone}`;
}
const took = (milliseconds) => (milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : milliseconds < 60000 ? `${(milliseconds / 1000).toFixed(milliseconds < 10000 ? 1 : 0)} s`
  : `${Math.floor(milliseconds / 60000)} min ${pad(Math.floor(milliseconds / 1000) % 60)} s`);
const pause = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });
