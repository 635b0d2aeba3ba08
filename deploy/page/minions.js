// ---- Minions
// The minions on which the user may run a function, as a target.
function ownTarget(fun) {
  const targets = targetsFor(fun);
  return targets.length > 1 ? { tgt: targets.join(" or "), tgt_type: "compound" } : { tgt: targets[0], tgt_type: targets[0] === "*" ? "glob" : "compound" };
}
async function fetchMinions() {
  const job = minionsJob = await start({ ...ownTarget("grains.items"), fun: "grains.items" });
  job.isOwn = false;
  at("targets").replaceChildren(...[...job.minions].sort().map((value) => make("option", { value })));
  if (missingOf(job).length > 0) watch(job);
  drawMinionsSoon();
}
async function loadMinions() {
  if (!maySee.minions()) throw new Error("Your rules do not allow grains.items.");
  minionsJob = null;
  drawMinions();
  loadGroups().catch(() => {});
  await fetchMinions();
}
async function loadGroups() {
  if (!mayRun("config.values", "@wheel")) return;
  const { nodegroups } = await wheel("config.values");
  const names = Object.keys(nodegroups ?? {}).sort();
  at("groups-part").hidden = names.length === 0;
  fill("groups", names.map((name) => {
    const button = make("button", { type: "button", className: "plain", textContent: name, ariaLabel: `Run a function on the node group ${name}` });
    button.addEventListener("click", () => {
      at("client").value = "local";
      at("target").value = name;
      at("target-type").value = "nodegroup";
      location.hash = "run";
    });
    return row(button, make("code", { textContent: sentence(nodegroups[name]) }));
  }));
}
const grainsOf = (id) => minionsJob?.returns.get(id)?.value;
function isUp(id) {
  if (minionsJob?.returns.has(id)) return true;
  return minionsJob?.gone.has(id) || minionsJob?.isOver ? false : undefined;
}
function minionCells(id) {
  const grains = grainsOf(id);
  const up = isUp(id);
  const is = { true: "up", false: "down: did not answer" }[up] ?? "asked";
  return [is, contacts.has(id) ? moment(contacts.get(id)) : up === false ? "not in the jobs that this page has seen" : "",
    sentence(grains?.osfinger ?? grains?.os), sentence(grains?.saltversion)];
}
const minionRows = new Map();
function rowOfMinion(id) {
  const cells = minionCells(id);
  if (!minionRows.has(id)) minionRows.set(id, row(make("a", { href: `#minion/${encodeURIComponent(id)}`, textContent: id }), "", "", "", ""));
  const item = minionRows.get(id);
  cells.forEach((cell, index) => {
    const shown = item.cells[index + 1];
    if (shown.textContent !== visible(cell)) shown.replaceChildren(index === 0 ? make("span", { className: cell.split(":")[0], textContent: cell }) : visible(cell));
  });
  return item;
}
const kMostMinions = 500;
function drawMinions() {
  if (views.run.isShown) {
    showTargetCount();
    if (!functionsOf.local) loadFunctions();
  }
  if (!views.minions.isShown) return;
  const wanted = at("minions-filter").value.trim().toLowerCase();
  const all = [...(minionsJob?.minions ?? [])];
  const found = all.filter((id) => [id, ...minionCells(id)].join("\n").toLowerCase().includes(wanted))
    .sort((a, b) => (isUp(a) ?? true) - (isUp(b) ?? true) || (a < b ? -1 : 1));
  fill("minions", found.slice(0, kMostMinions).map(rowOfMinion));
  const down = all.filter((id) => isUp(id) === false).length;
  const cut = found.length > kMostMinions ? `, the first ${kMostMinions} are shown` : "";
  write("minions-count", minionsJob ? `${count(found.length, "minion")}${down ? `, ${down} down` : ""}${cut}` : "");
}
const drawMinionsSoon = soon(drawMinions);
const valueText = (value) => (Array.isArray(value) && value.every((one) => typeof one !== "object") ? value.join(", ") : pretty(value));
const rowsOf = (map) => Object.keys(map).sort().map((name) => row(name, make("span", { className: "grain", textContent: valueText(map[name]) })));
async function itemsOf(id, fun) {
  const items = (await run({ client: "local", tgt: [id], tgt_type: "list", fun }))[id];
  if (!items || typeof items !== "object") throw new Error(`${id} does not answer.`);
  return items;
}
async function loadMinion(id) {
  for (const table of ["grains", "pillar"]) at(table).replaceChildren();
  at("pillar-part").open = false;
  write("pillar-message", "");
  at("minion-state").replaceChildren();
  const grains = grainsOf(id) ?? await itemsOf(id, "grains.items");
  if (place()[1] !== id) return;
  at("minion-state").replaceChildren(make("span", { className: "up", textContent: "up" }), contacts.has(id) ? `, last contact ${moment(contacts.get(id))}` : "");
  fill("grains", rowsOf(grains));
}
async function loadPillar() {
  const id = place()[1];
  if (!at("pillar-part").open || at("pillar").rows.length) return;
  write("pillar-message", "Loading…");
  const told = await itemsOf(id, "pillar.items").catch((error) => (error.isDenied ? new Error("Your rules do not allow pillar.items on this minion.") : error));
  if (place()[1] !== id) return;
  const names = told instanceof Error ? [] : Object.keys(told);
  write("pillar-message", told instanceof Error ? told.message : names.length ? "" : "The minion has no pillar.");
  fill("pillar", rowsOf(told instanceof Error ? {} : told));
}
