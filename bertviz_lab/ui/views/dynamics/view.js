// Training dynamics: a training run, a text, and the scrubber that shows what every snapshot of the run makes of it.

import { h, setOptions } from 'lab/client/dom.js';
import { makeLinkButton } from 'lab/client/panel.js';

export function mount(panel) {
  const { page } = panel;
  const LOOK = ['step', 'layer', 'head'];
  const scrubber = panel.drawing('scrubber', 'Snapshots of the run', { id: 'dynamics-scrubber',
    events: { look: (place) => Object.entries(place).forEach(([name, value]) => panel.keep(name, value ?? '')) },
    server: {
      // Each step has a line of its own: frames do not take each other's place.
      frame: (question, step) => panel.ask('frame', { ...question, step }, `frame ${step}`),
      news: (question, last) => panel.ask('news', { ...question, last }),
    } });
  const picker = panel.field('select', 'Training run', '', (name) => choose(name), { id: 'dynamics-run' });
  const texts = {
    text_a: panel.field('text', 'Sentence', panel.kept('text_a'), () => {}, { id: 'dynamics-a' }),
    text_b: panel.field('text', 'Sentence B', panel.kept('text_b'), () => {}, { id: 'dynamics-b' }),
    words: panel.field('text', 'Words to track, separated by commas', panel.kept('words'), () => {},
      { id: 'dynamics-words', placeholder: 'the top three predictions of the last snapshot' }),
  };
  const examples = h('div.examples', { id: 'dynamics-examples', role: 'group', 'aria-label': 'Examples' });
  const more = h('details.fold', { id: 'dynamics-more', open: Boolean(panel.kept('text_b') || panel.kept('words')) },
    h('summary', 'Second sentence, words to track'), h('div.fields', texts.text_b.node, texts.words.node));
  const form = h('form', { onsubmit: (event) => { event.preventDefault(); show(); } },
    h('div.fields.question', picker.node, texts.text_a.node,
      h('button', { type: 'submit', class: 'action', id: 'dynamics-show' }, 'Show'), makeLinkButton('dynamics-link')),
    examples, more);

  let known = []; // examples of the run on show: [text A, text B, words]
  let run = panel.kept('run'); // the run on show; of the page's own choice until a person has chosen
  let chosen = run !== '';
  let restore = true; // whether the address says where to look

  const part = panel.part([form, scrubber.host], come);
  page.on('space', (name) => { if (name === 'runs') part.redraw(); });

  /** What runs there are now; until a person has chosen one, the run in training is on show. */
  async function come() {
    const answer = await panel.ask('runs', { run: chosen ? run : '' });
    if (!answer) return;
    const { choices, first, live } = answer;
    setOptions(picker.input, choices);
    const before = run;
    const there = choices.some(([name]) => name === run);
    if (!there || (!chosen && !live.includes(run) && live.includes(first))) run = first;
    picker.set(run);
    if (run !== before || !known.length) await bring();
  }

  function choose(name) {
    [run, chosen] = [name, true];
    panel.keep('run', run);
    bring();
  }

  /** Another run: its examples, and what its snapshots make of the text. A person's own text stays. */
  async function bring() {
    if (!restore) LOOK.forEach((name) => panel.keep(name, ''));
    const shown = known;
    const list = run ? await panel.ask('examples', { run }).catch((error) => {
      known = [];
      scrubber.say(error.message);
    }) : [];
    if (!list) return;
    known = list;
    examples.hidden = !known.length;
    const button = (example) => h('button.chip.cut', { onclick: () => {
      fill(example);
      show();
    } }, example.slice(0, 2).filter(Boolean).join('  |  '));
    examples.replaceChildren(h('span.quiet', 'Try'), ...known.map(button));
    const isOneOf = (some) => some.some((example) => example.join('\n') === typed());
    if (known.length && !isOneOf(known) && (isOneOf(shown) || !typed().trim())) fill(known[0]);
    await show();
  }

  const typed = () => Object.values(texts).map(({ value }) => value).join('\n');

  function fill(example) {
    Object.values(texts).forEach((field, place) => field.set(example[place]));
  }

  /** Ask about the text of the fields. */
  async function show() {
    const question = Object.fromEntries(Object.entries(texts).map(([name, { value }]) => [name, value]));
    const byDefault = known[0]?.join('\n') === typed();
    for (const [name, value] of Object.entries(question)) panel.keep(name, byDefault ? '' : value);
    const payload = await panel.ask('opening', { run, ...question }).catch((error) => scrubber.say(error.message));
    if (!payload) return;
    const look = Object.fromEntries(LOOK.filter((name) => restore && panel.kept(name) !== '')
      .map((name) => [name, Number(panel.kept(name))]));
    restore = false;
    scrubber.show({ ...payload, look });
  }
}
