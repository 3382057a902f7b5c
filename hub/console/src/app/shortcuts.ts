import { useEffect, useRef } from "react";
import { usePreferences } from "./preferences";

/** useShortcuts acts on single keys, unless the user types, or has turned letters off. A key that is held acts once, or moves on: j and k. */
export function useShortcuts(acts: Record<string, () => void>) {
	const { shortcuts } = usePreferences();
	const current = useRef(acts);
	current.current = acts;
	useEffect(() => {
		if (!shortcuts) return;
		const press = (event: KeyboardEvent) => {
			if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
			const target = event.target as HTMLElement;
			if (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.closest("[role=dialog],[role=menu]")) return;
			const act = current.current[event.key];
			if (!act || (event.repeat && event.key !== "j" && event.key !== "k")) return;
			event.preventDefault();
			act();
		};
		window.addEventListener("keydown", press);
		return () => window.removeEventListener("keydown", press);
	}, [shortcuts]);
}
