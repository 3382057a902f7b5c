import { ApiError } from "../../api/client";
import { useScreenTexts } from "../../i18n/screens";
import layout from "../../ui/layout.module.css";

/** Outcome says what became of an act: an error, or a text. */
export function Outcome({ error, text = "" }: { error: Error | null; text?: string }) {
	const screens = useScreenTexts();
	const detail = error instanceof ApiError ? (error.problem?.detail ?? "") : "";
	return (
		<span role="status" className={error ? layout.bad : "quiet"}>
			{error ? `${screens.phone.failed} ${detail}` : text}
		</span>
	);
}
