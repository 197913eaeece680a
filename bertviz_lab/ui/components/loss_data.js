// The rows of a run, kept as columns of numbers: 100,000 steps are 7 MB and quick to draw.

const FIELDS = ['step', 'seconds', 'tokens', 'mlm_loss', 'nsp_loss', 'mlm_accuracy', 'nsp_accuracy',
  'causal_loss', 'causal_accuracy', 'learning_rate', 'grad_norm', 'tokens_per_second'];

// A task's rows bring its own measures: each gets a column when it is first seen.
const TASK_FIELDS = ['step', 'seconds', 'tokens', 'loss', 'learning_rate', 'grad_norm', 'tokens_per_second'];

const ENDED = ['finished', 'stopped', 'failed', 'missing'];

/** An empty log. `fold(row)` takes the events of events.jsonl one by one, in order. */
function makeLog() {
  const log = { count: 0, fields: [], columns: {}, evals: [], probes: [], trials: [], done: [], started: null, preparing: null, last: null,
    finished: null };
  let capacity = 1024;
  const add = (field) => {
    log.fields.push(field);
    log.columns[field] = new Float64Array(capacity).fill(NaN);
  };
  FIELDS.forEach(add);

  function grow() {
    capacity *= 2;
    for (const field of log.fields) {
      const larger = new Float64Array(capacity).fill(NaN);
      larger.set(log.columns[field]);
      log.columns[field] = larger;
    }
  }

  function dropAfter(step) {
    while (log.count && log.columns.step[log.count - 1] > step) log.count -= 1;
    for (const rows of [log.evals, log.probes, log.trials, log.done]) while (rows.length && rows.at(-1).step > step) rows.pop();
  }

  const handlers = {
    Preparing(row) { log.preparing = row; },
    RunStarted(row) {
      // A run that was stopped goes on in the same file, from its last checkpoint: what came after is trained anew.
      if (!log.started && row.objective in TASKS) {
        [log.fields, log.columns] = [[], {}];
        TASK_FIELDS.forEach(add);
      }
      log.started = row;
      log.finished = null;
      dropAfter(row.step ?? Infinity);
    },
    StepDone(row) {
      dropAfter(row.step - 1);
      if (log.count === capacity) grow();
      if (taskOf(log)) Object.keys(row).filter((name) => isMeasure(name, row[name]) && !(name in log.columns)).forEach(add);
      for (const field of log.fields) log.columns[field][log.count] = row[field] ?? NaN;
      log.count += 1;
      log.last = row;
    },
    TrialStarted(row) {
      const last = log.trials.at(-1);
      if (last?.trial === row.trial) log.trials.pop(); // gone on with
      // One without a name is the run itself, beside the same from random weights.
      log.trials.push({ ...row, name: row.name || (row.trials > 1 ? 'pretrained weights' : ''),
        step: last?.trial === row.trial ? Math.min(last.step, row.step) : row.step });
    },
    EvalDone(row) {
      const last = log.evals.at(-1);
      const trial = log.trials.at(-1)?.trial; // a trial's first scores come at the step of the last one's end
      if (last?.step === row.step && last.trial === trial) log.evals.pop();
      log.evals.push(trial === undefined ? row : { ...row, trial });
    },
    ProbesDone(row) {
      if (log.probes.at(-1)?.step === row.step) log.probes.pop();
      log.probes.push(row);
    },
    TrialDone(row) {
      const name = log.trials.find((trial) => trial.trial === row.trial)?.name ?? row.name;
      log.done = [...log.done.filter((other) => other.trial !== row.trial), { ...row, name }];
    },
    RunFinished(row) { log.finished = row; },
  };
  log.fold = (row) => handlers[row.event]?.(row);
  log.hasNsp = () => log.evals.some((row) => Number.isFinite(row.nsp_loss))
    || lastPlace(log.column('nsp_loss'), log.count) >= 0
    || (log.count === 0 && log.started?.objective !== 'mlm');
  /** The last row of the part of the run that reads forwards; -1 where there is none. */
  log.forwardsUntil = () => lastPlace(log.column('causal_loss'), log.count);
  // Every eighth step of that part is masked: of three steps one at least is not, unless the part is over.
  log.readsForwards = () => log.forwardsUntil() >= 0
    && log.columns.step[log.count - 1] - log.columns.step[log.forwardsUntil()] < 3;
  /** A column; one without any numbers where the run has no such values. */
  log.column = (field) => log.columns[field] ?? new Float64Array(log.count).fill(NaN);
  /** The newest value of a column; not every row has one. */
  log.newest = (field) => log.column(field)[lastPlace(log.column(field), log.count)] ?? NaN;
  /** What a model that already knew something scored before the first step, and the newest score; else null. */
  log.beforeAndNow = () => (log.evals.length > 1 && log.evals[0].step === 0 ? [log.evals[0], log.evals.at(-1)] : null);
  return log;
}

const isMeasure = (name, value) => typeof value === 'number' && name !== 'eta_seconds';

/** Where the last number of a column stands, -1 where there is none. */
function lastPlace(values, count) {
  let place = count - 1;
  while (place >= 0 && !Number.isFinite(values[place])) place -= 1;
  return place;
}

/** waiting, starting, preparing, training, finished, stopped, failed or missing. */
function statusOf(log, state) {
  // The run's own state comes first: it also knows of a worker that died without a last word, and of a run that
  // was stopped and is starting again.
  if (state?.status) return state.status;
  if (log.finished) return log.finished.reason;
  if (log.started) return 'training';
  return log.preparing ? 'preparing' : 'starting';
}

/** Share of the way, 0 to 1, or null where nobody knows. */
function progressOf(log, status) {
  if (status === 'preparing') {
    const { done, total } = log.preparing ?? {};
    return total ? Math.min(1, done / total) : null;
  }
  if (!log.last || status !== 'training') return null;
  const { total_steps: steps, time_budget: budget } = log.started ?? {};
  if (steps) return Math.min(1, log.last.step / steps);
  if (budget) return Math.min(1, log.last.seconds / budget);
  const { seconds, eta_seconds: eta } = log.last;
  return Number.isFinite(eta) ? seconds / Math.max(1e-9, seconds + eta) : null;
}

/** Exponential moving average over about a fiftieth of the run; gaps (NaN) are passed over and stay gaps. Each part begins anew. */
function smoothed(values, count, parts = [[0, count]]) {
  const decay = 0.5 ** (1 / Math.max(2, count / parts.length / 50));
  const starts = new Set(parts.map(([start]) => start));
  const result = new Float64Array(count).fill(NaN);
  let [sum, weight] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    if (starts.has(index)) [sum, weight] = [0, 0];
    [sum, weight] = [decay * sum, decay * weight]; // in a gap too: what is far back counts less
    if (!Number.isFinite(values[index])) continue;
    sum += (1 - decay) * values[index];
    weight += 1 - decay;
    // Dividing by the weight so far keeps the first values from being drawn towards zero.
    result[index] = sum / weight;
  }
  return result;
}

/** First index whose x is not below `target`; x rises. */
function indexNear(xs, count, target) {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < target) low = middle + 1;
    else high = middle;
  }
  return low > 0 && target - xs[low - 1] < xs[low] - target ? low - 1 : low;
}

const lossRows = (log) => (taskOf(log) ? taskRows(log) : pretrainingRows(log));

/** What the model can do has a column for each kind of pair: the share of its pairs found right. */
function pretrainingRows(log) {
  const kinds = [...new Set(log.probes.flatMap((row) => Object.keys(row.right ?? {})))];
  const rest = kinds.map(() => null);
  return [
    ['kind', ...FIELDS, ...kinds.map((kind) => `right_${kind}`)],
    ...Array.from({ length: log.count }, (_, index) => ['training', ...FIELDS.map((field) => {
      const value = log.columns[field][index];
      return Number.isFinite(value) ? value : null;
    }), ...rest]),
    ...log.evals.map((row) => ['held-out', ...FIELDS.map((field) => row[field] ?? null), ...rest]),
    ...log.probes.map((row) => ['probes', ...FIELDS.map((field) => row[field] ?? null),
      ...kinds.map((kind) => row.right?.[kind] ?? null)]),
  ];
}
