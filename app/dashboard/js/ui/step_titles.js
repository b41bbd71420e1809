// The steps that prepare features, as the page calls them.

/** @type {Record<string, string>} */
export const STEPS = {
  words: "Count the words of documents",
  missing: "Fill empty values",
  tfidf: "Weigh terms (tf-idf)",
  standardize: "Standardise columns",
  l2: "Bring rows to length 1",
  pca: "Principal components",
  svd: "Truncated SVD",
  fft: "Frequencies of series",
};
