// Cards for what may be left out of the recipe: tick, train, predict, reveal.

import { poll } from 'lab/client/ask.js';
import { barRow, choices, elements, h, payloadView, tickBox } from 'lab/client/dom.js';
import { ACTIVE, percent, plural, whole } from 'lab/client/format.js';
import { pictureOf, recall, remember, saveDrawing } from 'lab/client/saving.js';

export default payloadView('No ablations yet.', (content, { events, server }, root) => {
  let payload = null;
  let cards = [];
  let states = {};
  let follower = 0;

  const [wholeState, grid] = elements('span.quiet', 'div.cards.tiles');
  const start = h('button.start.action', { onclick: queue });
  const compare = h('button.plain', { onclick: () => events.compare_request?.({ runs: runs() }) },
    'Compare their curves');
  const all = h('button.plain', { onclick: tickAll }, 'Tick all');
  const said = h('span.quiet', { role: 'status' });
  const buttons = saveDrawing('the cards', () => 'recipe', { picture: () => pictureOf(picture) });
  const picture = h('div', h('div.bar', h('p', h('b', 'Full recipe'), ' ', wholeState), buttons), grid);
  content.append(h('div.bar', { 'data-noexport': '' }, start, all, compare, said), picture);

  function show(body) {
    payload = body;
    follower += 1;
    states = {};
    cards = body.cards.map((card) => makeCard(card, body, tell, reveal));
    grid.replaceChildren(...cards.map((card) => card.node));
    said.textContent = '';
    refresh();
    follow(follower);
  }

  const runs = () => [payload.whole, ...cards.map((card) => card.run)].filter(Boolean);
  const ticked = () => cards.filter(({ box }) => box.checked && !box.hidden);

  function refresh() {
    wholeState.textContent = payload.whole ? progressWords(states[payload.whole])
      : `trains first: ${plural(payload.steps, 'step')} on Tiny Town, as does each ablation.`;
    tell();
  }

  /** What pressing the button would do. */
  function tell() {
    for (const card of cards) card.update(states[card.run], states[payload.whole]);
    const count = ticked().length;
    const first = !payload.whole || ['stopped', 'failed', 'missing'].includes(states[payload.whole]?.status);
    start.textContent = count ? `Train ${first ? 'the full recipe and ' : ''}${plural(count, 'ablation')}`
      : 'Run ablation study';
    start.disabled = !count;
    start.hidden = payload.training === false; // turned off by the operator of the page
    start.title = count ? `${plural(count + (first ? 1 : 0), 'run')} of ${plural(payload.steps, 'step')}`
      : 'Select an ablation first';
    all.hidden = cards.every(({ box }) => box.checked || box.hidden);
    compare.hidden = runs().length < 2;
  }

  function tickAll() {
    for (const { box } of cards) box.checked ||= !box.hidden;
    tell();
  }

  function queue() {
    said.textContent = 'Queueing …';
    start.disabled = true;
    events.train_request?.({ names: ticked().map((card) => card.name) });
  }

  /** Ask how far the runs are, until all have ended or other cards are shown. */
  function follow(mine) {
    poll(() => server.look(runs()), (answer) => {
      const changed = JSON.stringify(states) !== JSON.stringify(answer);
      states = answer;
      if (changed) refresh();
      for (const card of cards) if (card.revealed && card.revealable && !card.told) reveal(card);
      return Object.values(states).some((run) => ACTIVE.includes(run.status)) ? 2000 : null;
    }, () => mine === follower && root.isConnected && runs().length && server, { node: root });
  }

  async function reveal(card) {
    card.told = true;
    try {
      const outcome = await server.reveal(card.name, payload.whole, card.run, card.predicted);
      const shown = cards.find((other) => other.name === card.name); // they may have been drawn again meanwhile
      if (outcome) shown?.tell(outcome);
    } catch (error) {
      card.told = false;
      said.textContent = error.message;
    }
  }

  return show;
});

/** How far a run is, in a few words. */
function progressWords(run) {
  if (!run) return '';
  const words = {
    training: `Training: step ${whole(run.step ?? 0)} of ${whole(run.total_steps ?? 0)}`,
    waiting: `Queued. ${run.message ?? ''}`,
    starting: 'Starting',
    preparing: 'Reading the stories',
    finished: 'Trained',
    stopped: `Stopped at step ${whole(run.step ?? 0)}: tick it to resume`,
    failed: `${run.message || 'It failed.'} Tick it to try again.`,
    missing: 'This run is no longer here: tick it to train it again.',
  };
  return (words[run.status] ?? run.status).trim();
}

/** A card; `onChange()` is called when it is ticked, `onReveal(card)` when its outcome is asked for. `update(run,
 * whole)` shows how far its run and that of the whole recipe are. */
function makeCard(body, { set, predictions }, onChange, onReveal) {
  const key = `bertviz-lab-predicted ${set} ${body.name}`;
  const { revealed = false, ...predicted } = recall(key);
  const { box, node: tick } = tickBox(h('b', body.title), Boolean(body.ticked), onChange);
  const [state, fill, hint] = elements('p.state.quiet.small', 'div.fill', 'span.quiet.small.hint');
  const bar = h('div.progress.track', { 'aria-hidden': 'true' }, fill);
  const reveal = h('button.reveal.action', { onclick: () => onReveal(card) }, 'Reveal');
  const outcome = h('div.outcome', { 'aria-live': 'polite' });
  const asked = body.asks.map(([measure, words]) => {
    const options = predictions.map(([name, text]) => [name, text, `${words}: ${text} without it`]);
    return choices(words, options, predicted[measure], (name) => {
      predicted[measure] = name;
      remember(key, { ...predicted, revealed: card.revealed });
      refresh();
    }).node;
  });
  const predict = h('fieldset.predict', h('legend.quiet.small', 'Your prediction, compared with the full recipe:'),
    ...asked);
  const node = h('section.card', { 'data-name': body.name }, tick, h('p.about', body.about), state, bar, predict,
    h('div.line', reveal, hint), outcome);
  const card = { ...body, node, box, predicted, revealed, revealable: false };
  let ended = false;

  function refresh() {
    const isOpen = body.asks.some(([measure]) => !predicted[measure]);
    node.classList.toggle('ticked', box.checked && !box.hidden);
    node.classList.toggle('open', card.revealed && outcome.childNodes.length > 0);
    predict.hidden = card.revealed || !(box.checked || card.run);
    card.revealable = ended && (!isOpen || card.revealed);
    reveal.disabled = !card.revealable;
    reveal.hidden = !card.run || card.revealed;
    hint.textContent = reveal.hidden ? '' : isOpen ? 'Make a prediction first.' : ended ? ''
      : 'Available when both runs have ended.';
  }

  card.update = (run, full) => {
    const status = run?.status ?? '';
    box.hidden = Boolean(card.run) && (!run || status === 'finished' || ACTIVE.includes(status));
    if (box.hidden) box.checked = false;
    state.textContent = card.run ? progressWords(run) : '';
    state.hidden = !state.textContent;
    bar.hidden = status !== 'training';
    fill.style.width = `${run?.total_steps ? Math.min(100, (100 * run.step) / run.total_steps) : 0}%`;
    ended = status === 'finished' && full?.status === 'finished';
    refresh();
  };
  card.tell = (found) => {
    card.revealed = true;
    remember(key, { ...predicted, revealed: true });
    outcome.replaceChildren(...(found.message ? [h('p.quiet', found.message)] : outcomeOf(found)));
    refresh();
  };
  refresh();
  return card;
}

/** Two bars for each measure, the sentence about it, and what is behind it. */
function outcomeOf({ measures, words }) {
  const blocks =
    measures.map((one) => h('div.measure', h('p.quiet', one.name), barRow('full', one.with_all, percent(one.with_all)),
    barRow('ablated', one.without, percent(one.without), 'div.bar-row.less'), h('p', one.text)));
  return [...blocks, ...words.map((text, place) => h(place === words.length - 1 ? 'p.quiet' : 'p', text))];
}
