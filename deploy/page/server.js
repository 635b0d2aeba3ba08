// ---- Requests. URLs are relative, so that a web server may serve the page below any path. The session is in a cookie that
// scripts cannot read.
const root = location.pathname.replace(/\/login\/?$/, "").replace(/\/*$/, "/");
let login = 0;     // grows with each login and logout, so that late replies of a former user are dropped
let perms = {};    // the rules of the user, as in the reply to the login
const kFirst = 2000;  // milliseconds that a request waits for the event stream
async function ask(path, body, type = "application/json") {
  const options = { headers: { "Accept": "application/json" }, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = type;
    options.body = type === "application/json" ? JSON.stringify(body) : body;
  }
  const answer = await fetch(root + path, options).catch(() => { throw Object.assign(new Error("The server does not answer."), { isAway: true }); });
  const text = await answer.text().catch(() => "");
  let value;
  try {
    value = parsed(text);
  } catch {
    value = { return: `${answer.status} ${answer.statusText}` };
  }
  if (!answer.ok) throw Object.assign(new Error(sentence(value.return)), { status: answer.status });
  return value;
}

// 401 means that the session or a permission is missing. An empty list of calls needs a session only.
const isLoggedIn = async () => ask("", []).then(() => true, (error) => error.status !== 401);
async function call(path, body, type) {
  const mine = login;
  try {
    const value = await ask(path, body, type);
    if (mine === login) return value;
  } catch (error) {
    if (mine === login && error.status !== 401) throw error;
    if (mine === login && await isLoggedIn()) throw Object.assign(new Error("Your rules do not allow this."), { isDenied: true });
    if (mine === login) leave("Your session has ended. Log in again.", true);
  }
  throw new Error("");  // the reply is for a user who has left
}
const run = async (low) => (await call("", [low])).return[0];

// Runs a runner or wheel. Returns its return.
async function callMaster(client, fun, more) {
  const { data } = await run({ client, fun, ...more, ...(client === "runner" ? { full_return: true } : {}) });
  learnOffset(data.jid);
  if (data.success === false) throw new Error(sentence(data.return));
  return data.return;
}
const runner = (fun, more) => callMaster("runner", fun, more);
const wheel = (fun, more) => callMaster("wheel", fun, more);

// ---- Rules: strings for all minions, and maps from a target, `@runner`, `@wheel` or `@jobs` to functions.
const knowsRules = () => Array.isArray(perms) && perms.length > 0;
function matchesRule(rule, fun) {
  const name = typeof rule === "string" ? rule : Object.keys(rule ?? {})[0] ?? "";
  try {
    return new RegExp(`^(?:${name})$`).test(fun);
  } catch {
    return true;  // Python's form of the expression; the server decides
  }
}

// Returns the targets on which a user may run a function. `*` means all minions.
function targetsFor(fun) {
  if (!knowsRules() || perms.some((rule) => typeof rule === "string" && !rule.startsWith("@") && matchesRule(rule, fun))) return ["*"];
  const maps = perms.filter((rule) => typeof rule === "object").flatMap(Object.entries);
  return maps.filter(([target, rules]) => !target.startsWith("@") && [rules].flat().some((rule) => matchesRule(rule, fun))).map(([target]) => target);
}
function mayRun(fun, ...sections) {
  if (!knowsRules()) return true;
  return perms.some((rule) => sections.includes(rule) || Object.entries(typeof rule === "object" ? rule : {}).some(([section, rules]) =>
    sections.includes(section) && [rules].flat().some((one) => matchesRule(one, fun) || matchesRule(one, fun.split(".")[1]))));
}
const mayListJobs = () => mayRun("jobs.list_jobs", "@runner", "@jobs");
const maySee = { run: () => true, jobs: () => true, minions: () => targetsFor("grains.items").length > 0,
  keys: () => mayRun("key.list_all", "@wheel"), events: () => true };

// ---- Events. Hidden tabs have no stream, because browsers open few connections to a server.
let events = null;
let settled = Promise.resolve();  // resolves when events come, or will not
let brokenSince = 0;
let wasLive = false;
const isHearing = () => events?.readyState === EventSource.OPEN;
function listen() {
  events?.close();
  events = null;
  if (at("inside").hidden || document.hidden) return;
  const tags = views.events.isShown ? "" : "?tag=salt/job/*/new&tag=salt/job/*/ret/*";
  const stream = events = new EventSource(`${root}events${tags}`);
  showLink(brokenSince ? "broken" : "", brokenSince ? `reconnecting since ${clock(brokenSince)}` : "connecting");
  stream.onmessage = ({ data }) => hear(parsed(data));
  settled = Promise.race([pause(kFirst), new Promise((resolve) => {
    stream.onopen = () => {
      resolve();
      showLink("live", "live");
      const missed = wasLive;
      wasLive = true;
      brokenSince = 0;
      if (missed) catchUp();
    };
    stream.onerror = () => {
      resolve();
      if (stream === events) repair(stream);
    };
  })]);
}
function showLink(className, text) {
  at("link").className = className;
  write("link", text);
}

// Says why there is no stream, and opens another.
async function repair(stream) {
  const mine = login;
  stream.close();
  const ended = new AbortController();
  const answer = await fetch(`${root}events`, { signal: ended.signal, headers: { "Accept": "text/event-stream" } }).catch(() => null);
  ended.abort();
  if (mine !== login || stream !== events) return;
  if (answer?.status === 401) {
    if (!await isLoggedIn()) return leave("Your session has ended. Log in again.", true);
    return showLink("", "no right to events");
  }
  const isRefused = answer && !answer.ok && answer.status !== 502 && answer.status !== 504;
  brokenSince ||= Date.now();
  if (isRefused) showLink("broken", "no events: the server opens no further stream");
  else showLink("broken", `reconnecting since ${clock(brokenSince)}`);
  await pause(isRefused ? 10000 : 1000);
  if (mine === login && stream === events) listen();
}

// Fetches what happened while there was no stream.
function catchUp() {
  if (shownJob && missingOf(shownJob).length > 0) fetchJob(shownJob.jid).catch(() => {});
  if (!views.run.isShown && !views.job.isShown && !views.events.isShown) refresh();
}
function hear({ tag, data }) {
  hearAny(tag, data);
  const [, kind, jid, what, minion] = tag.split("/");
  if (kind !== "job" || !jid) return;
  if (what === "ret") addReturn(jobOf(jid), minion, data);
  if (what !== "new") return;
  learnOffset(jid);
  describeJob(jobOf(jid), data);
  forgetOldJobs();
  drawJobsSoon();
}
