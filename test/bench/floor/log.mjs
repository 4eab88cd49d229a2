// Group commit: one insert in flight, what arrives meanwhile is the next one; published only once it is durable.
const BATCH_ROWS = 500;
const INSERT = `insert into events (task_id, seq, event_id, type, payload, at)
  select * from unnest($1::uuid[], $2::int[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])`;

export const SCHEMA = `
  create table tasks (id uuid primary key, input text not null, created_at timestamptz not null default clock_timestamp());
  create table events (task_id uuid, seq int, event_id text not null, type text not null, payload text not null,
    at timestamptz not null, primary key (task_id, seq))`;

function frame({ taskId, seq, eventId, type, payload, at }) {
  return `id: ${seq}\nevent: ${type}\ndata: {"version":"1.0","event_id":"${eventId}","task_id":"${taskId}","seq":${seq},"event_type":"${type}","timestamp":"${at}","payload":${payload}}\n\n`;
}

export function createLog(pool, bus) {
  let waiting = [];
  let flying = false;

  async function flush() {
    flying = true;
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_ROWS);
      const columns = ['taskId', 'seq', 'eventId', 'type', 'payload', 'at'].map((name) =>
        batch.map((row) => row[name]),
      );
      await pool.query({ name: 'append', text: INSERT, values: columns });
      const frames = new Map();
      for (const row of batch) {
        const own = frames.get(row.taskId) ?? frames.set(row.taskId, ['0']).get(row.taskId);
        if (row.last) own[0] = '1';
        own.push(frame(row));
      }
      const messages = [...frames].map(([taskId, own]) => [taskId, own.join('')]);
      void bus.publish(messages);
      for (const row of batch) row.done();
    }
    flying = false;
  }

  /** Resolves when the event is durable. */
  return function append(event) {
    return new Promise((done) => {
      waiting.push({ ...event, at: new Date().toISOString(), done });
      if (!flying) void flush();
    });
  };
}
