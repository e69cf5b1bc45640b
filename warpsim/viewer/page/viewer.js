// Plays an animation: bodies whose points arrive frame by frame, as `pack.py` lays them out.
"use strict";

const header = JSON.parse(document.getElementById("header").textContent);
const element = (id) => document.getElementById(id);

// ----- where frames come from ---------------------------------------------------------------

/** Frames that the page itself holds: differences to the frame before, compressed. */
async function embeddedFrames(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const frames = [];
  let at = 0, before = new Uint16Array(0);
  for (const size of header.sizes) {
    const words = size / 2, now = new Uint16Array(words), same = before.length === words;
    for (let k = 0; k < words; k++) {
      now[k] = (bytes[at + k] | (bytes[at + words + k] << 8)) + (same ? before[k] : 0);
    }
    frames.push(now.buffer);
    at += size;
    before = now;
  }
  return async (number) => frames[number];
}

/** Frames that a server sends one by one; those asked for last stay here. */
function remoteFrames() {
  const kept = new Map();
  return async (number) => {
    if (!kept.has(number)) {
      kept.set(number, fetch(`frame/${number}`).then((answer) => {
        if (!answer.ok) throw new Error(`frame ${number}: ${answer.statusText}`);
        return answer.arrayBuffer();
      }));
      kept.get(number).catch(() => kept.delete(number)); // to be asked for again
      if (kept.size > 64) kept.delete(kept.keys().next().value);
    }
    return kept.get(number);
  };
}

/** Takes a frame apart in the order in which `pack.py` puts it together. */
class Reader {
  constructor(buffer) { this.buffer = buffer; this.at = 0; }
  take(kind, count) {
    const size = kind.BYTES_PER_ELEMENT * count, found = new kind(this.buffer, this.at, count);
    this.at += (size + 3) & ~3;
    return found;
  }
  body(body) {
    const [count] = this.take(Uint32Array, 1), place = this.take(Float32Array, 4);
    const found = { count, low: place.subarray(0, 3), extent: place[3], places: this.take(Uint16Array, 3 * count) };
    if (body.colored) found.colors = this.take(Uint8Array, 3 * count);
    if (body.kind === "points") found.radii = this.take(Float32Array, count);
    if (body.kind === "instances") {
      found.turns = this.take(Int16Array, 4 * count);
      found.sizes = this.take(Float32Array, 3 * count);
    }
    if (body.varying) found.triangles = this.take(Uint32Array, 3 * this.take(Uint32Array, 1)[0]);
    return found;
  }
}

// ----- what is drawn ------------------------------------------------------------------------

const BALLS = {
  vertexShader: `
    attribute float radius; varying vec3 tint; varying vec3 centre; varying float size; uniform float pixels;
    void main() {
      tint = color;
      vec4 seen = modelViewMatrix * vec4(position, 1.0);
      centre = seen.xyz; size = radius;
      gl_Position = projectionMatrix * seen;
      gl_PointSize = max(1.5, pixels * radius * projectionMatrix[1][1] / -seen.z);
    }`,
  fragmentShader: `
    varying vec3 tint; varying vec3 centre; varying float size; uniform vec3 sun;
    void main() {
      vec2 at = 2.0 * gl_PointCoord - 1.0;
      float inside = 1.0 - dot(at, at);
      if (inside < 0.0) discard;
      vec3 normal = vec3(at.x, -at.y, sqrt(inside));
      float light = 0.42 + 0.28 * normal.y + 0.75 * max(0.0, dot(normal, sun));
      gl_FragColor = vec4(tint * light, 1.0);
      #include <colorspace_fragment>
    }`,
};

/** Balls as the sun sees them: their discs, as depths in the shadow map. */
const BALL_SHADOWS = {
  vertexShader: `
    attribute float radius; uniform float pixels;
    void main() {
      gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
      gl_PointSize = max(1.0, pixels * radius * projectionMatrix[1][1]);
    }`,
  fragmentShader: `
    void main() {
      vec2 at = 2.0 * gl_PointCoord - 1.0;
      if (dot(at, at) > 1.0) discard;
      gl_FragColor = vec4(1.0);
    }`,
};
const SHADOW_PIXELS = 2048;
const MOST_SHADOWS = 300000; // balls: more are drawn once a frame, not twice

const scene = new THREE.Scene();
const camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
const renderer = new THREE.WebGLRenderer({ canvas: element("scene"), antialias: true, preserveDrawingBuffer: true });
const upward = header.up === "Z" ? new THREE.Vector3(0, 0, 1) : new THREE.Vector3(0, 1, 0);
camera.up.copy(upward); // before the controls, which ask once which way is up
const controls = new THREE.OrbitControls(camera, renderer.domElement);
const sun = new THREE.DirectionalLight(0xffffff, 2.6);
const balls = [];

/** A grey-blue sheet of vertices with its own attribute of colors. */
function colorsOf(body, count) {
  const colors = new Float32Array(3 * count);
  if (!body.colored) for (let k = 0; k < colors.length; k++) colors[k] = body.color[k % 3];
  return colors;
}

class MeshBody {
  constructor(body) {
    this.body = body;
    this.geometry = new THREE.BufferGeometry();
    if (!body.varying) this.geometry.setIndex(new THREE.BufferAttribute(decode(body.triangles, Uint32Array), 1));
    const material = new THREE.MeshStandardMaterial({ vertexColors: true, roughness: 0.75, side: THREE.DoubleSide });
    this.object = new THREE.Mesh(this.geometry, material);
    this.object.castShadow = this.object.receiveShadow = true;
    this.object.frustumCulled = false;
  }
  show(data) {
    const { geometry } = this;
    if (data.triangles) {
      geometry.dispose(); // buffers of another size, which the graphics card has
      geometry.setIndex(new THREE.BufferAttribute(data.triangles, 1));
    }
    geometry.setAttribute("position", new THREE.BufferAttribute(metres(data), 3));
    if (data.colors) geometry.setAttribute("color", new THREE.BufferAttribute(data.colors, 3, true));
    else if (!geometry.attributes.color || geometry.attributes.color.count !== data.count) {
      geometry.setAttribute("color", new THREE.BufferAttribute(colorsOf(this.body, data.count), 3));
    }
    geometry.computeVertexNormals();
  }
}

class PointsBody {
  constructor(body) {
    this.body = body;
    this.geometry = new THREE.BufferGeometry();
    const uniforms = { pixels: { value: 1 }, sun: { value: new THREE.Vector3() } };
    this.material = new THREE.ShaderMaterial({ ...BALLS, uniforms, vertexColors: true });
    this.object = new THREE.Points(this.geometry, this.material);
    this.object.frustumCulled = false;
    this.object.castShadow = body.count <= MOST_SHADOWS;
    this.object.customDepthMaterial = new THREE.ShaderMaterial({ ...BALL_SHADOWS, uniforms: { pixels: { value: SHADOW_PIXELS } } });
    balls.push(this.material);
  }
  show(data) {
    const { geometry } = this;
    // Places stay the 16-bit numbers that they came as; the graphics card turns them into metres.
    geometry.setAttribute("position", new THREE.BufferAttribute(data.places, 3, true));
    geometry.setAttribute("radius", new THREE.BufferAttribute(data.radii, 1));
    if (data.colors) geometry.setAttribute("color", new THREE.BufferAttribute(data.colors, 3, true));
    else if (!geometry.attributes.color || geometry.attributes.color.count !== data.count) {
      geometry.setAttribute("color", new THREE.BufferAttribute(colorsOf(this.body, data.count), 3));
    }
    geometry.setDrawRange(0, data.count);
    this.object.position.set(...data.low);
    this.object.scale.setScalar(data.extent);
  }
}

class InstancesBody {
  constructor(body) {
    this.body = body;
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setIndex(new THREE.BufferAttribute(decode(body.triangles, Uint32Array), 1));
    this.geometry.setAttribute("position", new THREE.BufferAttribute(decode(body.shape, Float32Array), 3));
    this.geometry.computeVertexNormals();
    this.object = new THREE.Group();
  }
  room(count) {
    if (this.mesh && this.mesh.instanceMatrix.count >= count) return;
    if (this.mesh) { this.object.remove(this.mesh); this.mesh.dispose(); }
    this.mesh = new THREE.InstancedMesh(this.geometry, new THREE.MeshStandardMaterial({ roughness: 0.7 }), Math.max(1, count));
    this.mesh.castShadow = this.mesh.receiveShadow = true;
    this.mesh.frustumCulled = false;
    this.object.add(this.mesh);
  }
  show(data) {
    this.room(data.count);
    const matrix = new THREE.Matrix4(), turn = new THREE.Quaternion(), size = new THREE.Vector3(), tint = new THREE.Color();
    const places = metres(data), place = new THREE.Vector3();
    for (let k = 0; k < data.count; k++) {
      turn.fromArray(data.turns, 4 * k).normalize();
      matrix.compose(place.fromArray(places, 3 * k), turn, size.fromArray(data.sizes, 3 * k));
      this.mesh.setMatrixAt(k, matrix);
      if (data.colors) tint.setRGB(...data.colors.subarray(3 * k, 3 * k + 3)).multiplyScalar(1 / 255);
      else tint.setRGB(...this.body.color);
      this.mesh.setColorAt(k, tint);
    }
    this.mesh.count = data.count;
    this.mesh.instanceMatrix.needsUpdate = true;
    if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true; // none before the first copy
  }
}

const CLASSES = { mesh: MeshBody, points: PointsBody, instances: InstancesBody };

function decode(text, kind) {
  return new kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
}

function metres(data) {
  const step = data.extent / 65535, found = new Float32Array(3 * data.count);
  for (let k = 0; k < found.length; k++) found[k] = data.low[k % 3] + step * data.places[k];
  return found;
}

// ----- the stage ----------------------------------------------------------------------------

function setUp() {
  const low = new THREE.Vector3(...header.low), high = new THREE.Vector3(...header.high);
  const middle = low.clone().add(high).multiplyScalar(0.5), radius = Math.max(1e-6, 0.5 * low.distanceTo(high));
  scene.userData.radius = radius;
  renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
  renderer.shadowMap.enabled = true;
  renderer.shadowMap.type = THREE.PCFShadowMap;
  renderer.toneMapping = THREE.ACESFilmicToneMapping;
  scene.background = new THREE.Color(matchMedia("(prefers-color-scheme: dark)").matches ? 0x10151c : 0xdfe5ec);
  scene.fog = new THREE.Fog(scene.background, 1, 2);
  const sky = new THREE.HemisphereLight(0xffffff, 0x8a8f98, 1.5);
  sky.position.copy(upward);
  const across = header.up === "Z" ? [0.5, -0.4, 0.9] : [0.5, 0.9, 0.4];
  sun.position.copy(middle).addScaledVector(new THREE.Vector3(...across).normalize(), 4 * radius);
  sun.target.position.copy(middle);
  sun.castShadow = true;
  sun.shadow.mapSize.set(SHADOW_PIXELS, SHADOW_PIXELS);
  sun.shadow.bias = -0.002; // of the depth of the map; a bias along normals would darken sheets whose normals point down
  Object.assign(sun.shadow.camera, { left: -1.6 * radius, right: 1.6 * radius, top: 1.6 * radius, bottom: -1.6 * radius, near: radius, far: 8 * radius });
  scene.add(sky, sun, sun.target);
  if (!header.ground) scene.add(floorAt(middle, low, radius));
  Object.assign(camera, { near: 0.02 * radius, far: 60 * radius });
  controls.target.copy(middle);
  controls.enableDamping = true;
  if (header.ground) controls.maxPolarAngle = 0.495 * Math.PI; // nothing is seen from below a floor
}

/** Puts the camera where the box around all frames fills the window, with room for the controls. */
function frameBox() {
  const toward = new THREE.Vector3(...(header.up === "Z" ? [0.55, -0.9, 0.45] : [0.55, 0.45, 0.9])).normalize();
  const right = new THREE.Vector3().crossVectors(upward, toward).normalize();
  const above = new THREE.Vector3().crossVectors(toward, right);
  const tall = 0.75 * Math.tan((camera.fov * Math.PI) / 360), wide = Math.min(1.5, camera.aspect) * tall;
  let away = 0.5 * scene.userData.radius;
  for (let k = 0; k < 8; k++) {
    const corner = new THREE.Vector3(...[0, 1, 2].map((axis) => (k >> axis & 1 ? header.high : header.low)[axis]));
    corner.sub(controls.target);
    const across = Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(above)) / tall);
    away = Math.max(away, corner.dot(toward) + across);
  }
  camera.position.copy(controls.target).addScaledVector(toward, away);
}

/** Lines of a floor, one pixel wide at any distance, fading outwards. */
const GRID = {
  vertexShader: `
    varying vec2 at;
    void main() { at = position.xy; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`,
  fragmentShader: `
    varying vec2 at; uniform float cell; uniform float reach; uniform vec3 ink;
    void main() {
      vec2 cells = at / cell, width = fwidth(cells), off = abs(fract(cells - 0.5) - 0.5) / width;
      float line = 1.0 - min(min(off.x, off.y), 1.0);
      float seen = line * (1.0 - smoothstep(0.2, 1.0, length(at) / reach)) / max(1.0, 3.0 * max(width.x, width.y));
      gl_FragColor = vec4(ink, 0.5 * seen);
      #include <colorspace_fragment>
    }`,
};

/** A floor that takes shadows, with a grid, at the lowest point of what moves. */
function floorAt(middle, low, radius) {
  const decade = 10 ** Math.floor(Math.log10(radius));
  const cell = [0.2, 0.5, 1, 2].find((part) => 5 * part * decade >= radius) * decade;
  const floor = new THREE.Group(), reach = 20 * cell, form = new THREE.PlaneGeometry(2 * reach, 2 * reach);
  const plane = new THREE.Mesh(form, new THREE.ShadowMaterial({ opacity: 0.22, depthWrite: false }));
  const uniforms = { cell: { value: cell }, reach: { value: reach }, ink: { value: new THREE.Color(0x66717e) } };
  const lines = new THREE.ShaderMaterial({ ...GRID, uniforms, transparent: true, depthWrite: false, side: THREE.DoubleSide });
  plane.receiveShadow = true;
  floor.add(plane, new THREE.Mesh(form, lines));
  if (header.up === "Y") floor.rotation.x = -Math.PI / 2;
  floor.position.copy(middle).addScaledVector(upward, upward.dot(low) - upward.dot(middle) - 0.002 * radius);
  return floor;
}

function fit() {
  const width = window.innerWidth, height = window.innerHeight;
  renderer.setSize(width, height, false);
  camera.aspect = width / height;
  camera.updateProjectionMatrix();
}

function draw() {
  const size = renderer.getDrawingBufferSize(new THREE.Vector3());
  const direction = sun.position.clone().sub(sun.target.position).transformDirection(camera.matrixWorldInverse);
  for (const material of balls) {
    material.uniforms.pixels.value = size.y;
    material.uniforms.sun.value.copy(direction);
  }
  // What lies behind the scene fades, from wherever it is looked at: floors have no edge.
  const { radius } = scene.userData, behind = camera.position.distanceTo(controls.target) + radius;
  Object.assign(scene.fog, { near: behind, far: behind + 1.6 * radius });
  renderer.render(scene, camera);
}

// ----- playing ------------------------------------------------------------------------------

const player = { frame: 0, shown: -1, playing: false, speed: 1, moment: 0 };

function list(bodies) {
  for (const { body, object } of bodies) {
    const label = document.createElement("label"), box = document.createElement("input"), count = document.createElement("small");
    Object.assign(box, { type: "checkbox", checked: true, onchange: () => { object.visible = box.checked; } });
    count.textContent = body.count.toLocaleString("en");
    label.append(box, body.name.split("/").pop(), count);
    element("bodies").append(label);
  }
}

function tell() {
  element("scrub").value = player.frame;
  element("clock").textContent = `${(player.frame * header.every / header.fps).toFixed(2)} s · ${player.frame + 1}/${header.frames}`;
  element("play").classList.toggle("playing", player.playing);
}

function go(frame, playing = false) {
  player.frame = Math.max(0, Math.min(header.frames - 1, frame));
  player.playing = playing && header.frames > 1;
  player.moment = performance.now();
  player.from = player.frame;
  tell();
}

function step(now) {
  if (!player.playing) return;
  const passed = Math.floor(((now - player.moment) / 1000) * player.speed * header.fps / header.every);
  player.frame = (player.from + Math.max(0, passed)) % header.frames;
  tell();
}

function listen() {
  element("play").onclick = () => go(player.frame, !player.playing);
  element("scrub").max = header.frames - 1;
  element("scrub").oninput = (event) => go(Number(event.target.value));
  element("speed").onchange = (event) => { player.speed = Number(event.target.value); go(player.frame, player.playing); };
  window.onresize = fit;
  window.onkeydown = (event) => {
    if (event.target.tagName === "SELECT") return;
    const moves = { ArrowRight: 1, ArrowLeft: -1 };
    if (event.key === " ") { event.preventDefault(); go(player.frame, !player.playing); }
    else if (event.key in moves) { event.preventDefault(); go(player.frame + moves[event.key]); }
  };
  document.querySelector("footer").toggleAttribute("hidden", header.frames < 2);
}

async function main() {
  const text = element("frames").textContent.trim();
  const frames = text ? await embeddedFrames(text) : remoteFrames();
  const bodies = header.bodies.map((body) => new CLASSES[body.kind](body));
  const moving = bodies.filter(({ body }) => body.moving), still = bodies.filter(({ body }) => !body.moving);
  scene.add(...bodies.map(({ object }) => object));
  const first = new Reader(decode(header.still, Uint8Array).buffer);
  for (const found of still) found.show(first.body(found.body));
  setUp(); fit(); frameBox(); list(bodies); listen(); go(0, header.play);
  let waiting = false;
  const loop = async (now) => {
    requestAnimationFrame(loop);
    step(now);
    controls.update();
    const wanted = player.frame;
    if (wanted !== player.shown && !waiting) {
      waiting = true;
      try {
        const reader = new Reader(await frames(wanted));
        for (const found of moving) found.show(reader.body(found.body));
        const ahead = Math.max(1, wanted - player.shown); // as many frames as this one took
        player.shown = wanted;
        element("message").textContent = "";
        document.body.dataset.shown = wanted;
        if (!text && player.playing) frames((wanted + ahead) % header.frames);
      } catch (error) {
        element("message").textContent = `${error.message}; is the program that shows this page still running?`;
      } finally { waiting = false; }
    }
    draw();
  };
  requestAnimationFrame(loop);
}

if (!header.live) main().catch((error) => { element("message").textContent = String(error); throw error; });
