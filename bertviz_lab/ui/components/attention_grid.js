// The attention view: the grid of all heads, one head in detail, and the same in words and numbers.

const view = onPayload('Type a text and press Show attention to see what every head looks at.', show);
const state = { layer: 0, head: 0, row: 1, column: null, scale: 'sqrt', form: 'map' };
let data = null;

// ---- furniture
const title = h('p', { class: 'heading' });
const note = h('p', { class: 'quiet note' });
const gridHost = h('div', { class: 'grid', role: 'grid', 'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
const headName = h('p', { class: 'heading', role: 'status' });
const mapHost = h('div', { class: 'map' });
const linesHost = h('div', { class: 'links', hidden: true });
const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
const legend = h('div', { class: 'legend' });
const legendBar = h('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
const legendTicks = h('div', { class: 'ticks', 'aria-hidden': 'true' });
const legendText = h('p', { class: 'quiet' });
legend.append(legendBar, legendTicks, legendText);
const topCaption = h('caption', { class: 'heading' });
const topRows = h('tbody');
const topTable = h('table', { class: 'strongest' }, topCaption, h('thead', {}, h('tr', {},
  ...['token', 'position', 'weight'].map((name) => h('th', { scope: 'col' }, name)))), topRows);

const guide = h('p', { class: 'quiet foot' }, 'Each square is one head; layers go down, heads go across. Inside a square a row is a token that looks around (from), a column '
  + 'a token it looks at (to). The weights of a row add up to 1: the shares in which that token gathers what the others hold.');

const overview = makeOverview(gridHost, (layer, head) => chooseHead(layer, head), wantLayer);
const heatmap = makeHeatmap(mapHost, moveCursor);
const links = makeLines(linesHost, (row) => moveCursor(row, state.column, true));
const scaleChoice = choices('Colours', Object.entries(SCALES).map(([name, scale]) => [name, scale.label, scale.says]),
  state.scale, (scale) => { state.scale = scale; overview.rescale(scale); drawHead(); });
const formChoice = choices('View', [['map', 'All tokens', 'Every weight of this head as a heat map'],
  ['lines', 'One token', 'Lines from one token to all it looks at']], state.form,
(form) => { state.form = form; drawHead(); });

const headFile = () => `attention-layer${state.layer + 1}-head${state.head + 1}`;
const caption = () => [data.title, headWords()].filter(Boolean).join(' · ');
const scaleWords = () => `Colours: ${SCALES[state.scale].says}.`;
const headWords = () => `layer ${state.layer + 1} of ${data.layers}, head ${state.head + 1} of ${data.heads}`;
const saveGrid = saveButtons('the picture of all heads', { PNG: () => saveCanvas('attention-all-heads.png', overview.picture(scaleWords())) });
const saveHead = saveButtons('this head', {
  PNG: () => (state.form === 'map' ? saveCanvas(`${headFile()}.png`, heatmap.picture(caption(), scaleWords()))
    : savePng(`${headFile()}.png`, pictureOf(linesHost, caption()))),
  SVG: () => saveSvg(`${headFile()}.svg`, state.form === 'map' ? vectorMap() : pictureOf(linesHost, caption())),
  CSV: async () => {
    await fetchExact();
    saveCsv(`${headFile()}.csv`, [['from_position', 'from', 'to_position', 'to', 'weight'],
      ...headTable(data, state.layer, state.head).weights.flatMap((row, from) =>
        row.map((weight, to) => [from, data.tokens[from], to, data.tokens[to], weight]))]);
  },
  JSON: async () => {
    await fetchExact();
    saveJson(`${headFile()}.json`, headTable(data, state.layer, state.head));
  },
});

view.content.append(
  h('div', { class: 'bar' }, title, h('div', { class: 'push' }, scaleChoice.node)),
  h('div', { class: 'split' },
    h('div', { class: 'all' }, h('div', { class: 'bar' }, h('p', { class: 'heading' }, 'All heads'), saveGrid), gridHost, note, legend, guide),
    h('div', { class: 'one' }, h('div', { class: 'bar' }, headName, formChoice.node, saveHead), mapHost, linesHost, readout, topTable)));

// ---- what happens

function show(payload) {
  data = readAttention(payload);
  title.textContent = data.title || 'Attention';
  const missing = data.layers - data.stored.size;
  note.textContent = missing ? `This text is long (${plural(data.size, 'token')}), so layers are fetched one by one.` : '';
  note.hidden = !missing;
  // The reader's place survives a new text or model as far as it exists there.
  state.layer = Math.min(state.layer, data.layers - 1);
  state.head = Math.min(state.head, data.heads - 1);
  if (!data.stored.has(state.layer)) [state.layer] = [...data.stored.keys()].slice(-1);
  state.row = Math.min(state.row, data.size - 1);
  state.column = state.column === null ? strongest()[0][1] : Math.min(state.column, data.size - 1);
  overview.show(data, state.scale);
  overview.mark(state.layer, state.head);
  drawHead();
}

function chooseHead(layer, head) {
  [state.layer, state.head] = [layer, head];
  overview.mark(layer, head);
  drawHead();
  trigger('head_select', { layer, head });
}

function drawHead() {
  headName.textContent = headWords().replace('layer', 'Layer');
  mapHost.hidden = state.form !== 'map';
  linesHost.hidden = state.form !== 'lines';
  const scale = SCALES[state.scale];
  const peak = peakOf(data, state.layer, state.head);
  if (state.form === 'map') {
    heatmap.show(data, state.layer, state.head, state.scale, state.row, state.column);
  } else {
    links.show(data, state.layer, state.head, state.row, (weight) => scale.place(weight, peak));
  }
  drawLegend(scale, peak);
  tell(state.row, state.column);
  drawTop();
  if (!isPrecise(data, state.layer, state.head)) fetchExact();
}

/** Hovering only reads; a click or an arrow key also chooses the row that the table and the lines are about. */
function moveCursor(row, column, settled) {
  if (row === null) {
    heatmap.moveTo(state.row, state.column);
    tell(state.row, state.column);
    return;
  }
  tell(row, column);
  if (!settled) return;
  const turned = row !== state.row;
  [state.row, state.column] = [row, column];
  if (!turned) return;
  drawTop();
  if (state.form === 'lines') drawHead();
}

function tell(row, column) {
  const weight = weightAt(data, state.layer, state.head, row, column);
  const exact = isPrecise(data, state.layer, state.head);
  readout.replaceChildren('from ', h('b', {}, data.tokens[row]), ` (${row}) to `, h('b', {}, data.tokens[column]),
    ` (${column}): `, h('b', {}, `${exact ? '' : 'about '}${weight.toFixed(exact ? 4 : 2)}`), ` · ${percent(weight)} of its attention`);
}

/** [weight, column] of the chosen row, the largest weight first. */
function strongest() {
  return Array.from({ length: data.size }, (_, column) => [weightAt(data, state.layer, state.head, state.row, column), column])
    .sort((one, other) => other[0] - one[0] || one[1] - other[1]);
}

function drawTop() {
  const { row } = state;
  topCaption.replaceChildren(h('b', { class: 'mono' }, data.tokens[row]), ` (${row}) looks most at`);
  topRows.replaceChildren(...strongest().slice(0, 5).map(([weight, column]) => h('tr', {},
    h('td', { class: 'mono' }, data.tokens[column]), h('td', {}, String(column)),
    h('td', {}, h('span', { class: 'bar-cell' }, h('i', { style: `width: ${100 * weight}%` })), weight.toFixed(4)))));
}

function drawLegend(scale, peak) {
  const context = legendBar.getContext('2d');
  RAMP.forEach(([red, green, blue], index) => {
    context.fillStyle = `rgb(${red}, ${green}, ${blue})`;
    context.fillRect(index, 0, 1, 1);
  });
  legendTicks.replaceChildren(...scale.ticks(peak).map((tick) => h('span', {
    style: `left: ${100 * Math.min(1, scale.place(tick, peak))}%` }, Number(tick.toPrecision(2)).toString())));
  legendText.textContent = scaleWords() + (state.scale === 'head' ? ' The numbers are those of the head in detail.' : '');
}

/** The heat map as SVG: the cells as an embedded picture of one pixel a cell, the tokens as text. */
function vectorMap() {
  const cell = Math.max(8, Math.min(26, 900 / data.size));
  const label = 130;
  const side = cell * data.size;
  const tiny = h('canvas');
  paintHead(tiny, data, state.layer, state.head, state.scale);
  const text = (token, attributes) => svg('text', { 'font-family': 'monospace', 'font-size': Math.min(12, cell * 0.8),
    'dominant-baseline': 'central', fill: plainPaint(colour('--lab-text')), ...attributes }, token);
  const middle = (index) => label + (index + 0.5) * cell;
  return svg('svg', { width: label + side + 10, height: label + side + 10 },
    svg('rect', { width: '100%', height: '100%', fill: plainPaint(colour('--lab-page')) }),
    text(caption(), { x: 8, y: 14, 'font-size': 12 }),
    text(scaleWords(), { x: 8, y: 32, 'font-size': 11 }),
    svg('image', { x: label, y: label, width: side, height: side, style: 'image-rendering: pixelated', href: tiny.toDataURL() }),
    ...data.tokens.flatMap((token, index) => [
      text(token, { x: label - 6, y: middle(index), 'text-anchor': 'end' }),
      text(token, { transform: `translate(${middle(index)} ${label - 6}) rotate(-90)` })]));
}

// ---- asking for more

/** Replace the rounded weights of the head on show by the exact ones, where the server has them. */
async function fetchExact() {
  const [owner, layer, head] = [data, state.layer, state.head];
  if (!server?.exact_values || !owner.key || isPrecise(owner, layer, head)) return;
  try {
    const text = await server.exact_values(owner.key, layer, head);
    if (!text) return;
    owner.exact.set(headId(layer, head), new Float32Array(decodeBase64(text).buffer));
    if (owner === data && layer === state.layer && head === state.head) {
      tell(state.row, state.column);
      drawTop();
    }
  } catch {
    // The picture stays; the read-out keeps saying "about".
  }
}

async function wantLayer(layer) {
  if (!server?.layer_values || !data.key) {
    trigger('layer_request', { layer });
    return;
  }
  const owner = data;
  note.hidden = false;
  note.textContent = `Fetching layer ${layer + 1} …`;
  try {
    const text = await server.layer_values(owner.key, layer);
    if (owner !== data) return;
    if (!text) throw new Error('no answer');
    owner.stored.set(layer, decodeBase64(text));
    note.textContent = '';
    overview.show(owner, state.scale);
    chooseHead(layer, state.head);
  } catch {
    note.textContent = 'That layer is no longer there. Press Show attention again.';
  }
}

view.start();
