// The log of a run, folded event by event into columns of numbers (100,000 steps are 7 MB and quick to draw), and its
// state in sentences: what it is doing, how far it is, what came of it.

import { duration, percent, plural, short, whole } from 'lab/client/format.js';
import { baselinesOf, written } from 'lab/components/charts/curve_figure.js';

export const ENDED = ['finished', 'stopped', 'failed', 'missing'];

/** An empty log. `fold(row)` takes the events of events.jsonl one by one, in order. */
export function makeLog() {
  const log = { count: 0, columns: {}, evals: [], probes: [], trials: [], done: [], started: null, preparing: null,
    last: null, finished: null };
  let capacity = 1024;
  const addColumn = (field) => { log.columns[field] ??= new Float64Array(capacity).fill(NaN); };
  ['step', 'seconds', 'tokens'].forEach(addColumn);

  function append(row) {
    if (log.count === capacity) {
      capacity *= 2;
      for (const [field, values] of Object.entries(log.columns)) {
        log.columns[field] = new Float64Array(capacity).fill(NaN);
        log.columns[field].set(values);
      }
    }
    measuresOf(row).forEach(addColumn);
    for (const [field, values] of Object.entries(log.columns)) values[log.count] = row[field] ?? NaN;
    log.count += 1;
  }

  function dropAfter(step) {
    while (log.count && log.columns.step[log.count - 1] > step) log.count -= 1;
    for (const rows of [log.evals, log.probes, log.trials, log.done]) while (rows.at(-1)?.step > step) rows.pop();
  }

  const withPerplexity = (row) =>
    (Number.isFinite(row.mlm_loss) ? { ...row, perplexity: Math.exp(row.mlm_loss) } : row);

  const handlers = {
    Preparing(row) { log.preparing = row; },
    RunStarted(row) {
      // A run that was resumed writes to the same file, from its last checkpoint: later steps are trained again.
      const { mlm_loss: uniform, unigram_entropy: unigram } = row.baselines ?? {};
      const baselines = { ...row.baselines, uniform_perplexity: Math.exp(uniform),
        unigram_perplexity: Math.exp(unigram) };
      log.started = { ...row, baselines };
      log.finished = null;
      dropAfter(row.step ?? Infinity);
    },
    StepDone(row) {
      dropAfter(row.step - 1);
      append(withPerplexity(row));
      log.last = row;
    },
    TrialStarted(row) {
      const resumed = log.trials.at(-1)?.trial === row.trial ? log.trials.pop() : null;
      // One without a name is the run itself, next to the same from random weights.
      log.trials.push({ ...row, name: row.name || (row.trials > 1 ? 'pretrained weights' : ''),
        step: Math.min(resumed?.step ?? Infinity, row.step) });
    },
    EvalDone(row) {
      const last = log.evals.at(-1);
      const trial = log.trials.at(-1)?.trial; // a trial's first scores come at the step of the last one's end
      if (last?.step === row.step && last.trial === trial) log.evals.pop();
      log.evals.push(withPerplexity(trial === undefined ? row : { ...row, trial }));
    },
    ProbesDone(row) {
      while (log.probes.at(-1)?.step >= row.step) log.probes.pop();
      log.probes.push(row);
    },
    TrialDone(row) {
      const name = log.trials.find(({ trial }) => trial === row.trial)?.name ?? row.name;
      log.done = [...log.done.filter(({ trial }) => trial !== row.trial), { ...row, name }];
    },
    RunFinished(row) { log.finished = row; },
  };
  log.fold = (row) => handlers[row.event]?.(row);
  /** A column; one without any numbers where the run has no such values. */
  log.column = (field) => log.columns[field] ?? new Float64Array(log.count).fill(NaN);
  /** The place of the last number of a column, -1 where there is none. */
  log.lastPlace = (field) => log.columns[field]?.subarray(0, log.count).findLastIndex(Number.isFinite) ?? -1;
  log.newest = (field) => log.columns[field]?.[log.lastPlace(field)] ?? NaN;
  // Every eighth step of the causal-LM warm-up is masked: of three steps one at least is not, unless it is over.
  log.warmsUp = () => {
    const place = log.lastPlace('causal_loss');
    return place >= 0 && log.last.step - log.columns.step[place] < 3;
  };
  return log;
}

const measuresOf = (row) => Object.keys(row)
  .filter((name) => typeof row[name] === 'number' && !['eta_seconds', 'trial'].includes(name));

/** Whether a measure has been taken, in training or on held-out data. */
export const hasMeasure = (log, field) => log.lastPlace(field) >= 0
  || log.evals.some((row) => Number.isFinite(row[field]));

/** The panels of a run's objective, each with the series that have something to draw. */
export function panelsOf(log, { panels, guesses }) {
  const objective = log.started?.objective?.replace('+nsp', '') ?? '';
  // Labels that mark no entities have no F1: their words are counted.
  const last = log.evals.at(-1) ?? log.started?.baselines ?? {};
  const name = objective === 'tokens' && !Number.isFinite(last.f1) && Number.isFinite(last.accuracy) ? 'words'
    : objective;
  return (panels[name] ?? panels.mlm ?? Object.values(panels)[0]).map((panel) =>
    ({ ...panel, guess: guesses[name], series: panel.series.filter(({ field }) => hasMeasure(log, field)) }));
}

/** The rows of each trial as [first, behind the last]; pretraining is one part. */
export function partsOf(log) {
  const starts = [0];
  for (let row = 0, trial = 1; row < log.count && trial < log.trials.length; row += 1) {
    while (trial < log.trials.length && log.columns.step[row] > log.trials[trial].step) starts[trial++] = row;
  }
  return starts.map((start, place) => [start, starts[place + 1] ?? log.count]);
}

/** waiting, starting, preparing, training, finished, stopped, failed or missing. */
export function statusOf(log, state) {
  // The run's own state comes first: it also knows of a worker that died without a last word, and of a run that
  // was stopped and is starting again.
  if (state?.status) return state.status;
  if (log.finished) return log.finished.reason;
  if (log.started) return 'training';
  return log.preparing ? 'preparing' : 'starting';
}

/** The newest `most` numbers of each kind as {kind, trial, step ...}: training, held-out data, trials, probes. */
export function entriesOf(log, most = Infinity) {
  const hasTrials = log.trials.length > 0;
  const trialOf = (row) => hasTrials
    && { trial: row.name ?? log.trials.find(({ trial }) => trial === row.trial)?.name ?? '' };
  const numbersOf = (row) => Object.fromEntries(measuresOf(row).map((name) => [name, row[name]]));
  const entries = (kind, rows, more) => rows.slice(-most)
    .map((row) => ({ kind, ...trialOf(row), ...numbersOf(row), ...more?.(row) }));
  const columns = Object.entries(log.columns);
  const training = partsOf(log).flatMap(([start, end], part) => {
    const first = Math.max(start, log.count - most);
    return Array.from({ length: Math.max(0, end - first) }, (_, place) => ({ kind: 'training',
      ...(hasTrials && { trial: log.trials[part].name }), ...Object.fromEntries(columns.map(([name, values]) =>
      [name, values[first + place]]).filter(([, value]) => Number.isFinite(value))) }));
  });
  const right = (row) =>
    Object.fromEntries(Object.entries(row.right ?? {}).map(([kind, share]) => [`right_${kind}`, share]));
  return [...training, ...entries('held-out', log.evals), ...entries('best of trial', log.done),
    ...entries('probes', log.probes, right)];
}

/** Entries as rows of a file, under a header with every name that any of them has. */
export function rowsOf(entries) {
  const header = [...new Set(entries.flatMap(Object.keys))];
  return [header, ...entries.map((entry) => header.map((name) => entry[name] ?? null))];
}

export const NEWEST = 100; // rows of a data table

/** The newest of these entries for a data table, in the words and units of the panels. */
export function tableOf(entries, panels) {
  const newest = entries.filter(({ kind }) => kind !== 'probes').sort((one, other) => other.step - one.step)
    .slice(0, NEWEST);
  const [header, ...rows] = rowsOf(newest);
  const known = Object.fromEntries(panels.flatMap(({ unit, series }) =>
    series.map(({ field, label }) => [field, { label, write: (value) => written(unit, value) }])));
  Object.assign(known, { step: { write: whole }, seconds: { label: 'time', write: duration },
    tokens: { label: 'tokens seen', write: whole } });
  const cell = (value, _, column) =>
    (typeof value === 'number' ? (known[header[column]]?.write ?? short)(value) : value ?? '');
  return { header: header.map((name) => known[name]?.label ?? name), rows, cell };
}

// ---- in words

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
