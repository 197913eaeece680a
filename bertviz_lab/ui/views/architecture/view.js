// Architecture: the whole model in one picture, filled with the numbers of the input. They are answers of other views.

export function mount(panel) {
  const { page } = panel;
  const open = (place) => page.open({ space: 'explore', ...place });
  const picture = panel.drawing('architecture', 'Architecture', { id: 'architecture-picture', linked: true,
    events: { open } });
  panel.part([picture.host], () => showModel(page.input, picture, page, 'architecture'));
}

/** Show the picture of a model, then with the numbers of a text. Questions are asked under names that begin with
 * `line`; `more` is part of what is shown. */
export async function showModel({ model, text_a, text_b }, picture, page, line, more = {}) {
  const ask = (view, question, settings = {}) => page.ask(view, question, { model, text_a, text_b, ...settings },
    `${line} ${view}.${question}`);
  const architecture = await page.ask('architecture', 'architecture', { model }, `${line} model`);
  if (!architecture) return; // asked again meanwhile
  const known = { ...architecture, ...more };
  if (picture.payload?.name !== known.name) picture.show(known);
  if (!text_a.trim()) return;
  const isClassified = !['', 'embedding', 'rtd'].includes(known.task) && (known.task !== 'qa' || text_b.trim());
  const optional = (isAble, ...asked) => (isAble ? ask(...asked).catch(() => null) : null);
  const answers = await Promise.all([ask('tokens', 'tokens'), ask('layers', 'embedding_sum'),
    ask('layers', 'token_norms', { of: 'hidden' }), ask('attention', 'attention', { shown: 'weights' }),
    optional(known.has_mlm, 'predictions', 'mlm', { top_k: 4, word: '' }),
    optional(known.pair_objective && text_b.trim(), 'predictions', 'nsp'),
    optional(isClassified, 'predictions', 'task')]);
  if (answers.includes(undefined)) return;
  const [{ encoding }, { norms: embeddings }, norms, attention, filled, next, answer] = answers;
  picture.show({ ...known, encoding, embeddings, norms, attention, masks: filled?.masks ?? [], next, answer });
}
