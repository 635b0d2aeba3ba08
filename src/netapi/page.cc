// SPDX-License-Identifier: MIT
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::netapi {
namespace {

// One page for who comes with a browser and no GUI of their own (the option `app`). It uses nothing but
// itself and the URLs beside it; the session is the cookie, which scripts cannot read, so that the page is
// told whose it is.
constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rest_fcgi</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%2300695c'/%3E%3Ccircle cx='8' cy='8' r='4' fill='white'/%3E%3C/svg%3E">
<style nonce="@NONCE@">
:root { color-scheme: light dark; --page: #f2f5f5; --card: #fff; --text: #1d2626; --faint: #5b6b6b; --line: #d8e0e0;
  --own: #00695c; --on-own: #fff; --bad: #a3160e; --bad-back: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --page: #131919; --card: #1d2626; --text: #e4ecec; --faint: #9fb0b0;
  --line: #344242; --own: #4db6a5; --on-own: #06201c; --bad: #ffb4ab; --bad-back: #4a1712; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: var(--page); color: var(--text); }
header { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; padding: .75rem 1.5rem;
  background: var(--own); color: var(--on-own); }
header strong { font-size: 1.25rem; margin-right: auto; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1.25rem 1.5rem;
  margin-bottom: 1.5rem; }
#login { max-width: 26rem; margin: 2rem auto 1.5rem; }
#about { max-width: 26rem; margin: 0 auto; color: var(--faint); font-size: .9rem; }
h1, h2 { margin: 0 0 .75rem; font-size: 1.2rem; line-height: 1.3; }
.count { color: var(--faint); font-weight: normal; }
label { display: block; margin: 0 0 .9rem; font-size: .9rem; color: var(--faint); }
input, button { font: inherit; border-radius: .35rem; padding: .45rem .7rem; }
input { display: block; width: 100%; margin-top: .2rem; color: var(--text); background: var(--page);
  border: 1px solid var(--line); }
button { cursor: pointer; border: 1px solid var(--own); background: var(--own); color: var(--on-own); }
header button { border-color: currentColor; }
#login button { width: 100%; }
:focus-visible { outline: 2px solid var(--text); outline-offset: 2px; }
.message { margin: 0 0 .9rem; padding: .5rem .75rem; border-radius: .35rem; color: var(--bad); background: var(--bad-back); }
.message:empty { display: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem 1rem .4rem 0; border-bottom: 1px solid var(--line); }
th { font-size: .85rem; font-weight: 600; color: var(--faint); }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
tbody tr:last-child td { border-bottom: 0; }
</style>
</head>
<body data-base="@BASE@" data-user="@USER@">
<header><strong>rest_fcgi</strong><span id="who"></span>
<button id="refresh" type="button" hidden>Refresh</button><button id="logout" type="button" hidden>Log out</button></header>
<main>
<form id="login" class="card" hidden>
<h1>Log in</h1>
<p id="message" class="message" role="alert"></p>
<label>User <input id="username" name="username" autocomplete="username" required autofocus></label>
<label>Password <input id="password" name="password" type="password" autocomplete="current-password"></label>
<label>External auth <input id="eauth" name="eauth" value="pam" list="known" spellcheck="false" required></label>
<datalist id="known"><option>pam</option><option>file</option><option>ldap</option><option>sharedsecret</option></datalist>
<button>Log in</button>
</form>
<p id="about">This server answers as Salt's REST interface <code>rest_cherrypy</code> does. Programs get JSON or YAML at
the same URLs.<span hidden id="no-sessions"> Nobody can log in here: <code>enable_sessions</code> is off. Programs send
credentials with each request.</span></p>
<div id="inside" hidden>
<section class="card"><h2>Minions <span id="minions-count" class="count"></span></h2>
<p id="minions-message" class="message" role="alert"></p>
<div class="scroll"><table><thead><tr><th>Minion</th><th>System</th><th>Salt</th></tr></thead>
<tbody id="minions"></tbody></table></div></section>
<section class="card"><h2>Jobs <span id="jobs-count" class="count"></span></h2>
<p id="jobs-message" class="message" role="alert"></p>
<div class="scroll"><table>
<thead><tr><th>Job</th><th>Started</th><th>Function</th><th>Target</th><th>User</th><th>Returned</th></tr></thead>
<tbody id="jobs"></tbody></table></div></section>
</div>
</main>
<script nonce="@NONCE@">
"use strict";
const base = document.body.dataset.base;
const at = (id) => document.getElementById(id);
const text = (value) => (Array.isArray(value) ? value.join(", ") : String(value ?? ""));

async function ask(path, body) {
  const options = { headers: { "Accept": "application/json" }, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(base + path, options).catch(() => { throw new Error("The server does not answer."); });
  const value = await answer.json().catch(() => ({ return: `${answer.status} ${answer.statusText}` }));
  if (!answer.ok) throw Object.assign(new Error(text(value.return)), { status: answer.status });
  return value.return;
}

function show(user) {
  for (const id of ["inside", "refresh", "logout"]) at(id).hidden = !user;
  for (const id of ["login", "about"]) at(id).hidden = Boolean(user);
  at("who").textContent = user;
  listen(user);
  if (!user) for (const id of ["minions", "jobs"]) fill(id, []);
}

function fill(id, rows, shown = rows.length) {
  if (at("inside").hidden) rows = [];  // an answer that came after the logout
  at(`${id}-message`).textContent = "";
  at(`${id}-count`).textContent = shown < rows.length ? `${rows.length}, the newest ${shown}` : String(rows.length);
  at(id).replaceChildren(...rows.slice(0, shown).map(rowOf));
}

function rowOf(cells) {
  const row = document.createElement("tr");
  for (const cell of cells) row.appendChild(document.createElement("td")).textContent = text(cell);
  return row;
}

// Jobs as they start and return; where no events are to be had, the button brings them.
let events;
const heard = new Map();
function listen(user) {
  events?.close();
  heard.clear();
  if (!user) return;
  events = new EventSource(`${base}/events?tag=salt/job/*/new&tag=salt/job/*/ret/*`);
  events.onopen = () => showJobs().catch(() => {});  // those that came before it listened
  events.onmessage = ({ data }) => hear(JSON.parse(data));
}

function hear({ tag, data }) {
  const [, , jid, what, minion] = tag.split("/");
  const isShown = (row) => row.firstChild.textContent === jid;
  if (what === "new") heard.set(jid, { of: data.minions.length, from: new Set() });
  if (heard.size > 1000) heard.delete(heard.keys().next().value);
  if (minion) heard.get(jid)?.from.add(minion);
  let row = [...at("jobs").rows].find(isShown);
  if (!row && what === "new") {
    row = rowOf([jid, text(data._stamp).slice(0, 19).replace("T", " "), data.fun, data.tgt, data.user, ""]);
    at("jobs").prepend(row);
    at("jobs").rows[100]?.remove();
  }
  if (row) row.lastChild.textContent = returned(jid);
}

function returned(jid) {
  const job = heard.get(jid);
  return job ? `${job.from.size} of ${job.of}` : "";
}

async function showMinions() {
  const [minions] = await ask("/minions");
  fill("minions", Object.keys(minions).sort().map((id) => {
    const grains = minions[id];
    return [id, grains ? grains.osfinger ?? grains.os : "does not answer", grains?.saltversion ?? "\u2013"];
  }));
}

async function showJobs() {
  const [jobs] = await ask("/jobs");
  const rows = Object.keys(jobs).sort().reverse().map((jid) => {
    const job = jobs[jid];
    return [jid, text(job.StartTime).replace(/\.\d+$/, ""), job.Function, job.Target, job.User, returned(jid)];
  });
  fill("jobs", rows, Math.min(rows.length, 100));
}

async function refresh() {
  const done = await Promise.allSettled([showMinions(), showJobs()]);
  const errors = done.map((one) => one.reason);
  if (errors.every((error) => error?.status === 401)) {
    show("");
    throw errors[0];
  }
  ["minions", "jobs"].forEach((id, i) => {
    if (!errors[i]) return;
    fill(id, []);
    at(`${id}-count`).textContent = "";
    at(`${id}-message`).textContent = errors[i].message;
  });
}

async function attempt(action) {
  at("message").textContent = "";
  try {
    await action();
  } catch (error) {
    at("message").textContent = error.message;
  }
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const [session] = await ask("/login",
      { username: at("username").value, password: at("password").value, eauth: at("eauth").value });
    show(session.user);
    await refresh();
  }).then(() => { at("password").value = ""; });
});
at("refresh").addEventListener("click", () => attempt(refresh));
at("logout").addEventListener("click", () => attempt(async () => {
  try {
    await ask("/logout", {});
  } finally {
    show("");
  }
}));
if (base === "-") {
  at("no-sessions").hidden = false;
} else {
  show(document.body.dataset.user);
  if (document.body.dataset.user) attempt(refresh);
}
</script>
</body>
</html>
)html";

constexpr std::chrono::seconds kPatience{2};  // with a master that is asked whose the session is

/// 128 bits that nobody can guess.
std::string fresh_nonce() {
  std::random_device dice;
  std::string nonce;
  for (int i = 0; i < 4; ++i) nonce += format("{:08x}", static_cast<std::uint32_t>(dice()));
  return nonce;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

}  // namespace

http::Response own_page(Exchange& exchange) {
  const std::string nonce = fresh_nonce();
  std::string html(kPage);
  replace_all(html, "@NONCE@", nonce);
  // What the script takes for "without sessions": the base of URLs is empty, or begins with a slash.
  replace_all(html, "@BASE@", exchange.app.options.enable_sessions ? escaped(exchange.base) : "-");
  // A master that does not answer keeps nobody from the page: it is that of somebody who has to log in.
  exchange.deadline = std::min(exchange.deadline, exchange.app.clock.steady() + kPatience);
  // Also where a link on somebody else's page led here: they cannot read this.
  const auto session = shown_session(exchange);
  replace_all(html, "@USER@", session ? escaped(session->user) : std::string());
  http::Response response = page_reply(http::Status::ok, std::move(html), nonce);
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace rest_fcgi::netapi
