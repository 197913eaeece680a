// A run that fine-tunes is one or more trials one after another: where they begin, and what came of them in words.

/** How many of the rising values are not above a limit. */
function countUpTo(values, count, limit) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The rows of each trial as [first, behind the last]; pretraining is one part. */
function partsOf(log) {
  const starts = [0, ...log.trials.slice(1).map((trial) => countUpTo(log.columns.step, log.count, trial.step))];
  return starts.map((start, place) => [start, starts[place + 1] ?? log.count]);
}

/** Whether the run has more than one trial, now or later. */
const severalTrials = (log) => log.trials.length > 1 || log.trials[0]?.trials > 1;
const trialAt = (log, step) => log.trials.findLast((trial) => trial.step < step) ?? log.trials[0];

/** "Fine-tuning: seed 1 (2 of 3), step 120 of 400": the step is the trial's own. */
function tuningWords(log) {
  const trial = log.trials.at(-1);
  const step = log.last.step - (trial?.step ?? 0);
  const of = trial?.total_steps ?? log.started?.total_steps;
  const which = severalTrials(log) ? `${trial.name} (${whole(log.trials.length)} of ${whole(trial.trials)}), ` : '';
  return `Fine-tuning: ${which}step ${whole(Math.max(0, step))}${of ? ` of ${whole(of)}` : ''}`;
}

/** One score of a row: {field, name, value, text}, by the most telling measure; null where there is none. */
function scoreOf(log, row) {
  const panel = panelsOf(log).find((one) => one.heldOut);
  const one = panel.series.find(({ field }) => Number.isFinite(row?.[field]));
  return one ? { ...one, value: row[one.field], text: `${one.name} ${valueWords(panel, row[one.field])}` } : null;
}

/** What came of a run on a task, or has come of it so far. */
function taskWords(log, ended) {
  const panel = panelsOf(log).find((one) => one.heldOut);
  const rows = log.done.length ? log.done : log.evals.filter((row) => row.step > 0);
  const all = rows.map((row) => ({ ...scoreOf(log, row), row })).filter((one) => one.field);
  if (!all.length) return '';
  // A run keeps no model that began from random weights, unless there is no other.
  const random = all.filter(({ row }) => row.name === 'random weights');
  const scored = random.length < all.length ? all.filter((one) => !random.includes(one)) : all;
  const best = scored.reduce((one, other) => (other.value > one.value ? other : one));
  const name = best.row.name ?? log.trials.find((trial) => trial.trial === best.row.trial)?.name ?? '';
  const chance = log.started?.baselines?.[best.field];
  const { guess } = taskOf(log);
  const words = [`Best ${ended ? '' : 'so far '}on held-out examples: ${best.text}${name && severalTrials(log) ? ` (${name})` : ''}`];
  if (random.length < all.length) words.push(...random.map((one) => `random weights: ${valueWords(panel, one.value)}`));
  if (Number.isFinite(chance)) words.push(`${guess}: ${valueWords(panel, chance)}`);
  return [`${words.join('; ')}.`, ...spreadWords(panel, log.done.length ? scored : [])].join(' ');
}

/** Each trial's name and what came of it. */
function trialWords(log) {
  return log.trials.map((trial) => {
    const score = scoreOf(log, log.done.find((row) => row.trial === trial.trial));
    return `${trial.name}: ${score?.text ?? (trial === log.trials.at(-1) && !log.finished ? 'in progress' : 'not finished')}`;
  });
}

/** Mean and spread of trials that differ in their seed alone. */
function spreadWords(panel, scored) {
  const groups = Map.groupBy ? Map.groupBy(scored, seedless) : grouped(scored, seedless);
  return [...groups].filter(([, members]) => members.length > 1).map(([name, members]) => {
    const values = members.map((one) => one.value);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
    const show = (value) => valueWords(panel, value);
    const range = `${panel.plain ? spread.toFixed(3) : `${(100 * spread).toFixed(1)} points`}; ${show(Math.min(...values))} to ${show(Math.max(...values))}`;
    return `Over ${plural(values.length, 'seed')}${name ? ` (${name})` : ''}: mean ${show(mean)}, standard deviation ${range}.`;
  });
}

const seedless = ({ row }) => (row.name ?? '').replace(/,? *\(?seed \d+\)?/, '').trim();

function grouped(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** Rows for a file: every field that any event of the run has. */
function taskRows(log) {
  const extra = [...log.evals, ...log.done].flatMap((row) => Object.keys(row).filter((name) => typeof row[name] === 'number'));
  const names = [...new Set([...log.fields, ...extra])].filter((name) => name !== 'trial');
  const of = (row) => row.name ?? log.trials.find((trial) => trial.trial === row.trial)?.name ?? '';
  const cells = (row) => names.map((name) => row[name] ?? null);
  return [
    ['kind', 'trial', ...names],
    ...Array.from({ length: log.count }, (_, index) => ['training', trialAt(log, log.columns.step[index])?.name ?? '',
      ...names.map((name) => (Number.isFinite(log.columns[name]?.[index]) ? log.columns[name][index] : null))]),
    ...log.evals.map((row) => ['held-out', of(row), ...cells(row)]),
    ...log.done.map((row) => ['best of trial', of(row), ...cells(row)]),
  ];
}
