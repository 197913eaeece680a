// The figure of a panel filled with the logs of one run or several: smoothed, thinned to what is seen, and marked.

import { h } from 'lab/client/dom.js';
import { percent, short, whole } from 'lab/client/format.js';
import { hasMeasure, partsOf, severalTrials } from 'lab/components/runs/run_log.js';

const POINTS = 600; // of a trace: two for each of 300 columns, its lowest and its highest value

const compact = (value) => (value >= 1e6 ? `${Number((value / 1e6).toPrecision(3))}M` : value >= 1e3
  ? `${Number((value / 1e3).toPrecision(3))}k` : whole(value));
/** A value in words, by the unit of its panel. */
const WRITE = { share: percent, correlation: (value) => value.toFixed(3), rate: (value) => value.toExponential(1),
  perplexity: (value) => Number(value.toPrecision(4)).toLocaleString('en-US'),
  'tokens/s': (value) => `${compact(value)}/s`, nats: short, norm: short };
export const written = (unit, value, digits) => (Number.isFinite(value) ? WRITE[unit](value, digits) : '–');

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
  const picked = [];
  for (const [start, end] of parts) {
    let [column, low, high] = [null, 0, 0];
    const flush = () => {
      if (column !== null) picked.push(Math.min(low, high));
      if (low !== high) picked.push(Math.max(low, high));
    };
    for (let index = start; index < end; index += 1) {
      const place = share(xs[index]);
      // beyond a zoomed axis, as far as one may drag it
      if (!Number.isFinite(ys[index]) || !(place > -1 && place < 2)) continue;
      const here = Math.floor((place * POINTS) / 2);
      if (here !== column) {
        flush();
        [column, low, high] = [here, index, index];
      }
      if (ys[index] < ys[low]) low = index;
      if (ys[index] > ys[high]) high = index;
    }
    flush();
    picked.push(-1);
  }
  const at = (values) => Float64Array.from(picked, (index) => (index < 0 ? NaN : values[index]));
  return { x: at(xs), y: at(ys) };
}

/** The figure of `panel` for these logs. `look` is {axis, smoothing, logX, logY, heldOutOnly}; `shown(revision)` the
 * part of the x-axis that a person has zoomed into since it last changed its kind, or null. */
export function curveFigure(panel, logs, look, { axes, marks }, shown = () => null) {
  const { data, layout } = panel.figure;
  const end = Math.max(1e-9,
    ...logs.flatMap((log) => [log.newest(look.axis) || 0, log.evals.at(-1)?.[look.axis] ?? 0]));
  const unit = axes[look.axis].findLast(({ size }) => end >= 3 * size) ?? axes[look.axis][0]; // that suits the longest
  const scaled = (value) => value / unit.size;
  const bend = look.logX ? (value) => Math.log10(Math.max(value, 1e-9)) : (value) => value;
  const xs = logs.map((log) => log.column(look.axis).subarray(0, log.count).map(scaled));
  const logY = Boolean(look.logY && panel.logarithmic);
  const uirevision = `${unit.label} ${look.logX} ${logY}`;
  const first = look.logX ? bend(Math.min(1, ...xs.map((values) => values.find((x) => x > 0) ?? 1))) : 0;
  const [left, right] = shown(uirevision) ?? [first, bend(scaled(end))];
  const share = (x) => (bend(x) - left) / (right - left || 1);
  const pointsOf = ({ role, field, run, smooth }) => (role === 'held-out' ? heldOutPoints(logs[run], field, look.axis,
    scaled) : trainingPoints(logs[run], field, role === 'smoothed' && smooth, look, xs[run], share));
  const traces = data.map((trace) => {
    const points = pointsOf(trace.meta) ?? (trace.showlegend && { x: [NaN], y: [NaN] }); // named, though without values
    return points && { ...trace, ...points };
  });
  const stated = logs.flatMap((log) => baselinesOf(panel, log)); // of several runs only what is the same for all
  const baselines = stated.filter(({ name, value }, place) => stated.findIndex((other) => other.name === name) === place
    && stated.every((other) => other.name !== name || other.value === value));
  const shapes = baselines.map(({ name, mark, value }) =>
    marked(marks[mark], { y0: value, y1: value }, `${name}: ${written(panel.unit, value)}`));
  const ranged = layout.yaxis.autorangeoptions;
  const room = ranged ? 1 : logY || layout.yaxis.type === 'log' ? 2 : 1.1; // for the name of the uppermost one
  const include = [...(ranged?.include ?? []), ...baselines.map(({ value }) => room * value)];
  return {
    data: traces.filter(Boolean),
    layout: {
      ...layout,
      uirevision,
      shapes: logs.length === 1 ? [...shapes, ...marksOf(logs[0], look, marks, scaled)] : shapes,
      xaxis: { ...layout.xaxis, type: look.logX ? 'log' : 'linear', tickformat: unit.tickformat,
        title: { ...layout.xaxis.title, text: unit.label }, unifiedhovertitle: { text: unit.hover } },
      yaxis: { ...layout.yaxis, ...(logY ? { type: 'log' } : {}), autorangeoptions: { include } },
    },
  };
}

/** The held-out values of a measure, trials kept apart by a gap; null where there is none. */
function heldOutPoints(log, field, axis, scaled) {
  const rows = log.evals.filter((row) => Number.isFinite(row[field]))
    .flatMap((row, place, all) => (place && row.trial !== all[place - 1].trial ? [null, row] : [row]));
  if (!rows.length) return null;
  return { x: rows.map((row) => (row ? scaled(row[axis] ?? xAt(log, row.step, axis)) : NaN)),
    y: rows.map((row) => row?.[field] ?? NaN) };
}

/** The values of a measure in training, thinned; null where there is none, or only held-out ones are asked for. */
function trainingPoints(log, field, smooth, look, xs, share) {
  if (log.lastPlace(field) < 0 || (look.heldOutOnly && log.evals.some((row) => Number.isFinite(row[field]))))
    return null;
  const parts = partsOf(log);
  return thinned(xs, smooth ? smoothed(log.column(field), look.smoothing, parts) : log.column(field), parts, share);
}

/** The baselines that a run states for what is in a panel: [{name, field, mark, value}]. */
export function baselinesOf(panel, log) {
  return panel.baselines.filter(({ field }) => !field || hasMeasure(log, field)).map(({ key, ...line }) =>
    ({ ...line, value: log.started?.baselines?.[key] })).filter(({ value }) => Number.isFinite(value));
}

/** Where a step lies on an axis; evaluations of old logs have no tokens. */
const xAt = (log, step, field) =>
  log.columns[field][Math.max(0, log.columns.step.subarray(0, log.count).findLastIndex((other) => other <= step))] ?? 0;

// Plotly reads a little HTML in its labels.
const marked = (mark, place, text = '') =>
  ({ ...mark, ...place, label: { ...mark.label, text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;') } });

/** The causal-LM warm-up of a run, which the caption names, and its trials, by name where there is room. */
function marksOf(log, look, marks, scaled) {
  const end = log.lastPlace('causal_loss');
  const warmUp = end < 0 ? [] : [marked(marks.warm_up, { x1: scaled(log.columns[look.axis][end]) })];
  const named = log.trials.length * Math.max(...log.trials.map(({ name }) => name.length)) < 40;
  const trials = !severalTrials(log) ? [] : log.trials.map(({ name, step }, place) => {
    const x = scaled(step ? xAt(log, step, look.axis) : 0);
    return marked(marks.trial, { x0: x, x1: x }, named ? name : String(place + 1));
  });
  return [...warmUp, ...trials];
}

/** A slider of how much curves are smoothed, from 0 to 0.99, as in TensorBoard. */
export function smoothingSlider(look, onChange) {
  const shown = h('output', String(look.smoothing));
  const input = h('input', { type: 'range', min: 0, max: 0.99, step: 0.01, value: look.smoothing, oninput: () => {
    look.smoothing = Number(input.value);
    shown.textContent = input.value;
    onChange();
  } });
  return h('label.slider.tick', { title: 'Exponential moving average: the weight of what came before' }, 'Smoothing',
    input, shown);
}
