// Training dynamics: a training run, a text, and the scrubber that shows what every snapshot of the run makes of it.

import { h, setOptions } from 'lab/client/dom.js';
import { makeExamples, makeLinkButton } from 'lab/client/panel.js';

export function mount(panel) {
  const LOOK = ['step', 'layer', 'head'];
  const scrubber = panel.drawing('scrubber', 'Snapshots of the run', { id: 'dynamics-scrubber', server: panel,
    events: { look: (place) => Object.entries(place).forEach(([name, value]) => panel.keep(name, value ?? '')) } });
  const picker = panel.field('select', 'Training run', '', (name) => {
    run = name;
    panel.keep('run', run);
    bring();
  }, { id: 'dynamics-run' });
  const field = (name, label, options) => panel.field('text', label, panel.kept(name), () => {}, options);
  const texts = {
    text_a: field('text_a', 'Sentence', { id: 'dynamics-a' }),
    text_b: field('text_b', 'Sentence B', { id: 'dynamics-b' }),
    words: field('words', 'Words to track, separated by commas',
      { id: 'dynamics-words', placeholder: 'the top three predictions of the last snapshot' }),
  };
  const typed = () => Object.values(texts).map(({ value }) => value).join('\n');
  const examples = makeExamples('dynamics-examples', Object.values(texts), () => show());
  const more = h('details.fold', { id: 'dynamics-more', open: Boolean(panel.kept('text_b') || panel.kept('words')) },
    h('summary', 'Second sentence, words to track'), h('div.fields', texts.text_b.node, texts.words.node));
  const form = h('form', { onsubmit: (event) => { event.preventDefault(); show(); } },
    h('div.fields.question', picker.node, texts.text_a.node,
      h('button', { type: 'submit', class: 'action', id: 'dynamics-show' }, 'Show'), makeLinkButton('dynamics-link')),
    examples.node, more);

  let known = []; // examples of the run on show: [text A, text B, words]
  let run = panel.kept('run'); // the run on show: the page's own choice until a person's is kept
  let restore = true; // whether the address says where to look

  const part = panel.part([form, scrubber.host], come);
  panel.page.on('space', (name) => { if (name === 'runs') part.redraw(); });

  /** What runs there are now. On show is the one that is chosen here, else the one in the table, else the run in
   * training. */
  async function come() {
    const chosen = panel.kept('run') || panel.page.kept('run.id');
    const answer = await panel.ask('runs', { run: chosen });
    if (!answer) return;
    const { choices, first, live } = answer;
    setOptions(picker.input, choices);
    const before = run;
    const isThere = choices.some(([name]) => name === run);
    if (!isThere || (!chosen && !live.includes(run) && live.includes(first))) run = first;
    if (!panel.kept('run') && choices.some(([name]) => name === chosen)) run = chosen;
    part.say(chosen && run !== chosen ? 'The chosen run has no snapshots; this is another one.' : '');
    picker.set(run);
    if (run !== before || !known.length) await bring();
  }

  /** Another run: its examples, and what its snapshots make of the text. A person's own text stays. */
  async function bring() {
    if (!restore) LOOK.forEach((name) => panel.keep(name, ''));
    known = [];
    const list = run ? await panel.ask('examples', { run }).catch((error) => scrubber.say(error.message)) : [];
    if (!list) return;
    known = list;
    const before = typed();
    examples.show(known);
    if (typed() === before) await show(); // else the examples have asked
  }

  /** Ask about the text of the fields. */
  async function show() {
    const question = Object.fromEntries(Object.entries(texts).map(([name, { value }]) => [name, value]));
    const byDefault = known[0]?.join('\n') === typed();
    for (const [name, value] of Object.entries(question)) panel.keep(name, byDefault ? '' : value);
    const payload = await panel.ask('opening', { run, ...question }).catch((error) => scrubber.say(error.message));
    if (!payload) return;
    const kept = LOOK.filter((name) => restore && panel.kept(name) !== '');
    restore = false;
    scrubber.show({ ...payload, look: Object.fromEntries(kept.map((name) => [name, Number(panel.kept(name))])) });
  }
}
