// The figure of a panel filled with the logs of one run or several: smoothed, thinned to what is seen, and marked.

import { choices, makeField } from 'lab/client/dom.js';
import { referenceTraces } from 'lab/components/charts/reference_curves.js';
import { EDGE, PAGE, escaped, plotOf } from 'lab/components/figures/plots.js';
import { baselinesOf, severalTrials, written } from 'lab/components/runs/run_log.js';

const COLUMNS = 300; // of a trace: in each of them its lowest and its highest value
export const HEIGHT = 230; // of a panel, in pixels

/** Exponential moving average as in TensorBoard; gaps (NaN) are passed over and stay gaps. Each part starts again. */
export function smoothed(values, weight, parts) {
  const result = new Float64Array(parts.at(-1)[1]).fill(NaN);
  for (const [start, end] of parts) {
    let [sum, total] = [0, 0];
    for (let index = start; index < end; index += 1) {
      if (!Number.isFinite(values[index])) continue;
      sum = weight * sum + (1 - weight) * values[index];
      total = weight * total + (1 - weight);
      result[index] = sum / total; // dividing by the weight so far keeps the first values from being drawn towards zero
    }
  }
  return result;
}

/** A curve of any length as {x, y} of few points: of each column of the axis the lowest and the highest value, so
 * that no peak is lost. `share(x)` is the place of x on the axis, 0 to 1 for what is in sight; a gap keeps parts
 * apart. */
function thinned(xs, ys, parts, share) {
  const points = parts.flatMap(([start, end]) => {
    const ends = new Map(); // column -> the places of its lowest and its highest value
    for (let index = start; index < end; index += 1) {
      const place = share(xs[index]);
      // beyond a zoomed axis, as far as one may drag it
      if (!Number.isFinite(ys[index]) || !(place > -1 && place < 2)) continue;
      const column = Math.floor(place * COLUMNS);
      if (!ends.has(column)) ends.set(column, [index, index]);
      const both = ends.get(column);
      if (ys[index] < ys[both[0]]) both[0] = index;
      if (ys[index] > ys[both[1]]) both[1] = index;
    }
    return [...new Set([...ends.values()].flatMap(([low, high]) => [Math.min(low, high), Math.max(low, high)])), -1];
  });
  const at = (values) => points.map((index) => (index < 0 ? NaN : values[index]));
  return { x: at(xs), y: at(ys) };
}

/** The figure of `panel` for these logs. `look` is {axis, smoothing, logX, logY, heldOutOnly}; `shown(revision)` the
 * part of the x-axis that a person has zoomed into since it last changed its kind, or null. Where `runs` are compared,
 * each has its own traces and a place in the legend. */
export function curveFigure(panel, logs, look, { axes, marks, runs = null }, shown, references = null) {
  const end = Math.max(1e-9, ...logs.flatMap(({ last, evals }) => [last, evals.at(-1)])
    .map((row) => row?.[look.axis] ?? 0));
  const unit = axes[look.axis].findLast(({ size }) => end >= 3 * size) ?? axes[look.axis][0]; // that suits the longest
  const scaled = (value) => value / unit.size;
  const bend = look.logX ? (value) => Math.log10(Math.max(value, 1e-9)) : (value) => value;
  const places = logs.map((log) => placesOf(log, scaled, look.axis));
  const logY = Boolean(look.logY && panel.logarithmic);
  const uirevision = `${unit.label} ${look.logX} ${logY}`;
  const first = look.logX ? bend(Math.min(1, ...places.map(({ xs }) => xs.find((x) => x > 0) ?? 1))) : 0;
  const [left, right] = shown(uirevision) ?? [first, bend(scaled(end))];
  const share = (x) => (bend(x) - left) / (right - left || 1);
  const behind = references ? referenceTraces(panel, logs[0], references, look.axis, scaled) : [];
  const traces = behind.concat((runs ?? [null]).flatMap((run, at) => panel.series.flatMap((series) => {
    const { field, name, smooth } = series;
    return looksOf(panel, series, run).flatMap(([role, drawn], place, all) => {
      const points = role === 'held-out' ? heldOutPoints(logs[at], field, look.axis, scaled)
        : trainingPoints(logs[at], field, role === 'smoothed' && smooth, look, places[at], share);
      const showlegend = Boolean(run) && place === all.length - 1;
      if (!points && !showlegend) return [];
      return [{ type: 'scatter', name: escaped(run?.name ?? name) + (role === 'held-out' && !run ? ', held-out' : ''),
        legendgroup: String(at), showlegend, meta: { role, field }, ...drawn,
        ...(points ?? { x: [NaN], y: [NaN] }) }]; // named, though without values
    });
  })));
  const stated = Map.groupBy(logs.flatMap((log) => baselinesOf(panel, log)), ({ name }) => name);
  const baselines = [...stated.values()] // of several runs only what is the same for all
    .filter((lines) => lines.every(({ value }) => value === lines[0].value)).map(([line]) => line);
  const shapes = baselines.map(({ name, mark, value }) =>
    marked(marks[mark], { y0: value, y1: value }, `${name}: ${written(panel.unit, value)}`));
  if (logs.length === 1) shapes.push(...marksOf(logs[0], look.axis, marks, scaled));
  const ranged = panel.yaxis.autorangeoptions;
  const lowest = Math.min(...traces.flatMap(({ y }) => y).filter(Number.isFinite));
  const named = (value) => (ranged ? value : logY || panel.yaxis.type === 'log' ? 2 * value
    : value + 0.15 * Math.max(0, value - lowest)); // room for the name of the uppermost one
  const include = [...(ranged?.include ?? []), ...baselines.flatMap(({ value }) => [value, named(value)])];
  return plotOf(traces, { height: runs ? 300 : HEIGHT, legend: Boolean(runs), drag: 'zoom', uirevision, shapes,
    hovermode: 'x unified', hoverlabel: { namelength: -1, bgcolor: PAGE, bordercolor: EDGE },
    x: { showgrid: false, zeroline: false, rangemode: 'tozero', type: look.logX ? 'log' : 'linear',
      tickformat: unit.tickformat, title: { text: unit.label, standoff: 6 }, unifiedhovertitle: { text: unit.hover } },
    y: { zeroline: false, nticks: 5, ...panel.yaxis, ...(logY && { type: 'log' }), autorangeoptions: { include } } });
}

/** How the values of a measure are drawn, [[role, trace]]: in training, the same smoothed, and held-out ones. */
function looksOf(panel, { color: own, smooth }, run) {
  const color = run?.color ?? own;
  const faint = run && panel.held_out; // what is compared are the held-out points
  const looks = [['smoothed', { mode: 'lines', opacity: faint ? 0.6 : 1, line: { color, width: faint ? 1 : 2 },
    hovertemplate: '%{y}' }]];
  if (smooth) looks.unshift(['training', { mode: 'lines', opacity: 0.25, line: { color, width: 1 },
    hoverinfo: 'skip' }]);
  if (panel.held_out) looks.push(['held-out', { mode: run || panel.joined ? 'lines+markers' : 'markers',
    line: { color, width: run ? 2 : 1 }, hovertemplate: '%{y}',
    marker: { color, size: 7, symbol: run?.symbol ?? 'circle-open', line: { color, width: 2 } } }]);
  return looks;
}

/** The places of a run on the axis, and the part of each trial: [first, behind the last]. */
function placesOf({ steps }, scaled, axis) {
  const starts = [];
  steps.forEach(({ trial }, at) => { if (!at || trial !== steps[at - 1].trial) starts.push(at); });
  const parts = starts.map((start, place) => [start, starts[place + 1] ?? steps.length]);
  return { xs: steps.map((row) => scaled(row[axis])), parts };
}

/** The held-out values of a measure, trials kept apart by a gap; null where there is none. */
function heldOutPoints(log, field, axis, scaled) {
  const rows = log.evals.filter((row) => Number.isFinite(row[field]))
    .flatMap((row, place, all) => (place && row.trial !== all[place - 1].trial ? [null, row] : [row]));
  const x = rows.map((row) => (row ? scaled(row[axis] ?? xAt(log, row.step, axis)) : NaN));
  return rows.length ? { x, y: rows.map((row) => row?.[field] ?? NaN) } : null;
}

/** The values of a measure in training, thinned; null where there is none, or only held-out ones are asked for. */
function trainingPoints(log, field, smooth, look, { xs, parts }, share) {
  if (!log.newest(field) || (look.heldOutOnly && log.evals.some((row) => Number.isFinite(row[field])))) return null;
  const values = log.steps.map((row) => row[field] ?? NaN);
  return thinned(xs, smooth ? smoothed(values, look.smoothing, parts) : values, parts, share);
}

/** Where a step lies on an axis; evaluations of old logs have no tokens. */
const xAt = (log, step, axis) => log.steps.findLast((row) => row.step <= step)?.[axis] ?? 0;

// Plotly reads a little HTML in its labels.
const marked = (mark, place, text = '') =>
  ({ ...mark, ...place, label: { ...mark.label, text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;') } });

/** The causal-LM warm-up of a run, which the caption names, and its trials, by name where there is room. */
function marksOf(log, axis, marks, scaled) {
  const end = log.newest('causal_loss');
  const isRoom = log.trials.length * Math.max(...log.trials.map(({ name }) => name.length)) < 40;
  const trials = log.trials.map(({ name, step }, place) => {
    const x = scaled(xAt(log, step, axis));
    return marked(marks.trial, { x0: x, x1: x }, isRoom ? name : String(place + 1));
  });
  return [...(end ? [marked(marks.warm_up, { x1: scaled(end[axis]) })] : []), ...(severalTrials(log) ? trials : [])];
}

/** The controls of how curves are looked at: what is along their x-axis, and how much they are smoothed, from 0 to
 * 0.99 as in TensorBoard. */
export function lookControls(look, onChange) {
  const axes = [['step', 'step'], ['seconds', 'time'], ['tokens', 'tokens seen']];
  const change = (some) => {
    Object.assign(look, some);
    onChange();
  };
  const slider = makeField('range', 'Smoothing', look.smoothing, (smoothing) => change({ smoothing }), { inline: true,
    min: 0, max: 0.99, step: 0.01, rest: 1, title: 'Exponential moving average: the weight of what came before' }).node;
  return { change, axis: choices('X-axis', axes, look.axis, (axis) => change({ axis })).node, slider };
}
