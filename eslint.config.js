// The rules for the page's JavaScript and its tests. Types are tsc's part (tsconfig.json), the form of the
// text Prettier's.

import js from "@eslint/js";
import globals from "globals";

/** Imports that point up: each room may use the rooms below it. */
const below = (files, forbidden) => ({
  files,
  rules: {
    "no-restricted-imports": [
      "error",
      { patterns: forbidden.map((regex) => ({ regex, message: "Imports point down only." })) },
    ],
  },
});

export default [
  { ignores: ["**/node_modules/", "**/vendor/", "build/", ".venv/", "umbel-data/"] },
  js.configs.recommended,
  {
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "array-callback-return": "error",
      "consistent-return": "error",
      curly: ["error", "multi-line"],
      "default-case-last": "error",
      eqeqeq: "error",
      "func-style": ["error", "declaration", { allowArrowFunctions: true }],
      "no-alert": "error",
      "no-constructor-return": "error",
      "no-console": ["error", { allow: ["error"] }],
      "no-duplicate-imports": "error",
      "no-eval": "error",
      "no-extend-native": "error",
      "no-implicit-coercion": "error",
      "no-implied-eval": "error",
      "no-lonely-if": "error",
      "no-new-func": "error",
      "no-new-wrappers": "error",
      "no-param-reassign": "error",
      "no-promise-executor-return": "error",
      "no-return-assign": ["error", "except-parens"],
      "no-script-url": "error",
      "no-self-compare": "error",
      "no-shadow": ["error", { builtinGlobals: false, hoist: "functions" }],
      "no-template-curly-in-string": "error",
      "no-throw-literal": "error",
      "no-unneeded-ternary": "error",
      "no-unreachable-loop": "error",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "no-useless-concat": "error",
      "no-useless-rename": "error",
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-arrow-callback": "error",
      "prefer-const": "error",
      "prefer-object-has-own": "error",
      "prefer-rest-params": "error",
      "prefer-spread": "error",
      "prefer-template": "error",
      radix: "error",
      "require-atomic-updates": "off",
      yoda: "error",
    },
  },
  {
    files: ["client-js/**"],
    languageOptions: { globals: globals.browser },
  },
  {
    files: ["app/dashboard/js/**"],
    languageOptions: { globals: globals.browser },
    rules: {
      // Text is text: nothing that a user or the service writes is read as markup.
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML", "setHTMLUnsafe"].map((property) => ({
          property,
          message: "Use el() and text nodes.",
        })),
      ],
    },
  },
  {
    files: ["app/dashboard/js/theme.js", "app/dashboard/js/reference/trusted_types.js"],
    languageOptions: { sourceType: "script" },
  },
  below(["app/dashboard/js/net/**"], ["/(ui|forms|pages|tree)/", "/(main|router)\\.js$"]),
  below(["app/dashboard/js/ui/**"], ["/(forms|pages|tree)/", "/(main|router)\\.js$"]),
  below(["app/dashboard/js/reference/**"], ["/(ui|forms|pages|tree)/", "/(main|router)\\.js$"]),
  below(["app/dashboard/js/forms/**"], ["/(pages|tree)/", "/main\\.js$"]),
  below(["app/dashboard/js/pages/**"], ["/tree/", "/main\\.js$"]),
  below(
    ["app/dashboard/js/tree/model/**"],
    ["/(draw|panels|pages|forms|ui)/", "/page\\.js$", "/router\\.js$"],
  ),
  below(
    ["app/dashboard/js/tree/draw/**"],
    ["/(panels|pages|forms|ui)/", "/page\\.js$", "/router\\.js$"],
  ),
  below(["app/dashboard/js/tree/panels/**"], ["/(pages|forms)/", "/page\\.js$"]),
  { files: ["tests/dashboard/js/**", "*.js"], languageOptions: { globals: globals.node } },
];
