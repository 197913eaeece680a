// The state of a run in sentences: what it is doing, how far it is, what came of it.

import { duration, percent, plural, short, whole } from 'lab/client/format.js';
import { baselinesOf, written } from 'lab/components/charts/curve_figure.js';
import { ENDED } from 'lab/components/runs/run_log.js';

/** Whether the run has more than one trial, now or later. */
export const severalTrials = (log) => log.trials.length > 1 || log.trials[0]?.trials > 1;

/** Share of the way, 0 to 1, or null where nobody knows. */
export function progressOf(log, status) {
  if (status === 'preparing') {
    const { done, total } = log.preparing ?? {};
    return total ? Math.min(1, done / total) : null;
  }
  if (!log.last || status !== 'training') return null;
  const { total_steps: steps, time_budget: budget } = log.started ?? {};
  const { step, seconds, eta_seconds: eta } = log.last;
  if (steps) return Math.min(1, step / steps);
  if (budget) return Math.min(1, seconds / budget);
  return Number.isFinite(eta) ? seconds / Math.max(1e-9, seconds + eta) : null;
}

/** What the run is doing. */
export function stageWords(log, status, task) {
  const { started, last, finished, preparing } = log;
  const steps = plural(last?.step ?? 0, 'step');
  const took = finished && ENDED.includes(status) ? ` in ${duration(finished.seconds)}` : '';
  const ended = { finished: `Finished: ${steps}${took}`, stopped: `Stopped after ${steps}${took}`,
    failed: 'The run failed', missing: 'This run is no longer here', waiting: 'Queued' };
  if (status in ended) return ended[status];
  if (status === 'training') {
    if (!last) return 'Training: first step';
    const trial = log.trials.at(-1); // its steps are its own
    const of = trial?.total_steps ?? started?.total_steps;
    const which = severalTrials(log) ? `${trial.name} (${whole(log.trials.length)} of ${whole(trial.trials)}), ` : '';
    const step = `${which}step ${whole(last.step - (trial?.step ?? 0))}${of ? ` of ${whole(of)}` : ''}`;
    return `${task ? 'Fine-tuning' : 'Training'}: ${step}${log.warmsUp() ? ', causal-LM warm-up' : ''}`;
  }
  if (status !== 'preparing' || !preparing) return 'Starting …';
  const done = preparing.total ? `: ${whole(preparing.done)} of ${whole(preparing.total)}` : '';
  return `Preparing: ${preparing.message || preparing.stage}${done}`;
}

/** How fast it goes and how long it takes, or what came of it. */
export function detailWords(log, state, status, panels) {
  const { last, finished } = log;
  if (ENDED.includes(status)) {
    const message = finished?.message || (status === 'failed' ? state?.message : '');
    return [resultWords(log, panels), message].filter(Boolean).join(' ');
  }
  if (status === 'waiting') return state?.message ?? '';
  if (!last || status !== 'training') return '';
  return [Number.isFinite(last.tokens_per_second) ? `${whole(last.tokens_per_second)} tokens per second` : '',
    Number.isFinite(last.eta_seconds) ? `about ${duration(last.eta_seconds)} left` : ''].filter(Boolean).join(' · ');
}

/** Each held-out measure of pretraining that a row has: [label, field, value in words]. */
const heldOut = (row, panels) => panels.filter(({ held_out: held, id }) => held && id !== 'perplexity')
  .flatMap(({ unit, series }) => series.filter(({ field }) => Number.isFinite(row[field]))
  .map(({ label, field }) => [label, field, written(unit, row[field])]));

/** What a model that was trained on already scored on held-out text before and scores now; "" for any other. */
export function changeWords(log, panels) {
  const [before, now] = [log.evals[0], log.evals.at(-1)];
  if (before === now || before?.step !== 0) return '';
  const parts = heldOut(now, panels).map(([label, field, value]) => {
    const old = heldOut(before, panels).find((other) => other[1] === field);
    return old ? `${label}: ${old[2]} before, ${value} now` : '';
  });
  return `On held-out text, ${parts.filter(Boolean).join('; ')}.`;
}

function resultWords(log, panels) {
  if (scorePanel(panels)) return taskWords(log, panels, true);
  if (!log.evals.length) return '';
  const change = changeWords(log, panels);
  if (change) return change;
  const panel = panels.find(({ id }) => id === 'accuracy');
  const parts = panel.series.filter(({ field }) => Number.isFinite(log.evals.at(-1)[field])).map(({ field, label }) => {
    const line = baselinesOf(panel, log).find((baseline) => baseline.field === field);
    return `${label}: ${percent(log.evals.at(-1)[field])}${line ? ` (${line.name}: ${percent(line.value)})` : ''}`;
  });
  return `Held-out ${parts.join('; ')}.`;
}

/** The series of a panel that are measured now: after the warm-up, its last value is no longer the present one. */
export const currentSeries = (log, panel) => panel.series
  .filter(({ field }) => !field.startsWith('causal') || log.warmsUp());

/** Return the progress of a run in a few words, for a screen reader. */
export function newestWords(log, panels) {
  const [panel] = panels;
  const losses = currentSeries(log, panel).map(({ label, field }) => `${label} ${short(log.newest(field))}`);
  const score = scorePanel(panels) ? scoreOf(scorePanel(panels), log.evals.at(-1)) : null;
  const baselines = score ? [`held-out ${score.text}`]
    : baselinesOf(panel, log).map(({ name, value }) => `${name} ${short(value)}`);
  return [...losses, ...baselines].join(', ');
}

// ---- fine-tuning: what came of its trials

/** The panel of what a task is judged by; none for pretraining. */
export const scorePanel = (panels) => panels.find(({ id }) => id === 'score');

/** One score of a row: {field, value, text}, by the most telling measure; null where there is none. */
function scoreOf(panel, row) {
  const series = panel.series.find(({ field }) => Number.isFinite(row?.[field]));
  return series ? { field: series.field, value: row[series.field], row,
    text: `${series.name} ${written(panel.unit, row[series.field])}` } : null;
}

/** What came of a run on a task, or has come of it so far. */
export function taskWords(log, panels, ended) {
  const panel = scorePanel(panels);
  const rows = log.done.length ? log.done : log.evals.filter((row) => row.step > 0);
  const all = rows.map((row) => scoreOf(panel, row)).filter(Boolean);
  if (!all.length) return '';
  // A run keeps no model that began from random weights, unless there is no other.
  const random = all.filter(({ row }) => row.name === 'random weights');
  const scored = random.length < all.length ? all.filter((score) => !random.includes(score)) : all;
  const best = scored.reduce((score, other) => (other.value > score.value ? other : score));
  const name = best.row.name ?? log.trials.find((trial) => trial.trial === best.row.trial)?.name ?? '';
  const words = [`Best ${ended ? '' : 'so far '}on held-out examples: ${best.text}${name && severalTrials(log)
    ? ` (${name})` : ''}`];
  if (random.length < all.length)
    words.push(...random.map((score) => `random weights: ${written(panel.unit, score.value)}`));
  const baseline = log.started?.baselines?.[best.field];
  if (Number.isFinite(baseline)) words.push(`${panel.guess}: ${written(panel.unit, baseline)}`);
  return [`${words.join('; ')}.`, ...spreadWords(panel, log.done.length ? scored : [])].join(' ');
}

/** Each trial's name and what came of it. */
export function trialWords(log, panel) {
  return log.trials.map((trial) => {
    const score = scoreOf(panel, log.done.find((row) => row.trial === trial.trial));
    return `${trial.name}: ${score?.text ?? (trial === log.trials.at(-1) && !log.finished ? 'in progress'
      : 'not finished')}`;
  });
}

/** Mean and spread of trials that differ in their seed alone. */
function spreadWords(panel, scored) {
  const groups = Object.create(null); // a name may be any text
  for (const { row, value } of scored) {
    const name = (row.name ?? '').replace(/,? *\(?seed \d+\)?/, '').trim();
    groups[name] ??= [];
    groups[name].push(value);
  }
  return Object.entries(groups).filter(([, values]) => values.length > 1).map(([name, values]) => {
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    const [show, wide] = [(value) => written(panel.unit, value),
      panel.unit === 'share' ? `${(100 * spread).toFixed(1)} points` : spread.toFixed(3)];
    return `Over ${plural(values.length, 'seed')}${name ? ` (${name})`
      : ''}: mean ${show(mean)}, standard deviation ${wide}; ${
      show(Math.min(...values))} to ${show(Math.max(...values))}.`;
  });
}
