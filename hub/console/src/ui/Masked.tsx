import { useLanguage } from "../i18n";

/** Masked shows a value, and says why where the hub hid (part of) it as asterisks. */
export function Masked({ value }: { value: string }) {
	const { t } = useLanguage();
	return <span title={value.includes("***") ? t.ui.hidden : undefined}>{value}</span>;
}
