// Which panels a run has: pretraining's three, or the loss and the score of the task that a model is fine-tuned on.

// Only a run that reads forwards first has the curves marked so; they are drawn thinner than what the run is about.
const PANELS = [
  { id: 'mlm', title: 'Masked-word loss', about: 'how surprised the model is by the hidden words; lower is better',
    loss: true, series: [{ field: 'causal_loss', name: 'next word', paint: '--lab-kept', forwards: true },
      { field: 'mlm_loss', name: 'masked words', paint: '--lab-a' }],
    chances: (base) => [[base.mlm_loss, 'blind guess, ln V'], [base.unigram_entropy, 'word frequencies alone']] },
  { id: 'nsp', title: 'Next-sentence loss', about: 'how surprised the model is by whether B follows A; lower is better',
    loss: true, nsp: true, series: [{ field: 'nsp_loss', name: 'next sentence', paint: '--lab-b' }],
    chances: (base) => [[base.nsp_loss, 'coin toss, ln 2']] },
  { id: 'accuracy', title: 'Accuracy', about: 'share of right answers; higher is better', loss: false,
    series: [{ field: 'causal_accuracy', name: 'next word', paint: '--lab-kept', forwards: true },
      { field: 'mlm_accuracy', name: 'masked words', paint: '--lab-a' },
      { field: 'nsp_accuracy', name: 'next sentence', paint: '--lab-b', nsp: true }],
    chances: (base, hasNsp) => [[base.unigram_accuracy, 'always the commonest token'], [hasNsp ? 0.5 : null, 'coin toss']] },
];

// What each task is judged by, the most telling measure first; `guess` is what the baseline does.
const TASKS = {
  classification: { scores: [['accuracy', 'accuracy']], guess: 'always the commonest label',
    about: 'share of texts that get the right label; higher is better' },
  regression: { scores: [['spearman', 'rank correlation'], ['pearson', 'correlation']], guess: 'always the average', plain: true,
    about: 'how well the predicted numbers go with the true ones (Spearman, Pearson); 1 is perfect, 0 is none at all' },
  tokens: { scores: [['f1', 'F1 of entities']], guess: 'always the commonest label',
    about: 'how many of the entities are found, and how many of those found are right; higher is better' },
  words: { scores: [['accuracy', 'accuracy']], guess: 'always the commonest label',
    about: 'share of words that get the right label; higher is better' },
  qa: { scores: [['f1', 'F1 of answers'], ['exact_match', 'exact match']], guess: 'always “no answer”',
    about: 'how many words the answers share with the right ones, and how many answers are exactly right; higher is better' },
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
  const loss = { id: 'loss', title: 'Loss', about: 'how surprised the model is by the right answers; lower is better', loss: true,
    series: [{ field: 'loss', name: 'loss', paint: '--lab-a' }],
    chances: (base) => [[base.loss, task.plain ? task.guess : 'without reading']] };
  const score = { id: 'score', title: `Score: ${task.scores.map(([, name]) => name).join(', ')}`, about: task.about, loss: false,
    plain: task.plain, heldOut: true,
    series: task.scores.map(([field, name], place) => ({ field, name, paint: ['--lab-a', '--lab-b'][place] })),
    chances: (base) => task.scores.map(([field, name]) => [base[field],
      task.scores.length > 1 ? `${name}, ${task.guess}` : task.guess]) };
  return [loss, score];
}

/** A value of a panel in words: a loss, a correlation, or a share of 1. */
const valueWords = (panel, value, digits = 1) => (panel.loss ? short(value) : panel.plain ? value.toFixed(3) : percent(value, digits));

/** The question about the two sentences in words: whether B follows A, or which of the two came first. */
function inWordsOf(log, text) {
  if (log.started?.objective !== 'mlm+sop') return text;
  return text.replace('Next-sentence', 'Sentence-order').replace('next-sentence', 'sentence-order')
    .replace('next sentence', 'sentence order').replace('whether B follows A', 'which of two sentences came first');
}
