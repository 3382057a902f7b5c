import { Button } from "@mantine/core";
import { useLanguage } from "../../i18n";
import layout from "../../ui/layout.module.css";
import type { Tail } from "./tail";
import classes from "./tail.module.css";

/** TailStatus says how the live tail does: what waits to be shown, and what was dropped. */
export function TailStatus({ tail }: { tail: Tail }) {
	const { t } = useLanguage();
	return (
		<div className={classes.tail} data-tail={tail.state}>
			<span role="status" className={tail.state === "lost" ? layout.bad : "quiet"}>
				{tail.state === "open" ? t.tail.on : tail.state === "lost" ? t.tail.lost : t.tail.connecting}
			</span>
			{tail.held > 0 && (
				<Button size="compact-xs" variant="light" onClick={tail.show}>
					{t.tail.show(tail.held)}
				</Button>
			)}
			<span className="quiet">
				{tail.dropped > 0 ? t.tail.dropped(tail.dropped) : t.tail.resumed} {tail.isSlow && t.tail.slow}
			</span>
		</div>
	);
}
