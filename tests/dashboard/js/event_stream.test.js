import assert from "node:assert/strict";
import { test } from "node:test";

import { parseEvent, parseEvents } from "../../../app/dashboard/js/net/event_stream.js";

test("one event", () => {
  assert.deepEqual(parseEvent('event: progress\nid: 3\ndata: {"fraction": 0.5}'), {
    event: "progress",
    id: "3",
    data: { fraction: 0.5 },
  });
  assert.deepEqual(parseEvent('data: {"a":\ndata: 1}'), {
    event: "message",
    id: null,
    data: { a: 1 },
  });
  assert.equal(parseEvent(": keep-alive"), null);
  assert.equal(parseEvent("event: empty"), null);
  assert.equal(parseEvent(""), null);
});

async function* piecesOf(text, size) {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

test("a stream in whatever pieces it comes", async () => {
  const text =
    ': hello\r\n\r\nevent: log\r\ndata: {"line": "a: b"}\r\n\r\nevent: done\ndata: {}\n\nevent: cut';
  for (const size of [1, 2, 7, 1000]) {
    const events = [];
    for await (const event of parseEvents(piecesOf(text, size))) {
      events.push([event.event, event.data]);
    }
    assert.deepEqual(events, [["log", { line: "a: b" }], ["done", {}]], `pieces of ${size}`); // prettier-ignore
  }
});
