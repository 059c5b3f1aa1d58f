'use strict';

// Computes a model: pure functions on Float32Array. A picture or the maps of a
// layer are [height, width, channels], the units of a layer [units]. The page
// and its worker share this script.

/** Decodes base64 to a typed array; float16 becomes Float32Array. */
function decode(text, type) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (type === 'uint8') return bytes;
  if (type === 'float32') return new Float32Array(bytes.buffer);
  const halves = new Uint16Array(bytes.buffer);
  return Float32Array.from(halves, (half) => {
    const sign = half & 0x8000 ? -1 : 1, exponent = half >> 10 & 31;
    const fraction = half & 1023;
    if (!exponent) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

/** Reads a model: decodes its constants and samples in place. */
function load(text) {
  const model = JSON.parse(text);
  for (const constant of model.constants) {
    constant.values = decode(constant.data, constant.type);
    delete constant.data;
  }
  for (const sample of model.samples) {
    sample.pixels = decode(sample.pixels, 'uint8');
  }
  return model;
}

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The shape of a value, by its number in the inputs of operations. */
function shapeOf(model, number) {
  if (number < 0) return model.constants[-1 - number].shape;
  if (number > 0) return model.operations[number - 1].shape;
  return [model.crop, model.crop, model.depth];
}

/** The window of a convolution or pooling, and where its first one begins. */
function windowOf(model, op) {
  const [rows, columns] = op.ksize ? op.ksize.slice(1, 3) :
    shapeOf(model, op.inputs[1]);
  const [height, width, channels] = shapeOf(model, op.inputs[0]);
  const [, down, right] = op.strides;
  const before = (size, outputs, stride, window) => op.padding === 'VALID' ?
    0 : Math.max(0, (outputs - 1) * stride + window - size) >> 1;
  return {rows, columns, height, width, channels, down, right,
    top: before(height, op.shape[0], down, rows),
    left: before(width, op.shape[1], right, columns)};
}

function conv2d(x, kernel, shape, w) {
  const [height, width, filters] = shape;
  const out = new Float32Array(height * width * filters);
  const channels = w.channels, block = channels * filters;
  for (let r = 0, o = 0; r < height; r++) {
    for (let c = 0; c < width; c++, o += filters) {
      for (let i = 0; i < w.rows; i++) {
        const y = r * w.down - w.top + i;
        if (y < 0 || y >= w.height) continue;
        for (let j = 0; j < w.columns; j++) {
          const z = c * w.right - w.left + j;
          if (z < 0 || z >= w.width) continue;
          accumulate(out, o, filters, x, (y * w.width + z) * channels, channels,
              kernel, (i * w.columns + j) * block);
        }
      }
    }
  }
  return out;
}

/** Adds a row vector times a matrix to a part of `out`. */
function accumulate(out, o, units, x, at, inputs, weights, w) {
  let k = 0;
  for (; k + 3 < inputs; k += 4, w += 4 * units) {  // Four rows at a time.
    const a = x[at + k], b = x[at + k + 1];
    const c = x[at + k + 2], d = x[at + k + 3];
    if (a === 0 && b === 0 && c === 0 && d === 0) continue;  // After ReLU.
    const v = w + units, u = v + units, t = u + units;
    for (let f = 0; f < units; f++) {
      out[o + f] += a * weights[w + f] + b * weights[v + f] +
          c * weights[u + f] + d * weights[t + f];
    }
  }
  for (; k < inputs; k++, w += units) {
    for (let f = 0; f < units; f++) out[o + f] += x[at + k] * weights[w + f];
  }
}

function pool(x, shape, w, isMean) {
  const [height, width, channels] = shape;
  const out = new Float32Array(height * width * channels);
  for (let r = 0, o = 0; r < height; r++) {
    const y0 = Math.max(0, r * w.down - w.top);
    const y1 = Math.min(w.height, r * w.down - w.top + w.rows);
    for (let c = 0; c < width; c++) {
      const x0 = Math.max(0, c * w.right - w.left);
      const x1 = Math.min(w.width, c * w.right - w.left + w.columns);
      for (let k = 0; k < channels; k++, o++) {
        let largest = -Infinity, sum = 0;
        for (let y = y0; y < y1; y++) {
          for (let z = x0; z < x1; z++) {
            const value = x[(y * w.width + z) * channels + k];
            if (value > largest) largest = value;
            sum += value;
          }
        }
        out[o] = isMean ? sum / ((y1 - y0) * (x1 - x0)) : largest;
      }
    }
  }
  return out;
}

function lrn(x, channels, {depth_radius: radius, bias, alpha, beta}) {
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += channels) {
    for (let k = 0; k < channels; k++) {
      let sum = 0;
      const last = Math.min(channels - 1, k + radius);
      for (let i = Math.max(0, k - radius); i <= last; i++) {
        sum += x[at + i] * x[at + i];
      }
      out[at + k] = x[at + k] / (bias + alpha * sum) ** beta;
    }
  }
  return out;
}

function concat(parts, channels) {
  const total = channels.reduce((sum, count) => sum + count);
  const out = new Float32Array(parts[0].length / channels[0] * total);
  let first = 0;
  parts.forEach((part, i) => {
    const count = channels[i];
    for (let at = 0, o = first; at < part.length; at += count, o += total) {
      out.set(part.subarray(at, at + count), o);
    }
    first += count;
  });
  return out;
}

function softmax(x) {
  const largest = Math.max(...x), odds = x.map((v) => Math.exp(v - largest));
  const sum = odds.reduce((total, value) => total + value);
  return odds.map((value) => value / sum);
}

/** Abramowitz and Stegun, 7.1.26: within 1.5e-7. */
function erf(x) {
  const u = 1 / (1 + 0.3275911 * Math.abs(x));
  const factors = [1.061405429, -1.453152027, 1.421413741, -0.284496736,
    0.254829592];
  const tail = factors.reduce((sum, factor) => sum * u + factor, 0) * u;
  return Math.sign(x) * (1 - tail * Math.exp(-x * x));
}

const UNARY = {
  Abs: Math.abs, Erf: erf, Exp: Math.exp, Tanh: Math.tanh,
  Elu: (x) => x > 0 ? x : Math.expm1(x),
  Relu: (x) => Math.max(x, 0),
  Selu: (x) => 1.0507009873554805 *
      (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  Square: (x) => x * x,
};
const add = (x, y) => x + y;
const BINARY = {
  Add: add, AddV2: add, BiasAdd: add, Maximum: Math.max, Minimum: Math.min,
  Mul: (x, y) => x * y, Pow: Math.pow, RealDiv: (x, y) => x / y,
  Sub: (x, y) => x - y,
};
const UNCHANGED = ['ExpandDims', 'Identity', 'Reshape', 'Squeeze'];

/** The output of an operation, whose inputs are given. */
function compute(model, op, inputs) {
  const [x, y] = inputs, size = product(op.shape);
  const shapes = op.inputs.map((number) => shapeOf(model, number));
  if (op.kind in UNARY) return x.map(UNARY[op.kind]);
  if (op.kind in BINARY) {  // The shorter one is repeated.
    const f = BINARY[op.kind], out = new Float32Array(size);
    for (let i = 0; i < size; i++) out[i] = f(x[i % x.length], y[i % y.length]);
    return out;
  }
  if (UNCHANGED.includes(op.kind)) return x;
  switch (op.kind) {
    case 'Conv2D': return conv2d(x, y, op.shape, windowOf(model, op));
    case 'MaxPool': return pool(x, op.shape, windowOf(model, op), false);
    case 'AvgPool': return pool(x, op.shape, windowOf(model, op), true);
    case 'LRN': return lrn(x, op.shape[2], op);
    case 'LeakyRelu': return x.map((v) => v > 0 ? v : op.alpha * v);
    case 'Softmax': return softmax(x);
    case 'ConcatV2': return concat(inputs, shapes.map((shape) => shape.at(-1)));
    case 'Mean': {
      const [rows, columns, channels] = shapes[0];
      return pool(x, [1, 1, channels], {rows, columns, height: rows,
        width: columns, top: 0, left: 0, down: 1, right: 1}, true);
    }
    case 'MatMul': {
      const out = new Float32Array(size);
      accumulate(out, 0, size, x, 0, x.length, y, 0);
      return out;
    }
  }
  throw new Error(`unknown operation: ${op.kind}`);
}

/**
 * Computes what depends on the value `from`. `values` are by their numbers, 0
 * for the standardized image; returns new ones, the last of them the
 * probabilities, the last but one the scores.
 */
function propagate(model, values, from = 0) {
  const found = values.slice(), changed = new Set([from]);
  model.operations.forEach((op, i) => {
    if (!op.inputs.some((number) => changed.has(number))) return;
    changed.add(i + 1);
    found[i + 1] = compute(model, op, op.inputs.map((number) => number < 0 ?
      model.constants[-1 - number].values : found[number]));
  });
  return found;
}

/** Crops, flips, changes and standardizes pixels as training does. */
function prepare(model, pixels, options = {}) {
  const {size, crop, depth, standardization} = model, count = crop * crop;
  const {top = size - crop >> 1, left = size - crop >> 1, flip = false,
    brightness = 0, contrast = 1} = options;
  const cropped = new Float32Array(count * depth);
  for (let i = 0; i < cropped.length; i++) {
    const row = Math.floor(i / (crop * depth)), k = i % depth;
    const column = Math.floor(i / depth) % crop;
    const from = left + (flip ? crop - 1 - column : column);
    cropped[i] = pixels[((top + row) * size + from) * depth + k];
  }
  const means = (x) => x.reduce((sums, value, i) => {
    sums[i % depth] += value / count;
    return sums;
  }, new Float64Array(depth));
  const average = means(cropped);
  const changed = cropped.map((value, i) =>
    value * contrast + average[i % depth] * (1 - contrast) + brightness);
  let [mean, deviation] = standardization || [];
  if (!standardization) {
    mean = [means(changed).reduce(add) / depth];
    const variance = changed.reduce((sum, value) =>
      sum + (value - mean[0]) ** 2, 0) / changed.length;
    deviation = [Math.max(Math.sqrt(variance), changed.length ** -0.5)];
  }
  const standardized = changed.map((value, i) =>
    (value - mean[i % mean.length]) / deviation[i % deviation.length]);
  return {cropped, changed, standardized};
}

/** All values of a picture in pixels of the model's size. */
function run(model, pixels, options) {
  return propagate(model, [prepare(model, pixels, options).standardized]);
}

/** The scores of all classes without each map of a value: [maps, classes]. */
function scoresWithout(model, values, number) {
  const maps = shapeOf(model, number)[2], classes = model.classes.length;
  const scores = new Float32Array(maps * classes);
  for (let map = 0; map < maps; map++) {
    const erased = values.slice();
    erased[number] = values[number].map((v, i) => i % maps === map ? 0 : v);
    scores.set(propagate(model, erased, number).at(-2), map * classes);
  }
  return scores;
}

/**
 * Scales rows of pixels with Pillow's Lanczos filter, and exchanges rows and
 * columns. `first` is the left edge, `step` the distance between new pixels.
 */
function resample(pixels, rows, columns, depth, first, step, size) {
  const out = new Uint8ClampedArray(size * rows * depth);
  const sinc = (x) => x ? Math.sin(Math.PI * x) / (Math.PI * x) : 1;
  const wide = Math.max(1, step), support = 3 * wide;
  for (let c = 0; c < size; c++) {
    const center = first + (c + 0.5) * step;
    const from = Math.max(0, Math.floor(center - support + 0.5));
    const to = Math.min(columns, Math.floor(center + support + 0.5));
    const weights = Array.from({length: to - from}, (_, i) => {
      const x = (from + i - center + 0.5) / wide;
      return Math.abs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    });
    const total = weights.reduce(add);
    for (let r = 0; r < rows; r++) {
      for (let k = 0; k < depth; k++) {
        let sum = 0;
        for (let i = from; i < to; i++) {
          sum += weights[i - from] * pixels[(r * columns + i) * depth + k];
        }
        out[(c * rows + r) * depth + k] = sum / total;
      }
    }
  }
  return out;
}

/** The middle square of RGBA pixels, scaled to the model's size and depth. */
function fit(model, rgba, width, height) {
  const {size, depth} = model, side = Math.min(width, height);
  const pixels = new Uint8ClampedArray(width * height * depth);
  for (let i = 0, o = 0; i < rgba.length; i += 4) {
    if (depth === 1) {
      pixels[o++] = 0.299 * rgba[i] + 0.587 * rgba[i + 1] + 0.114 * rgba[i + 2];
    } else for (let k = 0; k < 3; k++) pixels[o++] = rgba[i + k];
  }
  if (width === size && height === size) return pixels;
  const scaled = resample(pixels, height, width, depth, (width - side) / 2,
      side / size, size);
  return resample(scaled, size, height, depth, (height - side) / 2,
      side / size, size);
}

/** The layers to show: operations of one scope, whose last output counts. */
function layersOf(model) {
  const layers = new Map(), passive = [...UNCHANGED, 'ConcatV2', 'Softmax'];
  model.operations.forEach((op, i) => {
    const name = op.name.replace(/\/[^/]*$/, '');
    if (!layers.has(name)) layers.set(name, {name, operations: []});
    const layer = layers.get(name);
    layer.operations.push(op);
    Object.assign(layer, {number: i + 1, shape: op.shape});
    if (op.kind === 'Conv2D' || op.kind === 'MatMul') layer.linear = op;
  });
  const shown = [...layers.values()].filter(({operations}) =>
    operations.some((op) => !passive.includes(op.kind)));
  for (const layer of shown) {
    layer.size = layer.shape.at(-1);
    layer.isMaps = layer.shape.length === 3;
    layer.kernel = layer.linear && kernelOf(model, layer.linear);
  }
  return shown;
}

/** The weights of a layer as [rows, columns, channels, filters], or null. */
function kernelOf(model, op) {
  const {values, shape} = model.constants[-1 - op.inputs[1]];
  if (shape.length === 4) return {values, shape, from: op.inputs[0]};
  let from = op.inputs[0];
  while (UNCHANGED.includes(model.operations[from - 1]?.kind)) {
    [from] = model.operations[from - 1].inputs;
  }
  const given = shapeOf(model, from);
  return given.length === 3 && {values, shape: [...given, shape[1]], from};
}

/** The maps that no further convolution sees: those that an answer rests on. */
function lastMaps(model, layers) {
  const below = new Set();
  for (let i = model.operations.length; i > 0; i--) {
    const op = model.operations[i - 1];
    if (op.kind === 'Conv2D' || below.has(i)) {
      op.inputs.forEach(below.add, below);
    }
  }
  return layers.filter(({number, linear}) =>
    linear?.kind === 'Conv2D' && !below.has(number));
}

/** The part of the image that a place in a value depends on. */
function receptiveField(model, number, [top, left, bottom, right]) {
  if (number === 0) {
    const clip = (x) => Math.min(model.crop, Math.max(0, x));
    return [clip(top), clip(left), clip(bottom), clip(right)];
  }
  const op = model.operations[number - 1];
  const from = op.inputs.find((input) => input >= 0);
  if (op.strides) {
    const w = windowOf(model, op);
    return receptiveField(model, from, [top * w.down - w.top,
      left * w.right - w.left, (bottom - 1) * w.down - w.top + w.rows,
      (right - 1) * w.right - w.left + w.columns]);
  }
  return receptiveField(model, from, [top, left, bottom, right]);
}

/** Computes in the order in which the page needs it; `reply` shows it. */
function answer(model, last, image, reply) {
  const start = performance.now(), values = propagate(model, [image]);
  reply({values, ms: performance.now() - start});
  reply({scores: last.map((number) => scoresWithout(model, values, number))});
}

if (typeof importScripts === 'function') {  // In a worker.
  let model, last;
  onmessage = ({data}) => {
    if (data.model) ({model, last} = data);
    else answer(model, last, data.image, (found) => postMessage(found));
  };
}
