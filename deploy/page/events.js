// ---- Events: the newest first
const kMostEvents = 300;
let heard = [];
let heardCount = 0;
function hearAny(tag, data) {
  if (!views.events.isShown || at("pause").checked) return;
  ++heardCount;
  heard = [{ tag, data, time: Date.now() }, ...heard.slice(0, kMostEvents - 1)];
  drawEventsSoon();
}
function eventItem(event) {
  if (event.item) return event.item;
  const text = make("pre");
  event.item = make("li", {}, make("details", {}, make("summary", {}, make("span", { className: "faint mono", textContent: `${clock(event.time)} ` }),
    make("code", { textContent: event.tag }), make("span", { className: "faint", textContent: ` ${shortened(sentence(event.data.fun ?? event.data.id ?? ""), 80)}` })), text));
  event.item.firstChild.addEventListener("toggle", () => { text.textContent = visible(pretty(event.data)); });
  return event.item;
}
function drawEvents() {
  const wanted = at("events-filter").value.trim().toLowerCase();
  const isGlob = /[*?]/.test(wanted);
  const found = heard.filter((event) => !wanted || (isGlob ? globPattern(wanted).test(event.tag.toLowerCase())
    : `${event.tag} ${event.text ??= written(event.data)}`.toLowerCase().includes(wanted)));
  fill("stream", found.map(eventItem));
  write("events-count", heardCount ? `${count(found.length, "event")} shown of ${heardCount.toLocaleString("en")}` : "No event yet.");
}
const drawEventsSoon = soon(drawEvents);
async function loadEvents() {
  listen();  // a stream with all tags
  drawEvents();
}
