// Asks the search of a built site as its pages do: the worker of the theme runs here, with the site's own index.
// `node search_driver.mjs WORKER INDEX QUERIES` prints, as JSON, the pages of each query's results, best first.
import fs from "node:fs";
import vm from "node:vm";

const [worker, index, queries] = process.argv.slice(2);
const listeners = [], answers = [];
const self = { addEventListener: (_, f) => listeners.push(f), postMessage: (m) => answers.push(m), console };
self.self = self;
vm.runInNewContext(fs.readFileSync(worker, "utf-8"), self);

const ask = async (type, data) => {
  const before = answers.length;
  await listeners[0]({ data: { type, data } });
  while (answers.length === before) await new Promise((done) => setTimeout(done, 1));
  return answers[before];
};
const SETUP = 0, QUERY = 2;
await ask(SETUP, { ...JSON.parse(fs.readFileSync(index, "utf-8")), options: { suggest: false } });
const results = {};
for (const query of JSON.parse(queries)) {
  const { data } = await ask(QUERY, query);
  results[query] = data.items.map((group) => group[0].location.split("#")[0]);
}
console.log(JSON.stringify(results));
