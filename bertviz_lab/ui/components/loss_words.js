// The state of a run in sentences.

/** What the run is doing. */
function stageWords(log, status) {
  const { started, last, finished, preparing } = log;
  if (status === 'training' && last && taskOf(log)) return tuningWords(log);
  const steps = plural(last?.step ?? 0, 'step');
  const took = finished && ENDED.includes(status) ? ` in ${duration(finished.seconds)}` : '';
  if (status === 'finished') return `Finished: ${steps}${took}`;
  if (status === 'stopped') return `Stopped after ${steps}${took}`;
  if (status === 'failed') return 'The run failed';
  if (status === 'missing') return 'This run is no longer here';
  if (status === 'training' && last) {
    const how = log.readsForwards() ? ', causal-LM warm-up' : '';
    return `Training: step ${whole(last.step)}${started?.total_steps ? ` of ${whole(started.total_steps)}` : ''}${how}`;
  }
  if (status === 'training') return 'Training: first step';
  if (status === 'waiting') return 'Queued';
  if (status !== 'preparing' || !preparing) return 'Starting …';
  const done = preparing.total ? `: ${whole(preparing.done)} of ${whole(preparing.total)}` : '';
  return `Preparing: ${preparing.message || preparing.stage}${done}`;
}

/** How fast it goes and how long it takes, or what came of it. */
function detailWords(log, state, status) {
  const { last, finished } = log;
  if (ENDED.includes(status)) {
    const message = finished?.message || (status === 'failed' ? state?.message : '');
    return [resultWords(log), message].filter(Boolean).join(' ');
  }
  if (status === 'waiting') return state?.message ?? '';
  if (!last || status !== 'training') return '';
  return [Number.isFinite(last.tokens_per_second) ? `${whole(last.tokens_per_second)} tokens per second` : '',
    Number.isFinite(last.eta_seconds) ? `about ${duration(last.eta_seconds)} left` : ''].filter(Boolean).join(' · ');
}

/** What a model that was trained on already scored on held-out text before and scores now; "" for any other. */
function changeWords(log) {
  if (taskOf(log)) return taskWords(log, false);
  const scores = log.beforeAndNow();
  if (!scores) return '';
  const change = (field, show) => scores.map((row) => show(row[field])).map((text, place) => `${text} ${['before', 'now'][place]}`).join(', ');
  const parts = [`MLM accuracy: ${change('mlm_accuracy', percent)}`, `MLM loss: ${change('mlm_loss', short)}`];
  if (scores.every((row) => Number.isFinite(row.nsp_accuracy))) {
    parts.push(`${inWordsOf(log, 'NSP')} accuracy: ${change('nsp_accuracy', percent)}`);
  }
  return `On held-out text, ${parts.join('; ')}.`;
}

function resultWords(log) {
  if (taskOf(log)) return taskWords(log, true);
  const best = log.evals.at(-1);
  if (!best) return '';
  const change = changeWords(log);
  if (change) return change;
  const base = log.started?.baselines ?? {};
  const parts = [`Held-out MLM accuracy: ${percent(best.mlm_accuracy)}`];
  if (Number.isFinite(base.unigram_accuracy)) parts.push(` (unigram baseline: ${percent(base.unigram_accuracy)})`);
  if (Number.isFinite(best.nsp_accuracy)) parts.push(`; ${inWordsOf(log, 'NSP')} accuracy: ${percent(best.nsp_accuracy)} (chance: 50%)`);
  return `${parts.join('')}.`;
}

/** Where a run stands in a few words, for a screen reader. */
function newestWords(log) {
  if (taskOf(log)) {
    const score = scoreOf(log, log.evals.at(-1));
    return `loss ${short(log.newest('loss'))}${score ? `, held-out ${score.text}` : ''}`;
  }
  const chance = log.started?.baselines?.mlm_loss;
  const forwards = log.readsForwards() ? `, next-token loss ${short(log.newest('causal_loss'))}` : '';
  return `MLM loss ${short(log.newest('mlm_loss'))}${Number.isFinite(chance) ? `, uniform baseline ${short(chance)}` : ''}${forwards}`;
}

/** The values of one step; `entire` with those of the optimization. */
function stepWords(log, cursor, entire) {
  const optimization = (entire ? OPTIMIZATION : []).flatMap(({ series: [{ field, name }], show }) => {
    const value = log.columns[field]?.[cursor];
    return Number.isFinite(value) ? [`${name} ${show(value)}`] : [];
  });
  return [...scoreWords(log, cursor), ...optimization].join(' · ');
}

function scoreWords(log, cursor) {
  const at = (field) => log.columns[field]?.[cursor];
  const parts = [`step ${whole(at('step'))}`, duration(at('seconds')), `${compact(at('tokens'))} tokens`];
  if (taskOf(log)) {
    if (severalTrials(log)) parts.unshift(trialAt(log, at('step')).name);
    for (const panel of panelsOf(log)) {
      for (const { field, name } of panel.series) if (Number.isFinite(at(field))) parts.push(`${name} ${valueWords(panel, at(field))}`);
    }
    return parts;
  }
  for (const [kind, name] of [['causal', 'next-token'], ['mlm', 'MLM'], ['nsp', inWordsOf(log, 'NSP')]]) {
    if (Number.isFinite(at(`${kind}_loss`))) parts.push(`${name} loss ${short(at(`${kind}_loss`))}`);
    if (Number.isFinite(at(`${kind}_accuracy`))) parts.push(`accuracy ${percent(at(`${kind}_accuracy`))}`);
  }
  return parts;
}
