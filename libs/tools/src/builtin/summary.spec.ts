import { describe, expect, it } from '@jest/globals';
import { createPacer } from './pacer.js';
import { splitSentences } from './sentences.js';
import { summarise, summariseTool } from './summary.js';

const signal = new AbortController().signal;
const ENGLISH = [
  'The city council approved a new tram line on Monday.',
  'The tram will link the station with the university and the hospital.',
  'Work on the line starts in spring.',
  'It rained during the meeting.',
  'Residents near the station asked for more trees along the tram line.',
  'The council expects the tram to carry twenty thousand people a day.',
  'Someone had forgotten an umbrella.',
];

describe('summarise', () => {
  it('picks whole sentences about the main subject, in the order of the text', async () => {
    const summary = await summarise(ENGLISH.join(' '), signal);
    const chosen = await splitSentences(summary, createPacer(signal));
    expect(chosen).toHaveLength(3);
    expect(chosen).toEqual(ENGLISH.filter((sentence) => chosen.includes(sentence)));
    expect(summary).not.toContain('umbrella');
  });

  it('picks whole Chinese sentences', async () => {
    const text = '市政府批准了新的电车线路。电车将连接火车站和大学。开会时下雨了。电车每天将运送两万人。';
    const chosen = await splitSentences(await summarise(text, signal), createPacer(signal));
    expect(chosen.length).toBeGreaterThan(0);
    for (const sentence of chosen) expect(text).toContain(sentence);
  });

  it('says nothing twice', async () => {
    expect(await summarise('The tram is late. '.repeat(40), signal)).toBe('The tram is late.');
  });

  it('gives back a single sentence as it is, and nothing for no text', async () => {
    expect(await summarise('  Only one sentence here. ', signal)).toBe('Only one sentence here.');
    expect(await summarise('', signal)).toBe('');
  });

  it('obeys the number of sentences it is asked for', async () => {
    const result = await summariseTool.execute({ max_sentences: 1 }, { input: ENGLISH.join(' '), signal });
    expect(ENGLISH).toContain((result as { summary: string }).summary);
  });
});
