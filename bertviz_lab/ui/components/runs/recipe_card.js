// One card: what is left out, what a person expects of it, how far its run is, and what came of it.

/** How far a run is, in a few words. */
function progressWords(run) {
  if (!run) return '';
  if (run.status === 'training') return `Training: step ${whole(run.step)} of ${whole(run.total_steps)}`;
  const words = { waiting: `Queued. ${run.message ?? ''}`, starting: 'Starting', preparing: 'Reading the stories',
    finished: 'Trained', stopped: `Stopped at step ${whole(run.step ?? 0)}: tick it to resume`,
    failed: `${run.message || 'It failed.'} Tick it to try again.`, missing: 'This run is no longer here: tick it to train it again.' };
  return (words[run.status] ?? run.status).trim();
}

/**
 * A card; `onChange()` is called when it is ticked, `onReveal(card)` when its outcome is asked for. `update(run, whole)`
 * shows how far its run and that of the whole recipe are.
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
  const predict = h('fieldset', { class: 'predict' }, h('legend', { class: 'quiet small' }, 'Your prediction, compared with the full recipe:'),
    ...asked.map((group) => group.node));
  const node = h('section', { class: 'card', 'data-name': body.name },
    h('label', { class: 'tick' }, box, h('b', {}, body.title)), h('p', { class: 'about' }, body.about),
    state, bar, predict, h('div', { class: 'line' }, reveal, hint), outcome);
  const card = { ...body, node, box, predicted: { ...kept }, revealed: Boolean(kept.revealed), status: '', revealable: false };
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
    hint.textContent = reveal.hidden ? '' : open.length ? 'Make a prediction first.' : ended ? '' : 'Available when both runs have ended.';
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
