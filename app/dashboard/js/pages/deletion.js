// Deletion of the resource that a page shows.

import { send } from "../net/requests.js";
import * as router from "../router.js";
import { confirm, toast, toastError } from "../ui/dialogs.js";

/**
 * Ask the user, delete it, and go to the list of its kind.
 *
 * @param {{ what: string, consequence: string, path: string, next: string }} options `consequence`: what
 *   else happens, as a sentence; `path`: of the service; `next`: of the page
 */
export async function confirmDeletion({ what, consequence, path, next }) {
  const isSure = await confirm({
    title: `Delete this ${what}?`,
    text: `${consequence} This cannot be undone.`,
    yes: "Delete",
    danger: true,
  });
  if (!isSure) return;
  try {
    await send("DELETE", path);
    toast(`The ${what} is deleted.`, { kind: "good" });
    router.navigate(next);
  } catch (error) {
    toastError(error);
  }
}
