// Shows a simulation that runs: asks for news of it, one after the other, and tells it what its user wishes for.
"use strict";

// ----- news and commands --------------------------------------------------------------------

const run = { seen: 0, shot: 0, stage: 0, paused: false, bodies: [], data: [] };

/** The news that follow those which are known: what they say, and the bytes of the newest shot. */
async function askForNews() {
  const answer = await fetch(`news/${run.seen}/${run.shot}/${run.stage}`);
  if (!answer.ok) throw new Error(await answer.text());
  const buffer = await answer.arrayBuffer();
  const size = new DataView(buffer).getUint32(0, true);
  const text = new TextDecoder().decode(new Uint8Array(buffer, 4, size));
  return { ...JSON.parse(text), picture: buffer.slice(4 + size) };
}

/** Sends one command; returns what comes of it, null where it was refused. */
async function command(words) {
  const options = { method: "POST", body: JSON.stringify(words), keepalive: words.do === "release" };
  const answer = await fetch("control", options);
  if (answer.ok) return answer.json();
  tellUser(await answer.text());
  return null;
}

/** Sends commands of a kind one after the other, of those that wait the last one alone. */
function steady() {
  let busy = false, next = null;
  return async (words) => {
    next = words;
    if (busy) return;
    busy = true;
    try {
      while (next) { const now = next; next = null; await command(now); }
    } catch { next = null; } finally { busy = false; } // the program has ended, of which news tell
  };
}

function tellUser(text) {
  element("message").textContent = text;
}

// ----- the picture --------------------------------------------------------------------------

/** Makes what is drawn anew: other bodies, or bodies of another look. The camera stays, once there is one. */
function setStage(told, isFramed = run.stage === 0) {
  Object.assign(header, told);
  scene.clear();
  balls.length = 0;
  element("bodies").replaceChildren();
  const all = header.bodies.map((body, number) => Object.assign(new CLASSES[body.kind](body), { number }));
  scene.add(...all.map(({ object }) => object));
  const first = new Reader(decode(header.still, Uint8Array).buffer);
  for (const still of all.filter(({ body }) => !body.moving)) still.show(first.body(still.body));
  run.bodies = all.filter(({ body }) => body.moving);
  const place = camera.position.clone(), target = controls.target.clone();
  setUp(); fit(); list(all);
  if (isFramed) frameBox();
  else { camera.position.copy(place); controls.target.copy(target); }
}

/** Puts the camera where it sees all that there is now. */
function fitView() {
  if (!run.stage) return;
  const low = [...header.low].fill(Infinity), high = low.map((x) => -x);
  for (const { data } of run.bodies) {
    metres(data).forEach((x, k) => { low[k % 3] = Math.min(low[k % 3], x); high[k % 3] = Math.max(high[k % 3], x); });
  }
  if (!low.every(Number.isFinite)) return;
  const shown = run.bodies.map(({ data }) => data);
  setStage({ low, high }, true);
  run.bodies.forEach((body, k) => { body.data = shown[k]; body.show(body.data); });
}

function showNews(news) {
  run.seen = news.number;
  run.paused = news.paused || news.ended;
  if (news.header) setStage(news.header);
  if (news.shot) {
    const reader = new Reader(news.picture);
    for (const body of run.bodies) { body.data = reader.body(body.body); body.show(body.data); }
    Object.assign(run, { shot: news.shot, stage: news.stage });
    document.body.dataset.shown = news.shot;
  }
  element("play").classList.toggle("playing", !news.paused && !news.ended);
  element("clock").textContent = `${news.time.toFixed(2)} s · ${news.rate < 10 ? news.rate.toFixed(1) : Math.round(news.rate)} frames/s`;
  element("clock").title = `frame ${news.frame}; the simulation alone could run that many a second`;
  element("speed").value = String(news.speed ?? 0);
  news.sliders.forEach((value, k) => sliders[k].show(value));
  if (news.message) tellUser(news.message);
  else if (news.ended) tellUser(`This was the last frame${header.resets ? "; r begins anew" : ""}.`);
  else if (run.shot) tellUser("");
}

// ----- controls -----------------------------------------------------------------------------

const ICONS = {
  step: '<svg viewBox="0 0 16 16"><path d="M3 3l7 5-7 5zM11 3h2v10h-2z"/></svg>',
  reset: '<svg viewBox="0 0 16 16"><path d="M8 3a5 5 0 1 1-4.9 4h1.6A3.4 3.4 0 1 0 8 4.6V7L4 3.6 8 .5z"/></svg>',
  fit: '<svg viewBox="0 0 16 16"><path d="M2 2h5v1.6H3.6V7H2zM14 14H9v-1.6h3.4V9H14zM14 2v5h-1.6V3.6H9V2zM2 14V9h1.6v3.4H7V14z"/></svg>',
  hand: '<svg viewBox="0 0 16 16"><path d="M7 1h2v3h2L8 7.5 5 4h2zM7 15h2v-3h2L8 8.5 5 12h2zM1 7v2h3v2l3.5-3L4 5v2zM15 7v2h-3v2L8.5 8 12 5v2z"/></svg>',
};

function addButton(id, title, onclick) {
  const button = document.createElement("button");
  Object.assign(button, { id, title, onclick, innerHTML: ICONS[id], className: "small" });
  button.setAttribute("aria-label", title);
  element("scrub").before(button);
  return button;
}

/** A number with its name; a double click gives back the value of the beginning. */
class SliderRow {
  constructor({ label, low, high, value }, number) {
    const row = document.createElement("label"), name = document.createElement("span");
    this.input = document.createElement("input");
    this.output = document.createElement("output");
    Object.assign(this.input, { type: "range", min: low, max: high, step: (high - low) / 500, value });
    name.textContent = label;
    row.title = "a double click on the name sets it back";
    this.send = steady();
    this.number = number;
    this.input.oninput = () => this.choose(Number(this.input.value));
    name.ondblclick = () => this.choose(value);
    row.append(name, this.output, this.input);
    element("sliders").append(row);
    this.digits = Math.max(0, 2 - Math.floor(Math.log10(high - low)));
    this.show(value);
  }
  choose(value) {
    this.held = performance.now() + 500; // older news do not move it back
    this.input.value = value;
    this.output.textContent = value.toFixed(this.digits);
    if (this.number >= 0) this.send({ do: "slide", slider: this.number, value });
  }
  show(value) {
    if (this.held > performance.now()) return;
    this.input.value = value;
    this.output.textContent = value.toFixed(this.digits);
  }
}

const sliders = [];

function addControls() {
  document.body.classList.add("live");
  const panel = document.createElement("aside");
  panel.id = "sliders";
  document.body.append(panel);
  sliders.push(...header.sliders.map((slider, number) => new SliderRow(slider, number)));
  panel.toggleAttribute("hidden", sliders.length === 0);
  const fastest = document.createElement("option");
  Object.assign(fastest, { value: "0", textContent: "max", title: "as fast as it goes" });
  element("speed").append(fastest);
  element("speed").onchange = (event) => command({ do: "speed", factor: Number(event.target.value) });
  element("play").onclick = () => command({ do: run.paused ? "play" : "pause" });
  addButton("step", "One frame (right arrow)", () => command({ do: "step" }));
  if (header.resets) addButton("reset", "Begin anew (r)", () => command({ do: "reset" }));
  addButton("fit", "See all (f)", fitView);
  if (header.drags) {
    const hand = addButton("hand", "Drag particles; off, or with Shift: turn the view (h)", () => { hand.classList.toggle("on"); });
    hand.classList.add("on");
  }
  window.onresize = fit;
  window.onkeydown = (event) => {
    const keys = { " ": "play", ArrowRight: "step", r: "reset", f: "fit", h: "hand" };
    if (["SELECT", "INPUT"].includes(event.target.tagName) || !(event.key in keys)) return;
    event.preventDefault();
    element(keys[event.key])?.click();
  };
}

// ----- dragging -----------------------------------------------------------------------------

/** The ray (from, along) through a point of the window, in pixels. */
function rayAt(x, y) {
  const at = new THREE.Vector3((2 * x) / window.innerWidth - 1, 1 - (2 * y) / window.innerHeight, 0.5);
  return { from: camera.position.clone(), along: at.unproject(camera).sub(camera.position).normalize() };
}

/** Which ball or copy a ray meets first: its number and how far away, infinite for none. */
function meetBalls({ from, along }, places, radiusOf) {
  let nearest = { point: -1, away: Infinity };
  for (let k = 0; 3 * k < places.length; k++) {
    const x = places[3 * k] - from.x, y = places[3 * k + 1] - from.y, z = places[3 * k + 2] - from.z;
    const away = x * along.x + y * along.y + z * along.z, radius = radiusOf(k);
    if (away > 0 && away < nearest.away && x * x + y * y + z * z - away * away < radius * radius) nearest = { point: k, away };
  }
  return nearest;
}

/** Which triangle a ray meets first, told by its corner that is nearest there. */
function meetTriangles({ from, along }, places, triangles) {
  let nearest = { point: -1, away: Infinity };
  const [a, u, v, normal, toward] = [0, 0, 0, 0, 0].map(() => new THREE.Vector3());
  for (let k = 0; k < triangles.length; k += 3) {
    a.fromArray(places, 3 * triangles[k]);
    u.fromArray(places, 3 * triangles[k + 1]).sub(a);
    v.fromArray(places, 3 * triangles[k + 2]).sub(a);
    normal.crossVectors(u, v);
    const facing = normal.dot(along);
    if (facing === 0) continue;
    const away = normal.dot(toward.copy(a).sub(from)) / facing;
    if (!(away > 0 && away < nearest.away)) continue;
    toward.multiplyScalar(-1).addScaledVector(along, away); // from the first corner to where the ray meets the plane
    const scale = normal.dot(normal);
    const first = toward.clone().cross(v).dot(normal) / scale, second = u.clone().cross(toward).dot(normal) / scale;
    if (first < 0 || second < 0 || first + second > 1) continue;
    const shares = [1 - first - second, first, second];
    nearest = { point: triangles[k + shares.indexOf(Math.max(...shares))], away };
  }
  return nearest;
}

/** The body and its point that a ray meets first, or null. */
function meetBodies(ray) {
  let nearest = null;
  for (const body of run.bodies) {
    if (!body.object.visible || !body.data) continue;
    const places = metres(body.data), { radii, sizes } = body.data;
    const reach = sizes && Math.hypot(...decode(body.body.shape, Float32Array).subarray(0, 3));
    const met = body.body.kind === "mesh"
      ? meetTriangles(ray, places, body.geometry.index.array)
      : meetBalls(ray, places, radii ? (k) => radii[k] : (k) => reach * sizes[3 * k]);
    if (met.point >= 0 && !(met.away >= nearest?.away)) nearest = { ...met, body: body.number };
  }
  return nearest;
}

const drag = { id: null, away: 0, place: null, target: null, send: steady(), timer: 0 };

/** Where the pointer is in the plane across the view in which the particle was grabbed. */
function targetAt(event) {
  const { from, along } = rayAt(event.clientX, event.clientY);
  const forward = camera.getWorldDirection(new THREE.Vector3());
  return from.addScaledVector(along, drag.away / along.dot(forward));
}

async function beginDrag(event) {
  const isOff = !element("hand")?.classList.contains("on") || event.shiftKey || event.button !== 0 || drag.id !== null;
  const met = isOff ? null : meetBodies(rayAt(event.clientX, event.clientY));
  if (!met) return;
  event.stopImmediatePropagation(); // so that the view does not turn
  drag.id = event.pointerId;
  element("scene").setPointerCapture(event.pointerId);
  const reach = 0.1 * scene.userData.radius;
  const held = await command({ do: "grab", shot: run.shot, body: met.body, point: met.point, reach }).catch(() => null);
  if (!held || drag.id === null) { endDrag(); return; }
  drag.place = new THREE.Vector3(...held.place);
  const forward = camera.getWorldDirection(new THREE.Vector3());
  drag.away = drag.place.clone().sub(camera.position).dot(forward);
  drag.target = drag.place.clone();
  drag.timer = setInterval(pull, 500); // who says nothing for long lets go
}

function pull() {
  drag.send({ do: "pull", x: drag.target.x, y: drag.target.y, z: drag.target.z });
}

function moveDrag(event) {
  if (event.pointerId !== drag.id || !drag.target) return;
  event.stopImmediatePropagation();
  drag.target = targetAt(event);
  pull();
}

function endDrag(event) {
  if (drag.id === null || (event?.pointerId ?? drag.id) !== drag.id) return;
  clearInterval(drag.timer);
  Object.assign(drag, { id: null, target: null });
  command({ do: "release" }).catch(() => null);
}

/** A spot where the pointer holds. */
function drawTarget() {
  const spot = element("spot");
  spot.toggleAttribute("hidden", !drag.target);
  if (!drag.target) return;
  const at = drag.target.clone().project(camera);
  spot.style.transform = `translate(${(0.5 + 0.5 * at.x) * window.innerWidth}px, ${(0.5 - 0.5 * at.y) * window.innerHeight}px)`;
}

function listenForDrags() {
  const spot = Object.assign(document.createElement("div"), { id: "spot", hidden: true });
  document.body.append(spot);
  const canvas = element("scene"), first = { capture: true }; // before those that turn the view
  window.addEventListener("pointerdown", (event) => { if (event.target === canvas) beginDrag(event); }, first);
  window.addEventListener("pointermove", moveDrag, first);
  for (const name of ["pointerup", "pointercancel", "pagehide"]) window.addEventListener(name, endDrag, first);
}

// ----- the loop -----------------------------------------------------------------------------

const nextPicture = () => new Promise((resolve) => requestAnimationFrame(resolve));

async function follow() {
  for (;;) {
    try {
      const news = await askForNews();
      showNews(news);
      if (news.closed) throw new Error("The program has ended.");
      await nextPicture();
    } catch (error) {
      tellUser(error instanceof TypeError ? "The program that shows this page does not answer; has it ended?" : error.message);
      element("play").classList.remove("playing");
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function startLive() {
  addControls();
  listenForDrags();
  fit();
  tellUser("Waiting for the first frame …");
  const loop = () => {
    requestAnimationFrame(loop);
    controls.update();
    if (run.stage) { draw(); drawTarget(); }
  };
  requestAnimationFrame(loop);
  follow();
}

startLive();
