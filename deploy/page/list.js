// ---- Jobs: a page of the list. The embedded engine selects jobs itself and tells their states. A Salt master lists only the
// newest jobs without states, so the page selects, and asks for the states of the jobs that it shows.
const kRows = 25;
const kMostListed = 4000;  // jobs that the page looks through with a Salt master
const kQueries = ["sys.*", "grains.items", "pillar.items", "saltutil.find_job", "saltutil.term_job", "saltutil.kill_job", "saltutil.running",
  "runner.jobs.*", "runner.doc.*", "runner.manage.versions", "wheel.key.list*", "wheel.key.finger*", "wheel.key.print", "wheel.key.*_dict",
  "wheel.config.values"];
const kQueryPatterns = kQueries.map(globPattern);
let before = "";       // the page shows jobs that are older than this job id
let listed = [];       // the jobs of the page
let hasOlder = false;
let listing = 0;
const field = (id) => at(id).value.trim();
const anywhere = (text) => (/[*?[]/.test(text) ? text : text && `*${text}*`);
const isQuery = (job) => kQueryPatterns.some((pattern) => pattern.test(job.fun));
function isWanted(job) {
  if (!job.fun || (isQuery(job) && !at("queries").checked)) return false;
  const fits = (id, text) => !field(id) || globPattern(anywhere(field(id)).toLowerCase()).test(text.toLowerCase());
  const hours = Number(field("jobs-since"));
  if (hours && startOf(job.jid) < Date.now() - hours * 3600000) return false;
  return fits("jobs-function", job.fun) && fits("jobs-target", targetText(job)) && fits("jobs-user", job.user);
}
const hasState = (job) => !field("jobs-state") || tallyOf(job).state === field("jobs-state");
async function loadJobs() {
  if (!mayListJobs()) {
    drawJobs();
    throw new Error("Your rules do not allow the list of jobs (@jobs). Your own jobs of this tab are shown.");
  }
  const mine = ++listing;
  drawJobs();
  const found = await (document.body.dataset.status ? listFromStatus() : listFromMaster(mine));
  if (mine === listing) listed = found;
  drawJobs();
}
const newestFirst = (list) => list.sort((a, b) => (a.jid < b.jid ? 1 : -1));
const take = (entries) => newestFirst(entries.map(([jid, told]) => describeJob(jobOf(jid), told)));
async function listFromStatus() {
  const hours = Number(field("jobs-since"));
  const since = hours && new Date(Date.now() - hours * 3600000).toISOString().slice(0, 19);
  const wanted = { search_function: anywhere(field("jobs-function")), search_target: anywhere(field("jobs-target")), search_user: anywhere(field("jobs-user")),
    exclude_function: at("queries").checked ? "" : kQueries, start_time: since || "", before };
  const found = take(Object.entries(await runner("jobs.list_jobs", { ...wanted, limit: kRows + 1, status: field("jobs-state") || true })));
  hasOlder = found.length > kRows;
  return found.slice(0, kRows);
}
async function listFromMaster(mine) {
  for (let most = 200; ; most *= 4) {
    const told = await runner("jobs.list_jobs_filter", { count: most });
    const all = take(told.map((job) => [job.JID, job]));
    let older = all.filter((job) => (!before || job.jid < before) && isWanted(job));
    if (older.length <= kRows && told.length === most && most < kMostListed) continue;
    if (field("jobs-state")) {
      older = older.slice(0, 4 * kRows);
      await loadStates(older, mine);
      older = older.filter(hasState);
    }
    hasOlder = older.length > kRows;
    loadStates(older.slice(0, kRows), mine).catch(() => {});
    return older.slice(0, kRows);
  }
}

// Asks for returns of jobs whose state is not known, a few jobs at a time, and which jobs run.
async function loadStates(found, mine) {
  const unknown = found.filter((job) => !job.told && !job.keepsReturns);
  const active = found.length ? run({ client: "runner", fun: "jobs.active" }).catch(() => ({})) : null;
  for (let first = 0; first < unknown.length && mine === listing; first += 5) {
    const some = unknown.slice(first, first + 5);
    const told = (await call("", some.map(({ jid }) => ({ client: "runner", fun: "jobs.list_job", jid })))).return;
    some.forEach((job, index) => {
      const results = Object.values(told[index].Result ?? {});
      const failed = results.filter(hasFailed).length;
      const minions = Math.max((told[index].Minions ?? []).length, results.length);
      job.told = { state: "over", minions, returned: results.length, failed };
      for (const [minion] of Object.entries(told[index].Result ?? {})) contacts.set(minion, Math.max(contacts.get(minion) ?? 0, startOf(job.jid)));
    });
    drawJobs();
  }
  const running = await active;
  for (const job of found) if (job.told && running?.[job.jid]) job.told.state = "running";
  drawJobs();
}

// The page's jobs, and on the first page those that events told of since.
function jobsToShow() {
  const newest = listed[0]?.jid ?? "";
  const live = before ? [] : [...jobs.values()].filter((job) => (job.jid > newest || !listed.includes(job) && !mayListJobs()) && isWanted(job));
  const all = newestFirst([...live, ...listed.filter((job) => !live.includes(job))].filter(hasState));
  return [all.slice(0, kRows), all.length > kRows];
}
function rowOfJob(job) {
  const link = make("a", { href: `#job/${encodeURIComponent(job.jid)}`, textContent: job.fun });
  return row(make("span", {}, link, make("span", { className: "faint mono", textContent: ` ${shortened(shownArguments(job).join(" "), 60)}` })),
    "", shortened(targetText(job), 80), make("span", { className: "nowrap", textContent: moment(startOf(job.jid)) }), "", job.user);
}
function drawRow(job) {
  job.row ??= rowOfJob(job);
  const tally = tallyOf(job);
  const text = `${stateText(tally)}${durationOf(job)}`;
  if (job.rowText !== text) job.row.cells[1].replaceChildren(stateMark(tally));
  job.rowText = text;
  job.row.cells[4].textContent = durationOf(job);
  return job.row;
}
function drawJobs() {
  const [shown, isCut] = jobsToShow();
  fill("jobs", shown.map(drawRow));
  const isMore = hasOlder || isCut;
  write("jobs-count", `${count(shown.length, "job")}${isMore || before ? " on this page" : ""}`);
  hide("older", !isMore);
  hide("newer", !before);
}
const drawJobsSoon = soon(() => { if (views.jobs.isShown) drawJobs(); });
function turnPage(jid) {
  before = jid;
  refresh();
}

// ---- If the rules forbid jobs.list_jobs, this tab keeps the user's own jobs, without arguments, until the logout
function rememberJobs() {
  if (mayListJobs() || at("inside").hidden) return;
  const own = [...jobs.values()].filter((job) => job.isOwn && !isQuery(job)).slice(-50);
  const kept = own.map((job) => ({ jid: job.jid, fun: job.fun, tgt: job.tgt, tgt_type: job.tgtType, user: job.user, Status: tallyOf(job) }));
  sessionStorage.setItem("jobs", JSON.stringify({ user: at("user").textContent, kept }));
}
function recallJobs() {
  const { user, kept } = JSON.parse(sessionStorage.getItem("jobs") ?? "{}");
  if (user !== at("user").textContent) return sessionStorage.clear();
  for (const told of kept) describeJob(jobOf(told.jid), told).isOwn = true;
}
