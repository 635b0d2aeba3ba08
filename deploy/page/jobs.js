// ---- Jobs that this page knows, by job id
const jobs = new Map();
const kMostJobs = 1000;  // of those that events told of
const kWait = 5000;      // milliseconds without a return, after which Salt's clients ask minions whether they run the job (`timeout`)
const kGather = 10000;   // milliseconds in which minions answer this (`gather_job_timeout`)
let starting = 0;        // requests that start jobs; their returns may be here before the reply
let minionsJob = null;   // asked all minions for their grains
let shownJob = null;     // its returns are shown
const contacts = new Map();  // time of the last return by minion
function newJob(jid) {
  return { jid, fun: "", arg: [], tgt: "", tgtType: "glob", user: "", minions: [], returns: new Map(), gone: new Set(), keepsReturns: starting > 0 };
}
function jobOf(jid) {
  if (!jobs.has(jid)) jobs.set(jid, newJob(jid));
  return jobs.get(jid);
}
const hasFailed = ({ retcode, success }) => Boolean(Number(retcode ?? 0)) || success === false;
const failuresOf = (job) => [...job.returns.values()].filter((one) => one.failed).length;
const missingOf = (job) => job.minions.filter((minion) => !job.returns.has(minion) && !job.gone.has(minion));

// Returns the state of a job and its counts. `told` has the counts that came with a list of jobs.
function tallyOf(job) {
  const seen = { minions: job.minions.length, returned: job.returns.size, failed: failuresOf(job) };
  const told = job.told && job.told.returned >= seen.returned ? job.told : seen;
  const isOver = job.isOver || (job.told && job.told.state !== "running") || (seen.minions > 0 && missingOf(job).length === 0);
  const left = told.minions - told.returned;
  const isUnknown = !job.told && !job.isOver && seen.returned === 0 && seen.minions === 0;
  const state = isUnknown ? "" : left > 0 && !isOver ? "running" : told.failed > 0 ? "failed" : left > 0 ? "missing" : "ok";
  return { ...told, left, state };
}
function durationOf(job) {
  const time = job.ended - startOf(job.jid);
  return time > 0 && tallyOf(job).state !== "running" ? took(time) : "";
}
const kIcons = { ok: "✓", failed: "✕", missing: "?", running: "…", "": "" };
function stateText({ state, minions, returned, failed, left }) {
  const silent = left > 0 ? `${left} did not answer` : "";
  const failures = failed > 0 ? `${failed} of ${minions} failed` : "";
  if (state === "running") return [`${returned} of ${minions} returned`, failures].filter(Boolean).join(", ");
  return state === "ok" ? (minions > 1 ? `ok, ${minions} minions` : "ok") : [failures, silent].filter(Boolean).join(", ") || "…";
}
function stateMark(tally) {
  return make("span", { className: `state ${tally.state}` }, make("span", { ariaHidden: "true", textContent: kIcons[tally.state] }), stateText(tally));
}
function addReturn(job, minion, { return: value, retcode, success, _stamp }) {
  const failed = hasFailed({ retcode, success });
  const time = Date.parse(`${_stamp}Z`) || 0;
  job.returns.set(minion, { failed, retcode, value: job.keepsReturns ? value : undefined });
  job.gone.delete(minion);
  if (!job.minions.includes(minion)) job.minions.push(minion);
  if (time && job.isLive) job.ended = time;
  job.lastReturn = Date.now();
  contacts.set(minion, Math.max(contacts.get(minion) ?? 0, time || startOf(job.jid) || 0));
  drawSoon(job);
}
function drawSoon(job) {
  if (shownJob === job) drawResultSoon();
  if (minionsJob === job) drawMinionsSoon();
  drawJobsSoon();
}
function describeJob(job, told) {
  job.fun = sentence(told.fun ?? told.Function);
  job.arg = argumentsOf(job, told.arg ?? told.Arguments ?? []);
  job.tgt = told.tgt ?? told.Target ?? "";
  job.tgtType = told.tgt_type ?? told["Target-type"] ?? "glob";
  job.user = sentence(told.user ?? told.User).replace(/^UNKNOWN$/, "");
  job.minions = [...new Set([...(told.minions ?? told.Minions ?? []), ...job.minions])];
  job.isLive ||= Boolean(told._stamp);
  if (told.EndTime) job.ended = timeInJid(String(told.EndTime).replace(/\D/g, "").padEnd(20, "0")) - masterOffset;
  if (told.Status) job.told = told.Status;
  return job;
}

// Jobs of runners and wheels have a map of arguments, or their keywords at the end of the list.
function argumentsOf(job, told) {
  if (!Array.isArray(told)) return told.arg || told.kwarg ? [...(told.arg ?? []), ...keywords(told.kwarg)] : [told].filter((one) => typeof one !== "object");
  const last = told.at(-1);
  const isMap = isOfMaster(job) && last && typeof last === "object" && !Array.isArray(last) && !(last instanceof Exact);
  return isMap ? [...told.slice(0, -1), ...keywords(last)] : told;
}
const keywords = (map) => (Object.keys(map ?? {}).length ? [{ ...map, __kwarg__: true }] : []);
const isOfMaster = (job) => /^(runner|wheel)\./.test(job.fun);
const targetText = (job) => (isOfMaster(job) ? "master" : sentence(job.tgt));

// Fetches a job with its returns.
async function fetchJob(jid) {
  const value = await call(`jobs/${encodeURIComponent(jid)}`);
  const told = value.info?.[0] ?? value.return[0];
  if (told.Error) throw new Error(`The job ${jid} is not known: the job cache has no such job, or has removed it.`);
  const job = describeJob(jobOf(jid), told);
  job.keepsReturns = true;
  for (const [minion, result] of Object.entries(told.Result ?? {})) addReturn(job, minion, result);
  return job;
}
function forgetOldJobs() {
  for (const [jid, job] of jobs) {
    if (jobs.size <= kMostJobs) return;
    if (job !== shownJob && job !== minionsJob && !job.row?.isConnected) jobs.delete(jid);
  }
}

// Asks minions that are silent whether they run the job, as Salt's clients do. Those that do not have not answered.
async function watch(job) {
  if (job.isWatched || job.isOver) return;
  job.isWatched = true;
  const mine = login;
  for (;;) {
    await pause(Math.max(500, (job.lastReturn ?? Date.now()) + kWait - Date.now()));
    const missing = missingOf(job);
    if (mine !== login || missing.length === 0) break;
    if (Date.now() - (job.lastReturn ?? 0) < kWait) continue;
    const asked = await start({ fun: "saltutil.find_job", tgt: missing, tgt_type: "list" }, [JSON.stringify(job.jid)], [job.jid])
      .catch((error) => (error.isDenied ? newJob("") : null));
    for (const end = Date.now() + kGather; asked?.jid && Date.now() < end && missingOf(asked).length > 0 && missingOf(job).length > 0;) await pause(200);
    if (mine !== login) break;
    job.lastReturn = Date.now();
    if (!asked) continue;
    for (const minion of missing) if (!job.returns.has(minion) && !asked.returns.get(minion)?.value?.jid) job.gone.add(minion);
    if (job.gone.size && shownJob === job) fetchJob(job.jid).catch(() => {});  // a return may have come without an event
    drawSoon(job);
  }
  job.isWatched = false;
}

// ---- Arguments
const kTyped = /^([[{"'].*|~|null|true|false|yes|no|on|off|[-+]?(0x[0-9a-f]{1,15}|\d{1,18}(\.\d*)?(e[-+]?\d+)?))$/is;

// The server reads the body as YAML, so it reads arguments as Salt's command line does.
function yamlOf(low, items) {
  const lines = Object.entries(low).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return [...lines, ...(items.length ? ["arg:", ...items.map((item) => `- ${item}`)] : [])].join("\n") + "\n";
}
const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
const yamlItem = (line) => (kTyped.test(line) ? line : JSON.stringify(line));

// Returns a line for each argument of a job, as a user would type it.
function argumentLines(arg) {
  const isPlain = (value) => typeof value === "string" && value !== "" && value.trim() === value && !kTyped.test(value) && !value.includes("\n");
  const typed = (value) => (isPlain(value) ? value : written(value));
  const lines = ({ __kwarg__, ...pairs }) => Object.entries(pairs).map(([name, value]) => `${name}=${typed(value)}`);
  return arg.flatMap((one) => (one?.__kwarg__ ? lines(one) : [typed(one)]));
}

// Events hide secrets by the same names.
const kSecret = /((?:pass(?:word|wd|phrase|code|key)?|pwd?|psk|secret|token|credentials?|authorization|bearer|cookie|jwt|(?:api|access|priv(?:ate)?|secret|shared|ssh)[_-]?key)["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s,}]+)/gi;
const withoutSecrets = (text) => text.replace(kSecret, "$1**********").replace(/(:\/\/[^/\s:@]*:)[^/\s@]+@/g, "$1**********@");
const shownArguments = (job) => argumentLines(job.arg).map(withoutSecrets);
