// Which panels a run has: pretraining's three, or the loss and the score of the task that a model is fine-tuned on.

// Only a run that reads forwards first has the curves marked so; they are drawn thinner than what the run is about.
const PANELS = [
  { id: 'mlm', title: 'MLM loss', about: 'masked language modelling: cross-entropy at the masked tokens, in nats; lower is better',
    loss: true, series: [{ field: 'causal_loss', name: 'next token', paint: '--lab-kept', forwards: true },
      { field: 'mlm_loss', name: 'masked tokens', paint: '--lab-a' }],
    chances: (base) => [[base.mlm_loss, 'uniform baseline, ln V'], [base.unigram_entropy, 'unigram-entropy baseline']] },
  { id: 'nsp', title: 'NSP loss', about: 'next-sentence prediction: cross-entropy of whether B follows A, in nats; lower is better',
    loss: true, nsp: true, series: [{ field: 'nsp_loss', name: 'NSP', paint: '--lab-b' }],
    chances: (base) => [[base.nsp_loss, 'uniform baseline, ln 2']] },
  { id: 'accuracy', title: 'Accuracy', about: 'share of correct predictions; higher is better', loss: false,
    series: [{ field: 'causal_accuracy', name: 'next token', paint: '--lab-kept', forwards: true },
      { field: 'mlm_accuracy', name: 'masked tokens', paint: '--lab-a' },
      { field: 'nsp_accuracy', name: 'NSP', paint: '--lab-b', nsp: true }],
    chances: (base, hasNsp) => [[base.unigram_accuracy, 'unigram baseline'], [hasNsp ? 0.5 : null, 'chance']] },
];

// How the training goes, whatever it is about; `show` writes a value, `tick` one on an axis.
const rate = (value) => (value === 0 ? '0' : value.toExponential(1));
const OPTIMIZATION = [
  { id: 'rate', title: 'Learning rate', about: 'of each step, as the schedule sets it', show: rate, tick: rate,
    series: [{ field: 'learning_rate', name: 'learning rate', paint: '--lab-a', exact: true }] },
  { id: 'norm', title: 'Gradient norm', about: 'before clipping; peaks are steps that clipping holds back', show: (value) => short(value), tick: (value) => String(Number(value.toPrecision(3))),
    series: [{ field: 'grad_norm', name: 'gradient norm', paint: '--lab-b' }] },
  { id: 'speed', title: 'Throughput', about: 'tokens per second, without padding', show: (value) => `${compact(value)}/s`, tick: (value) => compact(value),
    series: [{ field: 'tokens_per_second', name: 'tokens', paint: '--lab-kept' }] },
].map((panel) => ({ ...panel, loss: true, chances: () => [] }));

// What each task is judged by, the most telling measure first; `guess` is what the baseline does.
const TASKS = {
  classification: { scores: [['accuracy', 'accuracy']], guess: 'majority-class baseline',
    about: 'share of texts with the correct label; higher is better' },
  regression: { scores: [['spearman', 'Spearman'], ['pearson', 'Pearson']], guess: 'mean baseline', plain: true,
    about: 'correlation of predicted and true values (Spearman, Pearson); 1 is perfect, 0 is none' },
  tokens: { scores: [['f1', 'F1 of entities']], guess: 'majority-class baseline',
    about: 'harmonic mean of precision and recall over entities; higher is better' },
  words: { scores: [['accuracy', 'accuracy']], guess: 'majority-class baseline',
    about: 'share of words with the correct label; higher is better' },
  qa: { scores: [['f1', 'F1 of answers'], ['exact_match', 'exact match']], guess: 'no-answer baseline',
    about: 'word overlap with the true answers (F1), and share of exact matches; higher is better' },
};

/** The task of a run, null for pretraining. Labels that mark no entities have no F1: their words are counted. */
function taskOf(log) {
  const { objective, baselines } = log.started ?? {};
  if (objective !== 'tokens') return TASKS[objective] ?? null;
  const scores = log.evals.at(-1) ?? baselines ?? {};
  return TASKS[Number.isFinite(scores.f1) || !Number.isFinite(scores.accuracy) ? 'tokens' : 'words'];
}

function panelsOf(log) {
  const task = taskOf(log);
  if (!task) return PANELS;
  const loss = { id: 'loss', title: 'Loss', about: 'the training objective; lower is better', loss: true,
    series: [{ field: 'loss', name: 'loss', paint: '--lab-a' }],
    chances: (base) => [[base.loss, task.plain ? task.guess : 'class-prior baseline']] };
  const score = { id: 'score', title: `Score: ${task.scores.map(([, name]) => name).join(', ')}`, about: task.about, loss: false,
    plain: task.plain, heldOut: true,
    series: task.scores.map(([field, name], place) => ({ field, name, paint: ['--lab-a', '--lab-b'][place] })),
    chances: (base) => task.scores.map(([field, name]) => [base[field],
      task.scores.length > 1 ? `${name}, ${task.guess}` : task.guess]) };
  return [loss, score];
}

/** A value of a panel in words: a loss, a correlation, or a share of 1. */
const valueWords = (panel, value, digits = 1) => (panel.show ? panel.show(value) : panel.loss ? short(value) : panel.plain ? value.toFixed(3) : percent(value, digits));

/** A text about NSP, in the terms of SOP where that is the objective. */
function inWordsOf(log, text) {
  if (log.started?.objective !== 'mlm+sop') return text;
  return text.replace('NSP', 'SOP').replace('next-sentence prediction', 'sentence-order prediction').replace('whether B follows A', 'the order of two sentences');
}
