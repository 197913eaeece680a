// What is drawn of a training besides the predictions: attention, and charts whose axis is that of the slider. Each
// has `draw(frame)`, which draws all of it, and charts `move(frame)`, for which dragging waits.

import { shade } from 'lab/client/colors.js';
import { elements, h, setOptions } from 'lab/client/dom.js';
import { percent, readable, short, whole } from 'lab/client/format.js';
import { decodeBase64 } from 'lab/client/saving.js';
import drawGrid from 'lab/components/attention/attention_grid.js';
import { makeChart } from 'lab/components/charts/chart.js';
import { METRICS } from 'lab/components/figures/attention.js';
import { matrix } from 'lab/components/figures/charts.js';
import { figureOf } from 'lab/components/figures/index.js';

const SHARES = { previous: 'to the previous token', next: 'to the next token', same: 'to the token itself',
  special: 'to special tokens', across: 'to the other sentence' };

/** The grid of Explore, and in words what the selected head does. `onHead({layer, head})` is called when another head
 * was chosen. */
export function makeAttention(scene, onHead) {
  const [host, does] = elements('div', 'p.quiet');
  const state = { layer: 0, head: 0, rows: [] }; // as the grid has them
  let settled = false; // somebody, or a link, has chosen the head
  const grid = drawGrid(host, null, { memory: { kept: (name) => String(state[name] ?? ''),
    keep: ({ layer, head, rows }) => take({ layer: Number(layer), head: Number(head), rows: (rows || '1').split(',') }),
  } });

  /** The grid reports what it looks at. */
  function take({ layer, head, rows }) {
    const isOther = layer !== state.layer || head !== state.head;
    Object.assign(state, { layer, head, rows });
    if (!isOther) return;
    settled = true;
    tell();
    onHead({ layer, head });
  }

  /** Another history: as long as nobody has chosen a head, it begins with its own. */
  function begin({ layer = null, head = null }) {
    const { start } = scene.opening;
    settled ||= layer !== null;
    Object.assign(state, start, settled && { layer: layer ?? state.layer, head: head ?? state.head });
  }

  function choose(layer, head) {
    take({ ...state, layer, head });
    draw(scene.shown());
  }

  function draw({ grid: body }) {
    grid(figureOf({ ...body, title: `${scene.opening.title} · ${body.title}` }));
    tell();
  }

  /** What the head does most: its shares of attention, the largest first. */
  function tell() {
    const { joined, grid: { metrics } } = scene.shown();
    const { layer, head } = state;
    const shareOf = (name) => metrics[name][layer][head];
    const shares = Object.keys(SHARES).filter((name) => name in metrics)
      .sort((one, other) => shareOf(other) - shareOf(one));
    const most = shares.filter((name, place) => place === 0 || shareOf(name) >= 0.1).slice(0, 3);
    const words = most.map((name) => `${percent(shareOf(name), 0)} ${SHARES[name]}`).join(', ');
    does.textContent = joined[layer] === false
      ? 'This layer has not joined the training yet (progressive stacking): its heads add nothing.'
      : `Layer ${layer + 1}, head ${head + 1}: ${words}; mean distance ${shareOf('distance').toFixed(1)} tokens.`;
  }

  return { node: h('div', does, host), begin, draw, choose, state };
}

const WRITTEN = { percent, short, whole };

/** `show(chart, read)` draws a chart of `scene.opening` with a point for each frame: `read(frame)` returns the values
 * of its lines. Without it the chart is complete. `move()` changes only the values in the legend. A press or a drag
 * jumps to a snapshot. */
export function makeTimeline(scene, options = {}) {
  const node = h('div.timeline');
  const chart = makeChart(node, options);
  const { picture } = chart;
  let body = null;

  function show(given, read = null) {
    const { steps, title } = scene.opening;
    const { keys, figure: { data, layout } } = given;
    const rows = read ? scene.frames().map((frame) => [frame.step, ...read(frame)]) : [];
    const customdata = rows.map(([step]) => step);
    const x = customdata.map((step) => steps.indexOf(step));
    const fill = (trace, line) => ({ ...trace, x, y: rows.map((row) => row[line + 1]), customdata });
    body = { table: { header: ['step', ...keys.map(([name]) => name)], rows }, ...given,
      caption: `${title} · ${given.title}`,
      figure: { data: read ? data.map(fill) : data, layout: { ...layout, xaxis: scene.axis } } };
    chart.show(body);
    move();
  }

  /** The value of each line at the slider, or that of its last point before. */
  function move() {
    if (!body) return;
    chart.tell(body.keys.map((_, line) => {
      const { x, y } = body.figure.data[line];
      const value = y[x.findLastIndex((at) => at <= scene.current.index)];
      return Number.isFinite(value) ? WRITTEN[body.shown_as](value) : '–';
    }));
  }

  const jump = ({ buttons, pointerId, clientX }) => {
    if (buttons !== 1) return;
    picture.setPointerCapture(pointerId);
    const { left, width } = picture.getBoundingClientRect();
    const { l, r } = body.figure.layout.margin;
    scene.jump(Math.round(((clientX - left - l) / (width - l - r)) * scene.axis.range[1]));
  };
  ['pointerdown', 'pointermove'].forEach((event) => picture.addEventListener(event, jump));

  return { node, show, move };
}

/** The tokens as a sentence; `write(text, position)` returns the node of each. */
export const sentenceNodes = ({ sentence }, write) => sentence.flatMap(([before, text], position) => [
  before === '|' ? h('span.seam', { title: 'sentence B starts here' }, '| ') : before,
  text && write(text, position)]);

const place = ([layer, head]) => `layer ${layer + 1}, head ${head + 1}`;
const capitalized = (text) => text.replace(/^./, (letter) => letter.toUpperCase());

/** Each metric of the heads over the training, a line a head; and which head came to do it, in a sentence. */
export function makeHeads(scene) {
  const goTo = h('button.link', { onclick: () => scene.attention.choose(...best) }, 'Show this head');
  const box = h('select', { 'aria-label': 'Head metric', onchange: () => draw(scene.shown()) });
  const lines = makeTimeline(scene, { knobs: [box, goTo] });
  let best = null;

  function draw({ grid: { metrics } }) {
    const { layers, heads } = scene.opening;
    const names = Object.keys(metrics);
    if (box.length !== names.length) setOptions(box, names.map((name) => [name, METRICS[name][0]]),
      box.value in metrics ? box.value : 'previous');
    const metric = box.value;
    const [title, says] = METRICS[metric];
    const all = Array.from({ length: layers * heads }, (_, at) => [Math.floor(at / heads), at % heads]);
    const selected = [scene.attention.state.layer, scene.attention.state.head];
    const frames = scene.frames();
    const metricOf = (frame, [layer, head], name = metric) => frame.grid.metrics[name][layer][head];
    let sentence;
    [sentence, best] = verdictOf(metric, all, frames, metricOf);
    const chart = scene.charts[metric in SHARES ? 'head_shares' : 'head_numbers'];
    const [first, ...others] = chart.figure.data;
    const data = [first, ...all.map((head) => ({ ...others[head[0]], text: place(head) }))];
    const rows = frames.flatMap((frame) => all.map((head) =>
      [frame.step, head[0] + 1, head[1] + 1, ...names.map((name) => metricOf(frame, head, name))]));
    lines.show({ ...chart, title: `Heads over training: ${title}`, sentence, figure: { ...chart.figure, data },
      keys: [[place(selected), chart.keys[0][1]]],
      note: `${capitalized(says)}. The heavy line is the head selected above.`,
      table: { header: ['step', 'layer', 'head', ...names], rows } },
    (frame) => [selected, ...all].map((head) => metricOf(frame, head)));
  }

  return { node: lines.node, draw, move: lines.move };
}

/** Which head came to do it, and when: a sentence and the head. */
function verdictOf(metric, all, frames, metricOf) {
  const [began, ended] = [frames[0], frames.at(-1)];
  const order = [...all].sort((one, other) => metricOf(ended, other) - metricOf(ended, one));
  const best = metric === 'entropy' ? order.at(-1) : order[0];
  const [end, start] = [metricOf(ended, best), metricOf(began, best)];
  const [name, first] = [capitalized(place(best)), `at step ${whole(began.step)}`];
  if (metric === 'entropy') return [`${name} has the lowest attention entropy in the end: equivalent to ${
    Math.exp(end).toFixed(1)} tokens, and ${Math.exp(start).toFixed(1)} ${first}.`, best];
  if (metric === 'distance') return [`${name} has the largest mean attention distance in the end: ${
    end.toFixed(1)} tokens on average, ${start.toFixed(1)} ${first}.`, best];
  if (end < 0.5) return [`No head puts more than half of its attention here. ${name} puts the most: ${
    percent(end, 0)} in the end, ${percent(start, 0)} ${first}.`, best];
  const since = frames.findLastIndex((frame) => metricOf(frame, best) < 0.5) + 1;
  const words = since ? `came to put more than half of its attention ${SHARES[metric]} by step ${
    whole(frames[since].step)}` : `puts more than half of its attention ${SHARES[metric]} from the start`;
  const others = order.slice(1).filter((one) => metricOf(ended, one) >= 0.5).map(place);
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  const verb = others.length === 1 ? 'does' : 'do';
  const too = others.length ? ` So ${verb} ${others.slice(0, 3).join('; ')}${more}.` : '';
  return [`${name} ${words}, and puts ${percent(end, 0)} in the end.${too}`, best];
}

/** What the model would say if it ended at each layer: layers down, snapshots across. */
export function makeLens(scene) {
  const node = h('div.lens');
  const chart = makeChart(node, { onPick: ({ place: at }) => scene.jump(at) });

  function draw() {
    const { axis: { tickvals, ticktext }, opening: { layers, steps, title } } = scene;
    const names = [...Array.from({ length: layers }, (_, at) => `layer ${layers - at}`), 'embeddings'];
    const columns = steps.map((step) =>
      scene.frames().find((frame) => frame.step === step)?.masked_tokens[scene.predictions.look.blank].layers);
    const table = (read, otherwise) =>
      names.map((_, row) => columns.map((column) => (column ? read(column[row]) : otherwise)));
    const { figure: { data, layout }, ...given } = matrix({
      values: table(([, probability]) => probability, null), rows: names, columns: steps.map((step) => `step ${step}`),
      words: table(([token]) => token, ''), texts: table(([token]) => readable(token), ''), peak: 1,
      title: 'Logit lens: the prediction at every layer and step', file: 'logit-lens-over-training' });
    const xaxis = { ...layout.xaxis, tickvals, ticktext, range: [-0.5, tickvals.length - 0.5], automargin: false };
    node.style.setProperty('--columns', columns.length);
    chart.show({ ...given, caption: `${title} · ${given.title}`,
      picks: names.map(() => steps.map((_, at) => ({ place: at }))),
      // fixed margins, as those of the lines
      figure: { data, layout: { ...layout, margin: { l: 84, r: 6, t: 28, b: 4 }, xaxis,
        yaxis: { ...layout.yaxis, automargin: false } } } });
  }

  return { node, draw, move() {} };
}

/** Where the mapped words of a frame lie on the plane: [[x, y]]. */
function pointsOf({ vectors }, { middle, axes }) {
  const codes = new Int16Array(decodeBase64(vectors).buffer);
  return Array.from({ length: codes.length / middle.length }, (_, word) => {
    const vector = codes.subarray(word * middle.length, (word + 1) * middle.length);
    return axes.map((axis) => axis.reduce((sum, weight, at) => sum + (vector[at] / 32767 - middle[at]) * weight, 0));
  });
}

/** The words of the text and those near them on a map that stays while they move. It is drawn when the slider rests. */
export function makeMap(scene) {
  const node = h('div');
  const chart = makeChart(node);
  let resting = 0;

  function draw(frame) {
    const { charts: { map }, opening: { mapped, watched, plane, title } } = scene;
    const { data, layout } = map.figure;
    const frames = scene.frames();
    const points = frames.map((one) => pointsOf(one, plane));
    const now = frames.indexOf(frame);
    const fill = (trace, at) => {
      const word = mapped.indexOf(watched[at]);
      const path = word < 0 ? [] : points.slice(0, now + 1).map((words) => words[word]);
      const shown = at === data.length - 1 ? points[now] : path;
      return { ...trace, x: shown.map(([x]) => x), y: shown.map(([, y]) => y) };
    };
    const rows = points.flatMap((words, at) => words
      .map((point, word) => [frames[at].step, readable(mapped[word]), ...point]));
    chart.show({ ...map, caption: `${title} · step ${whole(frame.step)} · ${map.title}`,
      figure: { data: data.map(fill), layout: { ...layout, xaxis: { ...layout.xaxis, range: plane.across },
        yaxis: { ...layout.yaxis, range: plane.up } } },
      table: { header: ['step', 'word', 'x', 'y'], rows },
      note: `Embeddings projected onto the first two principal components of the last snapshot, which explain ${
        percent(plane.explained, 0)} of the variance. The projection is fixed, the words move.` });
  }

  return { node, draw, move() {
    clearTimeout(resting);
    resting = setTimeout(scene.drawFold, 120, 'map');
  } };
}

/** The MLM loss of each token of the text, and their mean over training. */
export function makeLosses(scene) {
  const [words, mean] = elements('p.expected', 'p.quiet');
  const lines = makeTimeline(scene);

  function move({ losses, loss }) {
    words.replaceChildren(...sentenceNodes(scene.opening, (text, position) => {
      const probability = Math.exp(-losses[position]);
      return losses[position] === null ? h('span', text)
        : h('span', { style: shade(probability, false), title: `${percent(probability)} when it is masked` }, text);
    }));
    mean.textContent = loss === null ? ''
      : `Each word is masked once, a seventh of them at a time; bluer means higher probability. The mean MLM loss is ${
        short(loss)} nats per token, a perplexity of ${whole(Math.exp(loss))}.`;
    lines.move();
  }

  function draw(frame) {
    const { charts, opening: { tokens } } = scene;
    const rows = scene.frames().flatMap(({ step, losses }) => losses
      .map((loss, position) => [step, position, tokens[position], loss])).filter((row) => row[3] !== null);
    lines.show({ ...charts.losses, table: { header: ['step', 'position', 'token', 'loss'], rows } },
      ({ loss }) => [loss]);
    move(frame);
  }

  return { node: h('div', words, mean, lines.node), draw, move };
}
