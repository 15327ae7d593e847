// Fetches /json once a second and shows it. The token stands behind the # of the address, which browsers do not
// send; it goes into a header. All text becomes text nodes: nothing that a program calls its tasks is markup.
"use strict";

const PERIOD = 1000;
const byId = (id) => document.getElementById(id);
let paused = false;
// Polls at the last look, by runtime and worker, for the polls per second.
let before = new Map();
let beforeAt = 0;

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

// Columns: [title, class, value of a row].
function table(columns, rows, mark) {
  const head = columns.map(([title, kind]) => element("th", { class: kind }, title));
  const body = rows.map((row) => {
    const cells = columns.map(([, kind, value]) => {
      const shown = value(row);
      return element("td", { class: kind }, shown instanceof Node ? shown : String(shown ?? ""));
    });
    return element("tr", { class: mark?.(row) ? "bad" : "" }, ...cells);
  });
  const made = element("table", {},
    element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body));
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

function findings(runtime) {
  const sentences = runtime.findings.map((finding) => element("li", {}, finding.text));
  if (sentences.length === 0) {
    sentences.push(element("li", { class: "good" }, "nothing is wrong that a dump shows"));
  }
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
    ["stolen", "number", (worker) => count(worker.stolen)],
    ["injected", "number", (worker) => count(worker.injected)],
    ["parks", "number", (worker) => count(worker.parks)],
    ["in this poll", "number", (worker) => duration(worker.poll_ms)],
    ["task", "number", (worker) => worker.task?.id],
    ["name", "", (worker) => worker.task_name],
    ["spawned at", "place", (worker) => worker.task?.spawned_at],
    ["the thread", "", (worker) => worker.activity],
  ];
  const slow = (worker) => worker.is_slow;
  return section("Workers", table(columns, runtime.workers, slow), ...more(runtime.workers_left_out, "workers"));
}

function elsewhere(runtime) {
  const columns = [
    ["task", "number", (task) => task.id],
    ["spawned at", "place", (task) => task.spawned_at],
  ];
  return section("Polled by threads other than workers", table(columns, runtime.polled_elsewhere));
}

function pool(runtime) {
  const { pool } = runtime;
  const columns = [
    ["task", "number", (job) => job.id],
    ["name", "", (job) => job.name],
    ["for", "number", (job) => duration(job.age_ms)],
    ["spawned at", "place", (job) => job.spawned_at],
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

function places(runtime) {
  const columns = [
    ["tasks", "number", (place) => count(place.tasks)],
    ["running", "number", (place) => count(place.running)],
    ["ready", "number", (place) => count(place.ready)],
    ["waiting", "number", (place) => count(place.waiting)],
    ["for ever", "number", (place) => count(place.stuck)],
    ["spawned at", "place", (place) => place.spawned_at],
    ["bytes each", "number", (place) => place.future_size === null ? "" : count(place.future_size)],
    ["type of the future", "type", (place) => place.type_name],
  ];
  return section("Tasks by place of their spawn",
    table(columns, runtime.places), ...more(runtime.places_left_out, "places"));
}

function tasks(runtime) {
  const columns = [
    ["task", "number", (task) => task.id],
    ["name", "", (task) => task.name],
    ["state", "", (task) => element("span", { class: task.state }, task.state)],
    ["spawned at", "place", (task) => task.spawned_at],
    ["bytes", "number", (task) => task.future_size === null ? "" : count(task.future_size)],
    ["type of the future", "type", (task) => task.type_name],
  ];
  return section("Tasks",
    table(columns, runtime.task_list), ...more(runtime.task_list_left_out, "tasks"));
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
  if (runtime.workers.length > 0) parts.push(workers(runtime, seconds));
  if (runtime.polled_elsewhere.length > 0) parts.push(elsewhere(runtime));
  parts.push(pool(runtime));
  if (runtime.places.length > 0) parts.push(places(runtime));
  if (runtime.task_list.length > 0) parts.push(tasks(runtime));
  return element("article", { id: `runtime-${runtime.id}` }, ...parts);
}

function status(text, isBad) {
  byId("status").textContent = text;
  byId("status").className = isBad ? "bad" : "";
}

function update(seen) {
  const now = performance.now();
  const seconds = (now - beforeAt) / 1000;
  byId("title").textContent = `${seen.program}, process ${seen.process}, liten ${seen.liten}`;
  document.title = `${seen.program} – insight`;
  // Those of which there is something to say come first.
  seen.runtimes.sort((a, b) => b.findings.length - a.findings.length);
  const shown = seen.runtimes.map((runtime) => show(runtime, seconds));
  byId("runtimes").replaceChildren(...shown, ...more(seen.runtimes_left_out, "runtimes"));
  before = new Map(seen.runtimes.flatMap((runtime) =>
    runtime.workers.map((worker) => [`${runtime.id}/${worker.index}`, worker.polls])));
  beforeAt = now;
  const ended = seen.runtimes_ended > 0 ? `; ${count(seen.runtimes_ended)} observed runtimes have ended` : "";
  const none = seen.runtimes.length === 0;
  status(`${none ? "no runtime is left" : `as of ${new Date().toLocaleTimeString()}`}${ended}`, none);
}

async function look() {
  const token = location.hash.slice(1);
  if (token === "") {
    status("the token is missing: open the whole address that the program has written to its standard error", true);
    return;
  }
  try {
    const answer = await fetch("/json", {
      headers: { Authorization: `Bearer ${token}` },
      cache: "no-store",
      credentials: "omit",
      signal: AbortSignal.timeout(10000),
    });
    if (!answer.ok) {
      status(`${answer.status}: ${await answer.text()}`, true);
      return;
    }
    update(await answer.json());
  } catch (error) {
    status(`the program does not answer (${error.name}); what stands here is from before`, true);
  }
}

async function watch() {
  if (!paused && !document.hidden) {
    await look();
  }
  setTimeout(watch, PERIOD);
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").textContent = paused ? "go on" : "pause";
});
addEventListener("hashchange", look);
watch();
