// What Architecture, Learn and Training dynamics ask: Python has recorded the parts of a model, the lessons with their
// measurements, and what the snapshots of a run make of a few texts.

const read = async (load, name) => JSON.parse(new TextDecoder().decode(await load(name)));

export const architecture = async ({ model }) => model.facts.parts;

// ---- Learn

const inLanguage = async ({ load, site }, language) => {
  const everything = await read(load, site.files.lessons);
  return everything[language] ?? everything.en;
};

export const lessons = async (context, { language }) => (await inLanguage(context, language)).lessons;

export async function measured(context, { number, language, chosen = '' }) {
  return (await inLanguage(context, language)).measured[number][chosen ?? ''];
}

// ---- Training dynamics

const historiesOf = ({ load, site }, run) => read(load, site.models[run].files.dynamics);

export async function runs({ site }) {
  const choices = Object.values(site.models).filter(({ files }) => files.dynamics).map(({ name }) => [name, name]);
  return { choices, first: choices[0][0], live: [] };
}

export const examples = async (context, { run }) => (await historiesOf(context, run)).map(({ example }) => example);

export async function opening(context, { run, text_a: a, text_b: b, words }) {
  const histories = await historiesOf(context, run);
  const found = histories.find(({ example }) => example.join('\n') === [a, b, words].join('\n'));
  if (!found) throw new Error('This page has the training dynamics of its examples: choose one of them. The lab '
    + 'computes those of any text.');
  return found.opening;
}

// ---- Corpus search

const corpusOf = ({ load, model }) => read(load, model.facts.files.corpus);

export const corpora = async (context) => (await corpusOf(context)).corpora;

export async function heads(context, { x, y, layer, head }) {
  const { answers, metrics, first } = await corpusOf(context);
  const { layers, heads_each: each } = context.model.facts;
  const answer = answers[layer === null || layer >= layers || head >= each ? first : layer * each + head];
  return { ...answer, map: { ...answer.map, axes: [x, y].map((name) => ({ name, values: metrics[name] })) } };
}
