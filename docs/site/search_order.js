// SPDX-License-Identifier: Apache-2.0
// The order of what a search finds: pages that explain before results of a day
// and what is for those who work on the project. Sphinx's numbers otherwise.
const LATER = /^(bench|findings|CONTRIBUTING|docs\/(coverage|fuzzing|models))/;
const FIRST = /^docs\/(start|howto)\//;

var Scorer = {
  score: ([docname, , , , score]) =>
    score + (FIRST.test(docname) ? 5 : LATER.test(docname) ? -20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
