// Charts over the snapshots of a training run. The loss curve is complete. The others have their lines, names and axes,
// but no points: those of each snapshot are added as it arrives. Their margins are fixed: the slider is exactly under
// the lines, and draws a cursor.

import { compact, readable } from 'lab/client/format.js';
import { COLORS, EDGE, QUIET, TEXT, escaped, plotOf } from 'lab/components/figures/plots.js';

const PAINTS = [...COLORS, 'var(--lab-random)', QUIET];
const paintOf = (place) => PAINTS[place % PAINTS.length];
const MARGIN = { l: 52, r: 18, t: 10, b: 42 };
const PERCENT = { range: [0, 1], tickformat: '.0%', tickvals: [0, 0.25, 0.5, 0.75, 1] };
const NUMBER = { rangemode: 'tozero' };
/** How values are drawn: their axis, their format in Plotly, and how they are written at the cursor. */
const SHARES = [PERCENT, '.1%', 'percent'];
const NUMBERS = [NUMBER, '.3f', 'short'];
const horizontal = (y) => ({ type: 'line', xref: 'x domain', x0: 0, x1: 1, yref: 'y', y0: y, y1: y,
  line: { color: QUIET, width: 1, dash: 'dot' } });

/** The axis that the charts of a run share, and the `place` of a step on it: the first snapshot is at 0, the next at 1.
 *
 * Snapshots are at even distances, and a step between two of them is where its logarithm puts it. They are kept at
 * steps 1, 2, 5, 10 ..., so this is nearly a logarithmic axis; but it has a place for step 0, and its places are those
 * of the slider. `last` is the last step that is known of: a run in training is ahead of its newest snapshot. */
function snapshotAxis(steps, last) {
  const logs = steps.map(Math.log1p);
  const place = (step) => {
    const low = Math.max(0, steps.findLastIndex((at) => at <= step));
    const width = low + 1 < logs.length ? logs[low + 1] - logs[low] : (logs.at(-1) - logs[0]) / (logs.length - 1);
    return low + Math.max(0, Math.log1p(step) - logs[low]) / (width || 1);
  };
  const layout = { range: [0, Math.max(place(Math.max(last, steps.at(-1))), 1)], tickvals: steps.map((_, at) => at),
    ticktext: steps.map(compact), ticks: 'outside', autotickangles: [0, 90], tickcolor: EDGE, linecolor: EDGE,
    showgrid: false, zeroline: false, fixedrange: true };
  return { place, layout };
}

/** The axis and the loss curve of an opening; the table of the curve has the seconds and tokens of each point too. */
export function lossChart({ steps, curve }) {
  const reached = [curve.trained, curve.forwards].map((points) => points.at(-1)?.[0] ?? 0);
  const { place, layout } = snapshotAxis(steps, Math.max(...reached));
  const names = { trained: 'training', held: 'held-out', forwards: 'next token (causal-LM warm-up)' };
  const kinds = Object.entries(names).map(([key, name], at) => ({ name, color: COLORS[at], points: curve[key] }))
    .filter(({ points }) => points.length);
  const chart = lines(`${curve.name} over the training`, kinds.map(({ name, color }) => [name, color]), NUMBERS,
    'training-curve', 188);
  const data = chart.figure.data.map((trace, at) => {
    const { name, points } = kinds[at];
    const customdata = points.map(([step]) => step);
    return { ...trace, x: customdata.map(place), y: points.map(([, loss]) => loss), customdata,
      mode: name === 'held-out' ? 'lines+markers' : 'lines' };
  });
  const chance = curve.chance === null ? {} : { shapes: [horizontal(curve.chance)], annotations: [{
    text: curve.chance_name, font: { size: 11, color: QUIET }, showarrow: false, xref: 'x domain', x: 0,
    xanchor: 'left', yref: 'y', y: curve.chance, yanchor: 'top' }] };
  const rows = kinds.flatMap(({ name, points }) =>
    points.map(([step, loss, seconds = null, tokens = null]) => [name, step, loss, seconds, tokens]));
  return { axis: layout, loss: { ...chart, figure: { data, layout: { ...chart.figure.layout, ...chance } },
    table: { header: ['curve', 'step', 'loss', 'seconds', 'tokens'], rows } } };
}

/** The charts of an opening that are filled. What its lines follow is in `follows`: "words", "labels" of a classifier,
 * "value" of a regression, "next" or "answer", which have one line. */
export function snapshotCharts({ follows, watched, mapped, labels, layers, vocab_size: vocabulary }) {
  const [tracked, words] = [watched, mapped].map((tokens) => tokens.map(readable));
  const names = { words: tracked, labels, value: labels, next: ['B follows A'], answer: ['best answer'] };
  const followed = (names[follows] ?? []).map((name, place) => [name, paintOf(place)]);
  const title = { words: 'Tracked words', value: 'Predicted value over training' }[follows] ?? 'Over training';
  const ranks = { type: 'log', range: [Math.log10(Math.max(10, vocabulary)), 0], tickvals: [1, 10, 100, 1000, 10000],
    tickformat: ',d' };
  const loss = 'MLM loss of this text';
  const shares = headLines(layers, SHARES);
  shares.figure.layout.shapes = [horizontal(0.5)];
  return {
    tracked: lines(title, followed, follows === 'value' ? NUMBERS : SHARES, 'tracked-words-probability'),
    rank: lines('Rank in vocabulary', followed, [ranks, ',d', 'whole'], 'tracked-words-rank'),
    losses: lines(loss, [[loss, COLORS[0]]], NUMBERS, 'loss-of-the-text', 198),
    head_shares: shares,
    head_numbers: headLines(layers, NUMBERS),
    map: wordMap(words, tracked),
  };
}

/** A chart with a line for each [name, color]. */
function lines(title, keys, [yaxis, format, shownAs], file, height = 248) {
  const traces = keys.map(([name, color]) => ({ type: 'scatter', mode: 'lines', name: escaped(name),
    line: { color, width: 2 }, marker: { color, size: 6 }, cliponaxis: false,
    hovertemplate: `step %{customdata:,}, ${escaped(name)}: %{y:${format}}<extra></extra>` }));
  const figure = plotOf(traces, { height, margin: MARGIN, hovermode: 'closest',
    y: { ...yaxis, automargin: false, fixedrange: true, zeroline: false } });
  return { title, file, keys, shown_as: shownAs, figure };
}

/** The selected head as a heavy line above thin ones, one for each layer. */
function headLines(layers, drawn) {
  const heads = Array.from({ length: layers }, (_, layer) => [`layer ${layer + 1}`, paintOf(layer)]);
  const { figure, keys: [key], ...chart } = lines('', [['', 'var(--lab-accent)'], ...heads], drawn, 'heads');
  const at = `step %{customdata:,}: %{y:${drawn[1]}}<extra></extra>`;
  const [first, ...others] = figure.data;
  const data = [{ ...first, zorder: 1, hovertemplate: at }, ...others.map((trace) => ({ ...trace, opacity: 0.55,
    line: { ...trace.line, width: 1 }, hovertemplate: `%{text}, ${at}` }))];
  return { ...chart, keys: [key], figure: { ...figure, data } };
}

/** The embedding map: a trail for each tracked word, and the words. */
function wordMap(words, tracked) {
  const paints = new Map(tracked.map((word, place) => [word, paintOf(place)]));
  const trails = [...paints.values()].map((color) => ({ type: 'scatter', mode: 'lines', line: { color, width: 1.2 },
    opacity: 0.6, hoverinfo: 'skip' }));
  const style = (trackedSize, size, color) => ({ size: words.map((word) => (paints.has(word) ? trackedSize : size)),
    color: words.map((word) => paints.get(word) ?? color) });
  const marks = { type: 'scatter', mode: 'markers+text', text: words.map(escaped), textposition: 'middle right',
    textfont: style(13.5, 11.5, TEXT), marker: style(10, 6, QUIET), hovertemplate: '%{text}<extra></extra>' };
  const hidden = { showticklabels: false, zeroline: false };
  return { title: 'Embedding map (PCA)', file: 'embedding-map',
    figure: plotOf([...trails, marks], { height: 420, drag: 'pan', x: hidden, y: hidden }) };
}
