// What benchmarks measure in a page, in milliseconds. They evaluate it with [measure, its argument].
async ([measure, given]) => {
  const frame = () => new Promise(requestAnimationFrame);

  // What a person does who types a text and presses Enter.
  const press = (text) => {
    const box = document.querySelector('#text-a');
    box.value = text;
    box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true, cancelable: true}));
  };

  // From an action to two frames after it is `done`.
  const painted = async (act, done) => {
    const start = performance.now();
    act();
    while (!done()) {
      if (performance.now() - start > 60000) throw new Error('it was not painted');
      await frame();
    }
    await frame(); await frame();
    return performance.now() - start;
  };

  const measures = {
    // From pressing Enter until all heads have been painted anew.
    grid({text, tokens}) {
      const canvases = () => [...document.querySelectorAll('#attention-grid .grid canvas')];
      for (const canvas of canvases()) canvas.width = 1;
      const done = (all) => all.length > 0 && all.every((canvas) => canvas.width === tokens);
      return painted(() => press(text), () => done(canvases()));
    },

    // From pressing Enter until what is watched has changed.
    async change({text, watch}) {
      const changed = new Promise((done) => {
        const observer = new MutationObserver(() => { observer.disconnect(); done(); });
        observer.observe(document.querySelector(watch), {childList: true, subtree: true, characterData: true});
      });
      const start = performance.now();
      press(text);
      await changed;
      await frame();
      return performance.now() - start;
    },

    // How long one click keeps the page from doing anything else, drawing included.
    click(selector) {
      const node = document.querySelector(selector);
      const start = performance.now();
      node.click();
      return performance.now() - start;
    },

    // From opening the map of all heads to its picture.
    map(fold) {
      const find = (selector) => document.querySelector(`#attribution-head-map ${selector}`);
      const heading = find('.heading');
      if (heading) heading.textContent = '';
      const done = () => find('.heading')?.textContent && find('.heatmaplayer image');
      return painted(() => document.querySelector(fold).click(), done);
    },

    // Every step of the slider of training dynamics and back, several times.
    async drag(rounds) {
      const slider = document.querySelector('#dynamics-scrubber input[type=range]');
      const inside = document.querySelector('#dynamics-scrubber [data-took]');
      const times = [];
      const places = [...Array(Number(slider.max) + 1).keys()];
      for (let round = 0; round < rounds; round += 1) {
        for (const place of [...places.slice(0, -1), ...places.slice(1).reverse()]) {
          if (String(place) === slider.value) continue;
          delete inside.dataset.step;
          const start = performance.now();
          slider.value = String(place);
          slider.dispatchEvent(new Event('input', {bubbles: true}));
          while (inside.dataset.step === undefined) await frame();
          await frame();
          times.push(performance.now() - start);
        }
      }
      return times;
    },

    // From now on `window.longest` is the longest time that the page did not answer.
    pauses() {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
      }).observe({entryTypes: ['longtask']});
    },
  };
  return measures[measure](given);
};
