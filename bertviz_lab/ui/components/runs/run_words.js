// A run {log, state, status, panels} in sentences: what it is doing, how far it is, what came of it.

import { ACTIVE, duration, percent, plural, shareDone, short, whole } from 'lab/client/format.js';
import { baselinesOf, firstLasting, severalTrials, written } from 'lab/components/runs/run_log.js';

/** The panel of what a task is judged by; none for pretraining. */
export const scorePanel = ({ panels }) => panels.find(({ id }) => id === 'score');

/** Share of the way, 0 to 1, or null where nobody knows. */
export function progressOf({ log, status }) {
  const { done, total } = log.preparing ?? {};
  if (status === 'preparing') return total ? Math.min(1, done / total) : null;
  return log.last && status === 'training' ? shareDone({ ...log.started, ...log.last }) : null;
}

/** What the run is doing. */
export function stageWords(run) {
  const { log: { started, last, finished, preparing, trials }, status } = run;
  if (status === 'preparing' && preparing) {
    const share = progressOf(run);
    return `Preparing: ${preparing.message || preparing.stage}${share === null ? '' : `: ${percent(share, 0)}`}`;
  }
  if (status === 'training' && last) {
    const trial = trials.at(-1); // its steps are its own
    const of = trial?.total_steps ?? started.total_steps;
    return [scorePanel(run) ? 'Fine-tuning: ' : 'Training: ',
      severalTrials(run.log) && `${trial.name} (${whole(trials.length)} of ${whole(trial.trials)}), `,
      `step ${whole(last.step - (trial?.step ?? 0))}`, of && ` of ${whole(of)}`,
      run.log.warmsUp() && ', causal-LM warm-up'].filter(Boolean).join('');
  }
  const steps = `${plural(last?.step ?? 0, 'step')}${finished ? ` in ${duration(finished.seconds)}` : ''}`;
  const words = { training: 'Training: first step', finished: `Finished: ${steps}`, stopped: `Stopped after ${steps}`,
    failed: 'The run failed', missing: 'This run is no longer here', waiting: 'Queued' };
  return words[status] ?? 'Starting …';
}

/** How fast it goes and how long it takes, or what came of it. */
export function detailWords(run) {
  const { log: { last, finished }, state, status } = run;
  if (!ACTIVE.includes(status)) {
    const message = finished?.message || (status === 'failed' && state?.message);
    return [resultWords(run), message].filter(Boolean).join(' ');
  }
  if (status === 'waiting') return state.message;
  if (!last || status !== 'training') return '';
  const { tokens_per_second: speed, eta_seconds: eta } = last;
  return [Number.isFinite(speed) && `${whole(speed)} tokens per second`,
    Number.isFinite(eta) && `about ${duration(eta)} left`].filter(Boolean).join(' · ');
}

/** What has come of it so far: of a task its scores, of a model that was trained on already what they were before, of
 * a new one what is better than guessing, and since when. */
export const soFarWords = (run) => (scorePanel(run) ? taskWords(run)
  : [changeWords(run) || verdictWords(run), stalledWords(run)].filter(Boolean).join(' '));

/** That a run learns no more while it trains, by the rule of `stopped_learning` (training/loop/early_stopping.py); at
 * its end that one's sentence is shown. */
function stalledWords({ log, status }) {
  const [FEWEST, SHARE, NOTICEABLE] = [5, 0.25, 0.005];
  const rows = log.evals.filter(({ step, mlm_loss: loss }) => step > 0 && Number.isFinite(loss));
  const lowest = Math.min(...rows.map((row) => row.mlm_loss));
  const place = rows.findIndex((row) => row.mlm_loss <= lowest * (1 + NOTICEABLE));
  const waited = rows.length - 1 - place;
  if (status !== 'training' || log.warmsUp() || waited < Math.max(FEWEST, SHARE * rows.length)) return '';
  return `It has stopped learning: the held-out MLM loss has not fallen since step ${whole(rows[place].step)}.`;
}

/** What a model scored on held-out text before it was trained on, and scores now; "" for one that began anew. */
function changeWords({ log, panels }) {
  const [before, now] = [log.evals[0], log.evals.at(-1)];
  if (before === now || before?.step !== 0) return '';
  const isThere = ({ field }) => Number.isFinite(before[field]) && Number.isFinite(now[field]);
  const parts = panels.filter(({ held_out: held, id }) => held && id !== 'perplexity').flatMap(({ unit, series }) =>
    series.filter(isThere).map(({ label, field }) =>
      `${label}: ${written(unit, before[field])} before, ${written(unit, now[field])} now`));
  const [was, is] = [before.bits_per_character, now.bits_per_character];
  const compared = [was, is].every(Number.isFinite);
  if (compared) parts.push(`bits per character: ${short(was)} before, ${short(is)} now`);
  return `On held-out text, ${parts.join('; ')}.`;
}

function resultWords(run) {
  const row = run.log.evals.at(-1);
  if (!row || scorePanel(run) || changeWords(run)) return soFarWords(run);
  const panel = accuracyPanel(run);
  const parts = panel.series.filter(({ field }) => Number.isFinite(row[field])).map(({ field, label }) => {
    const line = baselinesOf(panel, run.log).find((baseline) => baseline.field === field);
    return `${label}: ${percent(row[field])}${line ? ` (${line.name}: ${percent(line.value)})` : ''}`;
  });
  return [`Held-out ${parts.join('; ')}.`, verdictWords(run)].filter(Boolean).join(' ');
}

const accuracyPanel = ({ panels }) => panels.find(({ id }) => id === 'accuracy');

/** Which measures are better than their baselines, and since when; which are not, and of a run that has ended what to
 * do about it. */
function verdictWords(run) {
  const NOTICEABLE = 0.02; // of a share of a few hundred pairs, chance alone makes less
  const { log, status } = run;
  const panel = accuracyPanel(run);
  const known = panel ? baselinesOf(panel, log).filter(({ field }) => Number.isFinite(log.evals.at(-1)?.[field])) : [];
  const measures = known.map(({ field, name, value }) => ({ name, label: panel.series.find((one) =>
    one.field === field).label, since: firstLasting(log.evals, (row) => row[field] >= value + NOTICEABLE) }));
  const { high = [], low = [] } = Object.groupBy(measures, ({ since }) => (since ? 'high' : 'low'));
  const better = high.map(({ label, since }) => `${label} since step ${whole(since.step)}`);
  const advice = ACTIVE.includes(status) ? '' : ': train longer, on more text, or start from a trained model such as '
    + 'wiki-mini';
  return [better.length && `Better than guessing: ${better.join(', ')}.`,
    low.length && `${low.map(({ label, name }) => `${label} is not clearly above its ${name}`).join(', ')}${advice}.`]
    .filter(Boolean).join(' ');
}

/** The series of a panel that are measured now: after the warm-up, its last value is no longer the present one. */
export const currentSeries = (log, panel) => panel.series
  .filter(({ field }) => !field.startsWith('causal') || log.warmsUp());

/** Return the progress of a run in a few words, for a screen reader. */
export function newestWords(run) {
  const { log, panels: [panel] } = run;
  const losses = currentSeries(log, panel).map(({ label, field }) => `${label} ${short(log.newest(field)?.[field])}`);
  const score = scorePanel(run) && scoreOf(scorePanel(run), log.evals.at(-1));
  const others = score ? [`held-out ${score.text}`]
    : baselinesOf(panel, log).map(({ name, value }) => `${name} ${short(value)}`);
  return [...losses, ...others].join(', ');
}

// ---- fine-tuning: what came of its trials

/** One score of a row: {field, value, row, text}, by the most telling measure; null where there is none. */
function scoreOf(panel, row) {
  const series = panel.series.find(({ field }) => Number.isFinite(row?.[field]));
  return series ? { field: series.field, value: row[series.field], row,
    text: `${series.name} ${written(panel.unit, row[series.field])}` } : null;
}

function taskWords(run) {
  const { log, status } = run;
  const panel = scorePanel(run);
  const rows = log.done.length ? log.done : log.evals.filter((row) => row.step > 0);
  const all = rows.map((row) => scoreOf(panel, row)).filter(Boolean);
  if (!all.length) return '';
  // A run keeps no model that began from random weights, unless there is no other.
  const { random = [], pretrained = random } = Object.groupBy(all,
    ({ row }) => (row.name === 'random weights' ? 'random' : 'pretrained'));
  const best = pretrained.reduce((score, other) => (other.value > score.value ? other : score));
  const name = best.row.name ?? log.trials.find(({ trial }) => trial === best.row.trial)?.name;
  const baseline = log.started.baselines[best.field];
  const since = firstLasting(log.evals.filter(({ trial }) => trial === best.row.trial),
    (row) => row[best.field] > baseline);
  const words = [
    `Best ${ACTIVE.includes(status) ? 'so far ' : ''}on held-out examples: ${best.text}`
      + (name && severalTrials(log) ? ` (${name})` : ''),
    ...(pretrained === random ? [] : random).map(({ value }) => `random weights: ${written(panel.unit, value)}`),
    ...(Number.isFinite(baseline) ? [`${panel.guess}: ${written(panel.unit, baseline)}${
      since ? `, exceeded since step ${whole(since.step)}` : ''}`] : [])];
  return [`${words.join('; ')}.`, ...spreadWords(panel, log.done.length ? pretrained : [])].join(' ');
}

/** Each trial's name and what came of it. */
export const trialWords = (run) => run.log.trials.map((trial) => {
  const { trials, done, finished } = run.log;
  const score = scoreOf(scorePanel(run), done.find((row) => row.trial === trial.trial));
  const unscored = trial === trials.at(-1) && !finished ? 'in progress' : 'not finished';
  return `${trial.name}: ${score?.text ?? unscored}`;
});

/** Mean and spread of trials that differ in their seed alone. */
function spreadWords(panel, scored) {
  const nameOf = ({ row }) => row.name.replace(/,? *\(?seed \d+\)?/, '').trim();
  return [...Map.groupBy(scored, nameOf)].filter(([, scores]) => scores.length > 1).map(([name, scores]) => {
    const values = scores.map(({ value }) => value);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    const show = (value) => written(panel.unit, value);
    const wide = panel.unit === 'share' ? `${(100 * spread).toFixed(1)} points` : spread.toFixed(3);
    const of = `${plural(values.length, 'seed')}${name ? ` (${name})` : ''}`;
    return `Over ${of}: mean ${show(mean)}, standard deviation ${wide}; ${show(Math.min(...values))} to ${
      show(Math.max(...values))}.`;
  });
}
