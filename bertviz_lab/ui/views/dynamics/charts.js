// What is folded away at first: heads over the training, layer by layer, words on a map, the loss of each word. Each
// has `draw(frame)`, which draws all of it, and `move(frame)`, for which dragging waits.

import { shade } from 'lab/client/colors.js';
import { h, setOptions } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { makeChart } from 'lab/components/charts/chart.js';
import { SHARES } from 'lab/views/dynamics/attention.js';
import { pointsOf } from 'lab/views/dynamics/frames.js';
import { readable, sentenceNodes } from 'lab/views/dynamics/predictions.js';
import { cursorShape, makeTimeline } from 'lab/views/dynamics/timeline.js';

const place = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;
/** A text as Plotly shows it, letter by letter. */
const literal = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** Each metric of the heads over the training, a line a head; and which head came to do it, in a sentence. */
export function makeHeads(scene, onJump) {
  const goTo = h('button', { type: 'button', class: 'link', onclick: () => scene.attention.choose(best.layer,
    best.head) }, 'Show this head');
  const box = h('select', { 'aria-label': 'Head metric', onchange: () => draw() });
  const lines = makeTimeline(scene, onJump, { knobs: [box, goTo] });
  let best = null;

  function begin() {
    const before = box.value || 'previous';
    const names = Object.entries(scene.opening.metrics).filter(([name]) => name !== 'across'
      || scene.opening.segments.includes(1));
    names.sort(([one], [other]) => (other in SHARES) - (one in SHARES));
    setOptions(box, names.map(([name, metric]) => [name, metric.title]), names.some(([name]) => name === before)
      ? before : 'previous');
  }

  const all = () => Array.from({ length: scene.opening.layers * scene.opening.heads },
    (_, at) => ({ layer: Math.floor(at / scene.opening.heads), head: at % scene.opening.heads }));

  function draw() {
    const share = box.value in SHARES;
    const metric = scene.opening.metrics[box.value];
    const drawn = all().map(
      ({ layer, head }) => ({ layer, head,
      points: scene.frames.over((frame) => frame.metrics[box.value][layer][head]) }))
      .filter(({ points }) => points.length);
    best = verdictOf(box.value, drawn);
    goTo.hidden = best.layer === undefined;
    const { state } = scene.attention;
    const chosen = drawn.filter(({ layer, head }) => layer === state.layer && head === state.head);
    const chart = scene.opening.charts[share ? 'head_shares' : 'head_numbers'];
    const [first, ...layers] = chart.figure.data;
    const data = [withHeads(first, chosen), ...layers
      .map((trace, layer) => withHeads(trace, drawn.filter((one) => one.layer === layer)))];
    const names = Object.keys(scene.opening.metrics);
    const rows = scene.frames.all().flatMap(({ step, metrics }) => all().map(({ layer, head }) =>
      [step, layer + 1, head + 1, ...names.map((name) => metrics[name][layer][head])]));
    const title = `Heads over training: ${metric.title}`;
    lines.show(chart, null, { data, title, caption: `${scene.opening.title} · ${title}`, sentence: best.words,
      keys: [[place(state.layer, state.head), chart.keys[0][1]]],
      note: `${metric.says.replace(/^./,
        (letter) => letter.toUpperCase())}. The heavy line is the head selected above.`,
      table: { header: ['step', 'layer', 'head', ...names], rows } });
  }

  /** A trace that holds the lines of several heads, with gaps between them. */
  function withHeads(trace, heads) {
    const column = (read) => heads.flatMap(({ points, layer, head }) => [...points
      .map((point) => read(point, layer, head)), null]);
    return { ...trace, x: column(([step]) => scene.opening.steps.indexOf(step)), y: column(([, value]) => value),
      customdata: column(([step]) => step),
      text: column((_, layer, head) => place(layer, head)) };
  }

  return { node: lines.node, begin, draw, move: () => lines.moveTo(scene.current.index) };
}

/** Which head came to do it, and when: {words, layer, head}. `drawn` is [{layer, head, points: [[step, value]]}]. */
function verdictOf(metric, drawn) {
  const last = (one) => one.points.at(-1)[1];
  const order = [...drawn].sort((one, other) => last(other) - last(one));
  const [best] = order;
  if (!best) return { words: '' };
  const name = place(best.layer, best.head).replace(/^l/, 'L');
  if (metric in SHARES) {
    if (last(best) < 0.5) {
      return { ...best,
        words: `No head puts more than half of its attention here. ${name} puts the most: ${percent(last(best),
        0)} in the end, ${
        percent(best.points[0][1], 0)} at step ${whole(best.points[0][0])}.` };
    }
    let since = best.points.length - 1;
    while (since > 0 && best.points[since - 1][1] >= 0.5) since -= 1;
    const others = order.slice(1).filter((one) => last(one) >= 0.5).map((one) => place(one.layer, one.head));
    const [step] = best.points[since];
    const begins = since === 0 ? 'puts more than half of its attention'
      : `came to put more than half of its attention`;
    return { ...best,
      words: `${name} ${begins} ${SHARES[metric]} ${since === 0 ? 'from the start'
      : `by step ${whole(step)}`}, and puts ${
      percent(last(best), 0)} in the end.${others.length
        ? ` So ${others.length === 1 ? 'does' : 'do'} ${others.slice(0, 3).join('; ')}${
      others.length > 3 ? ` and ${others.length - 3} more` : ''}.` : ''}` };
  }
  const narrow = order.at(-1);
  if (metric === 'entropy') {
    const tokens = (nats) => Math.exp(nats).toFixed(1);
    return { ...narrow,
      words: `${place(narrow.layer, narrow.head)
      .replace(/^l/, 'L')} has the lowest attention entropy in the end: equivalent to ${
      tokens(last(narrow))} tokens, and ${tokens(narrow.points[0][1])} at step ${whole(narrow.points[0][0])}.` };
  }
  return { ...best,
    words: `${name} has the largest mean attention distance in the end: ${last(best).toFixed(
    1)} tokens on average, ${best.points[0][1].toFixed(1)} at step ${
    whole(best.points[0][0])}.` };
}

/** What the model would say if it ended at each layer: layers down, snapshots across. */
export function makeLens(scene, onJump) {
  const node = h('div', { class: 'lens' });
  const chart = makeChart(node, { onPick: ({ step }) => onJump(scene.opening.steps.indexOf(step)) });

  function draw() {
    const { figure, ...given } = scene.opening.charts.lens;
    const [cells] = figure.data;
    const columns = scene.opening.steps.map(
      (step) => [...scene.frames.at(step)?.masked_tokens[scene.predictions.look.blank]?.layers ?? []].reverse());
    const names = Array.from({ length: scene.opening.layers + 1 }, (_, row) => (row < scene.opening.layers
      ? `layer ${scene.opening.layers - row}` : 'embeddings'));
    const table = (read, otherwise) => names.map((name, row) => columns
      .map((column, at) => (column.length ? read(column[row], scene.opening.steps[at], name) : otherwise)));
    const trace = { ...cells, z: table(([, probability]) => probability, null),
      text: table(([token]) => literal(readable(token)), ''),
      customdata: table(([token, probability], step, name) =>
        `step ${whole(step)}, ${name}: ${literal(token)}, ${percent(probability)}`, '') };
    const rows = table(([token, probability]) => `${token} ${short(probability)}`, '')
      .map((row, at) => [names[at], ...row]);
    const { tickvals, ticktext } = scene.opening.axis;
    const layout = { ...figure.layout, xaxis: { ...figure.layout.xaxis, tickvals, ticktext,
      range: [-0.5, tickvals.length - 0.5] } };
    node.style.setProperty('--columns', columns.length);
    chart.show({ ...given, caption: `${scene.opening.title} · ${given.title}`, shapes: () => [cursorShape(scene, 0.5)],
      picks: names.map(() => scene.opening.steps.map((step) => ({ step }))),
      figure: { data: [trace], layout }, table: { header: ['', ...scene.opening.steps.map((step) => `step ${step}`)],
        rows } });
  }

  return { node, draw, move() {} };
}

/** The words of the text and those near them on a map that stays while they move. It is drawn when the slider rests. */
export function makeMap(scene) {
  const node = h('div');
  const chart = makeChart(node);
  let resting = 0;

  /** The words of the last snapshot fill the map. */
  function rangesOf(points) {
    return [0, 1].map((way) => {
      const values = points.map((point) => point[way]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low - 0.08 * (high - low), high + 0.14 * (high - low)];
    });
  }

  function draw(frame) {
    if (!scene.plane) return;
    const { figure, ...given } = scene.opening.charts.map;
    const past = scene.frames.all().filter(({ step }) => step <= frame.step);
    const [x, y] = [0, 1].map((way) => (points) => points.map((point) => point[way]));
    const data = figure.data.map((trace, at) => {
      const word = scene.opening.mapped.indexOf(scene.opening.watched[at]);
      const points = at === figure.data.length - 1 ? pointsOf(frame, scene.plane) : word < 0 ? [] : past
        .map((one) => pointsOf(one, scene.plane)[word]);
      return { ...trace, x: x(points), y: y(points) };
    });
    const [across, up] = rangesOf(pointsOf(scene.frames.nearest(scene.opening.steps.length - 1), scene.plane));
    const { xaxis, yaxis } = figure.layout;
    const rows = scene.frames.all().flatMap((one) => pointsOf(one, scene.plane)
      .map((point, word) => [one.step, readable(scene.opening.mapped[word]), ...point]));
    chart.show({ ...given, caption: `${scene.opening.title} · step ${whole(frame.step)} · ${given.title}`,
      table: { header: ['step', 'word', 'x', 'y'], rows },
      figure: { data, layout: { ...figure.layout, xaxis: { ...xaxis, range: across },
        yaxis: { ...yaxis, range: up } } },
      note: `Embeddings projected onto the first two principal components of the last snapshot, which explain ${
        percent(scene.plane.explained, 0)} of the variance. The projection is fixed, the words move.` });
  }

  return { node, draw, move(frame) {
    clearTimeout(resting);
    resting = setTimeout(() => draw(frame), 120);
  } };
}

/** The MLM loss of each token of the text, and their mean over training. */
export function makeLosses(scene, onJump) {
  const words = h('p', { class: 'expected' });
  const mean = h('p', { class: 'quiet' });
  const lines = makeTimeline(scene, onJump);
  let nodes = [];

  function begin() {
    nodes = [];
    words.replaceChildren(...sentenceNodes(scene.opening,
      (token, position) => (nodes[position] = h('span', {}, readable(token)))));
  }

  function move(frame) {
    if (!frame.losses) return;
    frame.losses.forEach((loss, position) => {
      if (!nodes[position]) return;
      nodes[position].style.cssText = loss === null ? '' : shade(Math.exp(-loss), false);
      nodes[position].title = loss === null ? '' : `${percent(Math.exp(-loss))} when it is masked`;
    });
    mean.textContent = frame.loss === null ? ''
      : `Each word is masked once, a seventh of them at a time; bluer means higher probability. The mean MLM loss is ${
      short(frame.loss)} nats per token, a perplexity of ${whole(Math.exp(frame.loss))}.`;
    lines.moveTo(scene.current.index);
  }

  function draw(frame) {
    const rows = scene.frames.all().filter(({ losses }) => losses).flatMap(({ step, losses }) => losses
      .map((loss, position) => [step, position, scene.opening.tokens[position], loss]))
      .filter((row) => row[3] !== null);
    lines.show(scene.opening.charts.losses, [scene.frames.over(({ loss }) => loss)],
      { table: { header: ['step', 'position', 'token', 'loss'], rows } });
    move(frame);
  }

  return { node: h('div', {}, words, mean, lines.node), begin, draw, move };
}
