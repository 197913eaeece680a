// The attention view: the grid of all heads, one head in detail, and the same in words and numbers.

import { barRow, choices, elements, h, makeField, makeTable, payloadView, setText } from 'lab/client/dom.js';
import { percent, plural } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/saving.js';
import {
  QUARTERS, SCALES, cellMetric, headWeights, isPlain, meanWeights, rampOf, reachOf, readAttention,
  rollout, scaleOf, specialShare, throughLens,
} from 'lab/components/attention/attention_data.js';
import { makeHeatmap } from 'lab/components/attention/attention_heatmap.js';
import { makeLines } from 'lab/components/attention/attention_lines.js';
import { metricsOf } from 'lab/components/attention/attention_metrics.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';
import drawChart from 'lab/components/charts/chart.js';
import { peakOf } from 'lab/components/figures/numbers.js';

const GONE = 'The server no longer keeps this computation: change the text, or reload the page.';

export default payloadView('Type a text to see which tokens each head attends to.', attentionGrid);

/** `memory` keeps what was chosen as texts: {kept(name), keep({name: text, ...})}. */
function attentionGrid(content, { memory = { kept: () => '', keep() {} }, server, selection, savePage, captionOf }) {
  const START = { layer: 0, head: 0, of: 'head', rows: [1], column: null, scale: 'sqrt', form: 'map', quarter: 'all',
    special: 'shown', order: '' };
  const CELL = 'cell'; // heads are sorted by the weight of the cell that is selected
  const state = { ...START };
  let data = null;
  let seen = null; // the weights on show in detail, through the lens
  let selected = null; // the token that is selected in all panels
  let takenApart = ''; // the weight whose product is on show

  const TOGETHER = { head: 'one head', layer: 'average of the layer', all: 'average of all heads',
    rollout: 'attention rollout to this layer' };
  const choice = (name, words, options) =>
    [name, choices(words, options, state[name], (value) => change({ [name]: value }))];
  const chosen = Object.fromEntries([
    choice('scale', 'Colors', Object.entries(SCALES).map(([name, scale]) => [name, scale.label, scale.says])),
    choice('form', 'View', [['map', 'All tokens', 'Every weight of this head as a heat map'],
      ['lines', 'Single tokens', 'Lines from one token, or several, to all they attend to']]),
    choice('quarter', 'Which tokens attend to which', Object.entries(QUARTERS).map(([name, words]) =>
      [name, words, name === 'all' ? 'All tokens' : `Only attention from one sentence to one: ${words}`])),
    choice('special', 'Special tokens', [['shown', 'shown', 'As the model computes it'],
      ['hidden', 'hidden', 'Left out of the picture; the other weights are unchanged'],
      ['renormalised', 'renormalised', 'Left out, and the rest of each row rescaled to sum to 1']]),
  ]);

  // ---- what is on the page
  const [title, note, guide, mapHost, shareWords] = elements('p.heading', 'p.quiet.small.note', 'p.quiet.small.foot',
    'div.map', 'p.quiet.small');
  const [strongestHost, legendBar, legendTicks, legendText, pairPlot] = elements('div.strongest', 'div.ramp',
    'div.ticks', 'p.quiet', 'div');
  const gridHost = h('div.grid',
    { role: 'grid', 'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
  const headName = h('p.heading', { role: 'status' });
  const linesHost = h('div.links', { hidden: true });
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const pair = h('details.pair', { 'data-noexport': '', ontoggle: showPair },
    h('summary', 'Why this weight? The query-key product, dimension by dimension'), pairPlot);
  const overview = makeOverview(gridHost, (layer, head) => chooseHead(layer, head), fetchLayer);
  const heatmap = makeHeatmap(mapHost, moveCursor);
  const showLines = makeLines(linesHost, pickRow);
  const drawPair = drawChart(pairPlot);
  const select = (name, onChange) => makeField('select', h('span.quiet', name), '', onChange, { inline: true });
  const together = select('Show', (of) => change({ of }));
  const order = select('Sort heads', (name) => change({ order: name }));
  const knobs = h('details.knobs', { 'data-noexport': '' }, h('summary', 'Filters and aggregates'),
    h('div.bar', chosen.quarter.node, chosen.special.node, together.node));
  const titled = (...words) => [data.title, ...words].filter(Boolean).join(' · ');
  const saveGrid = saveDrawing('the picture of all heads', () => 'attention-all-heads', { pixels: 4, captionOf,
    picture: () => pictureOf(gridHost, titled(scaleWords())), words: () => titled('all heads', scaleWords()) });
  const saveHead = saveDrawing('this head', headFile, { picture: pictureOfHead, rows: tableRows, body: table, captionOf,
    words: () => titled(headWords(), scaleWords()), savePage: savePage && (() => savePage('attention')) });
  const legend = h('div.legend.small', h('div', { 'aria-hidden': 'true' }, legendBar, legendTicks), legendText);
  content.append(h('div.bar', title, knobs, h('div.push', chosen.scale.node)), h('div.split',
    h('div.all', h('div.bar', order.node, saveGrid), gridHost, note, legend, guide),
    h('div.one', h('div.bar', headName, chosen.form.node, saveHead), readout, mapHost, linesHost, shareWords, pair,
    strongestHost)));

  const real = (number) => number * (data.unit ?? 1); // scores are sent in units of the largest
  const scaleWords = () => `Colors: ${scaleOf(data, state.scale).says}.`;
  const lens = () => ({ quarter: state.quarter, special: state.special });
  const look = () => ({ scale: state.scale, lens: lens(), metric: metricOf(state.order) });
  /** What heads are sorted by; undefined where they are not. */
  const metricOf = (name) => (name === CELL ? cellMetric(data, state.rows[0], state.column) : data.metrics?.[name]);
  const weightAt = (row, column) => seen[row * data.size + column];

  function headWords() {
    const local = data.windows?.[state.layer] ? ` (local attention, window ${data.windows[state.layer]})` : '';
    const layer = `layer ${state.layer + 1} of ${data.layers}${local}`;
    return {
      head: `${layer}, head ${state.head + 1} of ${data.heads}`,
      layer: `${layer}, average of its heads`,
      all: `average of all ${data.layers * data.heads} heads`,
      rollout: `attention rollout from layer 1 to ${layer}`,
    }[state.of];
  }

  // ---- what happens

  function show(payload) {
    data = readAttention(payload);
    if (data.number === 'weight') data.metrics ??= metricsOf(data);
    title.textContent = data.title || 'Attention';
    guide.textContent = data.guide;
    const isWhole = data.stored.size === data.layers;
    setText(note,
      isWhole ? '' : `This text is long (${plural(data.size, 'token')}), so layers are fetched one by one.`);
    restore();
    if (selected !== null) state.rows = [selected];
    // The reader's place survives a new text or model as far as it exists there.
    const layer = Math.min(state.layer, data.layers - 1);
    state.layer = data.stored.has(layer) ? layer : [...data.stored.keys()].at(-1);
    state.head = Math.min(state.head, data.heads - 1);
    state.rows = [...new Set(state.rows.map((row) => Math.min(row, data.size - 1)))];
    if (state.order !== CELL && !metricOf(state.order)) state.order = '';
    const isPaired = data.segments.includes(1);
    if (!isPaired) state.quarter = 'all';
    chosen.quarter.node.hidden = !isPaired;
    // Rows of differences sum to 0: there is no rest to scale up.
    chosen.special.inputs.get('renormalised').closest('label').hidden = data.signed;
    if (data.signed && state.special === 'renormalised') state.special = 'hidden';
    for (const [name, { inputs }] of Object.entries(chosen)) inputs.get(state[name]).checked = true;
    const isPossible = { head: true, layer: true, all: isWhole, rollout: isWhole && data.bits === 16 };
    if (!isPossible[state.of]) state.of = 'head';
    together.setOptions(Object.entries(TOGETHER).filter(([of]) => isPossible[of]), state.of);
    draw();
    if (layer !== state.layer && memory.kept('layer')) fetchLayer(layer);
  }

  function change(some) {
    keep(some);
    draw();
  }

  /** Take over a choice of the reader, and report what differs from what the view begins with. */
  function keep(some) {
    Object.assign(state, some);
    memory.keep(Object.fromEntries(Object.entries(START).map(([name, first]) =>
      [name, String(state[name]) === String(first) ? '' : String(state[name])])));
  }

  /** Take over what was chosen before; it may come from an address, so only what is known is taken. */
  function restore() {
    const isKnown = (name, text) => chosen[name]?.inputs.has(text)
      ?? Object.hasOwn(name === 'of' ? TOGETHER : { ...data.metrics, [CELL]: '' }, text);
    for (const [name, first] of Object.entries(START)) {
      const text = memory.kept(name);
      if (typeof first === 'string' && isKnown(name, text)) state[name] = text;
      if (typeof first === 'string' || !/^\d+(,\d+)*$/.test(text)) continue;
      const numbers = text.split(',').map(Number);
      state[name] = name === 'rows' ? numbers : numbers[0];
    }
    knobs.open ||= state.quarter !== 'all' || state.special !== 'shown' || state.of !== 'head';
  }

  function draw() {
    together.set(state.of);
    drawHead();
  }

  /** All heads, in the order that the selected cell may decide. */
  function drawGrid() {
    const metrics = Object.entries({ ...data.metrics, [CELL]: metricOf(CELL) });
    order.setOptions([['', 'by layer'], ...metrics.map(([name, { title: words }]) => [name, words])], state.order);
    overview.show(data, look());
    overview.mark(state.layer, state.head);
  }

  const chooseHead = (layer, head) => change({ layer, head, of: state.of === 'all' ? 'head' : state.of });
  const ofOneLayer = () => state.of === 'head' || state.of === 'layer'; // of several, each has its own window

  function drawHead() {
    const weights = {
      head: () => headWeights(data, state.layer, state.head),
      layer: () => meanWeights(data, [state.layer]),
      all: () => meanWeights(data, [...data.stored.keys()]),
      rollout: () => rollout(data, state.layer),
    }[state.of]();
    seen = throughLens(data, weights, lens(), ofOneLayer() ? state.layer : null);
    state.column = Math.min(state.column ?? strongest()[0][1], data.size - 1);
    headName.textContent = headWords().replace(/^./, (letter) => letter.toUpperCase());
    mapHost.hidden = state.form !== 'map';
    linesHost.hidden = state.form !== 'lines';
    const peak = peakOf(seen);
    if (state.form === 'map') {
      heatmap.show(data, { name: headWords(), weights: seen, peak, scale: state.scale }, state.rows[0], state.column);
    } else showLines(data, seen, state.rows, (weight) => SCALES[state.scale].place(weight, peak));
    drawGrid();
    drawLegend(peak);
    tell();
    drawTop();
    const specials = [...new Set(data.tokens.filter((_, position) => data.special[position]))];
    const without = { shown: '', hidden: ', which are hidden: rows no longer sum to 1',
      renormalised: ', which are left out: the rest of each row is rescaled to sum to 1' }[state.special];
    shareWords.textContent = data.signed || !specials.length ? ''
      : `Here ${percent(specialShare(data, weights))} of all attention goes to ${specials.join(' and ')}${without}.`;
    showPair();
  }

  /** Hovering only reads; a click or an arrow key also chooses the row that the table and the lines are about. */
  function moveCursor(row, column, settled) {
    tell(row, column);
    if (!settled) return;
    const turned = state.rows.length > 1 || row !== state.rows[0];
    keep({ rows: [row], column });
    drawGrid();
    showPair();
    if (turned) drawTop();
    selection.choose(row);
  }

  /** A token of the lines: alone, or with those that are chosen already. */
  function pickRow(row, more) {
    const others = state.rows.filter((other) => other !== row);
    const isNew = others.length === state.rows.length;
    keep({ rows: !more || (!isNew && !others.length) ? [row] : isNew ? [...others, row] : others });
    drawHead();
    if (state.rows.length === 1) selection.choose(row);
  }

  // A token was selected in another panel: it is the attending one, and its column is marked too.
  selection.follow((position) => {
    selected = position;
    heatmap.select(position);
    if (!data || position === null || position >= data.size || String(state.rows) === String(position)) return;
    keep({ rows: [position] });
    drawHead();
  });

  function tell(row = state.rows[0], column = state.column) {
    const weight = weightAt(row, column);
    const [about, digits] = data.bits === 8 ? ['about ', 2] : ['', 4];
    const number = `${about}${data.signed && weight > 0 ? '+' : ''}${real(weight).toFixed(digits)}`;
    const value = !Number.isNaN(weight) ? [h('b', number), data.signed ? '' : ` · ${percent(weight)} of its attention`]
      : [Math.abs(row - column) > reachOf(data, state.layer) ? 'outside the window of local attention' : 'hidden'];
    readout.replaceChildren('from ', h('b', data.tokens[row]), ` (${row}) to `, h('b', data.tokens[column]),
      ` (${column}): `, ...value);
  }

  /** [weight, column] of the chosen rows together, the largest weight first. */
  function strongest() {
    const sum = (column) => state.rows.reduce((total, row) => total + (weightAt(row, column) || 0), 0);
    return data.tokens.map((_, column) => [sum(column), column])
      .sort((one, other) => Math.abs(other[0]) - Math.abs(one[0]) || one[1] - other[1]);
  }

  function drawTop() {
    const { rows } = state;
    const verb = { weight: 'attend most to', difference: 'change most towards',
      score: 'score furthest from 0 with' }[data.number];
    const caption = rows.length > 1 ? [`${rows.length} tokens together ${verb}`]
      : [h('b.mono', data.tokens[rows[0]]), ` (${rows[0]}) ${verb.replace(/^\w+/, '$&s')}`];
    const lines = strongest().slice(0, 5).map(([weight, column]) => [h('span.mono', data.tokens[column]), column,
      barRow('', Math.abs(weight) / rows.length, real(weight).toFixed(4))]);
    strongestHost.replaceChildren(makeTable(['token', 'position', data.number], lines, h('span.heading', ...caption)));
  }

  function drawLegend(peak) {
    const { place, ticks } = scaleOf(data, state.scale);
    const stops = rampOf(data).filter((_, index) => index % 17 === 0).map((rgb) => `rgb(${rgb})`);
    legendBar.style.background = `linear-gradient(to right, ${stops})`;
    legendTicks.replaceChildren(...ticks(peak).map((tick) =>
      h('span', { style: `left: ${100 * Math.min(1, Math.max(0, place(tick, peak)))}%` },
        String(Number(real(tick).toPrecision(2))))));
    const metric = metricOf(state.order);
    legendText.textContent = [scaleWords(), state.scale === 'head' && 'The numbers are those of the selected head.',
      metric && `Sorted by ${metric.title}: ${metric.says}.`].filter(Boolean).join(' ');
  }

  // ---- what the server is asked for: further layers, and the product behind a weight

  async function fetchLayer(layer) {
    const owner = data;
    setText(note, `Fetching layer ${layer + 1} …`);
    const answer = await server?.layer_values(owner.key, layer).catch(() => null);
    if (owner !== data) return;
    setText(note, answer?.codes ? '' : GONE);
    if (!answer?.codes) return;
    owner.stored.set(layer, answer.codes);
    chooseHead(layer, state.head);
  }

  /** The query-key product of the chosen weight, dimension by dimension, while it is unfolded. */
  async function showPair() {
    const { layer, head, rows: [row], column } = state;
    pair.hidden = state.of !== 'head' || data.number === 'difference' || !server || !data.key;
    const wanted = String([data.key, layer, head, row, column]);
    if (pair.hidden || !pair.open || wanted === takenApart) return;
    takenApart = wanted;
    const title = `Query of ${data.tokens[row]} times key of ${data.tokens[column]}`;
    const answer = await server.query_key(data.key, layer, head, row, column).catch(() => null);
    if (wanted !== takenApart) return;
    if (!answer) takenApart = '';
    drawPair(answer ? { ...answer, title } : { message: GONE });
  }

  // ---- what is saved

  function headFile() {
    return state.of === 'head' ? `attention-layer${state.layer + 1}-head${state.head + 1}`
      : `attention-${state.of}-${state.layer + 1}`;
  }

  function pictureOfHead() {
    const caption = titled(headWords());
    return state.form === 'map' ? heatmap.picture(caption, scaleWords()) : pictureOf(linesHost, caption);
  }

  /** What every export says about itself. */
  function table() {
    const number = (weight) => (Number.isNaN(weight) ? null : Number(real(weight).toFixed(5)));
    const weights = data.tokens.map((_, row) => data.tokens.map((__, column) => number(weightAt(row, column))));
    const sum = isPlain(lens()) || state.special === 'renormalised' ? '; each row sums to 1' : '';
    const words = { weight: sum, difference: ', the second minus the first', score: ': attention scores' };
    const meaning = `weights[from][to]${words[data.number]}`;
    return { title: data.title, shows: headWords(), layer: state.layer + 1, head: state.of === 'head' ? state.head + 1
      : null, ...lens(), tokens: data.tokens, segment_ids: data.segments, meaning, weights };
  }

  function tableRows() {
    const { tokens, weights } = table();
    const rows = weights.flatMap((row, from) => row.map((weight, to) => [from, tokens[from], to, tokens[to], weight]));
    return [['from_position', 'from', 'to_position', 'to', 'weight'], ...rows];
  }

  return show;
}
