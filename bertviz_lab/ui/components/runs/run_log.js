// The log of a run, folded event by event, and what curves, tables and files read from it.

import { poll } from 'lab/client/ask.js';
import { ACTIVE, compact, duration, percent, short, whole } from 'lab/client/format.js';
import { rowsOf } from 'lab/client/saving.js';

/** An empty log. `fold(row)` takes the events of events.jsonl one by one, in order. */
export function makeLog() {
  const log = {
    steps: [], evals: [], probes: [], trials: [], done: [], started: null, preparing: null, finished: null,
    get last() { return log.steps.at(-1) ?? null; },
    /** The newest row of training that has a measure. */
    newest: (field) => latest[field],
    // Every eighth step of the causal-LM warm-up is masked: of three steps one at least is not, unless it is over.
    warmsUp: () => log.last?.step - log.newest('causal_loss')?.step < 3,
    fold: (row) => handlers[row.event]?.(row),
  };

  let latest = {}; // measure -> the newest row of training that has it

  function dropAfter(step) {
    const count = log.steps.length;
    for (const rows of [log.steps, log.evals, log.probes, log.trials, log.done])
      while (rows.at(-1)?.step > step) rows.pop();
    if (log.steps.length === count) return;
    latest = {};
    log.steps.forEach(note);
  }

  const note = (row) => {
    for (const [name, value] of Object.entries(row)) if (Number.isFinite(value)) latest[name] = row;
  };

  const currentTrial = () => log.trials.at(-1)?.trial;
  const measured = (row) => Object.assign(row, { trial: currentTrial() },
    Number.isFinite(row.mlm_loss) && { perplexity: Math.exp(row.mlm_loss) });

  const handlers = {
    Preparing(row) { log.preparing = row; },
    RunStarted(row) {
      // A run that was resumed writes to the same file, from its last checkpoint: later steps are trained again.
      const { mlm_loss: uniform, unigram_entropy: unigram } = row.baselines ?? {};
      log.started = { ...row, baselines: { ...row.baselines, uniform_perplexity: Math.exp(uniform),
        unigram_perplexity: Math.exp(unigram) } };
      log.finished = null;
      dropAfter(row.step ?? Infinity);
    },
    StepDone(row) {
      dropAfter(row.step - 1);
      log.steps.push(measured(row));
      note(row);
    },
    TrialStarted(row) {
      const resumed = currentTrial() === row.trial ? log.trials.pop() : row;
      // One without a name is the run itself, next to the same from random weights.
      log.trials.push({ ...row, name: row.name || (row.trials > 1 ? 'pretrained weights' : ''),
        step: Math.min(resumed.step, row.step) });
    },
    EvalDone(row) {
      const last = log.evals.at(-1); // a trial's first scores come at the step of the last one's end
      if (last?.step === row.step && last.trial === currentTrial()) log.evals.pop();
      log.evals.push(measured(row));
    },
    ProbesDone(row) {
      while (log.probes.at(-1)?.step >= row.step) log.probes.pop();
      log.probes.push(row);
    },
    TrialDone(row) {
      const started = log.trials.find(({ trial }) => trial === row.trial) ?? {};
      started.name ||= row.name; // the only one had no name until the run got further seeds
      log.done = [...log.done.filter(({ trial }) => trial !== row.trial), { ...row, name: started.name }];
    },
    RunFinished(row) { log.finished = row; },
  };
  return log;
}

/** Whether a measure has been taken, in training or on held-out data. */
export const hasMeasure = (log, field) => Boolean(log.newest(field))
  || log.evals.some((row) => Number.isFinite(row[field]));

/** The first of some rows from which on all of them are so; undefined where the last is not. */
export const firstLasting = (rows, isSo) => rows[rows.findLastIndex((row) => !isSo(row)) + 1];

/** Whether the run has more than one trial, now or later. */
export const severalTrials = (log) => log.trials.length > 1 || log.trials[0]?.trials > 1;

/** Ask for the new rows of a run {id, log} until it has ended or `isCurrent()` no longer holds. `told(isChanged)` is
 * called after each answer; options are those of a drawing and of `poll`, and the milliseconds of a `pause`. */
export function followRun(run, told, isCurrent, { server, events, pause, ...options }) {
  let line = 0;
  poll(() => server.poll(run.id, line), (answer) => { // null: a run that nobody knows
    const [start, before] = [line, run.status];
    const { rows, next, state } = answer
      ?? { rows: [], state: { status: 'missing', message: 'This run is no longer here.' } };
    rows.forEach(run.log.fold);
    [line, run.state] = [next, state];
    run.status = statusOf(run);
    told(rows.length > 0 || run.status !== before);
    if (start && rows.some(({ event }) => event === 'ProbesDone')) events.probes_done?.({ run_id: run.id });
    // Rows that were written after the last word are still fetched before the loop ends.
    if (!ACTIVE.includes(run.status) && !rows.length) return null;
    if (rows.length >= 500) return 0;
    return run.log.last || run.status === 'waiting' ? pause : pause / 4; // the first loss is waited for
  }, isCurrent, options);
}

/** waiting, starting, preparing, training, finished, stopped, failed or missing. */
export function statusOf({ log, state }) {
  // The run's own state comes first: it also knows of a worker that died without a last word, and of a run that
  // was stopped and is starting again.
  const told = state?.status ?? log.finished?.reason;
  if (told) return told;
  if (log.started) return 'training';
  return log.preparing ? 'preparing' : 'starting';
}

/** The panels of a run's objective, each with the series that have something to draw. */
export function panelsOf(log, { panels, guesses }) {
  const objective = log.started?.objective?.replace('+nsp', '') ?? '';
  // Labels that mark no entities have no F1: their words are counted.
  const last = log.evals.at(-1) ?? log.started?.baselines ?? {};
  const isUnbalanced = objective === 'classification' && log.started.metric === 'macro_f1';
  const name = objective === 'tokens' && !Number.isFinite(last.f1) && Number.isFinite(last.accuracy) ? 'words'
    : isUnbalanced ? 'unbalanced' : objective;
  return (panels[name] ?? panels.mlm ?? Object.values(panels)[0]).map((panel) =>
    ({ ...panel, guess: guesses[name], series: panel.series.filter(({ field }) => hasMeasure(log, field)) }));
}

/** The baselines that a run states for what is in a panel: [{name, field, mark, value}]. */
export const baselinesOf = (panel, log) => panel.baselines.filter(({ field }) => !field || hasMeasure(log, field))
  .map(({ key, ...line }) => ({ ...line, value: log.started?.baselines[key] }))
  .filter(({ value }) => Number.isFinite(value));

// ---- in numbers

const WRITE = { share: percent, correlation: (value) => value.toFixed(3), rate: (value) => value.toExponential(1),
  perplexity: (value) => Number(value.toPrecision(4)).toLocaleString('en-US'),
  'tokens/s': (value) => `${compact(value)}/s`, nats: short, norm: short };

/** A value in words, by the unit of its panel. */
export const written = (unit, value) => (Number.isFinite(value) ? WRITE[unit](value) : '–');

export const NEWEST = 100; // rows of a data table

/** The newest `most` numbers of each kind as {kind, trial, step ...}: training, held-out data, trials, probes. */
export function entriesOf(log, most = Infinity) {
  const trialOf = (row) => row.name ?? log.trials.find(({ trial }) => trial === row.trial)?.name ?? '';
  const isNumber = ([name, value]) => typeof value === 'number' && !['eta_seconds', 'trial'].includes(name);
  const right = ({ right: shares = {} }) => Object.entries(shares).map(([kind, share]) => [`right_${kind}`, share]);
  const entries = (kind, rows) => rows.slice(-most).map((row) => ({ kind, ...(log.trials.length > 0
    && { trial: trialOf(row) }), ...Object.fromEntries([...Object.entries(row).filter(isNumber), ...right(row)]) }));
  return [...entries('training', log.steps), ...entries('held-out', log.evals), ...entries('best of trial', log.done),
    ...entries('probes', log.probes)];
}

/** The newest of these entries as header and rows of a data table, in the words and units of the panels. */
export function tableOf(entries, panels) {
  const newest = entries.filter(({ kind }) => kind !== 'probes').sort((one, other) => other.step - one.step);
  const [header, ...rows] = rowsOf(newest.slice(0, NEWEST));
  const known = Object.fromEntries(panels.flatMap(({ unit, series }) =>
    series.map(({ field, label }) => [field, [label, (value) => written(unit, value)]])));
  Object.assign(known, { step: ['step', whole], seconds: ['time', duration], tokens: ['tokens seen', whole] });
  const columns = header.map((name) => known[name] ?? [name, short]);
  const cell = (value, column) => (typeof value === 'number' ? columns[column][1](value) : value ?? '');
  return [columns.map(([name]) => name), rows.map((row) => row.map(cell))];
}
