// What the workers have done lately: fetched from /live piece by piece, kept for as long as the page shows it, and
// drawn. A lane for each worker; in each column the shares of one bin, polls in the colour of their place.
"use strict";

const LANE = 22;
const AXIS = 18;
const LABEL = 64;
const COLOURS = ["#3b7dd8", "#e08a2e", "#2c9a6b", "#c4518f", "#8268d6", "#a8892c", "#3aa5b8", "#d2604f", "#6f9a35", "#b06fc4",
  "#5f7f95", "#c27a4a"];
const OTHERS = "#8d969e";

// By the id of the runtime.
const lives = new Map();

function newLive() {
  const canvas = () => {
    const made = document.createElement("canvas");
    made.setAttribute("role", "img");
    return made;
  };
  const live = {
    bins: new Map(), spans: [], places: [], colours: new Map(), since: new Map(), after: 0, spansAfter: 0, now: 0, lost: 0,
    lanes: canvas(), polls: canvas(), waits: canvas(), hint: document.createElement("p"), drawn: null,
  };
  live.hint.className = "hint";
  live.lanes.addEventListener("mousemove", (event) => { live.hint.textContent = underPointer(live, event); });
  live.lanes.addEventListener("mouseleave", () => { live.hint.textContent = ""; });
  return live;
}

// What /live is asked for: what is missing here.
function livePositions() {
  return [...lives].map(([id, live]) => `${id}.${live.after}.${live.spansAfter}`).join(",");
}

function takeLive(answer) {
  for (const id of lives.keys()) {
    if (!answer.runtimes.some((runtime) => runtime.id === id)) lives.delete(id);
  }
  for (const runtime of answer.runtimes) {
    let live = lives.get(runtime.id);
    // The recording began anew.
    if (live === undefined || runtime.recording !== live.recording) {
      const last = live;
      live = newLive();
      live.recording = runtime.recording;
      if (last !== undefined) live.colours = last.colours;
      lives.set(runtime.id, live);
      if (last !== undefined) continue;
    }
    live.bin = answer.bin_us;
    live.now = runtime.now_us;
    live.lost = runtime.lost;
    live.events = runtime.events;
    live.places = runtime.places;
    runtime.bins.forEach((bin, index) => live.bins.set(runtime.first + index, bin));
    live.after = runtime.after;
    live.spans.push(...runtime.spans);
    live.spansAfter = runtime.spans_after;
    const oldest = live.after - answer.bins;
    for (const number of live.bins.keys()) if (number < oldest) live.bins.delete(number);
    live.spans = live.spans.filter((span) => span.end > oldest * live.bin);
    // A poll that has been seen before is drawn from then on.
    const since = new Map();
    for (const poll of runtime.under_way) {
      const key = `${poll.lane}/${poll.poll}`;
      since.set(key, { begin: live.since.get(key)?.begin ?? live.now, ...poll });
    }
    live.since = since;
  }
}

const placeName = (live, number) => (number === 0 ? "other places" : live.places[number - 1]);

function colour(live, number) {
  const name = placeName(live, number);
  if (number === 0) return OTHERS;
  if (!live.colours.has(name)) live.colours.set(name, COLOURS[live.colours.size] ?? OTHERS);
  return live.colours.get(name);
}

// Time and polls by place, the longest poll that was seen as one, and the counts of both pictures, of some last bins. What was
// longer than a bin has its time in the list of long events, and its poll in the bin of its end.
function sums(live, bins) {
  const places = new Map();
  const add = (number) => {
    const name = placeName(live, number);
    if (!places.has(name)) places.set(name, { name, number, time: 0, polls: 0, polled: 0, longest: 0 });
    return places.get(name);
  };
  const counts = { polls: [], waits: [] };
  const first = live.after - bins;
  let seen = 0;
  let lanes = 0;
  for (const [number, bin] of live.bins) {
    if (number < first) continue;
    seen += 1;
    lanes = Math.max(lanes, bin.lanes.length);
    for (const lane of bin.lanes) {
      for (let at = 0; at < lane.shares.length; at += 3) {
        const place = add(lane.shares[at]);
        place.time += lane.shares[at + 1];
        place.polled += lane.shares[at + 1];
        place.polls += lane.shares[at + 2];
      }
    }
    for (const what of ["polls", "waits"]) {
      bin[what].forEach((count, index) => { counts[what][index] = (counts[what][index] ?? 0) + count; });
    }
  }
  const [from, until] = [first * live.bin, live.after * live.bin];
  const long = (poll, end) => {
    const place = add(poll.place);
    place.time += Math.max(0, Math.min(end, until) - Math.max(poll.begin, from));
    place.longest = Math.max(place.longest, end - poll.begin);
    return place;
  };
  for (const span of live.spans) {
    if (span.task === undefined || span.end < from) continue;
    const place = long(span, span.end);
    // Its poll is counted, too.
    if (span.end < until) place.polled += span.end - span.begin;
  }
  for (const poll of live.since.values()) {
    if (live.now - poll.begin >= live.bin) long(poll, live.now);
  }
  return { places, counts, seconds: (seen * live.bin) / 1e6, lanes };
}

// The last doubling has no end: all of 17 s and more is in it.
const LAST_DOUBLING = 25;

// The end of the doubling that the share lies in, in microseconds.
function quantile(counts, share) {
  const total = counts.reduce((sum, count) => sum + (count ?? 0), 0);
  if (total === 0) return null;
  let counted = 0;
  for (let index = 0; index < counts.length; index += 1) {
    counted += counts[index] ?? 0;
    if (counted >= total * share) return index < LAST_DOUBLING ? 1.024 * 2 ** index : Infinity;
  }
  return null;
}

function micros(time) {
  if (time === null) return "–";
  if (time === Infinity) return "≥ 17 s";
  if (time < 1000) return `${time < 10 ? time.toFixed(1) : Math.round(time)} µs`;
  if (time < 1e6) return `${(time / 1000).toFixed(time < 1e4 ? 1 : 0)} ms`;
  return `${(time / 1e6).toFixed(1)} s`;
}

const themed = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas as sharp as the screen; returns what draws, and the size.
function prepare(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth || 600;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return { context, width, height };
}

// Where a time, in microseconds of the recording, lies.
function scale(live, width, seconds) {
  const end = live.after * live.bin;
  const begin = end - seconds * 1e6;
  const perMicro = (width - LABEL) / (end - begin);
  return { begin, end, x: (time) => LABEL + (time - begin) * perMicro };
}

function drawAxis(context, seconds, width, y) {
  context.fillStyle = themed("--faint");
  const step = seconds <= 15 ? 3 : seconds <= 60 ? 10 : 20;
  for (let ago = 0; ago <= seconds; ago += step) {
    const x = width - (ago / seconds) * (width - LABEL);
    context.textAlign = ago === 0 ? "right" : "center";
    if (ago < seconds) context.fillText(ago === 0 ? "now" : `−${ago} s`, x, y);
  }
}

function drawLanes(live, count, seconds, slowUs) {
  const { context, width, height } = prepare(live.lanes, Math.max(count, 1) * LANE + AXIS);
  const { begin, end, x } = scale(live, width, seconds);
  const inner = LANE - 4;
  const top = (lane) => lane * LANE + 2;
  const [asleep, driver, ground, bad] = ["--asleep", "--driver", "--box", "--bad"].map(themed);
  for (let lane = 0; lane < count; lane += 1) {
    context.fillStyle = ground;
    context.fillRect(LABEL, top(lane), width - LABEL, inner);
    context.fillStyle = themed("--faint");
    context.textAlign = "left";
    context.fillText(`worker ${lane}`, 0, top(lane) + inner / 2);
  }
  for (const [number, bin] of live.bins) {
    const from = x(Math.max(number * live.bin, begin));
    const wide = x((number + 1) * live.bin) - from;
    if (wide <= 0) continue;
    bin.lanes.slice(0, count).forEach((lane, index) => {
      let y = top(index) + inner;
      const stack = (time, style) => {
        const high = Math.min((time / live.bin) * inner, y - top(index));
        context.fillStyle = style;
        context.fillRect(from, y - high, wide + 0.4, high);
        y -= high;
      };
      for (let at = 0; at < lane.shares.length; at += 3) stack(lane.shares[at + 1], colour(live, lane.shares[at]));
      stack(lane.driver, driver);
      stack(lane.asleep, asleep);
    });
    if (bin.lost > 0) {
      context.fillStyle = bad;
      context.fillRect(from, count * LANE - 1, wide + 0.4, 2);
    }
  }
  const long = (lane, from, until, style, isSlow) => {
    if (until <= begin || lane >= count) return;
    const left = x(Math.max(from, begin));
    const right = Math.max(x(Math.min(until, end)), left + 1);
    context.fillStyle = style;
    context.fillRect(left, top(lane), right - left, inner);
    if (isSlow) {
      context.strokeStyle = bad;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top(lane) + 1, Math.max(right - left - 2, 1), inner - 2);
    }
  };
  for (const span of live.spans) {
    const isPoll = span.task !== undefined;
    const isSlow = isPoll && slowUs !== null && span.end - span.begin >= slowUs;
    long(span.lane, span.begin, span.end, isPoll ? colour(live, span.place) : asleep, isSlow);
  }
  for (const poll of live.since.values()) {
    if (live.now - poll.begin < live.bin) continue;
    long(poll.lane, poll.begin, end, colour(live, poll.place), slowUs !== null && live.now - poll.begin >= slowUs);
  }
  drawAxis(context, seconds, width, height - AXIS / 2);
  live.lanes.setAttribute("aria-label", `what ${count} workers did in the last ${seconds} seconds`);
  live.drawn = { count, seconds, slowUs };
}

// Time goes to the right, the duration upwards, each row a doubling. The darker, the more.
function drawHeat(live, canvas, what, seconds) {
  const [low, high, row] = [0, 25, 5];
  const rows = high - low + 1;
  const { context, width, height } = prepare(canvas, rows * row + AXIS);
  const { begin, x } = scale(live, width, seconds);
  context.fillStyle = themed("--box");
  context.fillRect(LABEL, 0, width - LABEL, rows * row);
  // Several bins in one column, so that a column is wide enough to be seen.
  const group = Math.max(1, Math.round(seconds / 60) * 2);
  const columns = new Map();
  let most = 1;
  for (const [number, bin] of live.bins) {
    const column = Math.floor(number / group);
    const counts = columns.get(column) ?? [];
    bin[what].forEach((count, index) => {
      counts[index] = (counts[index] ?? 0) + count;
      most = Math.max(most, counts[index]);
    });
    columns.set(column, counts);
  }
  const heat = themed("--heat");
  for (const [column, counts] of columns) {
    const from = Math.max(x(Math.max(column * group * live.bin, begin)), LABEL);
    const wide = x((column + 1) * group * live.bin) - from;
    if (wide <= 0) continue;
    counts.forEach((count, index) => {
      if (!count) return;
      const share = Math.log(1 + count) / Math.log(1 + most);
      context.fillStyle = `rgba(${heat}, ${0.15 + 0.85 * share})`;
      context.fillRect(from, (rows - 1 - index) * row, wide + 0.4, row);
    });
  }
  context.textAlign = "right";
  for (const [index, label] of [[0, "1 µs"], [10, "1 ms"], [20, "1 s"]]) {
    const y = (rows - 1 - index) * row;
    context.fillStyle = themed("--line");
    context.fillRect(LABEL, y, width - LABEL, 1);
    context.fillStyle = themed("--faint");
    context.fillText(label, LABEL - 8, Math.min(Math.max(y, 6), height - AXIS - 6));
  }
  drawAxis(context, seconds, width, height - AXIS / 2);
}

// What stands at the pointer, in words.
function underPointer(live, event) {
  if (live.drawn === null) return "";
  const { seconds, count } = live.drawn;
  const lane = Math.floor(event.offsetY / LANE);
  const { begin, end } = scale(live, live.lanes.clientWidth, seconds);
  const time = begin + ((event.offsetX - LABEL) / (live.lanes.clientWidth - LABEL)) * (end - begin);
  if (lane >= count || event.offsetX < LABEL) return "";
  const ago = `worker ${lane}, ${((end - time) / 1e6).toFixed(1)} s ago`;
  const span = live.spans.find((span) => span.lane === lane && span.begin <= time && time < span.end);
  if (span?.task !== undefined) {
    return `${ago}: one poll of ${micros(span.end - span.begin)}, task ${span.task}, spawned at ${placeName(live, span.place)}`;
  }
  const now = [...live.since.values()].find((poll) => poll.lane === lane && poll.begin <= time);
  if (now !== undefined && live.now - now.begin >= live.bin) {
    return `${ago}: in a poll that lasts, task ${now.task}, spawned at ${placeName(live, now.place)}`;
  }
  if (span !== undefined) return `${ago}: asleep for ${micros(span.end - span.begin)}`;
  const bin = live.bins.get(Math.floor(time / live.bin))?.lanes[lane];
  if (bin === undefined) return `${ago}: no event was recorded`;
  const share = (part) => `${Math.round((part / live.bin) * 100)} %`;
  const parts = [];
  for (let at = 0; at < bin.shares.length; at += 3) {
    parts.push([bin.shares[at + 1], `${bin.shares[at + 2]} polls of ${placeName(live, bin.shares[at])}`]);
  }
  parts.push([bin.driver, "calls wakers"], [bin.asleep, "asleep"]);
  parts.sort((a, b) => b[0] - a[0]);
  return `${ago}: ${parts.filter(([time]) => time > 0).slice(0, 5).map(([time, what]) => `${share(time)} ${what}`).join(", ")}`;
}
