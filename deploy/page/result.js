// ---- The result of a job: chips, a bar, and returns. Equal returns are one group. Failures are first.
const kMostGroups = 300;
const kTimes = ["duration", "start_time"];  // of states, which differ although the returns are equal
let chosen = "";           // the state of the returns that are shown; empty shows all
const groups = new Map();  // list items by state and text
const isTest = (job) => job.arg.some((one) => one?.__kwarg__ && one.test === true || one === "test=True");
function showJob(job) {
  shownJob = job;
  hide("result", !job);
  groups.clear();
  chosen = "";
  at("returns").replaceChildren();
  at("result-filter").value = "";
  for (const id of ["stop-message", "stop-status"]) at(id).textContent = "";
  if (!job) return;
  drawResult();
  if (missingOf(job).length > 0 && !isOfMaster(job)) watch(job);
}
function returnsOf(job) {
  const list = [...job.returns].map(([minion, { failed, retcode, value }]) =>
    ({ minion, state: failed ? "failed" : "ok", retcode, value, text: `${retcode ?? ""} ${written(value)}` }));
  const silent = [...job.gone, ...(job.isOver ? missingOf(job) : [])];
  return [...list, ...silent.map((minion) => ({ minion, state: "missing", text: "" }))];
}
function drawResult() {
  const job = shownJob;
  if (!job) return;
  const words = shortened([job.fun, ...shownArguments(job)].join(" "), 200);
  at("result-title").replaceChildren(...(isTest(job) ? [make("span", { className: "state running", textContent: "test=True, nothing is changed" }), " "] : []),
    make("code", { textContent: words }), " on ", make("code", { textContent: shortened(targetText(job), 200) }));
  write("result-about", [job.jid && `Job ${job.jid}`, moment(startOf(job.jid)), job.user, durationOf(job) && `took ${durationOf(job)}`].filter(Boolean).join(" · "));
  drawChips(job);
  drawReturns(job);
}
const drawResultSoon = soon(drawResult);
function drawChips(job) {
  const waiting = job.isOver ? [] : missingOf(job);
  const silent = job.gone.size + (job.isOver ? missingOf(job).length : 0);
  const failed = failuresOf(job);
  const counts = { failed, missing: silent, ok: job.returns.size - failed, running: waiting.length };
  const words = { failed: "failed", missing: "did not answer", ok: "ok", running: "waiting" };
  const shown = Object.keys(counts).filter((state) => counts[state] > 0);
  if (!shown.includes(chosen)) chosen = "";
  fill("chips", shown.map((state) => chipOf(state, `${kIcons[state]} ${counts[state].toLocaleString("en")} ${words[state]}`)));
  const total = job.minions.length || 1;
  fill("gauge", ["failed", "missing", "ok"].map((state) => {
    const part = make("span", { className: state });
    part.style.width = `${(100 * counts[state]) / total}%`;
    return part;
  }));
  at("gauge").ariaValueMax = total;
  at("gauge").ariaValueNow = job.returns.size + silent;
  const done = waiting.length ? "" : "Done: ";
  const told = [`${job.returns.size} of ${job.minions.length} returned`, failed && `${failed} failed`, silent && `${silent} did not answer`];
  write("progress-text", done + told.filter(Boolean).join(", "));
  const more = waiting.length > 20 ? ` and ${waiting.length - 20} more` : "";
  write("waiting", waiting.length ? `Waiting for ${waiting.slice(0, 20).join(", ")}${more}` : "");
  hide("stop-actions", waiting.length === 0 || isOfMaster(job));
}
const chips = new Map();
function chipOf(state, text) {
  if (!chips.has(state)) {
    const chip = make("button", { type: "button", className: `chip ${state}` });
    chip.addEventListener("click", () => {
      chosen = chosen === state ? "" : state;
      drawResult();
    });
    chips.set(state, chip);
  }
  chips.get(state).textContent = text;
  chips.get(state).ariaPressed = String(chosen === state);
  return chips.get(state);
}
function drawReturns(job) {
  const wanted = at("result-filter").value.trim().toLowerCase();
  const found = new Map();
  for (const one of returnsOf(job)) {
    if (chosen && one.state !== chosen) continue;
    if (wanted && !one.minion.toLowerCase().includes(wanted) && !one.text.toLowerCase().includes(wanted)) continue;
    const key = `${one.state} ${statesIn(one.value) ? written(one.value, "", "", kTimes) : one.text}`;
    if (!found.has(key)) found.set(key, { ...one, minions: [] });
    found.get(key).minions.push(one.minion);
  }
  const rank = { failed: 0, missing: 1, ok: 2 };
  const sorted = [...found].sort(([, a], [, b]) => rank[a.state] - rank[b.state] || b.minions.length - a.minions.length || (a.minion < b.minion ? -1 : 1));
  fill("returns", sorted.slice(0, kMostGroups).map(([key, group]) => itemOf(key, group)));
  const hidden = sorted.length - kMostGroups;
  write("returns-count", hidden > 0 ? `${count(hidden, "different return")} more: filter, or download all as JSON.`
    : job.returns.size && !sorted.length ? "No return matches the filter." : "");
}
function itemOf(key, group) {
  if (!groups.has(key)) {
    const who = make("div");
    const item = make("li", { className: `return ${{ failed: "bad", missing: "none" }[group.state] ?? ""}` }, who, bodyOf(group));
    groups.set(key, { item, who, minions: "" });
  }
  const entry = groups.get(key);
  const minions = group.minions.sort().join("\n");
  if (entry.minions === minions) return entry.item;
  entry.minions = minions;
  const code = group.retcode && String(group.retcode) !== "0" ? `failed, retcode ${group.retcode}` : "failed";
  const mark = make("span", { className: `state ${group.state}`, textContent: { failed: code, missing: "did not answer", ok: "✓ ok" }[group.state] });
  const isOpen = entry.who.querySelector("details")?.open ?? false;
  entry.who.replaceChildren(group.minions.length === 1 ? make("b", { textContent: group.minion })
    : make("details", { open: isOpen }, make("summary", {}, make("b", { textContent: count(group.minions.length, "minion") })), group.minions.join(", ")), " ", mark);
  return entry.item;
}
function bodyOf({ value, state, minion }) {
  if (state === "missing") return make("span", { className: "faint", textContent: "The minion is down, cannot reach the master, or has lost the job." });
  const states = statesIn(value);
  if (states) return statesList(states, minion);
  const text = pretty(value);
  return make("pre", { textContent: text, className: text.length < 90 && !text.includes("\n") ? "line" : "", tabIndex: text.length > 2000 ? 0 : -1 });
}

// ---- Returns of state.apply and the like: failed states first, then changed ones, then a count of the others
// Returns a list of states if a return has them.
function statesIn(value) {
  const entries = Object.entries(typeof value === "object" && value && !Array.isArray(value) ? value : {});
  if (entries.length === 0 || !entries.every(([key, one]) => key.split("_|-").length === 4 && typeof one === "object" && one && "result" in one)) return null;
  const number = (one) => Number(one.__run_num__ ?? 0);
  return entries.map(([key, one]) => ({ ...one, kind: key.split("_|-") })).sort((a, b) => number(a) - number(b));
}
const hasChanges = (one) => Object.keys(one.changes ?? {}).length > 0 || one.result === null;
function statesList(states, minion) {
  const failed = states.filter((one) => one.result === false);
  const changed = states.filter((one) => one.result !== false && hasChanges(one));
  const same = states.filter((one) => one.result !== false && !hasChanges(one));
  const time = states.reduce((sum, one) => sum + (parseFloat(one.duration) || 0), 0);
  const would = states.some((one) => one.result === null) ? "would change" : "changed";
  const words = [failed.length && `${failed.length} failed`, changed.length && `${changed.length} ${would}`, same.length && `${same.length} unchanged`, `${took(time)} on ${minion}`];
  const rest = make("details", {}, make("summary", { textContent: `${count(same.length, "state")} unchanged` }), stepsOf(same));
  return make("div", {}, make("p", { className: "faint", textContent: words.filter(Boolean).join(" · ") }), stepsOf([...failed, ...changed]),
    ...(same.length ? [rest] : []));
}
function stepsOf(states) {
  return make("ul", { className: "steps" }, ...states.map((one) => {
    const [module, id, name, fun] = one.kind;
    const state = one.result === false ? "failed" : hasChanges(one) ? "running" : "ok";
    const icon = { failed: "✕", running: "±", ok: "✓" }[state];
    const changes = Object.entries(one.changes ?? {}).map(([key, value]) => (key === "diff" ? sentence(value) : `${key}: ${pretty(value)}`)).join("\n");
    const title = id === name ? `${module}.${fun} ${id}` : `${module}.${fun} ${id} (${name})`;
    return make("li", {}, make("span", { className: `state ${state}`, textContent: icon, ariaLabel: { failed: "failed", running: "changed", ok: "unchanged" }[state], role: "img" }),
      make("span", {}, make("b", { textContent: title }), " ", make("span", { className: "faint", textContent: sentence(one.comment) })),
      make("span", { className: "faint nowrap", textContent: one.duration === undefined ? "" : took(parseFloat(one.duration) || 0) }),
      ...(changes ? [make("pre", {}, ...changes.split("\n").map(diffLine))] : []));
  }));
}
const diffLine = (line) => make("span", { className: { "+": "added", "-": "removed" }[line[0]] ?? "" }, `${line}\n`);

// ---- Copy and download
const resultText = () => written(Object.fromEntries([...shownJob.returns].map(([minion, { value }]) => [minion, value])), "  ") + "\n";
const copyResult = () => navigator.clipboard.writeText(resultText()).then(() => write("progress-text", "The returns are in the clipboard."));
function downloadResult() {
  const link = make("a", { href: URL.createObjectURL(new Blob([resultText()], { type: "application/json" })), download: `${shownJob.jid || "returns"}.json` });
  link.click();
  URL.revokeObjectURL(link.href);
}

// Asks the minions that have not returned to end the job: with SIGTERM, or with SIGKILL at once.
async function stopJob(fun, verb) {
  const job = shownJob;
  const minions = missingOf(job);
  if (!await confirmed(`${verb} ${job.fun} on ${shortened(minions.join(", "), 200)}?`, verb)) return;
  write("stop-status", `Asking ${count(minions.length, "minion")}…`);
  const told = await run({ client: "local", tgt: minions, tgt_type: "list", fun, arg: [job.jid] }).catch((error) => {
    write("stop-status", "");
    throw error.isDenied ? new Error(`Your rules do not allow ${fun} on these minions.`) : error;
  });
  if (shownJob !== job) return;
  const texts = minions.map((minion) => told?.[minion]);
  const signalled = texts.filter((text) => /^Signal/.test(text)).length;
  const silent = texts.filter((text) => text === undefined || text === false).length;
  write("stop-status", [signalled ? `A signal was sent on ${count(signalled, "minion")}.` : silent ? "" : "The job does not run on these minions.",
    silent ? `${count(silent, "minion")} did not answer.` : ""].filter(Boolean).join(" "));
}
