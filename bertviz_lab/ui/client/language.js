// The language of the course, and its texts.

import { TEXTS } from 'lab/site.js';

/** The language of the course: the one that the address asks for, else the server's. */
export const LANGUAGE = [new URLSearchParams(location.search).get('lang'),
  document.querySelector('meta[name=lab-language]')?.content].find((code) => code in TEXTS) ?? 'en';

/** A text of the course in its language, with values in place of the names in braces. */
export const gettext = (text, values = {}) => (TEXTS[LANGUAGE]?.[text] ?? text)
  .replace(/\{(\w+)\}/g, (_, name) => values[name]);
