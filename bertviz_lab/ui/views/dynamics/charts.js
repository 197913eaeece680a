// What is folded away at first: heads over the training, layer by layer, words on a map, the loss of each word. Each
// has `draw(frame)`, which draws all of it, and `move(frame)`, for which dragging waits.

import { shade } from 'lab/client/colors.js';
import { elements, h, setOptions } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { decodeBase64 } from 'lab/client/saving.js';
import { makeChart } from 'lab/components/charts/chart.js';
import { SHARES } from 'lab/views/dynamics/attention.js';
import { readable, sentenceNodes } from 'lab/views/dynamics/predictions.js';
import { cursorShape, makeTimeline } from 'lab/views/dynamics/timeline.js';

const place = (layer, head) => `layer ${layer + 1}, head ${head + 1}`;
/** A text as Plotly shows it, letter by letter. */
const literal = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const capitalized = (text) => text.replace(/^./, (letter) => letter.toUpperCase());

/** Each metric of the heads over the training, a line a head; and which head came to do it, in a sentence. */
export function makeHeads(scene) {
  const goTo = h('button.link', { onclick: () => scene.attention.choose(best.layer, best.head) }, 'Show this head');
  const box = h('select', { 'aria-label': 'Head metric', onchange: () => draw() });
  const lines = makeTimeline(scene, { knobs: [box, goTo] });
  let best = null;

  function begin() {
    const { metrics, segments } = scene.opening;
    const names = Object.keys(metrics).filter((name) => name !== 'across' || segments.includes(1))
      .sort((one, other) => (other in SHARES) - (one in SHARES));
    setOptions(box, names.map((name) => [name, metrics[name].title]), names.includes(box.value) ? box.value
      : 'previous');
  }

  function draw() {
    const { layers, heads, metrics, charts, steps } = scene.opening;
    const all = Array.from({ length: layers * heads }, (_, at) => [Math.floor(at / heads), at % heads]);
    const drawn = all.map(([layer, head]) => ({ layer, head,
      points: scene.frames.over((frame) => frame.metrics[box.value][layer][head]) }))
      .filter(({ points }) => points.length);
    best = verdictOf(box.value, drawn);
    goTo.hidden = best.layer === undefined;
    /** A trace that holds the lines of several heads, with gaps between them. */
    const withHeads = (trace, isIn) => {
      const column = (read) => drawn.filter(isIn).flatMap(({ points, layer, head }) =>
        [...points.map((point) => read(point, layer, head)), null]);
      return { ...trace, x: column(([step]) => steps.indexOf(step)), y: column(([, value]) => value),
        customdata: column(([step]) => step), text: column((_, layer, head) => place(layer, head)) };
    };
    const { state } = scene.attention;
    const chart = charts[box.value in SHARES ? 'head_shares' : 'head_numbers'];
    const [first, ...others] = chart.figure.data;
    const data = [withHeads(first, ({ layer, head }) => layer === state.layer && head === state.head),
      ...others.map((trace, at) => withHeads(trace, ({ layer }) => layer === at))];
    const names = Object.keys(metrics);
    const rows = scene.frames.all().flatMap((frame) => all.map(([layer, head]) =>
      [frame.step, layer + 1, head + 1, ...names.map((name) => frame.metrics[name][layer][head])]));
    lines.show({ ...chart, title: `Heads over training: ${metrics[box.value].title}`, sentence: best.words,
      figure: { ...chart.figure, data }, keys: [[place(state.layer, state.head), chart.keys[0][1]]],
      note: `${capitalized(metrics[box.value].says)}. The heavy line is the head selected above.`,
      table: { header: ['step', 'layer', 'head', ...names], rows } });
  }

  return { node: lines.node, begin, draw, move: lines.move };
}

/** Which head came to do it, and when: {words, layer, head}. `drawn` is [{layer, head, points: [[step, value]]}]. */
function verdictOf(metric, drawn) {
  const last = ({ points }) => points.at(-1)[1];
  const order = [...drawn].sort((one, other) => last(other) - last(one));
  if (!order.length) return { words: '' };
  const best = metric === 'entropy' ? order.at(-1) : order[0];
  const { points } = best;
  const name = capitalized(place(best.layer, best.head));
  const [end, [[began, start]]] = [last(best), points];
  const told = (words) => ({ ...best, words: `${name} ${words}` });
  if (metric === 'entropy') return told(`has the lowest attention entropy in the end: equivalent to ${
    Math.exp(end).toFixed(1)} tokens, and ${Math.exp(start).toFixed(1)} at step ${whole(began)}.`);
  if (!(metric in SHARES)) return told(`has the largest mean attention distance in the end: ${
    end.toFixed(1)} tokens on average, ${start.toFixed(1)} at step ${whole(began)}.`);
  if (end < 0.5) return { ...best, words: `No head puts more than half of its attention here. ${name} puts the most: ${
    percent(end, 0)} in the end, ${percent(start, 0)} at step ${whole(began)}.` };
  const since = points.findLastIndex(([, value]) => !(value >= 0.5)) + 1;
  const words = since ? `came to put more than half of its attention ${SHARES[metric]} by step ${
    whole(points[since][0])}` : `puts more than half of its attention ${SHARES[metric]} from the start`;
  const others = order.slice(1).filter((one) => last(one) >= 0.5).map((one) => place(one.layer, one.head));
  const more = others.length > 3 ? ` and ${others.length - 3} more` : '';
  const verb = others.length === 1 ? 'does' : 'do';
  const too = others.length ? ` So ${verb} ${others.slice(0, 3).join('; ')}${more}.` : '';
  return told(`${words}, and puts ${percent(end, 0)} in the end.${too}`);
}

/** What the model would say if it ended at each layer: layers down, snapshots across. */
export function makeLens(scene) {
  const node = h('div.lens');
  const chart = makeChart(node, { onPick: ({ place: at }) => scene.jump(at) });

  function draw() {
    const { charts, steps, layers, title, axis: { tickvals, ticktext } } = scene.opening;
    const { figure, ...given } = charts.lens;
    const columns = steps.map((step) =>
      [...scene.frames.at(step)?.masked_tokens[scene.predictions.look.blank]?.layers ?? []].reverse());
    const names = Array.from({ length: layers + 1 }, (_, row) => (row < layers ? `layer ${layers - row}`
      : 'embeddings'));
    const table = (read, otherwise = '') => names.map((name, row) => columns
      .map((column, at) => (column.length ? read(column[row], steps[at], name) : otherwise)));
    const trace = { ...figure.data[0], z: table(([, probability]) => probability, null),
      text: table(([token]) => literal(readable(token))),
      customdata: table(([token, probability], step, name) =>
        `step ${whole(step)}, ${name}: ${literal(token)}, ${percent(probability)}`) };
    const rows = table(([token, probability]) => `${token} ${short(probability)}`)
      .map((row, at) => [names[at], ...row]);
    const xaxis = { ...figure.layout.xaxis, tickvals, ticktext, range: [-0.5, tickvals.length - 0.5] };
    node.style.setProperty('--columns', columns.length);
    chart.show({ ...given, caption: `${title} · ${given.title}`, shapes: () => [cursorShape(scene, 0.5)],
      picks: names.map(() => steps.map((_, at) => ({ place: at }))),
      figure: { data: [trace], layout: { ...figure.layout, xaxis } },
      table: { header: ['', ...steps.map((step) => `step ${step}`)], rows } });
  }

  return { node, draw, move() {} };
}

export const readPlane = (body) => (body?.middle ? { middle: new Float32Array(decodeBase64(body.middle).buffer),
  axes: new Float32Array(decodeBase64(body.axes).buffer), explained: body.explained } : null);

/** Where the mapped words of a frame lie on the plane: [[x, y]]. */
function pointsOf(frame, plane) {
  if (frame.plane !== plane) {
    const codes = new Int16Array(decodeBase64(frame.vectors).buffer);
    const size = plane.middle.length;
    frame.plane = plane;
    frame.points = Array.from({ length: codes.length / size }, (_, word) => [0, 1].map((way) =>
      plane.middle.reduce((sum, middle, at) =>
        sum + (codes[word * size + at] / 32767 - middle) * plane.axes[way * size + at], 0)));
  }
  return frame.points;
}

/** The words of the text and those near them on a map that stays while they move. It is drawn when the slider rests. */
export function makeMap(scene) {
  const node = h('div');
  const chart = makeChart(node);
  let resting = 0;

  function draw(frame) {
    if (!scene.plane) return;
    const { charts, mapped, watched, steps, title } = scene.opening;
    const { figure, ...given } = charts.map;
    const places = (one) => pointsOf(one, scene.plane);
    const past = scene.frames.all().filter(({ step }) => step <= frame.step);
    const data = figure.data.map((trace, at) => {
      const word = mapped.indexOf(watched[at]);
      const path = word < 0 ? [] : past.map((one) => places(one)[word]);
      const points = trace === figure.data.at(-1) ? places(frame) : path;
      return { ...trace, x: points.map(([x]) => x), y: points.map(([, y]) => y) };
    });
    const last = places(scene.frames.nearest(steps.length - 1)); // its words fill the map
    const [across, up] = [0, 1].map((way) => {
      const values = last.map((point) => point[way]);
      const [low, high] = [Math.min(...values), Math.max(...values)];
      return [low - 0.08 * (high - low), high + 0.14 * (high - low)];
    });
    const layout = { ...figure.layout, xaxis: { ...figure.layout.xaxis, range: across },
      yaxis: { ...figure.layout.yaxis, range: up } };
    const rows = scene.frames.all().flatMap((one) => places(one)
      .map((point, word) => [one.step, readable(mapped[word]), ...point]));
    chart.show({ ...given, caption: `${title} · step ${whole(frame.step)} · ${given.title}`,
      figure: { data, layout }, table: { header: ['step', 'word', 'x', 'y'], rows },
      note: `Embeddings projected onto the first two principal components of the last snapshot, which explain ${
        percent(scene.plane.explained, 0)} of the variance. The projection is fixed, the words move.` });
  }

  return { node, draw, move(frame) {
    clearTimeout(resting);
    resting = setTimeout(draw, 120, frame);
  } };
}

/** The MLM loss of each token of the text, and their mean over training. */
export function makeLosses(scene) {
  const [words, mean] = elements('p.expected', 'p.quiet');
  const lines = makeTimeline(scene);
  let nodes = []; // the tokens of the text by their positions

  function begin() {
    nodes = scene.opening.tokens.map((token) => h('span', readable(token)));
    words.replaceChildren(...sentenceNodes(scene.opening, (_, position) => nodes[position]));
  }

  function move({ losses, loss: average }) {
    if (!losses) return;
    losses.forEach((loss, position) => {
      nodes[position].style.cssText = loss === null ? '' : shade(Math.exp(-loss), false);
      nodes[position].title = loss === null ? '' : `${percent(Math.exp(-loss))} when it is masked`;
    });
    mean.textContent = average === null ? ''
      : `Each word is masked once, a seventh of them at a time; bluer means higher probability. The mean MLM loss is ${
        short(average)} nats per token, a perplexity of ${whole(Math.exp(average))}.`;
    lines.move();
  }

  function draw(frame) {
    const { charts, tokens } = scene.opening;
    const rows = scene.frames.all().flatMap(({ step, losses }) => (losses ?? [])
      .map((loss, position) => [step, position, tokens[position], loss])).filter((row) => row[3] !== null);
    lines.show(charts.losses, [scene.frames.over(({ loss }) => loss)],
      { table: { header: ['step', 'position', 'token', 'loss'], rows } });
    move(frame);
  }

  return { node: h('div', words, mean, lines.node), begin, draw, move };
}
