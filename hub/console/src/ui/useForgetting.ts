import { useEffect, useRef } from "react";

const age = 60_000; // ms

/** useForgetting forgets what was counted a minute ago: what would be sent has changed by then. */
export function useForgetting(counted: unknown, forget: () => void) {
	const act = useRef(forget);
	act.current = forget;
	useEffect(() => {
		if (counted === undefined) return;
		const timer = window.setTimeout(() => act.current(), age);
		return () => window.clearTimeout(timer);
	}, [counted]);
}
