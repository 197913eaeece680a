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
  const took = finished ? ` in ${duration(finished.seconds)}` : '';
  const training = () => {
    if (!last) return 'Training: first step';
    const trial = log.trials.at(-1); // its steps are its own
    const of = trial?.total_steps ?? started?.total_steps;
    const which = severalTrials(log) ? `${trial.name} (${whole(log.trials.length)} of ${whole(trial.trials)}), ` : '';
    const step = `${which}step ${whole(last.step - (trial?.step ?? 0))}${of ? ` of ${whole(of)}` : ''}`;
    return `${task ? 'Fine-tuning' : 'Training'}: ${step}${log.warmsUp() ? ', causal-LM warm-up' : ''}`;
  };
  const prepared = () => {
    const { message, stage, done, total } = preparing;
    return `Preparing: ${message || stage}${total ? `: ${whole(done)} of ${whole(total)}` : ''}`;
  };
  const words = { finished: `Finished: ${steps}${took}`, stopped: `Stopped after ${steps}${took}`,
    failed: 'The run failed', missing: 'This run is no longer here', waiting: 'Queued',
    training: status === 'training' && training(), preparing: status === 'preparing' && preparing && prepared() };
  return words[status] || 'Starting …';
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
  const { tokens_per_second: speed, eta_seconds: eta } = last;
  return [Number.isFinite(speed) && `${whole(speed)} tokens per second`,
    Number.isFinite(eta) && `about ${duration(eta)} left`].filter(Boolean).join(' · ');
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
  const { random = [], pretrained = random } = Object.groupBy(all,
    ({ row }) => (row.name === 'random weights' ? 'random' : 'pretrained'));
  const best = pretrained.reduce((score, other) => (other.value > score.value ? other : score));
  const name = best.row.name ?? log.trials.find(({ trial }) => trial === best.row.trial)?.name;
  const baseline = log.started?.baselines?.[best.field];
  const words = [
    `Best ${ended ? '' : 'so far '}on held-out examples: ${best.text}${name && severalTrials(log) ? ` (${name})` : ''}`,
    ...(pretrained === random ? [] : random).map(({ value }) => `random weights: ${written(panel.unit, value)}`),
    ...(Number.isFinite(baseline) ? [`${panel.guess}: ${written(panel.unit, baseline)}`] : [])];
  return [`${words.join('; ')}.`, ...spreadWords(panel, log.done.length ? pretrained : [])].join(' ');
}

/** Each trial's name and what came of it. */
export const trialWords = (log, panel) => log.trials.map((trial) => {
  const score = scoreOf(panel, log.done.find((row) => row.trial === trial.trial));
  const unscored = trial === log.trials.at(-1) && !log.finished ? 'in progress' : 'not finished';
  return `${trial.name}: ${score?.text ?? unscored}`;
});

/** Mean and spread of trials that differ in their seed alone. */
function spreadWords(panel, scored) {
  const nameOf = ({ row }) => (row.name ?? '').replace(/,? *\(?seed \d+\)?/, '').trim();
  return [...Map.groupBy(scored, nameOf)].filter(([, scores]) => scores.length > 1).map(([name, scores]) => {
    const values = scores.map(({ value }) => value);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    const show = (value) => written(panel.unit, value);
    const wide = panel.unit === 'share' ? `${(100 * spread).toFixed(1)} points` : spread.toFixed(3);
    const of = `${plural(values.length, 'seed')}${name ? ` (${name})` : ''}`;
    const ends = `${show(Math.min(...values))} to ${show(Math.max(...values))}`;
    return `Over ${of}: mean ${show(mean)}, standard deviation ${wide}; ${ends}.`;
  });
}
