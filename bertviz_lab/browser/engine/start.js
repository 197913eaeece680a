// The start of a published page.

import { mount } from 'lab/client/main.js';

document.getElementById('lab-waiting').remove();
const night = matchMedia('(prefers-color-scheme: dark)');
const paint = () => document.body.classList.toggle('dark', night.matches);
night.addEventListener('change', paint);
paint();
const { model } = JSON.parse(document.getElementById('lab-published').textContent);
mount(document.body, { value: JSON.stringify({ model, published: true }) });
