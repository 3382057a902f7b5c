import { useLanguage } from "../i18n";
import { Select } from "./Form";

/** Overlap is the field for how long what is replaced is still accepted. */
export function Overlap() {
	const { t } = useLanguage();
	return <Select name="overlap" label={t.ui.overlap} value="86400" options={(["0", "3600", "86400", "604800"] as const).map((seconds) => [seconds, t.ui.overlaps[seconds]])} />;
}
