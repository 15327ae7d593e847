// Fetches /json and /live once a second and shows them. The token stands behind the # of the address, which browsers do not
// send; it goes into a header. All text becomes text nodes: nothing that a program calls its tasks is markup.
"use strict";

const PERIOD = 1000;
const byId = (id) => document.getElementById(id);
let paused = false;
// A click is a press and a release on one element, so what is shown stays while one of its buttons is pressed.
let pressed = false;
// Polls at the last look, by runtime and worker, for the polls per second.
let before = new Map();
let beforeAt = 0;
// What the page's thread had used at the last look.
let costBefore = null;
// The order and the filter of the table of tasks, which the program applies.
let sort = "";
let filter = "";
let last = null;

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const count = (number) => Number(number).toLocaleString("en");

function duration(ms) {
  if (ms === null || ms === 0) return "";
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 7200000) return `${Math.floor(ms / 60000)} min`;
  return `${(ms / 3600000).toFixed(1)} h`;
}

const orders = { "": "none", "▲": "ascending", "▼": "descending" };
const arrow = (column) => (sort === column ? "▲" : sort === `-${column}` ? "▼" : "");

// The head of a column. The program can sort by those that it has a name for.
function heading([title, kind, , column]) {
  if (column === undefined) return element("th", { class: kind, scope: "col" }, title);
  const button = element("button", { type: "button", "data-sort": column, title: "sort by this" },
    `${title} ${arrow(column)}`.trim());
  return element("th", { class: kind, scope: "col", "aria-sort": orders[arrow(column)] }, button);
}

// Columns: [title, class, value of a row, what the program calls it if it can sort by it]. One of them stands if a
// row has something there, the table is sorted by it, or there are no rows.
function table(all, rows, mark) {
  const values = rows.map((row) => all.map(([, , value]) => {
    const shown = value(row);
    return shown instanceof Node ? shown : String(shown ?? "");
  }));
  const stands = all.map(([, , , column], index) => rows.length === 0 ||
    (column !== undefined && arrow(column) !== "") || values.some((row) => row[index] !== ""));
  const ofStanding = (list) => list.filter((_, index) => stands[index]);
  const columns = ofStanding(all);
  const body = rows.map((row, number) => {
    const cells = ofStanding(values[number]).map((shown, index) => element("td", { class: columns[index][1] }, shown));
    return element("tr", { class: mark?.(row) ? "bad" : "" }, ...cells);
  });
  const made = element("table", {},
    element("thead", {}, element("tr", {}, ...columns.map(heading))), element("tbody", {}, ...body));
  return element("div", { class: "scroll" }, made);
}

function section(title, ...children) {
  return element("section", {}, element("h3", {}, title), ...children);
}

function more(number, what) {
  return number > 0 ? [element("p", { class: "more" }, `and ${count(number)} ${what} more`)] : [];
}

function numbers(pairs) {
  const rows = pairs.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, String(value))));
  return element("dl", { class: "numbers" }, ...rows);
}

// Sentences that are the same stand once, with their number.
function grouped(texts) {
  const times = new Map();
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1);
  return [...times].map(([text, number]) => (number === 1 ? text : `${text} (${count(number)} times)`));
}

function findings(runtime) {
  const texts = grouped(runtime.findings.map((finding) => finding.text));
  const sentences = texts.map((text) => element("li", {}, text));
  const notable = [...(runtime.lately === null ? [] : [runtime.lately]), ...runtime.look_at.map(({ text }) => text)];
  if (sentences.length === 0) {
    const calm = notable.length === 0 ? "nothing is wrong that a dump shows" : "no finding";
    sentences.push(element("li", { class: "good" }, `${calm}; ${runtime.not_looked_at}`));
  }
  sentences.push(...notable.map((text) => element("li", { class: "past" }, text)));
  return [element("ul", { class: "findings" }, ...sentences), ...more(runtime.findings_left_out, "findings")];
}

function workers(runtime, seconds) {
  const rate = (worker) => {
    const last = before.get(`${runtime.id}/${worker.index}`);
    return last === undefined || seconds <= 0 ? "" : count(Math.round((worker.polls - last) / seconds));
  };
  const columns = [
    ["worker", "number", (worker) => worker.index],
    ["state", "", (worker) => worker.state],
    ["polls/s", "number", rate],
    ["stolen", "number minor", (worker) => count(worker.stolen)],
    ["injected", "number minor", (worker) => count(worker.injected)],
    ["parks", "number minor", (worker) => count(worker.parks)],
    ["in this poll", "number", (worker) => duration(worker.poll_ms)],
    ["task", "number", (worker) => worker.task?.id],
    ["name", "", (worker) => worker.task_name],
    ["spawned at", "place", (worker) => worker.task?.spawned_at],
    ["the thread", "", doing],
  ];
  const slow = (worker) => worker.is_slow;
  return section("Workers", table(columns, runtime.workers, slow), ...more(runtime.workers_left_out, "workers"));
}

function slowPolls(runtime) {
  const ended = (poll) => (poll.ended_ms_ago === null ? "under way" : `${duration(poll.ended_ms_ago) || "0 ms"} ago`);
  const columns = [
    ["ended", "number", ended],
    ["lasted", "number", (poll) => duration(poll.duration_ms)],
    ["worker", "number", (poll) => poll.worker],
    ["task", "number", (poll) => poll.task?.id],
    ["name", "", (poll) => poll.task_name],
    ["spawned at", "place", (poll) => poll.task?.spawned_at],
    ["the thread", "", doing],
  ];
  const underWay = (poll) => poll.ended_ms_ago === null;
  return section("The last slow polls", table(columns, runtime.last_slow_polls, underWay));
}

function elsewhere(runtime) {
  const columns = [
    ["task", "number", (task) => task.id],
    ["spawned at", "place", (task) => task.spawned_at],
  ];
  return section("Polled by threads other than workers",
    table(columns, runtime.polled_elsewhere), ...more(runtime.polled_elsewhere_left_out, "tasks"));
}

// What a thread does, and which function of the program.
const doing = ({ activity, call }) => (call == null ? activity
  : `${activity}, ${activity?.startsWith("in ") ? "called by" : "seen in"} ${call}`);

function pool(runtime) {
  const { pool } = runtime;
  const columns = [
    ["task", "number", (job) => job.id],
    ["name", "", (job) => job.name],
    ["for", "number", (job) => duration(job.age_ms)],
    ["spawned at", "place", (job) => job.spawned_at],
    ["the thread", "", doing],
  ];
  const facts = [
    ["threads", `${count(pool.threads)} of ${count(pool.max_threads)}`],
    ["idle", count(pool.idle_threads)],
    ["jobs that wait", count(pool.queued)],
  ];
  if (pool.longest_wait_ms !== null) facts.push(["the first for", duration(pool.longest_wait_ms) || "0 ms"]);
  const jobs = pool.jobs.length > 0 ? [table(columns, pool.jobs)] : [];
  return section("Blocking pool", numbers(facts), ...jobs, ...more(pool.jobs_left_out, "jobs"));
}

function swatch(live, name) {
  const mark = element("span", { class: "swatch" });
  const number = live.places.indexOf(name) + 1;
  mark.style.background = number > 0 ? colour(live, number) : "transparent";
  return element("span", { class: "marked" }, mark, name);
}

// The live tasks by place, and what polls of such tasks have taken lately, of those that have ended, too.
function places(runtime, live, lately) {
  const rows = runtime.places.map((place) => ({ ...place, lately: lately?.places.get(place.spawned_at) }));
  // A place with futures of several types has several rows, and its time is shown once.
  const met = new Set();
  for (const row of rows) {
    if (met.has(row.spawned_at)) row.lately = undefined;
    met.add(row.spawned_at);
  }
  const others = [...(lately?.places.values() ?? [])].filter((place) => !met.has(place.name));
  // They have ended, unless they are of places that are not listed.
  const tasks = (place) => (place.number === 0 || runtime.places_left_out > 0 ? undefined : 0);
  rows.push(...others.map((place) => ({ spawned_at: place.name, lately: place, tasks: tasks(place) })));
  rows.sort((a, b) => (b.lately?.time ?? 0) - (a.lately?.time ?? 0) || (b.tasks ?? 0) - (a.tasks ?? 0));
  const shown = rows.slice(0, 100);
  const left = runtime.places_left_out + rows.length - shown.length;
  // One that sleeps all the time has no lane.
  const present = runtime.workers.slice(0, 32).filter((worker) => !["resting", "absent"].includes(worker.state)).length;
  const whole = (lately?.seconds ?? 0) * 1e6 * Math.max(lately?.lanes ?? 0, present);
  const percent = (time) => (whole > 0 ? `${((time / whole) * 100).toFixed(1)} %` : "");
  const number = (value) => (value === undefined ? "" : count(value));
  const columns = [
    ["spawned at", "place", (place) => (live ? swatch(live, place.spawned_at) : place.spawned_at)],
    ["of the workers", "number", (place) => (place.lately ? percent(place.lately.time) : "")],
    ["polls/s", "number", (place) => (place.lately ? count(Math.round(place.lately.polls / lately.seconds)) : "")],
    ["mean poll", "number", (place) => (place.lately?.polls ? micros(place.lately.polled / place.lately.polls) : "")],
    ["longest ≥ 0.2 s", "number", (place) => (place.lately?.longest ? micros(place.lately.longest) : "")],
    ["tasks", "number", (place) => number(place.tasks)],
    ["running", "number", (place) => number(place.running)],
    ["ready", "number", (place) => number(place.ready)],
    ["waiting", "number", (place) => number(place.waiting)],
    ["for ever", "number", (place) => place.stuck || ""],
    ["bytes in all", "number minor", (place) => place.bytes == null ? "" : count(place.bytes)],
    ["bytes each", "number minor", (place) => place.future_size == null ? "" : count(place.future_size)],
    ["type of the future", "type minor", (place) => place.type_name],
  ];
  const title = "By place of the spawn";
  const note = lately ? `the last ${lately.seconds.toFixed(0)} s, and the tasks that are alive` : "";
  return element("section", {}, element("h3", {}, title, element("small", {}, note)),
    table(columns, shown), ...more(left, "places"));
}

// Channels and sets of tasks, by the place where they are made.
function queues(runtime) {
  const columns = [
    ["made at", "place", (queue) => queue.made_at],
    ["what", "", (queue) => queue.what],
    ["in them", "", (queue) => queue.holds],
    ["the longest", "number", (queue) => count(queue.longest)],
  ];
  const note = "made since there is a page";
  return element("section", {}, element("h3", {}, "Channels and sets of tasks", element("small", {}, note)),
    table(columns, runtime.queues), ...more(runtime.queues_left_out, "places"));
}

const isForEver = (task) => task.is_stuck || task.is_deadlocked;
const forEver = (task) => !isForEver(task) ? "" : task.is_unless_given ? " for ever unless a guard was given to another task" : " for ever";

function tasks(runtime) {
  const columns = [
    ["task", "number", (task) => task.id, "id"],
    ["name", "", (task) => task.name, "name"],
    ["works on", "", (task) => task.description],
    ["state", "", (task) => element("span", { class: task.state }, task.state + forEver(task)), "state"],
    ["waits for", "", (task) => task.waits_for.map((wait) => wait.text).join("; ")],
    ["for at least", "number", (task) => duration(task.cold_ms), "wait"],
    ["polls", "number minor", (task) => (task.polls === null ? "" : count(task.polls)), "polls"],
    ["spawned at", "place", (task) => task.spawned_at, "place"],
    ["bytes", "number minor", (task) => task.future_size === null ? "" : count(task.future_size), "size"],
    ["type of the future", "type minor", (task) => task.type_name, "type"],
    ["", "", (task) => (task.state === "waiting" ? treeButton(task.id) : "")],
  ];
  const note = last.filter === "" ? "" : `${count(runtime.task_list_matching)} with “${last.filter}”`;
  const all = element("button", { type: "button", class: "small", "data-trees": "",
    title: "polls each task once more, and shows how many wait in which function" }, "where they wait");
  return element("section", {}, element("h3", {}, "Tasks ", all, element("small", {}, note)),
    table(columns, runtime.task_list, isForEver), ...more(runtime.task_list_left_out, "tasks"));
}

// Those on which nothing has happened for the longest come first.
function sockets(runtime) {
  const number = (value) => (value === null ? "" : count(value));
  const waits = (socket) => {
    const left = socket.tasks_left_out > 0 ? [`and ${count(socket.tasks_left_out)} more`] : [];
    return [...socket.tasks.map((task) => `task ${task.id} for ${task.event}`), ...left].join("; ");
  };
  const columns = [
    ["fd", "number", (socket) => socket.descriptor],
    ["kind", "", (socket) => socket.kind],
    ["local", "", (socket) => socket.local],
    ["peer", "", (socket) => socket.peer],
    ["state", "", (socket) => socket.state],
    ["to read", "number", (socket) => number(socket.received)],
    ["to send", "number", (socket) => number(socket.unsent)],
    ["no event for at least", "number", (socket) => duration(socket.quiet_ms)],
    ["tasks that wait", "", waits],
  ];
  const trouble = runtime.sockets_trouble === null ? []
    : [element("p", { class: "bad" }, `what they lead to is not known: ${runtime.sockets_trouble}`)];
  const note = "to read and to send: bytes; of one that listens, connections to accept";
  return element("section", { class: "sockets" }, element("h3", {}, "Sockets and other sources", element("small", {}, note)),
    ...trouble, table(columns, runtime.sockets), ...more(runtime.sockets_left_out, "sources"));
}

function lanes(runtime, live) {
  const shown = Math.min(runtime.workers.length, 32);
  const rest = runtime.workers.length + runtime.workers_left_out - shown;
  const note = "height: share of the time; colours: places of spawns, below; light blue: calls wakers; grey: asleep";
  return element("section", {}, element("h3", {}, "What the workers did", element("small", {}, note)),
    live.lanes, live.hint, ...more(rest, "workers"));
}

function heat(title, canvas, counts, total) {
  const part = (share) => micros(quantile(counts, share));
  // The program knows no end of the longest times.
  const since = (name) => total?.count > 0 ? micros(total[name] ?? Infinity) : "–";
  const text = `since the start: half up to ${since("p50_us")}, 99 % up to ${since("p99_us")}, the longest ${since("max_us")}; ` +
    `last 10 s, rounded up to a power of two: half below ${part(0.5)}, 99 % below ${part(0.99)}`;
  return element("section", {}, element("h3", {}, title, element("small", {}, text)), canvas);
}

// The pictures are drawn when they have their size.
function draw() {
  if (last === null) return;
  const seconds = Number(byId("span").value);
  for (const runtime of last.runtimes) {
    const live = lives.get(runtime.id);
    if (live?.bin === undefined) continue;
    drawLanes(live, Math.min(runtime.workers.length, 32), seconds, runtime.slow_poll_threshold_us);
    drawHeat(live, live.polls, "polls", seconds);
    drawHeat(live, live.waits, "waits", seconds);
  }
}

function show(runtime, seconds) {
  const name = runtime.name === null ? "" : ` “${runtime.name}”`;
  const kind = runtime.flavor === "multi_thread" ? "" : ", without workers";
  const { alive, running, ready, waiting, never_waited } = runtime.tasks;
  const parts = [
    element("h2", {}, `runtime ${runtime.id}${name}${kind}`),
    ...findings(runtime),
    numbers([
      ["tasks alive", count(alive)],
      ["running", count(running)],
      ["ready", count(ready)],
      ["waiting", count(waiting)],
      ["in a queue, never waited", count(never_waited)],
      ["timers", count(runtime.timers)],
      ["sources", count(runtime.sources)],
      ["slow polls", count(runtime.slow_polls)],
      ["polls that blocked the last free worker", count(runtime.blocked_polls)],
    ]),
  ];
  const live = lives.get(runtime.id);
  const isLive = live?.bin !== undefined;
  const lately = isLive ? sums(live, 50) : undefined;
  if (isLive) {
    parts.push(lanes(runtime, live));
    parts.push(element("div", { class: "pair" },
      heat("How long polls took", live.polls, lately.counts.polls, runtime.poll_times),
      heat("How long ready tasks waited", live.waits, lately.counts.waits, runtime.schedule_latencies)));
  }
  if (runtime.workers.length > 0) parts.push(workers(runtime, seconds));
  if (runtime.last_slow_polls.length > 0) parts.push(slowPolls(runtime));
  if (runtime.polled_elsewhere.length > 0) parts.push(elsewhere(runtime));
  if (runtime.places.length > 0 || lately?.places.size > 0) parts.push(places(runtime, live, lately));
  if (runtime.queues.length > 0) parts.push(queues(runtime));
  parts.push(...waitGraph(runtime));
  if (runtime.task_list.length > 0 || last.filter !== "") parts.push(tasks(runtime));
  if (runtime.sockets.length > 0) parts.push(sockets(runtime));
  parts.push(pool(runtime));
  return element("article", { id: `runtime-${runtime.id}` }, ...parts);
}

// Of all runtimes, if the program's allocator tells.
function memory(places, left) {
  const columns = [
    ["allocated by tasks spawned at", "place", (place) => place.spawned_at ?? "(other code than tasks)"],
    ["bytes that were not given back, about", "number", (place) => count(place.bytes)],
  ];
  return element("article", {}, section("Memory", table(columns, places), ...more(left, "places")));
}

function status(text, isBad) {
  byId("status").textContent = text;
  byId("status").className = isBad ? "bad" : "";
  if (isBad) tell(text);
}

// For those who hear the page: what is wrong, when it changes. The time of the last look changes each second.
function tell(text) {
  if (byId("news").textContent !== text) byId("news").textContent = text;
}

// What the page takes of the program, of one core, and whether it has seen everything.
function cost(seen) {
  const { processor_us: used, open_us: at } = seen.cost;
  const shares = [];
  if (used !== null && costBefore !== null && at > costBefore.at) {
    shares.push(`this page takes ${(((used - costBefore.used) / (at - costBefore.at)) * 100).toFixed(1)} % of a core`);
  }
  costBefore = { used, at };
  const lost = [...lives.values()].reduce((sum, live) => sum + live.lost, 0);
  shares.push(lost === 0 ? "no event lost" : `${count(lost)} events lost`);
  byId("cost").textContent = shares.join("; ");
  byId("cost").className = lost === 0 ? "" : "bad";
}

function update(seen) {
  last = seen;
  cost(seen);
  const now = performance.now();
  const seconds = (now - beforeAt) / 1000;
  byId("title").textContent = `${seen.program}, process ${seen.process}, liten ${seen.liten}`;
  document.title = `${seen.program} – insight`;
  // Runtimes with findings come first.
  seen.runtimes.sort((a, b) => b.findings.length - a.findings.length);
  const shown = seen.runtimes.map((runtime) => show(runtime, seconds));
  if (seen.memory.length > 0) shown.push(memory(seen.memory, seen.memory_left_out));
  byId("runtimes").replaceChildren(...shown, ...more(seen.runtimes_left_out, "runtimes"));
  draw();
  before = new Map(seen.runtimes.flatMap((runtime) =>
    runtime.workers.map((worker) => [`${runtime.id}/${worker.index}`, worker.polls])));
  beforeAt = now;
  const ended = seen.runtimes_ended > 0 ? `; ${count(seen.runtimes_ended)} observed runtimes have ended` : "";
  const none = seen.runtimes.length === 0;
  // Where a thread is seen that computes is another place each second.
  const calm = (text) => text.replaceAll(/, seen in [^;]*/g, "").replaceAll(/\d+/g, "…");
  const wrong = seen.runtimes.flatMap((runtime) => runtime.findings.map((finding) => calm(finding.text)));
  tell(wrong.length === 0 ? "nothing is wrong" : grouped(wrong).join(". "));
  status(`${none ? "no runtime is left" : `as of ${new Date().toLocaleTimeString()}`}${ended}`, none);
}

async function ask(path, limit) {
  return fetch(path, {
    headers: { Authorization: `Bearer ${location.hash.slice(1)}` },
    cache: "no-store",
    credentials: "omit",
    signal: AbortSignal.timeout(limit),
  });
}

async function look() {
  if (location.hash.length < 2) {
    status("the token is missing: open the whole address that the program has written to its standard error", true);
    return;
  }
  try {
    const asked = filter;
    const table = `sort=${sort}&filter=${encodeURIComponent(asked)}&rows=200`;
    const answers = await Promise.all([ask(`/live?after=${livePositions()}`, 10000), ask(`/json?${table}`, 10000)]);
    const bad = answers.find((answer) => !answer.ok);
    if (bad !== undefined) {
      status(`${bad.status}: ${await bad.text()}`, true);
      return;
    }
    const [live, seen] = await Promise.all(answers.map((answer) => answer.json()));
    takeLive(live);
    if (!pressed) update({ ...seen, filter: asked });
  } catch (error) {
    status(`the program does not answer (${error.name}); what stands here is from before`, true);
  }
}

// One look at a time: each reads on where the last one stopped.
let looking = Promise.resolve();
function lookNow() {
  looking = looking.then(look);
  return looking;
}

async function watch() {
  if (!paused && !document.hidden) {
    await lookNow();
  }
  setTimeout(watch, PERIOD);
}

async function trace() {
  const [button, seconds] = [byId("trace"), Number(byId("trace-seconds").value)];
  button.disabled = true;
  button.textContent = "recording …";
  try {
    const answer = await ask(`/trace?seconds=${seconds}`, seconds * 1000 + 30000);
    if (!answer.ok) throw new Error(await answer.text());
    const address = URL.createObjectURL(await answer.blob());
    const link = element("a", { href: address, download: `${last?.program ?? "liten"}-${Date.now()}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  } catch (error) {
    status(`nothing was recorded: ${error.message}`, true);
  }
  button.disabled = false;
  button.textContent = "record";
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").textContent = paused ? "go on" : "pause";
});
byId("trace").addEventListener("click", trace);
byId("span").addEventListener("change", draw);
let typing = 0;
byId("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    filter = byId("filter").value.trim();
    lookNow();
  }, 250);
});
byId("tree-close").addEventListener("click", () => byId("tree").close());
byId("runtimes").addEventListener("click", (event) => {
  const task = event.target.dataset?.tree;
  if (task !== undefined) showTree(task);
  if (event.target.dataset?.trees !== undefined) showProfile();
  const column = event.target.dataset?.sort;
  if (column === undefined) return;
  sort = sort === column ? `-${column}` : sort === `-${column}` ? "" : column;
  lookNow();
});
byId("runtimes").addEventListener("pointerdown", (event) => { pressed = event.target.closest("button") !== null; });
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = false; });
addEventListener("resize", draw);
addEventListener("hashchange", lookNow);
watch();
