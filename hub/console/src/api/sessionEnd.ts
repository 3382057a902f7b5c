import { useSyncExternalStore } from "react";

// Whether the session ended while a window was open, which is kept until a login in another tab.
let ended = false;
const listeners = new Set<() => void>();

/** setSessionEnded remembers that the session ended, or that there is one again. */
export function setSessionEnded(now: boolean) {
	if (ended === now) return;
	ended = now;
	for (const listener of listeners) listener();
}

export const hasSessionEnded = () => ended;

const subscribe = (listener: () => void) => {
	listeners.add(listener);
	return () => listeners.delete(listener);
};

/** useSessionEnded returns whether the session ended below an open window. */
export const useSessionEnded = () => useSyncExternalStore(subscribe, hasSessionEnded);
