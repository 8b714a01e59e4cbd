/** Sources: what is read, when it was, and what is wrong with it. */
import {get} from "./api.js";
import {empty, facts, h} from "./dom.js";
import {age, number, words} from "./format.js";

const kinds = {
    "apple-health-export": "Apple Health export",
    "health-auto-export": "Health Auto Export",
    spool: "Folder of samples",
};

const load = ({signal}) => get("sources", {}, signal);

function draw(sources) {
    return [
        h("h1", null, "Sources"),
        sources.length === 0
            ? empty("The job file names no source.", "Add one under ", h("code", null, "sources:"),
                ", or run ", h("code", null, "clarity-jobs import FILE"), ".")
            : h("ul", {class: "jobs"}, sources.map(sourceItem)),
    ];
}

function sourceItem(source) {
    const counts = Object.entries(source.counts).filter(([, value]) => value !== 0)
        .sort((a, b) => b[1] - a[1])
        .map(([name, value]) =>
            [words(name), h("data", {value, "data-count": name}, number(value))]);
    return h("li", {class: "panel", "data-source": source.path},
        h("h2", null, kinds[source.kind] ?? source.kind),
        source.problem ? h("p", {class: "alarm"}, source.problem) : null,
        facts([
            ["Path", h("code", null, source.path)],
            ["State", words(source.state)],
            ["Last read", age(source.read_at)],
            ["Files", number(source.files)],
            ["Rejected files", source.rejected ? number(source.rejected) : null],
            ["Days follow", source.time_zone],
        ]),
        counts.length === 0 ? null : [
            h("h3", {class: "below"}, "What its last reading counted"),
            facts(counts, {class: "facts figures narrow"}),
        ]);
}

export default {title: "Sources", load, draw};
