// DOMPurify, which Swagger UI contains, makes a policy of trusted types when it is loaded, and the
// content security policy of the page allows none. Here it finds no trusted types, and makes none; the browser
// still refuses all text as markup. A plain script, since it must run before Swagger UI.
Object.defineProperty(window, "trustedTypes", { value: undefined });
