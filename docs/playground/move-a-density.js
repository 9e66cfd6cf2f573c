"use strict";
// A density and its density matrix, in the reader's browser. The rows, and the cells of
// mosaics that rhokit has fitted to them, are in move-a-density-data.js; everything else is
// computed here, by the equations of the page "Theory".

const SIZES = { fourier: [4, 8, 16, 32, 64, 128, 256], landmarks: [2, 4, 8, 16, 32, 64, 128] };
const NODES = { 1: 400, 2: 72 };
const MARGIN = { left: 64, right: 24, top: 24, bottom: 64 };
const JITTER = 1e-9; // of a kernel matrix whose landmarks are nearly dependent

// ---- numbers ----------------------------------------------------------------------

/** Numbers in [0, 1), the same for the same seed. */
function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Numbers of a normal distribution. */
function normal(random) {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function squaredDistance(x, y) {
  let sum = 0;
  for (let j = 0; j < x.length; j++) sum += (x[j] - y[j]) ** 2;
  return sum;
}

function dot(x, y) {
  let sum = 0;
  for (let j = 0; j < x.length; j++) sum += x[j] * y[j];
  return sum;
}

/** Lower triangle L of a positive matrix, K = L Lᵀ. */
function cholesky(matrix) {
  const lower = matrix.map((row) => row.map(() => 0));
  for (let i = 0; i < matrix.length; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i][j];
      for (let k = 0; k < j; k++) rest -= lower[i][k] * lower[j][k];
      lower[i][j] = i === j ? Math.sqrt(Math.max(rest, JITTER)) : rest / lower[j][j];
    }
  }
  return lower;
}

function solveLower(lower, right) {
  const found = new Float64Array(right.length);
  for (let i = 0; i < right.length; i++) {
    let rest = right[i];
    for (let k = 0; k < i; k++) rest -= lower[i][k] * found[k];
    found[i] = rest / lower[i][i];
  }
  return found;
}

// ---- feature maps: from a row to a state of length one --------------------------------

/** √(2/D) cos(w·x + b), divided by its length; w is drawn for the kernel's root. */
function fourierMap(rows, gamma, size, seed) {
  const random = uniform(seed), gauss = normal(random);
  const frequencies = Array.from({ length: size }, () => rows[0].map(() => Math.sqrt(gamma) * gauss()));
  const phases = Array.from({ length: size }, () => 2 * Math.PI * random());
  return (x) => {
    const state = Float64Array.from(frequencies, (w, j) => Math.cos(dot(w, x) + phases[j]));
    const length = Math.sqrt(dot(state, state)) || 1;
    return state.map((value) => value / length);
  };
}

/** L⁻¹ k(x) over landmarks that are rows far from one another. */
function landmarkMap(rows, gamma, size, seed) {
  const chosen = spread(rows, size, uniform(seed));
  const kernel = (x, y) => Math.exp((-gamma / 2) * squaredDistance(x, y));
  const matrix = chosen.map((x, i) => chosen.map((y, j) => kernel(x, y) + (i === j ? JITTER : 0)));
  const lower = cholesky(matrix);
  return (x) => solveLower(lower, chosen.map((y) => kernel(x, y)));
}

/** Rows drawn one by one, each with a chance that grows with its distance to the others. */
function spread(rows, size, random) {
  const chosen = [rows[Math.floor(random() * rows.length)]];
  const nearest = rows.map((row) => squaredDistance(row, chosen[0]));
  while (chosen.length < Math.min(size, rows.length)) {
    let place = random() * nearest.reduce((sum, value) => sum + value, 0);
    let index = 0;
    while (index < rows.length - 1 && (place -= nearest[index]) > 0) index++;
    chosen.push(rows[index]);
    rows.forEach((row, i) => (nearest[i] = Math.min(nearest[i], squaredDistance(row, rows[index]))));
  }
  return chosen;
}

// ---- the density matrix -----------------------------------------------------------------

/** The average of φφᵀ over rows, as rows of numbers. */
function densityMatrix(states) {
  const size = states[0].length;
  const matrix = Array.from({ length: size }, () => new Float64Array(size));
  for (const state of states)
    for (let i = 0; i < size; i++)
      for (let j = 0; j < size; j++) matrix[i][j] += (state[i] * state[j]) / states.length;
  return matrix;
}

/** φᵀρφ. */
function born(matrix, state) {
  let sum = 0;
  for (let i = 0; i < state.length; i++) sum += state[i] * dot(matrix[i], state);
  return sum;
}

const kernelMass = (gamma, columns) => (Math.PI / gamma) ** (columns / 2);

function exactDensity(rows, gamma) {
  const mass = rows.length * kernelMass(gamma, rows[0].length);
  return (x) => rows.reduce((sum, row) => sum + Math.exp(-gamma * squaredDistance(row, x)), 0) / mass;
}

function matrixDensity(map, rows, gamma) {
  const matrix = densityMatrix(rows.map(map));
  const mass = kernelMass(gamma, rows[0].length);
  return (x) => born(matrix, map(x)) / mass;
}

// ---- what is asked for -------------------------------------------------------------------

const byId = (name) => document.getElementById(name);
let seed = 0;

function settings() {
  const columns = Number(document.querySelector("input[name=columns]:checked").value);
  const map = byId("map").value;
  const step = Number(byId("size").value);
  const sizes = map === "mosaic" ? DATA[columns].mosaics.map((each) => each.most) : SIZES[map];
  const size = sizes ? sizes[Math.min(step, sizes.length - 1)] : null;
  return { columns, map, gamma: 10 ** Number(byId("gamma").value), size, sizes };
}

/** Densities at the nodes of a grid, and what is to be said of them. */
function answers({ columns, map, gamma, size }) {
  const { rows, low, high, mosaics } = DATA[columns];
  const nodes = gridOf(low, high, NODES[columns]);
  const exact = nodes.map(exactDensity(rows, gamma));
  const cell = low.reduce((area, at, j) => (area * (high[j] - at)) / (NODES[columns] - 1), 1);
  if (map === "mosaic") {
    const mosaic = mosaics.find((each) => each.most === size);
    return { nodes, cell, density: mosaic.density, outlines: mosaic.outlines, kept: mosaic.kept };
  }
  if (map === "exact") return { nodes, cell, density: exact, kept: rows.length * columns };
  const make = map === "fourier" ? fourierMap : landmarkMap;
  const density = nodes.map(matrixDensity(make(rows, gamma, size, seed), rows, gamma));
  return { nodes, cell, density, exact, kept: (size * (size + 1)) / 2 };
}

function gridOf(low, high, count) {
  const at = (j, i) => low[j] + ((high[j] - low[j]) * i) / (count - 1);
  const steps = Array.from({ length: count }, (_, i) => i);
  if (low.length === 1) return steps.map((i) => [at(0, i)]);
  return steps.flatMap((i) => steps.map((j) => [at(0, j), at(1, i)]));
}

function sentence({ columns, map, size, gamma }, { density, exact, kept, cell, outlines }) {
  const mass = density.reduce((sum, value) => sum + value, 0) * cell;
  const parts = [`${DATA[columns].rows.length} rows are kept as ${kept.toLocaleString("en")} numbers. `];
  parts.push(`Over this picture the density integrates to ${mass.toFixed(2)}. `);
  if (exact) {
    const miss = Math.sqrt(density.reduce((sum, value, i) => sum + (value - exact[i]) ** 2, 0));
    const scale = Math.sqrt(exact.reduce((sum, value) => sum + value ** 2, 0));
    parts.push(`It is ${(100 * miss / scale).toPrecision(2)} % away from exact kernel density. `);
  }
  if (map === "fourier") parts.push("Far from all rows it does not fall to zero: random features have a floor.");
  if (map === "landmarks" && mass < 0.9)
    parts.push("It misses some of the rows: take more landmarks, or a smaller γ.");
  if (map === "mosaic") parts.push(`${outlines.length} cells; a mosaic needs no γ.`);
  return parts.join("");
}

// ---- the picture ---------------------------------------------------------------------------

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Places on the canvas of values of the columns. */
function scales(low, high) {
  const { width, height } = byId("picture");
  const across = (x) => MARGIN.left + ((x - low[0]) / (high[0] - low[0])) * (width - MARGIN.left - MARGIN.right);
  const up = (y, from, to) =>
    height - MARGIN.bottom - ((y - from) / (to - from)) * (height - MARGIN.top - MARGIN.bottom);
  return { across, up };
}

function draw() {
  const wanted = settings(), found = answers(wanted);
  const paper = byId("picture").getContext("2d");
  paper.canvas.width = innerWidth < 600 ? 720 : 1200; // which clears it, too
  (wanted.columns === 1 ? drawCurve : drawMap)(paper, DATA[wanted.columns], found);
  label(wanted);
  byId("said").textContent = sentence(wanted, found);
}

function drawCurve(paper, { rows, low, high, names }, { nodes, density, exact, outlines }) {
  const top = 1.08 * Math.max(...density, ...(exact || [0]));
  const { across, up } = scales(low, high);
  axes(paper, low, high, [names[0], "density"]);
  const line = (values, style, width) => {
    paper.beginPath();
    values.forEach((value, i) => paper.lineTo(across(nodes[i][0]), up(Math.max(value, 0), 0, top)));
    Object.assign(paper, { strokeStyle: style, lineWidth: width });
    paper.stroke();
  };
  if (exact) line(exact, colour("faint"), 2);
  for (const each of outlines || []) line(each, colour("rows"), 1.5);
  line(density, colour("line"), 4);
  paper.globalAlpha = 0.5;
  paper.fillStyle = colour("rows");
  for (const [x] of rows) paper.fillRect(across(x) - 1, up(0, 0, top) - 18, 2, 18);
  paper.globalAlpha = 1;
}

function drawMap(paper, { rows, low, high, names }, { nodes, density, outlines }) {
  const { across, up } = scales(low, high);
  const [left, right] = [across(low[0]), across(high[0])];
  const [bottom, top] = [up(0, 0, 1), up(1, 0, 1)];
  paper.drawImage(shaded(density), left, top, right - left, bottom - top);
  axes(paper, low, high, names);
  paper.fillStyle = colour("rows");
  for (const [x, y] of rows) dotAt(paper, across(x), up(y, low[1], high[1]));
  Object.assign(paper, { strokeStyle: colour("ink"), lineWidth: 1.5 });
  for (const outline of outlines || []) {
    paper.beginPath();
    for (const [x, y] of outline) paper.lineTo(across(x), up(y, low[1], high[1]));
    paper.stroke();
  }
}

/** Densities as a small picture of one colour, the denser the less transparent. */
function shaded(density) {
  const count = NODES[2], most = Math.max(...density);
  const canvas = Object.assign(document.createElement("canvas"), { width: count, height: count });
  const pen = canvas.getContext("2d");
  pen.fillStyle = colour("line");
  density.forEach((value, i) => {
    pen.globalAlpha = Math.sqrt(Math.max(value, 0) / most);
    pen.fillRect(i % count, count - 1 - Math.floor(i / count), 1, 1);
  });
  return canvas;
}

function dotAt(paper, x, y) {
  paper.beginPath();
  paper.arc(x, y, 4, 0, 2 * Math.PI);
  paper.fill();
}

function axes(paper, low, high, names) {
  const { width, height } = paper.canvas;
  const { across } = scales(low, high);
  Object.assign(paper, { fillStyle: colour("ink"), strokeStyle: colour("faint"), lineWidth: 1 });
  paper.font = "24px system-ui, sans-serif";
  paper.textAlign = "center";
  for (let i = 0; i <= 4; i++) {
    const x = low[0] + ((high[0] - low[0]) * i) / 4;
    paper.fillText(x.toPrecision(2), across(x), height - MARGIN.bottom + 28);
  }
  paper.fillText(names[0], width / 2, height - 8);
  paper.save();
  paper.translate(24, height / 2);
  paper.rotate(-Math.PI / 2);
  paper.fillText(names[1], 0, 0);
  paper.restore();
  paper.strokeRect(MARGIN.left, MARGIN.top, width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom);
}

function label({ columns, map, gamma, size, sizes }) {
  byId("about").textContent = DATA[columns].about;
  byId("gamma-shown").textContent = map === "mosaic" ? "none" : gamma.toPrecision(2);
  byId("gamma").disabled = map === "mosaic";
  byId("size").disabled = map === "exact";
  byId("size").max = sizes ? sizes.length - 1 : 0;
  byId("size-name").textContent = { mosaic: "At most so many cells per layer", landmarks: "Landmarks" }[map] || "Features";
  byId("size-shown").textContent = size === null ? "none" : size;
  byId("again").disabled = map !== "fourier" && map !== "landmarks";
}

byId("controls").addEventListener("input", draw);
byId("again").addEventListener("click", () => { seed += 1; draw(); });
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
