// The scrubber: one slider over a training, and every view at its step. `scene` is what its parts share; its `opening`
// is the payload of figures/training/dynamics.py.

import { poll } from 'lab/client/ask.js';
import { onThemeChange } from 'lab/client/colors.js';
import { elements, h, payloadView } from 'lab/client/dom.js';
import { compact, duration, whole } from 'lab/client/format.js';
import { saveDrawing } from 'lab/client/saving.js';
import { makeAttention, makeHeads, makeLens, makeLosses, makeMap, makeTimeline } from 'lab/views/dynamics/charts.js';
import { makePredictions } from 'lab/views/dynamics/predictions.js';
import { lossChart, snapshotCharts } from 'lab/views/dynamics/snapshot_charts.js';

export default payloadView('Choose a training run and press Show.', scrubber);

function scrubber(content, { events, server, savePage }, root) {
  const current = { index: 0, playing: 0, follow: true }; // the place of the slider
  const scene = { opening: null, axis: null, charts: null, current, frames, shown, drawFold, jump };
  let known = new Map(); // step -> its frame, or {message} where it could not be had
  let underWay = new Set(); // steps whose frames were asked for; another set for another history
  let [drawWanted, linesWanted] = [0, 0];

  // ---- furniture
  const [title, where] = elements('p.heading', 'p.where');
  const lossLines = makeTimeline(scene);
  const slider = h('input', { type: 'range', min: '0', max: '0', step: '1', value: '0', 'aria-label': 'Training step',
    'data-noexport': '', oninput: () => jump(Number(slider.value)), onkeydown(event) {
      if (event.key !== ' ') return;
      event.preventDefault();
      toggle();
    } });
  const play = h('button.play', { onclick: toggle });
  const [state, spoken] = [h('p.quiet.state', { role: 'status' }), h('p.hush', { 'aria-live': 'polite' })];
  const predictions = makePredictions(scene);
  const attention = makeAttention(scene, (head) => {
    events.look?.(head);
    drawFold('heads');
  });
  Object.assign(scene, { predictions, attention });
  const fold = (name, words, part) => [name, { ...part, node: h('details.fold', { 'data-part': name,
    ontoggle: () => drawFold(name) }, h('summary', words), part.node) }];
  const folds = Object.fromEntries([
    fold('heads', 'Head metrics over training', makeHeads(scene)),
    fold('lens', 'Logit lens', makeLens(scene)),
    fold('map', 'Embedding map', makeMap(scene)),
    fold('losses', 'MLM loss per token', makeLosses(scene)),
  ]);
  const openFolds = () => Object.values(folds).filter(({ node }) => node.open && !node.hidden);
  /** All frames that are here, in one: what a page of its own shows. */
  const entire = () => ({ ...scene.opening, live: false, first: null, frames: Object.fromEntries(known) });
  const everything = saveDrawing('all snapshots', () => 'training-dynamics',
    { body: entire, savePage: savePage && ((stem) => savePage(stem, entire())) });

  content.append(h('div.bar', title, everything), lossLines.node, h('div.scrub.line', play, slider), where, state,
    spoken, predictions.node, attention.node, ...Object.values(folds).map(({ node }) => node));

  // ---- a history

  function show(payload) {
    setPlaying(0);
    const { steps, look = {}, question, first, plane } = payload; // `look` is what a link says: {step, layer, head}
    const before = scene.opening;
    scene.opening = payload;
    scene.charts = snapshotCharts(payload);
    const linked = steps.indexOf(look.step);
    if (linked >= 0) current.index = linked;
    else if (before?.question.run !== question.run || current.follow) current.index = steps.length - 1;
    else current.index = Math.max(0, steps.indexOf(before.steps[current.index]));
    current.follow = current.index === steps.length - 1;
    known = new Map([first, ...Object.values(payload.frames ?? {})].filter((frame) => frame?.grid)
      .map((frame) => [frame.step, frame]));
    underWay = new Set();
    fetchFrames();
    fetchFrames(); // one is on its way while the other is computed
    predictions.begin();
    attention.begin(look);
    folds.lens.node.hidden = !shown().masked_tokens.length;
    folds.map.node.hidden = !plane.middle;
    folds.losses.node.hidden = !shown().losses;
    title.textContent = `Training dynamics of ${payload.title}`;
    measure();
    draw();
    if (payload.live && server) poll(() => server.ask('news', { ...question, last: payload.steps.at(-1) }), take,
      () => payload === scene.opening && root.isConnected && payload.live, { node: root });
  }

  /** The axis is as long as what is known; the slider reaches as far as the snapshots do. */
  function measure() {
    const { axis, loss } = Object.assign(scene, lossChart(scene.opening));
    const last = scene.opening.steps.length - 1;
    Object.assign(slider, { max: last, value: current.index, disabled: !last });
    content.style.setProperty('--end', axis.range[1]);
    slider.style.setProperty('--part', Math.max(0.02, last / axis.range[1]));
    lossLines.node.hidden = !loss.figure.data.length;
    lossLines.show(loss);
    drawLines();
  }

  function drawLines() {
    clearTimeout(linesWanted);
    linesWanted = 0;
    predictions.drawLines();
    for (const part of openFolds()) part.draw(shown());
  }

  /** All of a part that is open: it may have been folded while frames came. */
  function drawFold(name) {
    if (scene.opening && openFolds().includes(folds[name])) folds[name].draw(shown());
  }

  /** What has been added; returns the milliseconds until the next question, null where the training has ended. */
  function take(news) {
    const { opening, opening: { steps } } = scene;
    Object.assign(opening, news.message ? { live: false } : news);
    if (String(opening.steps) !== String(steps)) {
      current.index = current.follow && !current.playing ? opening.steps.length - 1
        : Math.max(0, opening.steps.findLastIndex((step) => step <= steps[current.index]));
      known = new Map([...known].filter(([, { grid }]) => grid)); // what failed before is tried again
      fetchFrames();
    }
    measure();
    want();
    return opening.live ? 2000 : null;
  }

  // ---- its frames, which are fetched once, those nearest to the slider first

  const missing = () => scene.opening.steps.filter((step) => !known.has(step));
  const distance = (step) => Math.abs(scene.opening.steps.indexOf(step) - current.index);
  const nearest = (steps) => steps.sort((one, other) => distance(one) - distance(other))[0];

  /** All frames that are here, in order. */
  function frames() {
    return scene.opening.steps.map((step) => known.get(step)).filter((frame) => frame?.grid);
  }

  /** The frame at the slider, or the nearest one that is here. */
  function shown() {
    return known.get(nearest(frames().map(({ step }) => step)));
  }

  /** The nearest frame that nobody has asked for yet, then the next. */
  async function fetchFrames() {
    const mine = underWay;
    const step = nearest(missing().filter((one) => !mine.has(one)));
    if (step === undefined || !server) return;
    mine.add(step);
    const question = { ...scene.opening.question, step };
    const frame = await server.ask('frame', question, `frame ${step}`).catch(({ message }) => ({ message }));
    if (mine !== underWay || !root.isConnected || !frame) return;
    mine.delete(step);
    known.set(step, frame);
    // Lines are drawn again a few times a second, the views at once where they wait for it.
    if (missing().length) linesWanted ||= setTimeout(drawLines, 250);
    else drawLines();
    if (scene.opening.steps[current.index] === step) want();
    else tellState();
    fetchFrames();
  }

  // ---- the step of the slider

  /** Everything that moves with the slider; all of it comes out of what is here. */
  function draw() {
    const frame = shown();
    attention.draw(frame); // asks how much room it has, which is quick only as long as nothing else has changed
    content.style.setProperty('--at', current.index); // all cursors
    lossLines.move();
    predictions.move(frame);
    for (const part of openFolds()) part.move(frame);
    tellStep(frame);
    tellState();
    content.dataset.step = frame.step;
  }

  function want() {
    cancelAnimationFrame(drawWanted);
    drawWanted = requestAnimationFrame(draw);
  }

  function tellStep({ spoken: words }) {
    const step = scene.opening.steps[current.index];
    const [,, seconds, seen] = scene.opening.curve.trained.findLast(([at]) => at <= step) ?? [];
    const facts = step ? ` · ${compact(seen ?? 0)} tokens seen · ${duration(seconds)}` : ' · random initialization';
    where.replaceChildren(h('b', `Step ${whole(step)}`), seen === undefined && step ? '' : facts);
    const text = `Step ${whole(step)}. ${words}`;
    slider.setAttribute('aria-valuetext', text);
    // the slider says it itself
    if (!current.playing) spoken.textContent = document.activeElement === slider ? '' : text;
  }

  function tellState() {
    const { steps, live } = scene.opening;
    const [left, nearest] = [missing().length, shown().step];
    const away = nearest === steps[current.index] ? '' : `Showing step ${whole(nearest)}, the nearest available. `;
    const [trouble = ''] = [...known.values()].flatMap(({ message }) => message ?? []);
    state.textContent = away + (left && server
      ? `${steps.length - left} of ${steps.length} snapshots are loaded, the others are loading.`
      : trouble + (live ? 'Training is in progress: new snapshots are added to the slider.' : ''));
  }

  function jump(index, isPlaying = false) {
    const { steps } = scene.opening;
    if (!isPlaying) setPlaying(0);
    current.index = Math.min(Math.max(0, index), steps.length - 1);
    current.follow = current.index === steps.length - 1;
    slider.value = current.index;
    events.look?.({ step: current.follow ? null : steps[current.index] });
    want();
  }

  function setPlaying(timer) {
    clearInterval(current.playing);
    current.playing = timer;
    play.classList.toggle('on', Boolean(timer));
    play.ariaLabel = timer ? 'Pause' : 'Play';
    play.title = `${play.ariaLabel} (space)`;
  }

  function toggle() {
    if (current.playing) return setPlaying(0);
    if (current.index === scene.opening.steps.length - 1) jump(0);
    return setPlaying(setInterval(() => {
      const next = scene.opening.steps[current.index + 1];
      if (!root.isConnected || next === undefined) setPlaying(0);
      else if (known.has(next) || !missing().length) jump(current.index + 1, true);
    }, 600));
  }

  onThemeChange(root, want);

  return show;
}
