// SPDX-License-Identifier: MIT
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "netapi/handlers.h"
#include "rest_fcgi/core/format.h"

namespace rest_fcgi::netapi {
namespace {

// One page for who comes with a browser and no GUI of their own (the option `app`). It uses nothing but
// itself and the URLs beside it; the session is the cookie, which scripts cannot read.
constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>rest_fcgi</title>
<style nonce="@NONCE@">
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
label { display: block; margin: .5rem 0; }
input { font: inherit; padding: .25rem; width: 16rem; }
button { font: inherit; padding: .25rem 1rem; }
table { border-collapse: collapse; width: 100%; margin-bottom: 2rem; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }
#message { color: #a00; min-height: 1.5rem; }
[hidden] { display: none; }
</style>
</head>
<body data-base="@BASE@">
<h1>rest_fcgi</h1>
<p>This answers as Salt's REST interface does. Programs ask it for JSON or YAML: see Salt's manual of
<code>rest_cherrypy</code>.</p>
<p id="message" role="alert"></p>
<form id="login">
<label>User <br><input id="username" name="username" autocomplete="username" required></label>
<label>Password <br><input id="password" name="password" type="password" autocomplete="current-password"></label>
<label>External auth <br><input id="eauth" name="eauth" value="pam" required></label>
<button>Log in</button>
</form>
<div id="inside" hidden>
<p><button id="refresh" type="button">Refresh</button> <button id="logout" type="button">Log out</button></p>
<h2>Minions</h2>
<table><thead><tr><th>Minion</th><th>OS</th><th>Salt</th></tr></thead><tbody id="minions"></tbody></table>
<h2>Jobs</h2>
<table><thead><tr><th>Job</th><th>Function</th><th>Target</th><th>User</th><th>Started</th></tr></thead>
<tbody id="jobs"></tbody></table>
</div>
<script nonce="@NONCE@">
"use strict";
const base = document.body.dataset.base;
const at = (id) => document.getElementById(id);

async function ask(path, body) {
  const options = { headers: { "Accept": "application/json" }, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  const answer = await fetch(base + path, options);
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.return), { status: answer.status });
  return value;
}

function show(inside) {
  at("inside").hidden = !inside;
  at("login").hidden = inside;
}

function fill(id, rows) {
  at(id).replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) row.appendChild(document.createElement("td")).textContent = String(cell ?? "");
    return row;
  }));
}

async function refresh() {
  const minions = (await ask("/minions")).return[0];
  show(true);
  fill("minions", Object.keys(minions).sort().map((id) => [id, minions[id].osfinger, minions[id].saltversion]));
  const jobs = (await ask("/jobs")).return[0];
  const text = (target) => (Array.isArray(target) ? target.join(", ") : target);
  fill("jobs", Object.keys(jobs).sort().reverse().slice(0, 100).map(
    (jid) => [jid, text(jobs[jid].Function), text(jobs[jid].Target), jobs[jid].User, jobs[jid].StartTime]));
}

async function attempt(action) {
  at("message").textContent = "";
  try {
    await action();
  } catch (error) {
    if (error.status === 401) show(false);
    at("message").textContent = error.message;
  }
}

at("login").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    await ask("/login", { username: at("username").value, password: at("password").value, eauth: at("eauth").value });
    at("password").value = "";
    show(true);
    await refresh();
  });
});
at("refresh").addEventListener("click", () => attempt(refresh));
at("logout").addEventListener("click", () => attempt(async () => {
  await ask("/logout", {});
  show(false);
  fill("minions", []);
  fill("jobs", []);
}));
refresh().catch(() => show(false));
</script>
</body>
</html>
)html";

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

http::Response own_page(const Exchange& exchange) {
  const std::string nonce = fresh_nonce();
  std::string html(kPage);
  replace_all(html, "@NONCE@", nonce);
  replace_all(html, "@BASE@", escaped(exchange.base));
  return page_reply(http::Status::ok, std::move(html), nonce);
}

}  // namespace rest_fcgi::netapi
