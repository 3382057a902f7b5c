import { ApiError } from "../../api/client";
import { useLanguage } from "../../i18n";
import page from "../../ui/page.module.css";

/** Outcome says what became of an act: an error, or a text. */
export function Outcome({ error, text = "" }: { error: Error | null; text?: string }) {
	const { t } = useLanguage();
	const detail = error instanceof ApiError ? (error.problem?.detail ?? "") : "";
	return (
		<span role="status" className={error ? page.bad : "quiet"}>
			{error ? `${t.phone.failed} ${detail}` : text}
		</span>
	);
}
