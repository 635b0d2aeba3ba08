// ---- Views. Each has a title, and may load what it shows. `#job/ID` opens the view `job`.
const views = {
  run: { parts: ["run-view"], title: () => "Run a function", load: loadRun },
  jobs: { parts: ["jobs-view"], title: () => "Jobs", load: loadJobs },
  job: { parts: [], title: () => "Job", load: loadJob, use: "Run again", denied: "Your rules do not allow looking up jobs (@jobs)." },
  minions: { parts: ["minions-view"], title: () => "Minions", load: loadMinions, denied: "Your rules do not allow grains.items on these minions." },
  minion: { parts: ["minion-view"], title: (id) => id, load: loadMinion, use: "Run a function on it",
    denied: "Your rules do not allow grains.items on this minion." },
  keys: { parts: ["keys-view"], title: () => "Keys", load: loadKeys, denied: "Your rules do not allow keys (@wheel)." },
  events: { parts: ["events-view"], title: () => "Events", load: loadEvents },
};

// Returns the view and the id of the address. A malformed id is undefined.
function place() {
  const [name, ...id] = location.hash.slice(1).split("/");
  const view = Object.hasOwn(views, name) ? name : "run";
  try {
    return [view, decodeURIComponent(id.join("/"))];
  } catch {
    return [view, undefined];
  }
}
function open() {
  const [name, id] = place();
  const hadAll = views.events.isShown;
  for (const [other, view] of Object.entries(views)) {
    view.isShown = other === name;
    for (const part of view.parts) at(part).hidden = !view.isShown;
  }
  for (const link of at("nav").children) {
    const isHere = link.hash.slice(1) === ({ job: "jobs", minion: "minions" }[name] ?? name);
    link.setAttribute("aria-current", isHere ? "page" : "false");
  }
  write("title", views[name].title(id ?? ""));
  at("refresh").hidden = name === "run" || name === "events";
  at("use").hidden = !views[name].use;
  at("use").textContent = views[name].use ?? "";
  document.title = `${at("title").textContent} – rest_fcgi`;
  if (name === "jobs") before = "";
  showJob(null);
  if (hadAll && name !== "events") listen();
  refresh();
}
async function refresh() {
  const [name, id] = place();
  write("message", "");
  write("busy", "Loading…");
  try {
    await views[name].load(id);
  } catch (error) {
    if (views[name].isShown) write("message", (error.isDenied && views[name].denied) || error.message);
  }
  if (views[name].isShown) write("busy", "");
}
async function loadJob(jid) {
  if (!jid) throw new Error("The address of this page names no job. Jobs has a list.");
  const known = jobs.get(jid);
  if (known?.keepsReturns) showJob(known);
  const job = await fetchJob(jid).catch((error) => { if (!known?.keepsReturns) throw error; });
  if (job && place()[1] === jid && shownJob !== job) showJob(job);
}

// ---- Login and logout
function showInside(isInside) {
  for (const id of ["inside", "nav", "account"]) at(id).hidden = !isInside;
  for (const id of ["login", "about"]) at(id).hidden = isInside;
}
function enter(user, rules) {
  ++login;
  if (at("run-view").dataset.user !== user) at("run-view").reset();  // the form of another user
  at("run-view").dataset.user = user;
  perms = rules;
  wasLive = false;
  write("user", user);
  showInside(true);
  for (const link of at("nav").children) link.hidden = !maySee[link.hash.slice(1)]();
  if (!mayListJobs()) recallJobs();
  listen();
  open();
}

// Forgets everything of the user. If the session ended by itself, the form of the view Run stays.
function leave(why = "", keepsForm = false) {
  ++login;
  events?.close();
  at("confirm").close();
  events = minionsJob = shownJob = sent = null;
  heard = [];
  listed = [];
  heardCount = brokenSince = 0;
  perms = {};
  for (const client of Object.keys(functionsOf)) functionsOf[client] = null;
  for (const known of [jobs, contacts, minionRows, groups]) known.clear();
  if (!keepsForm) sessionStorage.clear();
  for (const id of ["jobs", "minions", "groups", "grains", "pillar", "keys", "stream", "returns", "functions", "targets"]) at(id).replaceChildren();
  for (const id of ["user", "message", "run-message", "run-status", "function-hint", "target-count", "doc-name", "doc-text", "result-title"])
    at(id).textContent = "";
  if (!keepsForm) at("run-view").reset();
  at("jobs-filters").reset();
  showInside(false);
  write("login-message", why);
  document.title = "rest_fcgi";
  at("username").focus();
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt("login-message", async () => {
    const low = { username: at("username").value, password: at("password").value, eauth: at("eauth").value };
    const [session] = (await ask("login", low)).return;
    enter(session.user, session.perms);
    at("title").focus();
  }).then(() => { at("password").value = ""; });
});

at("logout").addEventListener("click", async () => {
  const done = ask("logout", {});
  history.replaceState(null, "", location.pathname);
  leave();
  await attempt("login-message", () => done);
});

// ---- Start
// A disabled button would lose the focus.
let isStarting = false;
at("run-view").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (isStarting) return;
  isStarting = true;
  at("run").ariaDisabled = "true";
  await attempt("run-message", runForm);
  at("run").ariaDisabled = "false";
  isStarting = false;
});
at("arguments").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) at("run-view").requestSubmit();
});
const clicks = { refresh, use, download: downloadResult, newer: () => turnPage(""), older: () => turnPage(jobsToShow()[0].at(-1).jid),
  copy: () => attempt("stop-message", copyResult), stop: () => attempt("stop-message", () => stopJob("saltutil.term_job", "Stop")),
  kill: () => attempt("stop-message", () => stopJob("saltutil.kill_job", "Kill")) };
for (const [id, action] of Object.entries(clicks)) at(id).addEventListener("click", action);
let typing = 0;
const filterJobs = () => {
  clearTimeout(typing);
  typing = setTimeout(() => turnPage(""), 250);
};
const inputs = { client: showClient, target: showTargetCount, "target-type": showTargetCount, function: showDocumentation, "jobs-filters": filterJobs,
  "result-filter": drawResult, "minions-filter": drawMinions, "events-filter": drawEvents };
for (const [id, action] of Object.entries(inputs)) at(id).addEventListener("input", action);
at("target").addEventListener("change", () => { if (!functionsOf.local) loadFunctions(); });
at("copy").hidden = !navigator.clipboard;  // browsers offer it to pages over HTTPS and on localhost
at("jobs-filters").addEventListener("submit", (event) => event.preventDefault());
at("pillar-part").addEventListener("toggle", loadPillar);
document.addEventListener("visibilitychange", listen);
window.addEventListener("pagehide", rememberJobs);
window.addEventListener("hashchange", () => {
  if (at("inside").hidden) return;
  open();
  at("title").focus();
});

for (const input of document.querySelectorAll("input, textarea")) Object.assign(input, { autocapitalize: "none", spellcheck: false });
at("eauth").append(...JSON.parse(document.body.dataset.eauths).map((name) => make("option", { textContent: name })));
if (document.body.dataset.sessions === "off") {
  at("no-sessions").hidden = false;
} else if (document.body.dataset.user) {
  enter(document.body.dataset.user, JSON.parse(document.body.dataset.perms));
} else {
  leave();
}
