import { describe, expect, it } from '@jest/globals';
import { Outbox } from './outbox.js';

describe('Outbox', () => {
  it('lets a writer go on only when the reader came back for more', async () => {
    const box = new Outbox<number>();
    const done: string[] = [];
    void box.put(1, 2).then(() => done.push('put'));
    const reader = box.read();
    expect((await reader.next()).value).toBe(1);
    expect((await reader.next()).value).toBe(2);
    expect(done).toEqual([]);
    const next = reader.next();
    await box.put();
    expect(done).toEqual(['put']);
    box.close();
    expect(await next).toMatchObject({ done: true });
  });

  it('keeps the items of several writers in order and apart', async () => {
    const box = new Outbox<string>();
    void Promise.all([box.put('a1', 'a2'), box.put('b1', 'b2')]).then(() => box.close());
    const seen: string[] = [];
    for await (const item of box.read()) seen.push(item);
    expect(seen).toEqual(['a1', 'a2', 'b1', 'b2']);
  });

  it('ends with the first reason, drops what was not read and refuses writers', async () => {
    const box = new Outbox<number>();
    const waiting = box.put(1, 2);
    const reader = box.read();
    await reader.next();
    box.close(new Error('first'));
    box.close(new Error('second'));
    await expect(reader.next()).rejects.toThrow('first');
    await expect(waiting).rejects.toThrow('first');
    await expect(box.put(3)).rejects.toThrow('first');
  });
});
