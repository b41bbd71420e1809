// Uploads: read from disk as they are sent, with progress, stopped when asked to.

import { connection, seen, url } from "./connection.js";
import { AWAY, Problem } from "./problem.js";
import { note } from "./requests.js";
import { askForKey, authorization, key } from "./session.js";

/**
 * Upload a file (a File or Blob, read from disk as it is sent) as a dataset; the dataset.
 * onprogress(sent, total). Any `path` that takes a file as its body can be given. `source` is where
 * the service itself has the file, for "copy as".
 */
export async function upload(
  file,
  { role, name, member, type, source, onprogress, signal, path = "/v1/datasets" } = {},
) {
  const query = new URLSearchParams();
  for (const [field, value] of Object.entries({ name: name ?? file.name, role, member })) {
    if (value) query.set(field, value);
  }
  const media = type || "application/octet-stream";
  const address = `${path}?${query}`;
  const entry = note({
    method: "POST",
    path: address,
    headers: { "Content-Type": media },
    file: { name: file.name ?? name ?? "file", size: file.size, source },
    at: Date.now(),
  });
  for (;;) {
    const sent = key.get();
    const { status, text } = await post(address, media, file, onprogress, signal);
    entry.status = status;
    if (status >= 200 && status < 300) {
      entry.answer = text ? JSON.parse(text) : null;
      return entry.answer;
    }
    const problem = problemOfText(status, text);
    if (status === 401 && (await askForKey(problem, sent))) continue;
    throw problem;
  }
}

function problemOfText(status, text) {
  try {
    return new Problem(JSON.parse(text), status);
  } catch {
    return new Problem({ title: `The service answered ${status}` }, status);
  }
}

// fetch does not say how much of a body has been sent; XMLHttpRequest does.
function post(path, media, file, onprogress, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      request.abort();
    };
    const off = () => signal?.removeEventListener("abort", stop);
    const fail = (error) => {
      off();
      reject(error);
    };
    if (signal?.aborted) {
      reject(new DOMException("The upload was cancelled.", "AbortError"));
      return;
    }
    const request = new XMLHttpRequest();
    request.open("POST", url(path));
    for (const [name, value] of Object.entries({ "Content-Type": media, ...authorization(path) })) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = (event) => onprogress?.(event.loaded, event.total || file.size);
    request.onload = () => {
      off();
      seen(false);
      resolve({ status: request.status, text: request.responseText });
    };
    request.onabort = () => fail(new DOMException("The upload was cancelled.", "AbortError"));
    request.onerror = async () => {
      // Also where the file cannot be read any more, or the service closed the connection early.
      const there = await connection.look();
      fail(
        there
          ? new Problem({
              title: "The upload was cut",
              detail:
                "The connection was closed before the file was through, or the file changed " +
                "meanwhile. Try it again.",
            })
          : new Problem(AWAY),
      );
    };
    signal?.addEventListener("abort", stop);
    request.send(file);
  });
}
