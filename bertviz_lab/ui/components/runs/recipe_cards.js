// Cards for what may be left out of the recipe: select, train, predict, reveal.

import { poll } from 'lab/client/ask.js';
import { barRow, choices, elements, h, makeField, payloadView, setText } from 'lab/client/dom.js';
import { ACTIVE, percent, plural, shareDone, stateWords } from 'lab/client/format.js';
import { pictureOf, recall, remember, saveDrawing } from 'lab/client/saving.js';

export default payloadView('No ablations yet.', (content, { events, server }, root) => {
  let payload = null;
  let cards = [];
  let states = {}; // of the runs, by their ids
  let queueing = false;

  const [wholeState, grid] = elements('span.quiet', 'div.cards.tiles');
  const start = h('button.start.action', { onclick: queue });
  const compare = h('button.plain', { onclick: () => events.compare_request?.({ runs: runs() }) },
    'Compare their curves');
  const all = h('button.plain', { onclick: selectAll }, 'Select all');
  const said = h('span.quiet', { role: 'status' });
  const buttons = saveDrawing('the cards', () => 'recipe', { picture: () => pictureOf(picture) });
  const picture = h('div', h('div.bar', h('p', h('b', 'Full recipe'), ' ', wholeState), buttons), grid);
  content.append(h('div.bar', { 'data-noexport': '' }, start, all, compare, said), picture);

  /** The cards; how far their runs are is asked until all have ended or other cards are shown. */
  function show(body) {
    const mine = body.cards.map((card) => makeCard(card, body, refresh, reveal));
    [payload, cards, states, queueing] = [body, mine, {}, false];
    grid.replaceChildren(...cards.map((card) => card.node));
    said.textContent = '';
    refresh();
    poll(() => server.look(runs()), (answer) => {
      states = Object.fromEntries(Object.entries(answer).map(([id, run]) => [id, run ?? { status: 'missing' }]));
      refresh();
      for (const card of cards) if (card.revealed && card.revealable && !card.told) reveal(card);
      return Object.values(states).some((run) => ACTIVE.includes(run.status)) ? 2000 : null;
    }, () => mine === cards && root.isConnected && runs().length && server, { node: root });
  }

  const runs = () => [payload.whole, ...cards.map((card) => card.run)].filter(Boolean);
  const ticked = () => cards.filter(({ box }) => box.checked);

  /** How far the runs are, and what pressing the button would do. */
  function refresh() {
    const whole = states[payload.whole];
    setText(wholeState, payload.whole ? progressWords(whole)
      : `trains first: ${plural(payload.steps, 'step')} on Tiny Town, as does each ablation.`);
    for (const card of cards) card.update(states[card.run], whole);
    const count = ticked().length;
    const first = !payload.whole || whole?.status in AGAIN;
    start.textContent = count ? `Train ${first ? 'the full recipe and ' : ''}${plural(count, 'ablation')}`
      : 'Run ablation study';
    start.disabled = !count || queueing;
    start.hidden = payload.training === false; // turned off by the operator of the page
    start.title = count ? `${plural(count + (first ? 1 : 0), 'run')} of ${plural(payload.steps, 'step')}`
      : 'Select an ablation first';
    all.hidden = cards.every(({ box }) => box.checked || box.hidden);
    compare.hidden = runs().length < 2;
  }

  function selectAll() {
    for (const { box } of cards) box.checked ||= !box.hidden;
    refresh();
  }

  function queue() {
    said.textContent = 'Queueing …';
    start.disabled = queueing = true;
    events.train_request?.({ names: ticked().map((card) => card.name) });
  }

  async function reveal(card) {
    card.told = true;
    try {
      const outcome = await server.reveal(card.name, payload.whole, card.run, card.predicted);
      if (outcome) cards.find((other) => other.name === card.name)?.tell(outcome); // drawn again meanwhile
      refresh();
    } catch (error) {
      card.told = false;
      said.textContent = error.message;
    }
  }

  return show;
});

/** What a person may do about a run that has not finished. */
const AGAIN = {
  stopped: 'Select it to resume.', failed: 'Select it to try again.', missing: 'Select it to train it again.',
};

const progressWords = (run) =>
  (run ? stateWords({ ...run, message: [run.message, AGAIN[run.status]].filter(Boolean).join(' ') }) : '');

/** A card; `onChange()` is called when it is ticked or something is predicted, `onReveal(card)` when its outcome is
 * asked for. `update(run, whole)` shows how far its run and that of the whole recipe are, `tell(outcome)` what came of
 * it. */
function makeCard(body, { set, predictions }, onChange, onReveal) {
  const key = `bertviz-lab-predicted ${set} ${body.name}`;
  const { revealed = false, ...predicted } = recall(key);
  const { input: box, node: tick } = makeField('checkbox', h('b', body.title), body.ticked, onChange, { inline: true });
  const [state, fill, hint] = elements('p.state.quiet.small', 'div.fill', 'span.quiet.small.hint');
  const bar = h('div.progress.track', { 'aria-hidden': 'true' }, fill);
  const reveal = h('button.reveal.action', { onclick: () => onReveal(card) }, 'Reveal');
  const outcome = h('div.outcome', { 'aria-live': 'polite' });
  const asked = body.asks.map(([measure, words]) => {
    const options = predictions.map(([name, text]) => [name, text, `${words}: ${text} without it`]);
    return choices(words, options, predicted[measure], (name) => {
      predicted[measure] = name;
      keep();
      onChange();
    }).node;
  });
  const predict = h('fieldset.predict', h('legend.quiet.small', 'Your prediction, compared with the full recipe:'),
    ...asked);
  const node = h('section.card', { 'data-name': body.name }, tick, h('p.about', body.about), state, bar, predict,
    h('div.line', reveal, hint), outcome);
  const keep = () => remember(key, { ...predicted, revealed: card.revealed });

  const card = { ...body, node, box, predicted, revealed,
    update(run, whole) {
      const status = run?.status ?? '';
      box.hidden = Boolean(card.run) && !(status in AGAIN);
      box.checked &&= !box.hidden;
      setText(state, progressWords(run));
      bar.hidden = status !== 'training';
      fill.style.width = `${100 * (run ? shareDone(run) : 0)}%`;
      const ended = status === 'finished' && whole?.status === 'finished';
      const isOpen = body.asks.some(([measure]) => !predicted[measure]);
      node.classList.toggle('ticked', box.checked);
      node.classList.toggle('open', card.revealed && outcome.childNodes.length > 0);
      predict.hidden = card.revealed || !(box.checked || card.run);
      card.revealable = ended && (!isOpen || card.revealed);
      reveal.disabled = !card.revealable;
      reveal.hidden = !card.run || card.revealed;
      hint.textContent = reveal.hidden ? '' : isOpen ? 'Make a prediction first.' : ended ? ''
        : 'Available when both runs have ended.';
    },
    tell({ message, measures = [], words = [] }) {
      card.revealed = true;
      keep();
      const blocks = measures.map((one) => h('div.measure', h('p.quiet', one.name),
        barRow('full', one.with_all, percent(one.with_all)),
        barRow('ablated', one.without, percent(one.without), 'div.bar-row.less'), h('p', one.text)));
      outcome.replaceChildren(...(message ? [h('p.quiet', message)] : []), ...blocks,
        ...words.map((text, place) => h(place === words.length - 1 ? 'p.quiet' : 'p', text)));
    },
  };
  return card;
}
