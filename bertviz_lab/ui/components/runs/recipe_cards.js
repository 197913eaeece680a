// Cards for what may be left out of the recipe: tick, train, predict, reveal.

import { poll } from 'lab/client/ask.js';
import { barRow, choices, h, payloadView } from 'lab/client/dom.js';
import { ACTIVE, percent, plural, whole } from 'lab/client/format.js';
import { pictureOf, saveDrawing } from 'lab/client/picture.js';
import { recall, remember } from 'lab/client/saving.js';

export default function recipeCards(root, first, { label, events = {}, server } = {}) {
  const view = payloadView(root, label, 'No ablations yet.', show);
  const wholeState = h('span', { class: 'quiet' });
  const start = h('button', { type: 'button', class: 'start action', onclick: queue }, '');
  const compare = h('button', { type: 'button', class: 'plain', onclick: sideBySide }, 'Compare their curves');
  const all = h('button', { type: 'button', class: 'plain', onclick: tickAll }, 'Tick all');
  const said = h('span', { class: 'quiet', role: 'status' });
  const grid = h('div', { class: 'cards tiles' });
  const bar = h('div', { class: 'bar', 'data-noexport': '' }, start, all, compare, said);
  const buttons = saveDrawing('the cards', () => 'recipe', { picture: () => pictureOf(picture) });
  const head = h('div', { class: 'bar' }, h('p', {}, h('b', {}, 'Full recipe'), ' ', wholeState), buttons);
  const picture = h('div', {}, head, grid);
  view.content.append(bar, picture);

  let payload = null;
  let cards = [];
  let states = {};
  let follower = 0;

  function show(body) {
    payload = body;
    follower += 1;
    states = {};
    cards = body.cards.map((card) => makeCard(card, body.set, body.predictions, tell, reveal));
    grid.replaceChildren(...cards.map((card) => card.node));
    said.textContent = '';
    refresh();
    follow(follower);
  }

  const runs = () => [payload.whole, ...cards.map((card) => card.run)].filter(Boolean);

  function refresh() {
    wholeState.textContent = payload.whole ? progressWords(states[payload.whole])
      : `trains first: ${plural(payload.steps, 'step')} on Tiny Town, as does each ablation.`;
    tell();
  }

  /** What pressing the button would do. */
  function tell() {
    for (const card of cards) card.update(states[card.run], states[payload.whole]);
    const ticked = cards.filter((card) => card.box.checked && !card.box.hidden);
    const first = !payload.whole || ['stopped', 'failed', 'missing'].includes(states[payload.whole]?.status);
    const count = ticked.length + (first ? 1 : 0);
    start.textContent = ticked.length
      ? `Train ${first ? 'the full recipe and ' : ''}${plural(ticked.length, 'ablation')}` : 'Run ablation study';
    start.disabled = ticked.length === 0;
    start.hidden = payload.training === false; // turned off by the operator of the page
    start.title = ticked.length ? `${plural(count, 'run')} of ${plural(payload.steps, 'step')}`
      : 'Select an ablation first';
    all.hidden = cards.every((card) => card.box.checked || card.box.hidden);
    compare.hidden = runs().length < 2;
  }

  function tickAll() {
    for (const card of cards) if (!card.box.hidden) card.box.checked = true;
    tell();
  }

  function queue() {
    const names = cards.filter((card) => card.box.checked && !card.box.hidden).map((card) => card.name);
    said.textContent = 'Queueing …';
    start.disabled = true;
    events.train_request?.({ names });
  }

  function sideBySide() {
    events.compare_request?.({ runs: runs() });
  }

  /** Ask how far the runs are, until all have ended or other cards are shown. */
  function follow(mine) {
    poll(() => server.look(runs()), (answer) => {
      const before = JSON.stringify(states);
      states = answer;
      if (JSON.stringify(states) !== before) refresh();
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

  return view.start(first);
}

/** How far a run is, in a few words. */
function progressWords(run) {
  if (!run) return '';
  if (run.status === 'training') return `Training: step ${whole(run.step)} of ${whole(run.total_steps)}`;
  const words = { waiting: `Queued. ${run.message ?? ''}`, starting: 'Starting', preparing: 'Reading the stories',
    finished: 'Trained', stopped: `Stopped at step ${whole(run.step ?? 0)}: tick it to resume`,
    failed: `${run.message || 'It failed.'} Tick it to try again.`,
      missing: 'This run is no longer here: tick it to train it again.' };
  return (words[run.status] ?? run.status).trim();
}

/**
 * A card; `onChange()` is called when it is ticked, `onReveal(card)` when its outcome is asked for. `update(run,
 * whole)` shows how far its run and that of the whole recipe are.
 */
function makeCard(body, set, predictions, onChange, onReveal) {
  const key = `bertviz-lab-predicted ${set} ${body.name}`;
  const kept = recall(key);
  const box = h('input', { type: 'checkbox', onchange: onChange });
  box.checked = Boolean(body.ticked);
  const state = h('p', { class: 'state quiet small' });
  const fill = h('div', { class: 'fill' });
  const bar = h('div', { class: 'progress track', 'aria-hidden': 'true' }, fill);
  const reveal = h('button', { type: 'button', class: 'reveal action', onclick: () => onReveal(card) }, 'Reveal');
  const hint = h('span', { class: 'quiet small hint' });
  const outcome = h('div', { class: 'outcome', 'aria-live': 'polite' });
  const asked = body.asks.map(([measure, words]) => choices(words,
    predictions.map(([name, text]) => [name, text, `${words}: ${text} without it`]), kept[measure] ?? '', (name) => {
      card.predicted[measure] = name;
      remember(key, { ...card.predicted, revealed: card.revealed });
      refresh();
    }));
  const predict = h('fieldset', { class: 'predict' }, h('legend', { class: 'quiet small' },
    'Your prediction, compared with the full recipe:'),
    ...asked.map((group) => group.node));
  const node = h('section', { class: 'card', 'data-name': body.name },
    h('label', { class: 'tick' }, box, h('b', {}, body.title)), h('p', { class: 'about' }, body.about),
    state, bar, predict, h('div', { class: 'line' }, reveal, hint), outcome);
  const card = { ...body, node, box, predicted: { ...kept }, revealed: Boolean(kept.revealed), status: '',
    revealable: false };
  delete card.predicted.revealed;
  let ended = false;

  function refresh() {
    const open = body.asks.filter(([measure]) => !card.predicted[measure]);
    node.classList.toggle('ticked', box.checked && !box.hidden);
    node.classList.toggle('open', card.revealed && outcome.childNodes.length > 0);
    predict.hidden = card.revealed || !(box.checked || card.run);
    card.revealable = ended && (open.length === 0 || card.revealed);
    reveal.disabled = !card.revealable;
    reveal.hidden = !card.run || card.revealed;
    hint.textContent = reveal.hidden ? '' : open.length ? 'Make a prediction first.' : ended ? ''
      : 'Available when both runs have ended.';
  }

  card.update = (run, whole) => {
    card.status = run?.status ?? '';
    const busy = ACTIVE.includes(card.status) || card.status === 'finished';
    box.hidden = Boolean(card.run) && (busy || !run);
    if (box.hidden) box.checked = false;
    state.textContent = card.run ? progressWords(run) : '';
    state.hidden = !state.textContent;
    bar.hidden = card.status !== 'training';
    fill.style.width = `${run?.total_steps ? Math.min(100, (100 * run.step) / run.total_steps) : 0}%`;
    ended = card.status === 'finished' && whole?.status === 'finished';
    refresh();
  };
  card.tell = (found) => {
    card.revealed = true;
    remember(key, { ...card.predicted, revealed: true });
    outcome.replaceChildren(...(found.message ? [h('p', { class: 'quiet' }, found.message)] : outcomeOf(found)));
    refresh();
  };
  refresh();
  return card;
}

/** Two bars for each measure, the sentence about it, and what is behind it. */
function outcomeOf({ measures, words }) {
  const blocks = measures.map((one) => h('div', { class: 'measure' }, h('p', { class: 'quiet' }, one.name),
    barRow('full', one.with_all, percent(one.with_all)),
    barRow('ablated', one.without, percent(one.without), 'div', { class: 'less' }), h('p', {}, one.text)));
  return [...blocks, ...words.map((text, place) => h('p', { class: place === words.length - 1 ? 'quiet' : '' }, text))];
}
