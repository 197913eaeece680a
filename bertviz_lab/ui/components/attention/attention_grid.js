// The attention view: the grid of all heads, one head in detail, and the same in words and numbers.

import { barRow, choices, elements, h, makeTable, payloadView, setOptions, setText } from 'lab/client/dom.js';
import { percent, plural } from 'lab/client/format.js';
import { pictureOf, saveButtons, saveDrawing, savePng } from 'lab/client/saving.js';
import {
  QUARTERS, SCALES, headId, headWeights, isPlain, isPrecise, largest, meanWeights, peakOf, rampOf, reachOf,
  readAttention, rollout, scalesOf, specialShare, throughLens,
} from 'lab/components/attention/attention_data.js';
import { makeHeatmap } from 'lab/components/attention/attention_heatmap.js';
import { makeLines } from 'lab/components/attention/attention_lines.js';
import { makeOverview } from 'lab/components/attention/attention_overview.js';
import { makeChart } from 'lab/components/charts/chart.js';

const GONE = 'The server no longer keeps this computation: change the text, or reload the page.';
const isIndex = (value) => Number.isInteger(value) && value >= 0;

export default payloadView('Type a text to see which tokens each head attends to.', attentionGrid);

function attentionGrid(content, { events, server, selection, savePage }) {
  const START = { layer: 0, head: 0, of: 'head', rows: [1], column: null, scale: 'sqrt', form: 'map', quarter: 'all',
    special: 'shown', order: '' };
  const state = { ...START };
  let data = null;
  let [seen, all] = [null, null]; // the weights on show in detail, through the lens and without it
  let selected = null; // the token that is selected in all panels

  const MOST_ROLLED = 160; // tokens; a rollout grows with the cube of their number
  const TOGETHER = { head: 'one head', layer: 'average of the layer', all: 'average of all heads',
    rollout: 'attention rollout to this layer' };
  const CHOICES = {
    scale: ['Colors', Object.entries(SCALES).map(([name, scale]) => [name, scale.label, scale.says])],
    form: ['View', [['map', 'All tokens', 'Every weight of this head as a heat map'],
      ['lines', 'Single tokens', 'Lines from one token, or several, to all they attend to']]],
    quarter: ['Which tokens attend to which', Object.entries(QUARTERS).map(([name, words]) =>
      [name, words, name === 'all' ? 'All tokens' : `Only attention from one sentence to one: ${words}`])],
    special: ['Special tokens', [['shown', 'shown', 'As the model computes it'],
      ['hidden', 'hidden', 'Left out of the picture; the other weights are unchanged'],
      ['renormalised', 'renormalised', 'Left out, and the rest of each row rescaled to sum to 1']]],
  };
  const chosen = Object.fromEntries(Object.entries(CHOICES).map(([name, [words, options]]) =>
    [name, choices(words, options, state[name], (value) => change({ [name]: value }))]));

  // ---- what is on the page
  const [title, note, guide, mapHost, shareWords] = elements('p.heading', 'p.quiet.small.note', 'p.quiet.small.foot',
    'div.map', 'p.quiet.small');
  const [pairHost, strongestHost, legendText] = elements('div.pair', 'div.strongest', 'p.quiet');
  const gridHost = h('div.grid',
    { role: 'grid', 'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
  const headName = h('p.heading', { role: 'status' });
  const linesHost = h('div.links', { hidden: true });
  const readout = h('p.readout', { 'aria-live': 'polite' });
  const legendBar = h('div.ramp', { 'aria-hidden': 'true' });
  const legendTicks = h('div.ticks', { 'aria-hidden': 'true' });
  const overview = makeOverview(gridHost, (layer, head) => chooseHead(layer, head), wantLayer);
  const heatmap = makeHeatmap(mapHost, moveCursor);
  const links = makeLines(linesHost, pickRow);
  const pair = makePair(pairHost, (...place) => server.query_key(data.key, ...place));
  const togetherBox = select('Show', Object.entries(TOGETHER), (of) => change({ of }));
  const orderBox = select('Sort heads', [['', 'by layer']], (order) => change({ order }));
  const knobs = h('details.knobs', { 'data-noexport': '' }, h('summary', 'Filters and aggregates'),
    h('div.bar', chosen.quarter.node, chosen.special.node, togetherBox.node));
  const saveGrid = saveButtons('the picture of all heads', {
    PNG: () => savePng('attention-all-heads.png',
      pictureOf(gridHost, [data.title, scaleWords()].filter(Boolean).join(' · ')), 4) });
  const saveHead = saveDrawing('this head', headFile,
    { picture: pictureOfHead, rows: exactRows, body: exactTable, savePage: savePage && (() => savePage('attention')) });
  content.append(h('div.bar', title, h('div.push', chosen.scale.node)), knobs,
    h('div.split', h('div.all', h('div.bar', h('p.heading', 'All heads'), orderBox.node, saveGrid), gridHost, note,
    h('div.legend.small', legendBar, legendTicks, legendText), guide), h('div.one', h('div.bar', headName,
    chosen.form.node, saveHead), mapHost, linesHost, readout, shareWords, pairHost, strongestHost)));

  /** A list to choose one of. */
  function select(name, options, onChange) {
    const box = h('select', { 'aria-label': name, onchange: () => onChange(box.value) });
    setOptions(box, options);
    return { node: h('label.tick', h('span.quiet', name), box), box };
  }

  const windowed = () => state.of === 'head' || state.of === 'layer'; // of several layers, each has its own window
  const real = (number) => number * (data.unit ?? 1); // scores are sent in units of the largest
  const scaleWords = () => `Colors: ${scalesOf(data)[state.scale].says}.`;
  const lens = () => ({ quarter: state.quarter, special: state.special });
  const look = () => ({ scale: state.scale, lens: lens(), order: data.metrics ? state.order : '' });
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
    title.textContent = data.title || 'Attention';
    guide.textContent = data.guide;
    const isWhole = data.stored.size === data.layers;
    setText(note,
      isWhole ? '' : `This text is long (${plural(data.size, 'token')}), so layers are fetched one by one.`);
    const remembered = server?.remembered?.() ?? {};
    restore(remembered);
    if (selected !== null) state.rows = [selected];
    // The reader's place survives a new text or model as far as it exists there.
    state.layer = Math.min(state.layer, data.layers - 1);
    state.head = Math.min(state.head, data.heads - 1);
    const wanted = isIndex(remembered.layer) && !data.stored.has(state.layer) ? state.layer : null;
    if (!data.stored.has(state.layer)) state.layer = [...data.stored.keys()].at(-1);
    state.rows = [...new Set(state.rows.map((row) => Math.min(row, data.size - 1)))];
    if (!data.metrics?.[state.order]) state.order = '';
    const isPaired = data.segments.includes(1);
    if (!isPaired) state.quarter = 'all';
    chosen.quarter.node.hidden = !isPaired;
    // Rows of differences sum to 0: there is no rest to scale up.
    chosen.special.inputs.get('renormalised').closest('label').hidden = data.signed;
    if (data.signed && state.special === 'renormalised') state.special = 'hidden';
    chosen.special.inputs.get(state.special).checked = true;
    orderBox.node.hidden = !data.metrics;
    setOptions(orderBox.box, [['', 'by layer'],
      ...Object.entries(data.metrics ?? {}).map(([name, metric]) => [name, metric.title])], state.order);
    const possible = Object.entries(TOGETHER).filter(([of]) => (of === 'head' || of === 'layer' || isWhole)
      && (of !== 'rollout' || (data.size <= MOST_ROLLED && !data.signed)));
    if (!possible.some(([of]) => of === state.of)) state.of = 'head';
    setOptions(togetherBox.box, possible, state.of);
    readWeights();
    state.column = Math.min(state.column ?? strongest()[0][1], data.size - 1);
    draw();
    if (wanted !== null && server?.layer_values && data.key) wantLayer(wanted);
  }

  function change(some) {
    Object.assign(state, some);
    readWeights();
    draw();
    report();
  }

  /** Report what the reader has chosen, where it is not what the view begins with. */
  function report() {
    const differs = ([name, value]) => JSON.stringify(value) !== JSON.stringify(START[name]);
    events.state_change?.(Object.fromEntries(Object.entries(state).filter(differs)));
  }

  /** Take over what was chosen before; it may come from an address, so only what is known is taken. */
  function restore(kept) {
    const isKnown = { of: (of) => Object.hasOwn(TOGETHER, of),
      order: (order) => Object.hasOwn(data.metrics ?? {}, order), layer: isIndex, head: isIndex, column: isIndex,
      rows: (rows) => Array.isArray(rows) && rows.length && rows.every(isIndex) };
    for (const name of Object.keys(START)) {
      if (isKnown[name]?.(kept[name]) ?? chosen[name].inputs.has(kept[name])) state[name] = kept[name];
    }
    for (const [name, { inputs }] of Object.entries(chosen)) inputs.get(state[name]).checked = true;
    knobs.open ||= state.quarter !== 'all' || state.special !== 'shown' || state.of !== 'head';
  }

  function draw() {
    overview.show(data, look());
    overview.mark(state.layer, state.head);
    drawHead();
  }

  function chooseHead(layer, head) {
    Object.assign(state, { layer, head, of: state.of === 'all' ? 'head' : state.of });
    togetherBox.box.value = state.of;
    overview.mark(layer, head);
    readWeights();
    drawHead();
    report();
  }

  /** Work out the weights that are shown in detail. */
  function readWeights() {
    all = {
      head: () => headWeights(data, state.layer, state.head),
      layer: () => meanWeights(data, [state.layer]),
      all: () => meanWeights(data, [...data.stored.keys()]),
      rollout: () => rollout(data, state.layer),
    }[state.of]();
    seen = throughLens(data, all, lens(), windowed() ? state.layer : null);
  }

  const precise = () => (state.of === 'head' ? isPrecise(data, state.layer, state.head) : data.bits === 16);

  function drawHead() {
    headName.textContent = headWords().replace(/^./, (letter) => letter.toUpperCase());
    mapHost.hidden = state.form !== 'map';
    linesHost.hidden = state.form !== 'lines';
    const peak = state.of === 'head' && isPlain(lens()) ? peakOf(data, state.layer, state.head) : largest(seen);
    if (state.form === 'map') {
      heatmap.show(data, { name: headWords(), weights: seen, peak, scale: state.scale }, state.rows[0], state.column);
    } else {
      links.show(data, seen, state.rows, (weight) => SCALES[state.scale].place(weight, peak));
    }
    drawLegend(scalesOf(data)[state.scale], peak);
    tell(state.rows[0], state.column);
    drawTop();
    const specials = [...new Set(data.tokens.filter((_, position) => data.special[position]))];
    const without = { shown: '', hidden: ', which are hidden: rows no longer sum to 1',
      renormalised: ', which are left out: the rest of each row is rescaled to sum to 1' }[state.special];
    shareWords.textContent = data.signed || !specials.length ? ''
      : `Here ${percent(specialShare(data, all))} of all attention goes to ${specials.join(' and ')}${without}.`;
    showPair();
    if (!precise()) fetchExact();
  }

  function showPair() {
    const able = state.of === 'head' && data.number !== 'difference' && server?.query_key && data.key;
    const { rows: [row], column } = state;
    pair.show(able ? { place: [state.layer, state.head, row, column], key: data.key,
      title: `Query of ${data.tokens[row]} times key of ${data.tokens[column]}` } : null);
  }

  /** Hovering only reads; a click or an arrow key also chooses the row that the table and the lines are about. */
  function moveCursor(row, column, settled) {
    if (row === null) {
      heatmap.moveTo(state.rows[0], state.column);
      tell(state.rows[0], state.column);
      return;
    }
    tell(row, column);
    if (!settled) return;
    const turned = state.rows.length > 1 || row !== state.rows[0];
    [state.rows, state.column] = [[row], column];
    showPair();
    if (turned) drawTop();
    report();
    selection.choose(row);
  }

  /** A token of the lines: alone, or with those that are chosen already. */
  function pickRow(row, more) {
    const others = state.rows.filter((other) => other !== row);
    const isNew = others.length === state.rows.length;
    state.rows = !more || (!isNew && !others.length) ? [row] : isNew ? [...others, row] : others;
    drawHead();
    report();
    if (state.rows.length === 1) selection.choose(row);
  }

  // A token was selected in another panel: it is the attending one, and its column is marked too.
  selection.follow((position) => {
    selected = position;
    heatmap.select(position);
    if (!data || position === null || position >= data.size || String(state.rows) === String(position)) return;
    state.rows = [position];
    report();
    drawHead();
  });

  function tell(row, column) {
    const weight = weightAt(row, column);
    const number =
      `${precise() ? '' : 'about '}${data.signed && weight > 0 ? '+' : ''}${real(weight).toFixed(precise() ? 4 : 2)}`;
    const value = !Number.isNaN(weight) ? [h('b', number), data.signed ? '' : ` · ${percent(weight)} of its attention`]
      : [Math.abs(row - column) > reachOf(data, state.layer) ? 'outside the window of local attention' : 'hidden'];
    readout.replaceChildren('from ', h('b', data.tokens[row]), ` (${row}) to `, h('b', data.tokens[column]),
      ` (${column}): `, ...value);
  }

  /** [weight, column] of the chosen rows together, the largest weight first. */
  function strongest() {
    const sum = (column) => state.rows.reduce((total, row) => total + (weightAt(row, column) || 0), 0);
    return Array.from({ length: data.size }, (_, column) => [sum(column), column])
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

  function drawLegend(scale, peak) {
    const stops = rampOf(data).filter((_, index) => index % 17 === 0).map((rgb) => `rgb(${rgb})`);
    legendBar.style.background = `linear-gradient(to right, ${stops})`;
    legendTicks.replaceChildren(...scale.ticks(peak)
      .map((tick) => h('span', { style: `left: ${100 * Math.min(1, Math.max(0, scale.place(tick, peak)))}%` },
      String(Number(real(tick).toPrecision(2))))));
    const order = data.metrics?.[state.order];
    legendText.textContent = [scaleWords(), state.scale === 'head' && 'The numbers are those of the selected head.',
      order && `Sorted by ${order.title}: ${order.says}.`].filter(Boolean).join(' ');
  }

  // ---- exact weights and further layers, on demand

  /** Replace the rounded weights of the head on show by the exact ones, where the server has them. */
  async function fetchExact() {
    const [owner, layer, head] = [data, state.layer, state.head];
    if (!server?.exact_values || !owner.key || isPrecise(owner, layer, head)) return;
    const answer = await server.exact_values(owner.key, layer, head).catch(() => null);
    if (!answer?.weights) return; // the picture stays; the read-out keeps saying "about"
    owner.exact.set(headId(layer, head), answer.weights);
    if (owner === data && state.of === 'head' && layer === state.layer && head === state.head) {
      readWeights();
      tell(state.rows[0], state.column);
      drawTop();
    }
  }

  async function wantLayer(layer) {
    if (!server?.layer_values || !data.key) return;
    const owner = data;
    setText(note, `Fetching layer ${layer + 1} …`);
    const answer = await server.layer_values(owner.key, layer).catch(() => null);
    if (owner !== data) return;
    setText(note, answer?.codes ? '' : GONE);
    if (!answer?.codes) return;
    owner.stored.set(layer, answer.codes);
    overview.show(owner, look());
    chooseHead(layer, state.head);
  }

  // ---- what is saved

  function headFile() {
    return state.of === 'head' ? `attention-layer${state.layer + 1}-head${state.head + 1}`
      : `attention-${state.of}-${state.layer + 1}`;
  }

  function pictureOfHead() {
    const caption = [data.title, headWords()].filter(Boolean).join(' · ');
    return state.form === 'map' ? heatmap.picture(caption, scaleWords()) : pictureOf(linesHost, caption);
  }

  /** What every export says about itself. */
  async function exactTable() {
    await fetchExact();
    const number = (weight) => (Number.isNaN(weight) ? null : Number(real(weight).toFixed(5)));
    const weights = data.tokens.map((_, row) => data.tokens.map((__, column) => number(weightAt(row, column))));
    const sum = isPlain(lens()) || state.special === 'renormalised' ? '; each row sums to 1' : '';
    const words = { weight: sum, difference: ', the second minus the first', score: ': attention scores' };
    const meaning = `weights[from][to]${words[data.number]}`;
    return { title: data.title, shows: headWords(), layer: state.layer + 1, head: state.of === 'head' ? state.head + 1
      : null, ...lens(), tokens: data.tokens, segment_ids: data.segments, meaning, precise: precise(), weights };
  }

  async function exactRows() {
    const { tokens, weights } = await exactTable();
    const rows = weights.flatMap((row, from) => row.map((weight, to) => [from, tokens[from], to, tokens[to], weight]));
    return [['from_position', 'from', 'to_position', 'to', 'weight'], ...rows];
  }

  return show;
}

/** The query-key product of a weight, dimension by dimension, behind a fold. `ask(layer, head, row, column)` answers
 * with the payload of a chart; `show(pair)` takes another {place, key, title}, null where there is none. */
function makePair(host, ask) {
  const [words, plot] = elements('p', 'div');
  const details = h('details', { 'data-noexport': '', ontoggle: draw },
    h('summary', 'Why this weight? The query-key product, dimension by dimension'), words, plot);
  const chart = makeChart(plot);
  host.append(details);
  let wanted = null;
  let shown = '';

  async function draw() {
    const key = JSON.stringify(wanted);
    if (!details.open || !wanted || key === shown) return;
    shown = key;
    const { place, title } = wanted;
    const text = await ask(...place).catch(() => null);
    const answer = typeof text === 'string' ? JSON.parse(text || 'null') : text;
    if (key !== JSON.stringify(wanted)) return;
    setText(words, answer ? '' : GONE);
    plot.hidden = !answer;
    if (answer) chart.show({ ...answer, title });
    else shown = '';
  }

  return {
    show(pair) {
      wanted = pair;
      details.hidden = pair === null;
      draw();
    },
  };
}
