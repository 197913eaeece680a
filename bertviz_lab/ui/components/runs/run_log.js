// The log of a run, folded event by event into columns of numbers: 100,000 steps are 7 MB and quick to draw.

import { duration, short, whole } from 'lab/client/format.js';
import { written } from 'lab/components/charts/curve_figure.js';

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
    return Array.from({ length: Math.max(0, end - first) },
      (_, place) => ({ kind: 'training', ...(hasTrials && { trial: log.trials[part].name }), ...Object.fromEntries(
      columns.map(([name, values]) => [name, values[first + place]]).filter(([, value]) => Number.isFinite(value))) }));
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
