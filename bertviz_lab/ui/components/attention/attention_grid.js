// The attention view: the grid of all heads, one head in detail, and the same in words and numbers.

import { NO_SELECTION, barRow, choices, h, makeTable, payloadView, setOptions, setText } from 'lab/client/dom.js';
import { percent, plural } from 'lab/client/format.js';
import { pictureOf, saveButtons, savePng, saveSvg } from 'lab/client/picture.js';
import { saveCsv, saveJson } from 'lab/client/saving.js';
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

export default function attentionGrid(root, first, { label, events = {}, server, selection = NO_SELECTION,
  savePage } = {}) {
  const view = payloadView(root, label, 'Type a text to see which tokens each head attends to.', show);
  const START = { layer: 0, head: 0, of: 'head', rows: [1], column: null, scale: 'sqrt', form: 'map', quarter: 'all',
    special: 'shown', order: '' };
  const state = { ...START };
  let data = null;
  let seen = null; // the weights on show in detail, through the lens
  let all = null; // the same without the lens
  let selected = null; // the token that is selected in all panels

  const MOST_ROLLED = 160; // tokens; a rollout grows with the cube of their number
  const TOGETHER = { head: 'one head', layer: 'average of the layer', all: 'average of all heads',
    rollout: 'attention rollout to this layer' };

  // ---- furniture
  const title = h('p', { class: 'heading' });
  const note = h('p', { class: 'quiet small note' });
  const gridHost = h('div', { class: 'grid', role: 'grid',
    'aria-label': 'All heads; arrow keys move, each choice shows the head in detail' });
  const headName = h('p', { class: 'heading', role: 'status' });
  const mapHost = h('div', { class: 'map' });
  const linesHost = h('div', { class: 'links', hidden: true });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  const shareWords = h('p', { class: 'quiet small' });
  const pairHost = h('div', { class: 'pair' });
  const legend = h('div', { class: 'legend small' });
  const legendBar = h('div', { class: 'ramp', 'aria-hidden': 'true' });
  const legendTicks = h('div', { class: 'ticks', 'aria-hidden': 'true' });
  const legendText = h('p', { class: 'quiet' });
  legend.append(legendBar, legendTicks, legendText);
  const strongestHost = h('div', { class: 'strongest' });

  const guide = h('p', { class: 'quiet small foot' });
  const overview = makeOverview(gridHost, (layer, head) => chooseHead(layer, head), wantLayer);
  const heatmap = makeHeatmap(mapHost, moveCursor);
  const links = makeLines(linesHost, pickRow);
  const pair = makePair(pairHost, askPair);
  const scaleChoice = choices('Colors', Object.entries(SCALES).map(([name, scale]) => [name, scale.label, scale.says]),
    state.scale, (scale) => change({ scale }));
  const formChoice = choices('View', [['map', 'All tokens', 'Every weight of this head as a heat map'],
    ['lines', 'Single tokens', 'Lines from one token, or several, to all they attend to']], state.form,
      (form) => change({ form }));
  const quarterChoice = choices('Which tokens attend to which', Object.entries(QUARTERS)
    .map(([name, words]) => [name, words,
    name === 'all' ? 'All tokens' : `Only attention from one sentence to one: ${words}`]), 'all', (quarter) =>
      change({ quarter }));
  const specialChoice = choices('Special tokens', [['shown', 'shown', 'As the model computes it'],
    ['hidden', 'hidden', 'Left out of the picture; the other weights are unchanged'],
    ['renormalised', 'renormalised', 'Left out, and the rest of each row rescaled to sum to 1']], 'shown', (special) =>
      change({ special }));
  const togetherBox = select('Show', Object.entries(TOGETHER), (of) => change({ of }));
  const orderBox = select('Sort heads', [['', 'by layer']], (order) => change({ order }));
  const knobs = h('details', { class: 'knobs', 'data-noexport': '' }, h('summary', {}, 'Filters and aggregates'),
    h('div', { class: 'bar' }, quarterChoice.node, specialChoice.node, togetherBox.node));

  const windowed = () => state.of === 'head' || state.of === 'layer'; // of several layers, each has its own window
  const real = (number) => number * (data.unit ?? 1); // scores are sent in units of the largest
  const headFile = () => (state.of === 'head' ? `attention-layer${state.layer + 1}-head${state.head + 1}`
    : `attention-${state.of}-${state.layer + 1}`);
  const caption = () => [data.title, headWords()].filter(Boolean).join(' · ');
  const scaleWords = () => `Colors: ${scalesOf(data)[state.scale].says}.`;
  const lens = () => ({ quarter: state.quarter, special: state.special });
  const look = () => ({ scale: state.scale, lens: lens(), order: data.metrics ? state.order : '' });

  function headWords() {
    const local = data.windows?.[state.layer] ? ` (local attention, window ${data.windows[state.layer]})` : '';
    const layer = `layer ${state.layer + 1} of ${data.layers}${local}`;
    return { head: `${layer}, head ${state.head + 1} of ${data.heads}`, layer: `${layer}, average of its heads`,
      all: `average of all ${data.layers * data.heads} heads`,
        rollout: `attention rollout from layer 1 to ${layer}` }[state.of];
  }

  const saveGrid = saveButtons('the picture of all heads', {
    PNG: () => savePng('attention-all-heads.png', pictureOf(gridHost, [data.title, scaleWords()].filter(Boolean)
      .join(' · ')), 4) });
  const pictureOfHead = () => (state.form === 'map' ? heatmap.picture(caption(), scaleWords()) : pictureOf(linesHost,
    caption()));
  const saveHead = saveButtons('this head', {
    PNG: () => savePng(`${headFile()}.png`, pictureOfHead()),
    SVG: () => saveSvg(`${headFile()}.svg`, pictureOfHead()),
    CSV: async () => {
      await fetchExact();
      saveCsv(`${headFile()}.csv`, [['from_position', 'from', 'to_position', 'to', 'weight'],
        ...weightsTable().weights.flatMap((row, from) => row.map((weight, to) => [from, data.tokens[from], to,
          data.tokens[to], weight]))]);
    },
    JSON: async () => {
      await fetchExact();
      saveJson(`${headFile()}.json`, weightsTable());
    },
  }, savePage && (() => savePage('attention')));

  view.content.append(
    h('div', { class: 'bar' }, title, h('div', { class: 'push' }, scaleChoice.node)),
    knobs,
    h('div', { class: 'split' },
      h('div', { class: 'all' }, h('div', { class: 'bar' }, h('p', { class: 'heading' }, 'All heads'), orderBox.node,
        saveGrid), gridHost, note, legend, guide),
      h('div', { class: 'one' }, h('div', { class: 'bar' }, headName, formChoice.node, saveHead), mapHost, linesHost,
        readout, shareWords, pairHost, strongestHost)));

  /** A list to choose one of. */
  function select(name, options, onChange) {
    const box = h('select', { 'aria-label': name, onchange: () => onChange(box.value) });
    setOptions(box, options);
    return { node: h('label', { class: 'tick' }, h('span', { class: 'quiet' }, name), box), box };
  }

  // ---- what happens

  function show(payload) {
    data = readAttention(payload);
    title.textContent = data.title || 'Attention';
    guide.textContent = data.guide;
    const missing = data.layers - data.stored.size;
    setText(note, missing ? `This text is long (${plural(data.size, 'token')}), so layers are fetched one by one.`
      : '');
    const remembered = server?.remembered?.() ?? {};
    restore(remembered);
    if (selected !== null) state.rows = [selected];
    // The reader's place survives a new text or model as far as it exists there.
    state.layer = Math.min(state.layer, data.layers - 1);
    state.head = Math.min(state.head, data.heads - 1);
    const wanted = isIndex(remembered.layer) && !data.stored.has(state.layer) ? state.layer : null;
    if (!data.stored.has(state.layer)) [state.layer] = [...data.stored.keys()].slice(-1);
    state.rows = [...new Set(state.rows.map((row) => Math.min(row, data.size - 1)))];
    if (!data.metrics?.[state.order]) state.order = '';
    if (!data.segments.includes(1)) state.quarter = 'all';
    // Rows of differences sum to 0: there is no rest to scale up.
    specialChoice.inputs.get('renormalised').closest('label').hidden = data.signed;
    if (data.signed && state.special === 'renormalised') state.special = 'hidden';
    specialChoice.inputs.get(state.special).checked = true;
    quarterChoice.node.hidden = !data.segments.includes(1);
    orderBox.node.hidden = !data.metrics;
    setOptions(orderBox.box, [['', 'by layer'], ...Object.entries(data.metrics ?? {})
      .map(([name, metric]) => [name, metric.title])], state.order);
    const whole = data.stored.size === data.layers;
    const possible = Object.entries(TOGETHER).filter(([of]) => (of === 'head' || of === 'layer' || whole)
      && (of !== 'rollout' || (data.size <= MOST_ROLLED && !data.signed)));
    if (!possible.some(([of]) => of === state.of)) state.of = 'head';
    setOptions(togetherBox.box, possible, state.of);
    readWeights();
    if (state.column === null) state.column = strongest()[0][1];
    state.column = Math.min(state.column, data.size - 1);
    draw();
    if (wanted !== null && server?.layer_values && data.key) wantLayer(wanted);
  }

  function change(some) {
    Object.assign(state, some);
    readWeights();
    draw();
    report();
  }

  /** Report what the reader has chosen. */
  function report() {
    events.state_change?.(chosenState());
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
    const layers = [...data.stored.keys()];
    all = { head: () => headWeights(data, state.layer, state.head), layer: () => meanWeights(data, [state.layer]),
      all: () => meanWeights(data, layers), rollout: () => rollout(data, state.layer) }[state.of]();
    seen = throughLens(data, all, lens(), windowed() ? state.layer : null);
  }

  const peak = () => (state.of === 'head' && isPlain(lens()) ? peakOf(data, state.layer, state.head) : largest(seen));
  const precise = () => (state.of === 'head' ? isPrecise(data, state.layer, state.head) : data.bits === 16);

  function drawHead() {
    headName.textContent = headWords().replace(/^./, (letter) => letter.toUpperCase());
    mapHost.hidden = state.form !== 'map';
    linesHost.hidden = state.form !== 'lines';
    const scale = scalesOf(data)[state.scale];
    const top = peak();
    if (state.form === 'map') {
      heatmap.show(data, { name: headWords(), weights: seen, peak: top, scale: state.scale }, state.rows[0],
        state.column);
    } else {
      links.show(data, seen, state.rows, (weight) => SCALES[state.scale].place(weight, top));
    }
    drawLegend(scale, top);
    tell(state.rows[0], state.column);
    drawTop();
    const specials = [...new Set(data.tokens.filter((_, position) => data.special[position]))];
    shareWords.textContent = data.signed || !specials.length ? ''
      : `Here ${percent(specialShare(data, all))} of all attention goes to ${specials.join(' and ')}`
      + `${{ shown: '', hidden: ', which are hidden: rows no longer sum to 1',
        renormalised: ', which are left out: the rest of each row is rescaled to sum to 1' }[state.special]}.`;
    showPair();
    if (!precise()) fetchExact();
  }

  function showPair() {
    const able = state.of === 'head' && data.number !== 'difference' && Boolean(server?.query_key && data.key);
    pair.show(able ? { layer: state.layer, head: state.head, row: state.rows[0], column: state.column,
      tokens: data.tokens, key: data.key } : null);
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
    if (!more) state.rows = [row];
    else if (others.length < state.rows.length) state.rows = others.length ? others : [row];
    else state.rows = [...state.rows, row];
    drawHead();
    report();
    if (state.rows.length === 1) selection.choose(row);
  }

  /** A token was selected in another panel: it is the attending one, and its column is marked too. */
  function followSelection(position) {
    selected = position;
    heatmap.select(position);
    if (!data || position === null || position >= data.size || String(state.rows) === String(position)) return;
    state.rows = [position];
    report();
    drawHead();
  }

  function tell(row, column) {
    const weight = seen[row * data.size + column];
    const pairWords = ['from ', h('b', {}, data.tokens[row]), ` (${row}) to `, h('b', {}, data.tokens[column]),
      ` (${column}): `];
    if (Number.isNaN(weight)) {
      readout.replaceChildren(...pairWords, Math.abs(row - column) > reachOf(data, state.layer)
        ? 'outside the window of local attention' : 'hidden');
      return;
    }
    const sign = data.signed && weight > 0 ? '+' : '';
    const number = h('b', {}, `${precise() ? '' : 'about '}${sign}${real(weight).toFixed(precise() ? 4 : 2)}`);
    readout.replaceChildren(...pairWords, number, data.signed ? '' : ` · ${percent(weight)} of its attention`);
  }

  /** [weight, column] of the chosen rows together, the largest weight first. */
  function strongest() {
    const sum = (column) => state.rows.reduce((total, row) => total + (seen[row * data.size + column] || 0), 0);
    return Array.from({ length: data.size }, (_, column) => [sum(column), column])
      .sort((one, other) => Math.abs(other[0]) - Math.abs(one[0]) || one[1] - other[1]);
  }

  function drawTop() {
    const { rows } = state;
    const verb = { weight: 'attend most to', difference: 'change most towards',
      score: 'score furthest from 0 with' }[data.number];
    const caption = h('span', { class: 'heading' }, ...(rows.length > 1 ? [`${rows.length} tokens together ${verb}`]
      : [h('b', { class: 'mono' }, data.tokens[rows[0]]), ` (${rows[0]}) ${verb.replace(/^\w+/, '$&s')}`]));
    strongestHost.replaceChildren(makeTable(['token', 'position', data.number],
      strongest().slice(0, 5).map(([weight, column]) => [h('span', { class: 'mono' }, data.tokens[column]), column,
        barRow('', Math.abs(weight) / rows.length, real(weight).toFixed(4))]), caption));
  }

  function drawLegend(scale, top) {
    const stops = rampOf(data).filter((_, index) => index % 17 === 0).map((rgb) => `rgb(${rgb})`);
    legendBar.style.background = `linear-gradient(to right, ${stops})`;
    legendTicks.replaceChildren(...scale.ticks(top).map((tick) => h('span', {
      style: `left: ${100 * Math.min(1, Math.max(0, scale.place(tick, top)))}%` },
        Number(real(tick).toPrecision(2)).toString())));
    legendText.textContent = scaleWords() + (state.scale === 'head' ? ' The numbers are those of the selected head.'
      : '')
      + (state.order ? ` Sorted by ${data.metrics[state.order].title}: ${data.metrics[state.order].says}.` : '');
  }

  // ---- exact weights and further layers, on demand

  /** Replace the rounded weights of the head on show by the exact ones, where the server has them. */
  async function fetchExact() {
    const [owner, layer, head] = [data, state.layer, state.head];
    if (!server?.exact_values || !owner.key || isPrecise(owner, layer, head)) return;
    try {
      const { weights } = (await server.exact_values(owner.key, layer, head)) ?? {};
      if (!weights) return;
      owner.exact.set(headId(layer, head), weights);
      if (owner === data && state.of === 'head' && layer === state.layer && head === state.head) {
        readWeights();
        tell(state.rows[0], state.column);
        drawTop();
      }
    } catch {
      // The picture stays; the read-out keeps saying "about".
    }
  }

  async function askPair(layer, head, row, column) {
    try {
      const answer = await server.query_key(data.key, layer, head, row, column);
      return answer && typeof answer === 'string' ? JSON.parse(answer) : answer || null;
    } catch {
      return null;
    }
  }

  async function wantLayer(layer) {
    if (!server?.layer_values || !data.key) return;
    const owner = data;
    setText(note, `Fetching layer ${layer + 1} …`);
    try {
      const { codes } = (await server.layer_values(owner.key, layer)) ?? {};
      if (owner !== data) return;
      if (!codes) throw new Error(GONE);
      owner.stored.set(layer, codes);
      setText(note, '');
      overview.show(owner, look());
      chooseHead(layer, state.head);
    } catch {
      setText(note, GONE);
    }
  }

  // ---- what is saved, and what is remembered

  /** What every export says about itself. */
  function weightsTable() {
    const weights = Array.from({ length: data.size }, (_, row) => Array.from({ length: data.size }, (_, column) => {
      const weight = seen[row * data.size + column];
      return Number.isNaN(weight) ? null : Number(real(weight).toFixed(5));
    }));
    const sum = !(isPlain(lens()) || state.special === 'renormalised') ? '' : '; each row sums to 1';
    const meaning = `weights[from][to]${{ weight: sum, difference: ', the second minus the first',
      score: ': attention scores' }[data.number]}`;
    return { title: data.title, shows: headWords(), layer: state.layer + 1, head: state.of === 'head' ? state.head + 1
      : null,
      ...lens(), tokens: data.tokens, segment_ids: data.segments, meaning, precise: precise(), weights };
  }

  /** What the reader has chosen, where it is not what the view begins with. */
  function chosenState() {
    const same = (name) => JSON.stringify(state[name]) === JSON.stringify(START[name]);
    return Object.fromEntries(Object.entries(state).filter(([name]) => !same(name)));
  }

  /** Take over what was chosen before; it may come from an address, so only what is known is taken. */
  function restore(chosen) {
    const known = { scale: SCALES, form: { map: 1, lines: 1 }, quarter: QUARTERS, of: TOGETHER, order: data.metrics
      ?? {},
      special: { shown: 1, hidden: 1, renormalised: 1 } };
    for (const [name, values] of Object.entries(known)) if (Object.hasOwn(values,
      chosen[name])) state[name] = chosen[name];
    for (const name of ['layer', 'head', 'column']) if (isIndex(chosen[name])) state[name] = chosen[name];
    if (Array.isArray(chosen.rows) && chosen.rows.length && chosen.rows.every(isIndex)) state.rows = chosen.rows;
    for (const [choice, value] of [[scaleChoice, state.scale], [formChoice, state.form], [quarterChoice, state.quarter],
      [specialChoice, state.special]]) {
      choice.inputs.get(value).checked = true;
    }
    knobs.open ||= state.quarter !== 'all' || state.special !== 'shown' || state.of !== 'head';
  }

  selection.follow(followSelection);

  return view.start(first);
}

// ---- query times key, dimension by dimension

/** `ask(layer, head, row, column)` answers with the payload of a chart, or null. */
function makePair(host, ask) {
  const words = h('p', {});
  const plot = h('div');
  const details = h('details', { 'data-noexport': '' },
    h('summary', {}, 'Why this weight? The query-key product, dimension by dimension'), words, plot);
  const chart = makeChart(plot);
  host.append(details);
  let wanted = null;
  let shown = '';

  async function draw() {
    const key = JSON.stringify(wanted);
    if (!details.open || !wanted || key === shown) return;
    shown = key;
    const { layer, head, row, column, tokens } = wanted;
    const answer = await ask(layer, head, row, column);
    if (key !== JSON.stringify(wanted)) return;
    setText(words, answer ? '' : GONE);
    plot.hidden = !answer;
    if (answer) chart.show({ ...answer, title: `Query of ${tokens[row]} times key of ${tokens[column]}` });
    else shown = '';
  }

  details.addEventListener('toggle', draw);
  return {
    /** Another pair; null where there is none, as in an average of heads. */
    show(pair) {
      wanted = pair;
      details.hidden = pair === null;
      draw();
    },
  };
}
