/**
 * Zooming and panning a range of time by mouse, touch and keyboard.
 *
 * @typedef {{from: number, to: number}} Range
 */

/** A part of the range that one press of a key moves by, and the factor of one step of zoom. */
const stride = 0.2;
const step = 1.6;
const shortest = 10 * 60_000;

/** The range made longer or shorter around an instant. */
export function zoomed({from, to}, factor, around = (from + to) / 2) {
    const length = Math.max(shortest, (to - from) * factor);
    const share = (around - from) / (to - from);
    return {from: around - share * length, to: around + (1 - share) * length};
}

export const panned = ({from, to}, share) =>
    ({from: from + share * (to - from), to: to + share * (to - from)});

/** Keeps a range within limits without making it shorter, unless it is longer than they are. */
export function within({from, to}, limits) {
    if (to - from >= limits.to - limits.from) return {...limits};
    const shift = Math.max(limits.from - from, Math.min(0, limits.to - to));
    return {from: from + shift, to: to + shift};
}

/**
 * Listens on an element.
 *
 * The wheel zooms only while the element has the focus, so that it does not catch a reader who
 * scrolls past it; with Ctrl it always does.
 *
 * @param {HTMLElement} element
 * @param {object} target
 * @param {() => Range} target.range
 * @param {() => {left: number, right: number}} target.area the edges of the drawing
 * @param {(range: Range) => void} target.set
 * @param {() => void} target.all shows everything
 */
export function attachGestures(element, target) {
    const share = (clientX) => {
        const {left, right} = target.area();
        return (clientX - element.getBoundingClientRect().left - left) / (right - left);
    };
    const instant = (clientX) => {
        const {from, to} = target.range();
        return from + share(clientX) * (to - from);
    };

    element.addEventListener("wheel", (event) => {
        if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            event.preventDefault();
            target.set(panned(target.range(), event.deltaX / element.clientWidth));
        } else if (event.ctrlKey || element === document.activeElement) {
            event.preventDefault();
            target.set(zoomed(target.range(), 1.0015 ** event.deltaY, instant(event.clientX)));
        }
    }, {passive: false});
    element.addEventListener("dblclick",
        (event) => target.set(zoomed(target.range(), 1 / step ** 2, instant(event.clientX))));

    /** @type {Map<number, number>} where each finger, or the mouse, is */
    const pointers = new Map();
    element.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        pointers.set(event.pointerId, event.clientX);
        element.setPointerCapture(event.pointerId);
    });
    element.addEventListener("pointermove", (event) => {
        if (!pointers.has(event.pointerId)) return;
        const before = [...pointers.values()];
        pointers.set(event.pointerId, event.clientX);
        const after = [...pointers.values()];
        if (after.length === 1) {
            target.set(panned(target.range(), share(before[0]) - share(after[0])));
        } else if (after.length === 2) {
            const spread =
                Math.abs(after[0] - after[1]) / Math.max(1, Math.abs(before[0] - before[1]));
            if (spread > 0)
                target.set(zoomed(target.range(), 1 / spread, instant((after[0] + after[1]) / 2)));
        }
    });
    for (const end of ["pointerup", "pointercancel"]) {
        element.addEventListener(
            end, (/** @type {PointerEvent} */ event) => pointers.delete(event.pointerId));
    }

    const keys = {
        ArrowLeft: () => target.set(panned(target.range(), -stride)),
        ArrowRight: () => target.set(panned(target.range(), stride)),
        ArrowUp: () => target.set(zoomed(target.range(), 1 / step)),
        ArrowDown: () => target.set(zoomed(target.range(), step)),
        "+": () => target.set(zoomed(target.range(), 1 / step)),
        "-": () => target.set(zoomed(target.range(), step)),
        Home: () => target.all(),
    };
    element.addEventListener("keydown", (event) => {
        const key = event.key === "=" ? "+" : event.key;
        if (!(key in keys) || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        keys[key]();
    });
}
