// ---- Run
const kMany = 10;  // a job on more minions is started after a question
const functionsOf = { local: null, runner: null, wheel: null };  // documentation by name; of minions it is loaded later
let sent = null;   // the arguments of the job that is run again, with the text that the form shows for them

// Any minion of the target can tell which functions there are.
function sampleMinion() {
  const target = at("target").value.trim();
  if (at("target-type").value === "glob" && target && !/[*?[\]]/.test(target)) return target;
  return minionsJob?.returns.keys().next().value;
}
async function listFunctions(client) {
  if (client !== "local") return run({ client: "runner", fun: `doc.${client}` });
  const minion = sampleMinion();
  if (!minion) return null;
  const listed = (await run({ client, tgt: minion, fun: "sys.list_functions" }))[minion];
  if (!Array.isArray(listed)) throw new Error(`${minion} does not answer.`);
  return Object.fromEntries(listed.map((name) => [name, null]));
}

// Returns the functions that the user's rules name. The page offers them if the rules forbid sys.list_functions.
function namesInRules() {
  const rules = knowsRules() ? perms.flatMap((rule) => (typeof rule === "string" ? rule : Object.values(rule).flat())) : [];
  return rules.map((rule) => (typeof rule === "string" ? rule : Object.keys(rule)[0])).filter((name) => /^\w+\.\w+$/.test(name));
}
async function loadFunctions() {
  const client = at("client").value;
  try {
    if (!functionsOf[client]) {
      functionsOf[client] = {};  // until the reply is here
      functionsOf[client] = await listFunctions(client);
    }
    if (client !== at("client").value) return;
    const names = Object.keys(functionsOf[client] ?? {});
    at("functions").replaceChildren(...names.map((value) => make("option", { value })));
    write("function-hint", names.length ? `${count(names.length, "function")}: type a part of a name.` : "");
  } catch (error) {
    functionsOf[client] = null;
    const names = namesInRules();
    at("functions").replaceChildren(...names.map((value) => make("option", { value })));
    const why = error.isDenied ? "Your rules do not allow the list of functions" : error.message;
    if (why) write("function-hint", names.length ? `${why}; your rules name ${names.join(", ")}.` : `No names are suggested: ${why}`);
  }
}
async function showDocumentation() {
  const client = at("client").value;
  const fun = at("function").value.trim();
  if (at("doc-name").textContent === fun) return;
  at("doc").hidden = true;
  at("doc-name").textContent = fun;
  const known = functionsOf[client];
  if (!known || !Object.hasOwn(known, fun)) return;
  const minion = sampleMinion();
  if (client === "local" && known[fun] === null && minion)
    known[fun] = (await run({ client, tgt: minion, fun: "sys.doc", arg: [fun] }).catch(() => null))?.[minion]?.[fun] ?? null;
  if (at("function").value.trim() !== fun || !known[fun]) return;
  write("doc-text", withoutIndent(known[fun]));
  at("doc").hidden = false;
}
function withoutIndent(text) {
  const lines = text.replace(/^\s*\n/, "").trimEnd().split("\n");
  const indents = lines.slice(1).filter((line) => line.trim()).map((line) => line.search(/\S/));
  const indent = Math.min(...indents, lines[0].search(/\S/) || Infinity);
  return lines.map((line) => (line.search(/\S/) >= indent ? line.slice(indent) : line)).join("\n");
}

// ---- The target, and how many minions it matches
const globPattern = (glob) => new RegExp(`^${glob.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".").replace(/\[!/g, "[^")}$`, "s");

// Returns the matched minions that the page knows, or null if only the master can tell.
function matchedMinions() {
  const target = at("target").value.trim();
  const type = at("target-type").value;
  const known = minionsJob?.minions;
  const list = target.split(",").map((one) => one.trim()).filter(Boolean);
  if (type === "list") return known ? list.filter((one) => known.includes(one)) : list;
  if (type === "glob" && !/[*?[\]]/.test(target)) return known && !known.includes(target) ? [] : [target];
  if (!known) return null;
  try {
    if (type === "glob") return known.filter((one) => globPattern(target).test(one));
    if (type === "pcre") return known.filter((one) => new RegExp(`^(?:${target})`).test(one));
    if (type !== "grain" || missingOf(minionsJob).length > 0) return null;
    const [name, ...glob] = target.split(":");
    const values = (id) => [grainsOf(id)?.[name]].flat();
    if (known.some((id) => values(id).some((one) => typeof one === "object" && one))) return null;
    return known.filter((id) => values(id).some((one) => one !== undefined && globPattern(glob.join(":")).test(String(one))));
  } catch {
    return null;
  }
}
function showTargetCount() {
  const target = at("target").value.trim();
  const found = target && at("client").value === "local" ? matchedMinions() : undefined;
  write("target-count", found === undefined ? "" : found ? `${count(found.length, "minion")} matched` : "The master matches this target when the job starts.");
}
function showClient() {
  const isLocal = at("client").value === "local";
  for (const field of document.querySelectorAll(".local")) field.hidden = !isLocal;
  at("target").required = isLocal;
  showTargetCount();
  loadFunctions();
}

// ---- Starts
// Starts a job. Without events, waits for its returns instead.
async function start(low, items = [], arg = []) {
  await settled;
  const isLive = isHearing() && !low.batch;
  const chunk = { ...low, client: low.batch ? "local_batch" : isLive ? "local_async" : "local", ...(low.batch ? { raw: true } : isLive ? {} : { full_return: true }) };
  ++starting;
  try {
    const told = (await call("", yamlOf(chunk, items), "application/x-yaml")).return;
    const job = isLive ? told[0].jid && jobOf(told[0].jid) : finishedJob(low.batch ? eventsOf(told) : told[0]);
    if (!job?.jid) throw new Error("No minion matches the target.");
    learnOffset(job.jid);
    describeJob(job, { ...low, arg, user: at("user").textContent, minions: told[0].minions });
    job.keepsReturns = job.isOwn = true;
    job.lastReturn ??= Date.now();
    job.isLive = isLive;
    return job;
  } finally {
    --starting;
  }
}
const eventsOf = (told) => Object.fromEntries(told.flat().map((one) => one.data ?? one).filter((one) => one.id).map((one) => [one.id, { ...one, ret: one.return }]));
function finishedJob(told) {
  const results = Object.entries(typeof told === "object" && told ? told : {});
  const jid = results.find(([, result]) => result?.jid)?.[1].jid;
  if (!jid) return null;
  const job = jobOf(jid);
  Object.assign(job, { keepsReturns: true, isOver: true });
  for (const [minion, result] of results) {
    if (!job.minions.includes(minion)) job.minions.push(minion);
    if (result) addReturn(job, minion, { ...result, return: result.ret });
  }
  return job;
}

// Runs a runner or wheel. Its one return is that of the master.
async function startOnMaster(client, fun, items, arg) {
  const chunk = { client, fun, ...(client === "runner" ? { full_return: true } : {}) };
  const [told] = (await call("", yamlOf(chunk, items), "application/x-yaml")).return;
  const event = told?.data ?? told ?? {};
  const job = jobOf(event.jid ?? `${client}.${fun}`);
  learnOffset(event.jid);
  describeJob(job, { fun: `${client}.${fun}`, arg, user: at("user").textContent, minions: [] });
  Object.assign(job, { keepsReturns: true, isOwn: true, isOver: true, minions: [] });
  job.returns.clear();
  addReturn(job, "master", { return: event.return, success: event.success, _stamp: event._stamp });
  return job;
}
async function runForm() {
  const client = at("client").value;
  const low = { fun: at("function").value.trim(), tgt: at("target").value.trim(), tgt_type: at("target-type").value };
  const text = at("arguments").value;
  const isAgain = sent?.text === text;
  if (!isAgain && text.includes("**********")) throw new Error("Arguments: the page hides a secret as **********. Type the secret instead.");
  const items = isAgain ? sent.arg.map((one) => written(one)) : linesOf(text).map(yamlItem);
  const arg = isAgain ? [...sent.arg] : linesOf(text);
  if (client === "local" && at("test").value) {
    items.push(JSON.stringify("test=True"));
    arg.push("test=True");
  }
  const batch = at("batch").value.trim();
  if (batch && client === "local") low.batch = batch;
  if (client === "local" && !await isMeant(low)) return;
  write("run-status", low.batch ? "Runs in batches; the returns come when all have ended." : client !== "local" ? "Runs on the master…"
    : isHearing() ? "" : "Without events, all returns are shown when the job ends.");
  const job = await (client === "local" ? start(low, items, arg) : startOnMaster(client, low.fun, items, arg)).catch((error) => {
    if (error.isDenied) throw new Error(`Your rules do not allow ${low.fun}${client === "local" ? ` on ${low.tgt}` : ` (@${client})`}.`);
    throw new Error(error.message.replace(/^line \d+, column \d+:/, "Arguments:"));  // a place in the body
  }).finally(() => write("run-status", ""));
  rememberJobs();
  if (views.run.isShown) location.hash = `job/${encodeURIComponent(job.jid)}`;
}

// Asks before a job on many minions, or on a number that the page cannot tell.
async function isMeant({ fun, tgt }) {
  const found = matchedMinions();
  if (found && found.length <= kMany) return true;
  const where = found ? `on ${count(found.length, "minion")} (${tgt})` : `on all minions of the target ${tgt}`;
  return confirmed(`Run ${fun} ${where}?`, found ? `Run on ${count(found.length, "minion")}` : "Run");
}
async function loadRun() {
  showClient();
  if (!minionsJob && maySee.minions()) fetchMinions().catch(() => {});  // the form works without
}

// Fills in the form with the shown job or minion.
function use() {
  const [name, id] = place();
  const job = name === "minion" ? { fun: "", tgt: id, tgtType: "glob" } : shownJob;
  if (!job) return;
  const [, client = "local", fun = job.fun] = /^(runner|wheel)\.(.+)$/.exec(job.fun) ?? [];
  at("client").value = client;
  at("target").value = client === "local" ? sentence(job.tgt).replaceAll(", ", ",") : "";
  at("target-type").value = Array.isArray(job.tgt) ? "list" : job.tgtType;
  at("test").value = at("batch").value = "";
  if (fun) at("function").value = fun;
  if (job.arg) {
    at("arguments").value = argumentLines(job.arg).map(withoutSecrets).join("\n");
    sent = { arg: job.arg, text: at("arguments").value };
  }
  location.hash = "run";
}
