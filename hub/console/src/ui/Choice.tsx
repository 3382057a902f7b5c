import { useLanguage } from "../i18n";
import layout from "./layout.module.css";

/** Choice narrows a list to one of some values. */
export function Choice<T extends string>(props: { label: string; value?: T; values: readonly T[]; texts: Record<string, string>; onChange: (value?: T) => void; required?: boolean }) {
	const { t } = useLanguage();
	return (
		<select className={layout.select} aria-label={props.label} value={props.value ?? ""} onChange={(event) => props.onChange((event.target.value || undefined) as T | undefined)}>
			{!props.required && (
				<option value="">
					{props.label}: {t.ui.all}
				</option>
			)}
			{props.values.map((value) => (
				<option key={value} value={value}>
					{props.texts[value]}
				</option>
			))}
		</select>
	);
}
