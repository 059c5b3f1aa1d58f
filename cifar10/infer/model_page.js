'use strict';

// Shows a model that model_engine.js computes: the picture, each layer in the
// order of the network, the answer, and what the reader points at.

const TEXTS = {
  en: {
    title: 'Look inside', picture: 'Picture', answer: 'Answer',
    choose: 'Choose a picture, drop one or paste it',
    flip: 'Flip', brightness: 'Brightness', contrast: 'Contrast',
    facts: (name, step, weights, work) => `${name}, step ${step} · ` +
        `${weights} weights · ${(work / 1e6).toFixed(1)} million ` +
        'multiplications a picture',
    status: (ms) => `${ms} ms in this browser; nothing is sent`,
    busy: 'computing …',
    hint: 'Drag the frame or move it with the arrow keys: the network sees ' +
        'what is inside.',
    whole: 'The network sees the whole picture.',
    changes: 'The tutorial changes these at random in training, so that ' +
        'the network learns to ignore them.',
    steps: ['cropped', 'changed', 'standardized'],
    problem: 'This file is not a picture that the browser can read.',
    frame: 'the part that the network sees',
    conv: (n, size) => `${n} filters of ${size} slide over the input; each ` +
        'draws a map of where it finds its pattern.',
    MaxPool: (size, stride) => `Keeps the largest of each ${size} values, ` +
        `every ${stride} pixels: where exactly no longer matters.`,
    AvgPool: (size, stride) => `Averages ${size} values, every ${stride} ` +
        'pixels.',
    Mean: () => 'Averages each map.',
    LRN: () => 'Divides each value by the strength of its neighbor maps: ' +
        'the strong stand out.',
    MatMul: (n, from) => `Each of ${n} units weighs all ${from} values above.`,
    ReLU: () => 'Below zero becomes zero (ReLU).',
    GELU: () => 'Values well below zero become zero (GELU).',
    activation: (kind) => `Then ${kind}.`,
    map: (layer, k) => `${layer}, map ${k}`,
    unit: (layer, k) => `${layer}, unit ${k}`,
    seen: (value) => `Its strongest value, ${value}, is at the mark and ` +
        'depends on the framed part of the picture.',
    value: (value) => `Its value is ${value}.`,
    bars: 'The bars say how much each map speaks for the chosen answer ' +
        '(blue) or against it (orange).',
    views: ['picture', 'map', 'filter', 'filter, mean'],
    strongest: (layer) => `Inputs that it weighs most, from ${layer}:`,
    without: (name, p, q) => `Without this map, ${name} goes from ${p} to ${q}.`,
    evidence: (name, layer) => `Maps for ${name} (above) and against it ` +
        `(below): its probability if that map of ${layer} is erased.`,
  },
  ko: {
    title: '모델 들여다보기', picture: '이미지', answer: '예측',
    choose: '이미지를 선택하거나 끌어다 놓거나 붙여 넣으세요',
    flip: '뒤집기', brightness: '밝기', contrast: '대비',
    facts: (name, step, weights, work) => `${name}, 스텝 ${step} · 가중치 ` +
        `${weights}개 · 이미지당 곱셈 ${Math.round(work / 1e4)}만 번`,
    status: (ms) => `이 브라우저에서 ${ms} ms; 아무것도 전송하지 않습니다`,
    busy: '계산 중 …',
    hint: '틀을 끌거나 화살표 키로 옮기세요. 신경망은 틀 안만 봅니다.',
    whole: '신경망은 이미지 전체를 봅니다.',
    changes: '튜토리얼은 학습할 때 이 값을 무작위로 바꿉니다. 신경망은 이런 ' +
        '변화를 무시하는 법을 배웁니다.',
    steps: ['자르기', '변형', '표준화'],
    problem: '브라우저가 읽을 수 있는 이미지 파일이 아닙니다.',
    frame: '신경망이 보는 부분',
    conv: (n, size) => `${size} 필터 ${n}개가 입력 위를 움직이며, 저마다 자기 ` +
        '패턴을 찾은 자리를 맵으로 그립니다.',
    MaxPool: (size, stride) => `${size} 값 가운데 가장 큰 값을 ${stride}칸마다 ` +
        '남깁니다. 정확한 위치는 이제 중요하지 않습니다.',
    AvgPool: (size, stride) => `${size} 값의 평균을 ${stride}칸마다 구합니다.`,
    Mean: () => '맵마다 평균을 구합니다.',
    LRN: () => '값을 이웃한 맵의 세기로 나눕니다. 강한 맵이 두드러집니다.',
    MatMul: (n, from) => `유닛 ${n}개가 저마다 위의 값 ${from}개를 모두 가중합니다.`,
    ReLU: () => '0보다 작은 값은 0이 됩니다(ReLU).',
    GELU: () => '0보다 훨씬 작은 값은 0이 됩니다(GELU).',
    activation: (kind) => `활성화 함수는 ${kind}입니다.`,
    map: (layer, k) => `${layer}, 맵 ${k}`,
    unit: (layer, k) => `${layer}, 유닛 ${k}`,
    seen: (value) => `표시한 곳에서 ${value}로 가장 강합니다. 이 값은 이미지에서 ` +
        '테두리 안만 보고 정해집니다.',
    value: (value) => `값은 ${value}입니다.`,
    bars: '막대는 맵이 선택한 예측에 얼마나 유리한지(파랑) 또는 불리한지(주황) ' +
        '나타냅니다.',
    views: ['이미지', '맵', '필터', '필터 평균'],
    strongest: (layer) => `${layer}에서 가장 크게 가중하는 입력:`,
    without: (name, p, q) => `이 맵이 없으면 ${name}의 확률이 ${p}에서 ${q}로 ` +
        '바뀝니다.',
    evidence: (name, layer) => `${name}에 유리한 맵(위)과 불리한 맵(아래): ` +
        `${layer}에서 그 맵을 지웠을 때의 확률입니다.`,
  },
};

const byId = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
const brief = (x) => (+x.toPrecision(3)).toString().replace('-', '−');

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const rgb = (colors) => colors.reduce((color, value, k) => color |
  Math.min(255, Math.max(0, Math.round(value))) << 8 * k, 255 << 24);

/** The colors of numbers from -1 to 1, from those of the style sheet. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const stops = ['--n2', '--n1', '--zero', '--p1', '--p2'].map((name) =>
    style.getPropertyValue(name).match(/[0-9a-f]{2}/g).map((digits) =>
      parseInt(digits, 16)));
  const colors = Int32Array.from({length: 511}, (_, i) => {
    const at = Math.min(3, Math.floor(i * 4 / 510)), share = i * 4 / 510 - at;
    return rgb(stops[at].map((x, k) => x + (stops[at + 1][k] - x) * share));
  });
  return (x) => colors[255 + Math.round(255 * Math.max(-1, Math.min(1, x)))];
}

/** Draws pixels, of the color that a function of row and column returns. */
function draw(canvas, height, width, colorAt) {
  const image = new ImageData(width, height);
  const pixels = new Int32Array(image.data.buffer);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) pixels[y * width + x] = colorAt(y, x);
  }
  Object.assign(canvas, {width, height});
  canvas.getContext('2d').putImageData(image, 0, 0);
  return canvas;
}

/** Draws a picture of 1 or 3 channels whose values are scaled to 0 to 255. */
function drawPicture(canvas, x, size, depth, factor = 1, shift = 0) {
  return draw(canvas, size, size, (row, column) => {
    const at = (row * size + column) * depth;
    return rgb([0, 1, 2].map((k) =>
      factor * x[at + Math.min(k, depth - 1)] + shift));
  });
}

/** The size of almost all values: a few may be off the scale of colors. */
function scaleOf(x) {
  const sorted = x.map(Math.abs).sort();
  return sorted[Math.ceil(0.998 * (sorted.length - 1))] || sorted.at(-1) || 1;
}

/** Places an element by shares of its parent's size. */
function place(box, [top, left, bottom, right], size) {
  const share = (x) => `${100 * x / size}%`;
  Object.assign(box.style, {top: share(top), left: share(left),
    width: share(right - left), height: share(bottom - top)});
  return box;
}

/** All maps or units of a layer as tiles in one canvas. */
class Grid {
  constructor(layer, label, select) {
    this.layer = layer;
    this.selected = 0;
    this.canvas = element('canvas', {tabIndex: 0, ariaLabel: label});
    this.canvas.setAttribute('role', 'img');
    this.marker = element('div', {className: 'marker', hidden: true});
    const choose = (index) => {
      if (index >= 0 && index < layer.size) select(this, index);
    };
    const point = (event) => {
      const {left, top} = this.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - left) / this.pitch);
      const row = Math.floor((event.clientY - top) / this.rowPitch);
      if (column < this.across) choose(row * this.across + column);
    };
    this.canvas.addEventListener('pointermove', point);
    this.canvas.addEventListener('pointerdown', point);
    this.canvas.addEventListener('focus', () => {
      if (this.canvas.matches(':focus-visible')) choose(this.selected);
    });
    this.canvas.addEventListener('keydown', (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.across,
        ArrowDown: this.across}[event.key];
      if (!step) return;
      event.preventDefault();
      choose(this.selected + step);
    });
  }

  /** Draws values and, below maps, bars: -1 to 1, against or for a class. */
  draw(x, color, bars) {
    const {canvas, layer: {size, shape, isMaps}} = this;
    const ratio = window.devicePixelRatio || 1, shown = canvas.clientWidth;
    if (!shown) return;
    const [rows, columns] = isMaps ? shape : [1, 1];
    const most = isMaps ? (size > 128 ? 32 : 16) : (size > 24 ? 48 : 24);
    this.across = shown > 560 ? most : most / 2;
    const gap = Math.round((isMaps ? 4 : 2) * ratio);
    const width = Math.round(shown * ratio), foot = bars ? 2 * gap : 0;
    const tile = Math.max(1, Math.floor((width + gap) / this.across) - gap);
    const high = tile + foot, lines = Math.ceil(size / this.across);
    const scale = this.scale = scaleOf(x);
    draw(canvas, lines * (high + gap) - gap, width, (row, column) => {
      const y = row % (high + gap), z = column % (tile + gap);
      const map = Math.floor(row / (high + gap)) * this.across +
          Math.floor(column / (tile + gap));
      if (map >= size || y >= high || z >= tile || column >= this.across *
          (tile + gap)) return 0;
      if (y < tile) {
        const at = Math.floor(y * rows / tile) * columns;
        return color(x[(at + Math.floor(z * columns / tile)) * size + map] /
          scale);
      }
      const isBar = y >= tile + gap / 2 && z < Math.abs(bars[map]) * tile;
      return isBar ? color(Math.sign(bars[map]) * 0.6) : 0;
    });
    Object.assign(this, {tile: tile / ratio, pitch: (tile + gap) / ratio,
      rowPitch: (high + gap) / ratio});
  }

  mark(index) {
    this.selected = index;
    this.marker.hidden = false;
    const {tile, pitch, rowPitch, across} = this, px = (x) => `${x}px`;
    Object.assign(this.marker.style, {width: px(tile), height: px(tile),
      left: px(index % across * pitch),
      top: px(Math.floor(index / across) * rowPitch)});
  }
}

const ACTIVATIONS = {Pow: 'GELU', Erf: 'GELU', Maximum: 'PReLU',
  Minimum: 'SELU', Selu: 'SELU', LeakyRelu: 'leaky ReLU', Elu: 'ELU',
  Tanh: 'tanh', Sigmoid: 'sigmoid', Relu: 'ReLU'};

/** What a layer does, in the order of its operations. */
function caption(model, layer, text) {
  const kinds = layer.operations.map(({kind}) => kind);
  const active = Object.keys(ACTIVATIONS).find((kind) => kinds.includes(kind));
  const sentences = layer.operations.map((op) => {
    const size = (op.ksize ? op.ksize.slice(1, 3) : layer.kernel ?
      layer.kernel.shape.slice(0, 2) : []).join(' × ');
    if (op.kind === 'Conv2D') return text.conv(op.shape[2], size);
    if (op.kind === 'MatMul') {
      return text.MatMul(op.shape[0], shapeOf(model, op.inputs[1])[0]);
    }
    if (op.ksize) return text[op.kind](size, op.strides[1]);
    return op.kind in text ? text[op.kind]() : '';
  });
  const name = ACTIVATIONS[active];
  if (name) sentences.push((text[name] || text.activation)(name));
  return sentences.filter(Boolean).join(' ');
}

/** Weights of the model, and multiplications for a picture. */
function costOf(model) {
  let weights = 0, work = 0;
  for (const {values} of model.constants) {
    if (values.length > 1) weights += values.length;
  }
  for (const {kind, inputs, shape} of model.operations) {
    const size = product(shapeOf(model, inputs.at(-1)));
    if (kind === 'Conv2D') work += size * shape[0] * shape[1];
    if (kind === 'MatMul') work += size;
  }
  return {weights, work};
}

/** One channel of one filter, as a function of row and column. */
function plane({values, shape: [, columns, channels, filters]}, filter, k) {
  return (row, column) =>
    values[((row * columns + column) * channels + k) * filters + filter];
}

/** The largest of the values of a function of row and column. */
function peak([rows, columns], at) {
  let largest = 1e-12;
  for (let i = 0; i < rows * columns; i++) {
    largest = Math.max(largest, Math.abs(at(Math.floor(i / columns),
        i % columns)));
  }
  return largest;
}

function figure(canvas, caption, box) {
  const plot = element('div', {className: 'plot'}, canvas, ...box ? [box] : []);
  return element('figure', {}, plot, element('figcaption', {}, caption));
}

const canvas = () => document.createElement('canvas');
const box = () => element('div', {className: 'box'});

/** The logarithm of the odds of a class, from the scores of all classes. */
function oddsOf(scores, chosen) {
  const others = scores.filter((_, i) => i !== chosen);
  const largest = Math.max(...others);
  return scores[chosen] - largest - Math.log(others.reduce((sum, score) =>
    sum + Math.exp(score - largest), 0));
}

function show(model) {
  const language = navigator.language.startsWith('ko') ? 'ko' : 'en';
  const text = TEXTS[language], {classes, crop, depth, size} = model;
  document.documentElement.lang = language;
  document.title = `${text.title}: ${model.name}`;
  for (const part of document.querySelectorAll('[data-text]')) {
    part.textContent = text[part.dataset.text];
  }
  const cost = costOf(model), number = new Intl.NumberFormat(language);
  byId('facts').textContent = text.facts(model.name,
      number.format(model.step), number.format(cost.weights), cost.work);

  const layers = layersOf(model), last = lastMaps(model, layers);
  const state = {options: {}, chosen: null, scores: null};
  let color = palette();

  const grids = layers.map((layer) => {
    const grid = new Grid(layer, layer.name, inspect);
    grid.legend = element('span', {className: 'scale shape'});
    byId('network').append(element('section', {className: 'layer'},
        element('h3', {}, layer.name, element('span', {className: 'shape'},
            layer.shape.join(' × ')), grid.legend),
        element('p', {className: 'note'}, caption(model, layer, text),
            last.includes(layer) ? ` ${text.bars}` : ''),
        element('div', {className: 'grid'}, grid.canvas, grid.marker)));
    return grid;
  });
  const most = classes.length > 12 ? 10 : classes.length;
  const bars = Array.from({length: most}, () => {
    const bar = element('button', {type: 'button', onclick: () => {
      state.chosen = bar.label;
      showAnswer();
      showEvidence();
    }}, element('span'), element('span', {className: 'track'}, element('i')),
    element('span', {className: 'percent'}));
    return bar;
  });
  byId('bars').append(...bars);

  function showAnswer() {
    const shares = state.values.at(-1);
    let order = classes.map((_, i) => i);
    const ranked = order.slice().sort((a, b) => shares[b] - shares[a]);
    if (most < classes.length) order = ranked.slice(0, most);
    state.class = state.chosen ?? ranked[0];
    bars.forEach((bar, i) => {
      const [name, {firstChild: track}, share] = bar.children;
      bar.label = order[i];
      bar.classList.toggle('top', bar.label === ranked[0]);
      bar.setAttribute('aria-pressed', bar.label === state.class);
      name.textContent = name.title = classes[bar.label];
      track.style.width = `${100 * shares[bar.label]}%`;
      share.textContent = percent(shares[bar.label]);
    });
  }

  /** What each map of the last convolutions does for the chosen class. */
  function showEvidence() {
    if (!state.scores || !last.length) return;
    const before = oddsOf(state.values.at(-2), state.class), found = [];
    state.without = new Map();
    last.forEach((layer, n) => {
      const grid = grids[layers.indexOf(layer)], maps = [];
      for (let map = 0; map < layer.size; map++) {
        const row = state.scores[n].slice(map * classes.length,
            (map + 1) * classes.length);
        const gain = before - oddsOf(row, state.class);
        maps.push({grid, map, gain, share: softmax(row)[state.class]});
      }
      state.without.set(grid, maps);
      found.push(...maps);
    });
    found.sort((a, b) => b.gain - a.gain);
    const largest = Math.max(1e-9, ...found.map(({gain}) => Math.abs(gain)));
    for (const [grid, maps] of state.without) {
      grid.draw(state.values[grid.layer.number], color,
          maps.map(({gain}) => gain / largest));
    }
    byId('evidence-note').textContent = text.evidence(classes[state.class],
        last.map(({name}) => name).join(', '));
    byId('evidence').replaceChildren(...[...found.slice(0, 4),
      ...found.slice(-4).reverse()].map(({grid, map, share}) =>
      element('button', {type: 'button', onclick: () => inspect(grid, map)},
          figure(drawMap(grid, map), percent(share)))));
    showInspected();
  }

  function drawMap({layer, scale}, map) {
    const [rows, columns] = layer.shape, x = state.values[layer.number];
    return draw(canvas(), rows, columns, (row, column) =>
      color(x[(row * columns + column) * layer.size + map] / scale));
  }

  function showLayers() {
    grids.forEach((grid) => {
      const x = state.values[grid.layer.number], isLast =
          last.includes(grid.layer);
      grid.draw(x, color, isLast && new Float32Array(grid.layer.size));
      const isSigned = x.some((value) => value < -0.05 * grid.scale);
      const bound = brief(grid.scale);
      grid.legend.replaceChildren(isSigned ? `−${bound}` : '0',
          element('i', {className: isSigned ? 'signed' : ''}), bound);
    });
    if (!state.grid) {  // The strongest map, to begin with.
      const [grid] = grids, x = state.values[grid.layer.number];
      state.grid = grid;
      grid.selected = x.indexOf(Math.max(...x.slice(0, 1e5))) % grid.layer.size;
    }
    showEvidence();
    inspect(state.grid, state.grid.selected);
  }

  function inspect(grid, index) {
    for (const other of grids) other.marker.hidden = true;
    state.grid = grid;
    grid.mark(index);
    showInspected();
  }

  function showInspected() {
    const {layer, selected: map} = state.grid, {kernel} = layer, views = [];
    const x = state.values[layer.number];
    byId('inspected').textContent = layer.isMaps ? text.map(layer.name, map) :
      text.unit(layer === layers.at(-1) ? classes[map] : layer.name, map);
    let note = text.value(brief(x[map]));
    if (layer.isMaps) {
      const [rows, columns] = layer.shape, at = (row, column) =>
        x[(row * columns + column) * layer.size + map];
      const largest = peak(layer.shape, at);
      const spots = Array.from({length: rows * columns}, (_, i) =>
        [Math.floor(i / columns), i % columns]);
      const [row, column] = spots.find(([r, c]) =>
        Math.abs(at(r, c)) === largest) || [0, 0];
      const spot = [row, column, row + 1, column + 1];
      const picture = drawPicture(canvas(), state.parts.changed, crop, depth);
      views.push(figure(picture, text.views[0], place(box(), receptiveField(
          model, layer.number, spot), crop)));
      views.push(figure(drawMap(state.grid, map), text.views[1],
          place(box(), spot, columns)));
      note = text.seen(brief(at(row, column)));
    }
    byId('strongest').replaceChildren();
    if (kernel) showKernel(kernel, map, views);
    const erased = state.without?.get(state.grid)?.[map];
    if (erased) {
      note += ' ' + text.without(classes[state.class],
          percent(state.values.at(-1)[state.class]), percent(erased.share));
    }
    byId('views').replaceChildren(...views);
    byId('inspected-note').textContent = note;
  }

  /** A filter: in colors, or its mean and the inputs that it weighs most. */
  function showKernel(kernel, filter, views) {
    const [rows, columns, channels] = kernel.shape;
    const planes = Array.from({length: channels}, (_, k) =>
      plane(kernel, filter, k));
    const peaks = planes.map((at) => peak([rows, columns], at));
    const largest = Math.max(...peaks);
    if (kernel.from === 0 && channels === 3) {
      views.push(figure(draw(canvas(), rows, columns, (row, column) =>
        rgb(planes.map((at) => 127.5 * (1 + at(row, column) / largest)))),
      text.views[2]));
      return;
    }
    const mean = (row, column) =>
      planes.reduce((sum, at) => sum + at(row, column), 0) / channels;
    const scale = peak([rows, columns], mean);
    views.push(figure(draw(canvas(), rows, columns, (row, column) =>
      color(mean(row, column) / scale)), text.views[channels > 1 ? 3 : 2]));
    if (kernel.from === 0) return;
    const strongest = [...peaks.keys()].sort((a, b) => peaks[b] - peaks[a]);
    byId('strongest').append(element('p', {className: 'note'}, text.strongest(
        model.operations[kernel.from - 1].name.replace(/\/[^/]*$/, ''))),
    ...strongest.slice(0, 4).map((k) => figure(draw(canvas(), rows, columns,
        (row, column) => color(planes[k](row, column) / largest)), `${k}`)));
  }

  // Computing: in a worker, so that the page stays alive, if there is one.
  let ask, isBusy = false, waiting = null;
  function reply({values, ms, scores}) {
    if (values) {
      Object.assign(state, {values, parts: state.asked, scores: null,
        without: null});
      byId('status').textContent = text.status(ms.toFixed(0));
      showAnswer();
      showLayers();
    } else {
      state.scores = scores;
      showEvidence();
      document.body.classList.remove('busy');
      isBusy = false;
      if (waiting) update();
    }
  }
  const numbers = last.map((layer) => layer.number);
  const inline = (image) =>
    setTimeout(() => answer(model, numbers, image, reply));
  try {
    const source = new Blob([byId('engine').textContent]);
    const worker = new Worker(URL.createObjectURL(source));
    worker.onmessage = ({data}) => reply(data);
    worker.onerror = () => {
      ask = inline;
      isBusy = false;
      if (state.pixels) update();
    };
    worker.postMessage({model, last: numbers});
    ask = (image) => worker.postMessage({image});
  } catch {
    ask = inline;
  }

  /** Shows the picture and the options, and computes, once at a time. */
  function update() {
    const parts = prepare(model, state.pixels, state.options);
    place(byId('frame'), [state.options.top, state.options.left,
      state.options.top + crop, state.options.left + crop], size);
    byId('steps').replaceChildren(...['cropped', 'changed', 'standardized'].map(
        (name, i) => figure(drawPicture(canvas(), parts[name], crop, depth,
            ...i === 2 ? [50, 127.5] : []), text.steps[i])));
    waiting = isBusy;
    if (isBusy) return;
    isBusy = true;
    document.body.classList.add('busy');
    state.asked = parts;
    ask(parts.standardized);
  }

  function open(pixels, label = null) {
    const middle = size - crop >> 1;
    Object.assign(state, {pixels, chosen: null, options: {top: middle,
      left: middle, flip: false, brightness: 0, contrast: 1}});
    for (const name of ['brightness', 'contrast']) {
      byId(name).value = state.options[name];
    }
    byId('flip').checked = false;
    byId('label').textContent = label === null ? '' : classes[label];
    byId('problem').textContent = '';
    document.body.classList.remove('empty');
    if (!state.values) redraw();
    drawPicture(byId('picture'), pixels, size, depth);
    [...byId('samples').children].forEach((button, i) =>
      button.setAttribute('aria-pressed', model.samples[i].pixels === pixels));
    update();
  }

  async function read(file) {
    try {
      const image = await createImageBitmap(file,
          {colorSpaceConversion: 'none'});
      const {width, height} = image;
      const context = element('canvas', {width, height}).getContext('2d');
      context.fillStyle = '#fff';  // Behind transparent parts.
      context.fillRect(0, 0, width, height);
      context.drawImage(image, 0, 0);
      open(fit(model, context.getImageData(0, 0, width, height).data, width,
          height));
    } catch {
      byId('problem').textContent = text.problem;
    }
  }

  // Pictures: samples, files, drag and drop, the clipboard.
  byId('samples').append(...model.samples.map(({label, pixels}) => {
    const button = element('button', {type: 'button', title: classes[label],
      onclick: () => open(pixels, label)},
    drawPicture(canvas(), pixels, size, depth));
    button.setAttribute('aria-label', classes[label]);
    return button;
  }));
  const take = (event, list) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    if (list?.files.length) read(list.files[0]);
  };
  byId('file').onchange = (event) => {
    take(event, event.target);
    event.target.value = '';
  };
  document.ondragover = (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  };
  document.ondragleave = (event) => {
    if (!event.relatedTarget) document.body.classList.remove('dropping');
  };
  document.ondrop = (event) => take(event, event.dataTransfer);
  document.onpaste = (event) => take(event, event.clipboardData);

  // Options: the frame, by pointer or arrow keys, and the controls.
  const frame = byId('frame');
  frame.hidden = crop === size;
  frame.setAttribute('aria-label', text.frame);
  byId('hint').textContent = crop === size ? text.whole : text.hint;
  const move = (top, left) => {
    const limit = (x) => Math.min(size - crop, Math.max(0, Math.round(x)));
    const options = {...state.options, top: limit(top), left: limit(left)};
    const isSame = options.top === state.options.top &&
        options.left === state.options.left;
    state.options = options;
    if (!isSame) update();
  };
  let grip = null;
  frame.onpointerdown = (event) => {
    frame.setPointerCapture(event.pointerId);
    grip = {x: event.clientX, y: event.clientY, ...state.options};
  };
  frame.onpointermove = (event) => {
    const pixel = byId('stage').clientWidth / size;
    if (grip) move(grip.top + (event.clientY - grip.y) / pixel,
        grip.left + (event.clientX - grip.x) / pixel);
  };
  frame.onpointerup = frame.onpointercancel = () => { grip = null; };
  frame.onkeydown = (event) => {
    const [down, right] = {ArrowUp: [-1, 0], ArrowDown: [1, 0],
      ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key] || [0, 0];
    if (!down && !right) return;
    event.preventDefault();
    move(state.options.top + down, state.options.left + right);
  };
  for (const name of ['flip', 'brightness', 'contrast']) {
    byId(name).oninput = ({target}) => {
      state.options[name] = name === 'flip' ? target.checked : +target.value;
      update();
    };
  }

  const redraw = () => {
    color = palette();
    if (state.values) return showLayers();
    for (const grid of grids) {  // They take their place.
      grid.draw(new Float32Array(product(grid.layer.shape)), color);
    }
  };
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  addEventListener('resize', redraw);
  const [sample] = model.samples;
  if (sample) open(sample.pixels, sample.label);
}

show(load(byId('model').textContent));
