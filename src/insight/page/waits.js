// Which task waits for which, as lists in lists, and the await tree of one task.
"use strict";

function treeButton(id) {
  const title = "its await tree: polls the task once more, and shows where it waits";
  return element("button", { type: "button", class: "small", "data-tree": id, title }, "tree");
}

// Below each task those that wait for it. What is below a task is shown once; where it comes again, its number does.
function waitGraph(runtime) {
  const { tasks: known, waits, waits_left_out: left } = runtime.wait_graph;
  if (waits.length === 0) return [];
  const tasks = new Map(known.map((task) => [task.id, task]));
  const waiters = new Map();
  // One of those that it waits for.
  const blocker = new Map();
  for (const wait of waits) {
    if (!waiters.has(wait.for_task)) waiters.set(wait.for_task, []);
    waiters.get(wait.for_task).push(wait);
    blocker.set(wait.task, wait.for_task);
  }
  const told = new Set();
  const entry = (id, wait, path) => {
    const line = element("p", { class: tasks.get(id) !== undefined && isForEver(tasks.get(id)) ? "bad" : "" },
      taskWords(tasks.get(id), id, wait));
    const made = element("li", {}, line);
    const below = waiters.get(id) ?? [];
    if (path.includes(id)) {
      line.append(" ↻ a circle");
    } else if (told.has(id) && below.length > 0) {
      line.append(" (see above)");
    } else {
      told.add(id);
      if (tasks.get(id) !== undefined) {
        line.append(" ", element("code", {}, tasks.get(id).spawned_at));
        if (tasks.get(id).state === "waiting") line.append(" ", treeButton(id));
      }
      const inner = below.map((other) => entry(other.task, other, [...path, id]));
      if (inner.length > 0) made.append(element("ul", { class: "graph" }, ...inner));
    }
    return made;
  };
  const ends = [...waiters.keys()].filter((id) => !blocker.has(id));
  const list = ends.map((id) => entry(id, null, []));
  // What is left leads into circles only. Each is told from one of its tasks on.
  for (let id of waiters.keys()) {
    if (told.has(id)) continue;
    const met = new Set();
    while (!met.has(id)) {
      met.add(id);
      id = blocker.get(id);
    }
    if (!told.has(id)) list.unshift(entry(id, null, []));
  }
  const note = "below each task those that wait for it";
  return [element("section", { class: "waits" }, element("h3", {}, "Which task waits for which", element("small", {}, note)),
    element("ul", { class: "graph" }, ...list), ...more(left, "waits"))];
}

function taskWords(task, id, wait) {
  const name = task?.name == null ? "" : ` “${task.name}”`;
  const waits = wait === null ? "" : ` waits for ${wait.text}`;
  const state = task === undefined || task.state === "waiting" ? "" : `, ${task.state}`;
  const end = task !== undefined && isForEver(task) ? `,${forEver(task)}` : "";
  return `task ${id}${name}${state}${waits}${end}`;
}

const showTree = (task) => showText(`Where task ${task} waits`, `/tree?task=${task}`);
const showProfile = () => showText("Where all tasks wait", "/trees");

async function showText(title, path) {
  const [dialog, text] = [byId("tree"), byId("tree-text")];
  byId("tree-title").textContent = title;
  dialog.dataset.path = path;
  text.textContent = "…";
  if (!dialog.open) dialog.showModal();
  let answer;
  try {
    const tree = await ask(path, 30000);
    answer = await tree.text();
  } catch (error) {
    answer = `the program does not answer (${error.name})`;
  }
  // Another one may have been asked for meanwhile.
  if (dialog.dataset.path === path) text.textContent = answer;
}
