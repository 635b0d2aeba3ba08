// ---- Keys
const kStates = { minions_pre: ["waits", "running"], minions: ["accepted", "ok"], minions_rejected: ["rejected", "failed"], minions_denied: ["denied", "failed"] };
// What follows from a change of a key.
const kAfter = { accept: "The minion then gets jobs and its pillar.", reject: "The master then refuses the minion." };
const kAfterDelete = { minions: "The minion then has no access until its key is accepted again.", minions_pre: "The minion may offer it again.",
  minions_rejected: "The minion may offer a key again.", minions_denied: "An accepted key of the same minion stays." };
async function loadKeys() {
  const keys = await wheel("key.list_all");
  const fingers = await wheel("key.finger", { match: "*" });
  // Minions of the embedded engine have no keys, so there is nothing to delete.
  const printed = document.body.dataset.status ? (await wheel("key.print", { match: "*" })).minions ?? {} : null;
  const waiting = keys.minions_pre ?? [];
  const rows = Object.keys(kStates).flatMap((state) => (keys[state] ?? []).sort().map((id) =>
    rowOfKey(id, state, fingers[state]?.[id] ?? "", printed === null || Boolean(printed[id]))));
  fill("keys", rows);
  at("keys-hint").hidden = waiting.length === 0;
  write("keys-count", `${count(rows.length, "key")}, ${waiting.length} to accept`);
}
function rowOfKey(id, state, finger, isKey) {
  const [word, look] = kStates[state];
  const bytes = make("span", { className: "finger" });
  finger.split(":").forEach((byte, index) => bytes.append(...(index ? [":", make("wbr")] : []), byte));
  return row(id, make("span", { className: `state ${look}`, textContent: word }), bytes, isKey ? keyActions(id, state, finger) : "");
}
function keyActions(id, state, finger) {
  const actions = make("div", { className: "actions" });
  if (state === "minions_pre") actions.append(keyButton("accept", id, state, finger, ""), keyButton("reject", id, state, finger, "plain"));
  actions.append(keyButton("delete", id, state, finger, "quiet"));
  return actions;
}
function keyButton(verb, id, state, finger, className) {
  const name = verb[0].toUpperCase() + verb.slice(1);
  const word = kStates[state][0] === "waits" ? "waiting" : kStates[state][0];
  const button = make("button", { type: "button", className, textContent: name, ariaLabel: visible(`${name} the ${word} key of ${id}`) });
  button.addEventListener("click", () => attempt("message", async () => {
    const after = verb === "delete" ? kAfterDelete[state] : kAfter[verb];
    if (!await confirmed(`${name} the ${word} key of ${id}?\n${finger}\n${after}`, `${name} the key`)) return;
    // A map from state to ids changes only the key of this state. A glob would change the keys of all states.
    await wheel(`key.${verb}_dict`, { match: { [state]: [id] } }).catch((error) => {
      throw error.isDenied ? new Error(`Your rules do not allow key.${verb}_dict (@wheel).`) : error;
    });
    await loadKeys();
    at("title").focus();
  }));
  return button;
}
